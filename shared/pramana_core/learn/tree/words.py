"""What a decision tree's nodes say in words; text, picture and the miner's page say it alike."""

from __future__ import annotations

from pramana_core.alike import first_few
from pramana_core.domain import Variable
from pramana_core.learn.bayes_classifier.exchange import NAMES
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.ties import descending

_NAMED = 6
"""The most classes that a line names; the others are counted."""

_LEAST_P = 1e-9
"""Smaller p-values are all alike."""


def model_note(tree: DecisionTree) -> str:
    """Return a note on a tree whose counts come from a model; "" for any other."""
    if tree.through is None:
        return ""
    return (
        f"Through a model: no reports have the attributes of a path together, so the counts are"
        f" those that {NAMES[tree.through]} expects, learned from the tables of few variables"
        " that are reported. Intervals suppose that the model holds. Questions are not tested: one"
        " stays where it and those below it let more records be predicted right, as the model"
        " expects."
    )


def grouped_children(tree: DecisionTree, node: Node) -> list[tuple[tuple[str, ...], list[Node]]]:
    """Return a node's answers and children; in a pruned tree, leaves of one class are one group."""
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
    """Return a share in percent, without its sign."""
    return f"{100 * share:.0f}"


def _by_share(classes: NodeClasses) -> list[int]:
    """Return the codes of the classes, the most probable first."""
    found: list[int] = descending(classes.probabilities).tolist()
    return found


def lean(classes: NodeClasses) -> str:
    """Say how much a node's probabilities lean on its parent's; "" of the root."""
    if not classes.effective and classes.leaned:
        return "as its parent: it has no records of its own"
    if classes.leaned >= 0.995:
        return "leans wholly on its parent"
    if classes.leaned < 0.005:
        return ""
    return f"leans {percent(classes.leaned)} % on its parent"


def probabilities(target: Variable, classes: NodeClasses) -> str:
    """Return the probabilities that decide, the largest first."""
    each = (
        f"{target.categories[c]} {percent(classes.probabilities[c])} %" for c in _by_share(classes)
    )
    return first_few(each, _NAMED)


def own_records(target: Variable, classes: NodeClasses) -> str:
    """Return how many records a node has, and the intervals of their classes."""
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
    """Return the information of a question, with its interval where it is estimated."""
    if tree.through is not None:
        return f"{split.gain:.3f} bits expected"
    return f"{split.excess:.3f} bits ({split.low:.3f} to {split.high:.3f})"


def likelihood_test(split: Split, tree: DecisionTree) -> str:
    """Return the test that a question passed; "" through a model, which tests none."""
    if tree.through is not None:
        return ""
    tried = f" (best of {split.tried})" if split.tried > 1 else ""
    size = f"{split.statistic:,.0f}" if split.statistic >= 100 else f"{split.statistic:.1f}"
    return f"likelihood ratio {size}{tried}; {p_value(split)}"


def p_value(split: Split) -> str:
    """Return how often chance alone would show as much."""
    return "p < 1e-9" if split.p_value < _LEAST_P else f"p = {split.p_value:.2g}"
