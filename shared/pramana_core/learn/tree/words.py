"""The texts of a decision tree's nodes, for its text, its picture and the miner's page."""

from __future__ import annotations

from pramana_core.alike import first_few
from pramana_core.domain import Variable
from pramana_core.learn.bayes_classifier.exchange import NAMES
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.ties import descending

_NAMED = 6
"""The maximum number of classes that a line lists; the remaining classes are counted."""

_LEAST_P = 1e-9
"""Smaller p-values are not distinguished."""


def model_note(tree: DecisionTree) -> str:
    """Return a note if a model gave the tree's counts, else ""."""
    if tree.through is None:
        return ""
    return (
        f"Through a model: no reports contain all attributes of a path, so the counts are those"
        f" that {NAMES[tree.through]} expects, learned from reported tables of few variables."
        " Intervals assume that the model is right. Questions are not tested: a question stays"
        " if, by the model, it and the questions below it improve the predictions."
    )


def grouped_children(tree: DecisionTree, node: Node) -> list[tuple[tuple[str, ...], list[Node]]]:
    """Return a node's answers and children; a pruned tree groups leaves of one class."""
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
    """Return a share in percent, without the percent sign."""
    return f"{100 * share:.0f}"


def _by_share(classes: NodeClasses) -> list[int]:
    codes: list[int] = descending(classes.probabilities).tolist()
    return codes


def lean(classes: NodeClasses) -> str:
    """Return how much of a node's probabilities comes from its parent, as text; "" for the root."""
    if not classes.effective and classes.leaned:
        return "as its parent: it has no records of its own"
    if classes.leaned >= 0.995:
        return "leans wholly on its parent"
    if classes.leaned < 0.005:
        return ""
    return f"leans {percent(classes.leaned)} % on its parent"


def probabilities(target: Variable, classes: NodeClasses) -> str:
    """Return the class probabilities as text, the largest first."""
    each = (
        f"{target.categories[c]} {percent(classes.probabilities[c])} %" for c in _by_share(classes)
    )
    return first_few(each, _NAMED)


def own_records(target: Variable, classes: NodeClasses) -> str:
    """Return the number of a node's records and the intervals of their classes, as text."""
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
    """Return the information of a question as text, with its interval if estimated."""
    if tree.through is not None:
        return f"{split.gain:.3f} bits expected"
    return f"{split.excess:.3f} bits ({split.low:.3f} to {split.high:.3f})"


def likelihood_test(split: Split, tree: DecisionTree) -> str:
    """Return the test of a question as text; "" through a model, where questions are not tested."""
    if tree.through is not None:
        return ""
    tried = f" (best of {split.tried})" if split.tried > 1 else ""
    size = f"{split.statistic:,.0f}" if split.statistic >= 100 else f"{split.statistic:.1f}"
    return f"likelihood ratio {size}{tried}; {p_value(split)}"


def p_value(split: Split) -> str:
    """Return the p-value of a question as text."""
    return "p < 1e-9" if split.p_value < _LEAST_P else f"p = {split.p_value:.2g}"
