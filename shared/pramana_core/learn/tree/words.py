"""Texts on the nodes of a decision tree, for its text form, its picture and the miner's page."""

from __future__ import annotations

from pramana_core.alike import first_few
from pramana_core.domain import Variable
from pramana_core.learn.bayes_classifier.exchange import NAMES
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.ties import descending

_NAMED = 6
"""The maximum number of classes that a line names; it gives the count of the others."""

_LEAST_P = 1e-9
"""Smaller p-values are written as "below" this value."""


def model_note(tree: DecisionTree) -> str:
    """Return a sentence on the model from which a tree's counts come, or "" without a model."""
    if tree.through is None:
        return ""
    return (
        f"Through a model: no reports contain all attributes of a path, so the counts are those"
        f" that {NAMES[tree.through]} expects, learned from reported tables of few variables."
        " Intervals assume that the model is right. Questions are not tested: a question stays"
        " if, by the model, it and the questions below it improve the predictions."
    )


def grouped_children(tree: DecisionTree, node: Node) -> list[tuple[tuple[str, ...], list[Node]]]:
    """Return a node's answers and children; a pruned tree groups leaves of the same class."""
    if node.split is None:
        return []
    labels = tree.inputs[node.split.attribute].categories
    groups: dict[tuple[int, int], list[tuple[str, Node]]] = {}
    for code, (label, child) in enumerate(zip(labels, node.children, strict=True)):
        alone = child.split is not None or not tree.options.prune
        key = (code, 0) if alone else (-1, child.classes.decision)
        groups.setdefault(key, []).append((label, child))
    return [
        (tuple(label for label, _ in some), [child for _, child in some])
        for some in groups.values()
    ]


def percent(share: float) -> str:
    """Return a share as a percentage, without the percent sign."""
    return f"{100 * share:.0f}"


def _by_share(classes: NodeClasses) -> list[int]:
    codes: list[int] = descending(classes.probabilities).tolist()
    return codes


def lean(classes: NodeClasses) -> str:
    """Return text on how much of a node's probabilities comes from its parent; "" for the root."""
    if not classes.effective and classes.leaned:
        return "as its parent: it has no records of its own"
    if classes.leaned >= 0.995:
        return "leans wholly on its parent"
    if classes.leaned < 0.005:
        return ""
    return f"leans {percent(classes.leaned)} % on its parent"


def probabilities(target: Variable, classes: NodeClasses) -> str:
    """Return the class probabilities as text, largest first."""
    each = (
        f"{target.categories[c]} {percent(classes.probabilities[c])} %" for c in _by_share(classes)
    )
    return first_few(each, _NAMED)


def own_records(target: Variable, classes: NodeClasses) -> str:
    """Return text with the number of records in a node and the intervals of the classes' shares."""
    own = classes.proportions
    if own is None:
        return "no records of its own"
    each = (
        f"{target.categories[c]} {percent(own[c])} %"
        f" ({percent(classes.low[c])} to {percent(classes.high[c])})"
        for c in _by_share(classes)
    )
    worth = f"{classes.total:,.0f} records (worth {classes.effective:,.0f})"
    return f"its own {worth}: {first_few(each, _NAMED)}"


def information(split: Split, tree: DecisionTree) -> str:
    """Return text with the information of a question, and its interval if it was estimated."""
    if tree.through is not None:
        return f"{split.gain:.3f} bits expected"
    return f"{split.excess:.3f} bits ({split.low:.3f} to {split.high:.3f})"


def likelihood_test(split: Split, tree: DecisionTree) -> str:
    """Return text on the test of a question; "" if the tree's counts come from a model."""
    if tree.through is not None:
        return ""
    tried = f" (best of {split.tried})" if split.tried > 1 else ""
    size = f"{split.statistic:,.0f}" if split.statistic >= 100 else f"{split.statistic:.1f}"
    return f"likelihood ratio {size}{tried}; {p_value(split)}"


def p_value(split: Split) -> str:
    """Return the p-value of a question as text."""
    return "p < 1e-9" if split.p_value < _LEAST_P else f"p = {split.p_value:.2g}"
