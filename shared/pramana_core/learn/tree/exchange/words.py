"""What is said of a node in words: what decided its class, and what its question was found to tell.

The text, the picture and the miner's page say it alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana_core.domain import Variable
from pramana_core.learn.bayes_classifier.exchange.words import NAMES
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.marginals.counts import Tensor
from pramana_core.ties import descending

_NAMED = 6
"""So many classes are named in a line; the others are counted."""

_CERTAIN = 1e-9
"""Smaller p-values are all alike."""


def said_of_model(tree: DecisionTree) -> str:
    """Say what a tree's counts come from; "" where the reports tell them."""
    if tree.through is None:
        return ""
    return (
        f"Through a model: no reports tell the attributes of a path together, so the counts are"
        f" those that {NAMES[tree.through]} expects, learned from the tables of few variables"
        " that are reported. Intervals are the model's: they suppose that it holds. Questions are"
        " not tested: one stays where it and those below it let more records be told right, as the"
        " model expects."
    )


def shown_children(tree: DecisionTree, node: Node) -> list[tuple[tuple[str, ...], Node]]:
    """Return what follows a node's answers: of a pruned tree leaves of one class are put together.

    Each with its categories, in the order of the first of them.
    """
    if node.split is None:
        return []
    labels = tree.inputs[node.split.attribute].categories
    groups: dict[tuple[int, int], list[tuple[str, Node]]] = {}
    for code, (label, child) in enumerate(zip(labels, node.children, strict=True)):
        alone = child.split is not None or not tree.options.prune
        alike = (code, 0) if alone else (-1, child.classes.decision)
        groups.setdefault(alike, []).append((label, child))
    return [
        (tuple(label for label, _ in some), some[0][1] if len(some) == 1 else _together(some))
        for some in groups.values()
    ]


class BoundedClasses(NodeClasses):
    """What is known of leaves that are put together: their errors are bounds, no errors."""


def _together(some: Sequence[tuple[str, Node]]) -> Node:
    """Return leaves of one class as one.

    Probabilities are by the records of each. Errors are added, which bounds the error of the sum
    however the leaves' errors go together, and intervals reach from the lowest end to the highest:
    they are not too narrow.
    """
    parts = [leaf.classes for _, leaf in some]
    sizes = np.array([max(part.total, 0.0) for part in parts])
    weights = sizes / sizes.sum() if sizes.sum() > 0 else np.full(len(parts), 1 / len(parts))

    def by_class(name: str) -> Tensor:
        found: Tensor = np.array([getattr(part, name) for part in parts])
        return found

    shares = weights @ by_class("probabilities")
    return Node(
        BoundedClasses(
            counts=tuple(by_class("counts").sum(axis=0).tolist()),
            se_records=tuple(by_class("se_records").sum(axis=0).tolist()),
            se_population=tuple(by_class("se_population").sum(axis=0).tolist()),
            low=tuple(by_class("low").min(axis=0).tolist()),
            high=tuple(by_class("high").max(axis=0).tolist()),
            effective=float(by_class("effective").sum()),
            leaned=float(weights @ by_class("leaned")),
            probabilities=tuple((shares / shares.sum()).tolist()),
        )
    )


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in percent, without its sign."""
    return f"{100 * share:.{decimals}f}"


def by_share(classes: NodeClasses) -> list[int]:
    """Return the codes of the classes, the most probable first, equals in their order."""
    found: list[int] = descending(classes.probabilities).tolist()
    return found


def said_of_parent(classes: NodeClasses) -> str:
    """Say how much a node's probabilities lean on its parent's; "" of the root."""
    if not classes.effective and classes.leaned:
        return "as its parent: it has no records of its own"
    if classes.leaned >= 0.995:
        return "leans wholly on its parent"
    if classes.leaned < 0.005:
        return ""
    return f"leans {percent(classes.leaned)} % on its parent"


def decided(target: Variable, classes: NodeClasses, decimals: int = 0) -> str:
    """Return the probabilities that decide, the largest first."""
    named = by_share(classes)[:_NAMED]
    said = [
        f"{target.categories[c]} {percent(classes.probabilities[c], decimals)} %" for c in named
    ]
    return ", ".join(said) + _more(target)


def own_records(target: Variable, classes: NodeClasses, decimals: int = 0) -> str:
    """Return what a node's own records say: how many they are, and its classes' intervals."""
    own = classes.proportions
    if own is None:
        return "no records of its own"
    said = [
        f"{target.categories[c]} {percent(own[c], decimals)} %"
        f" ({percent(classes.low[c], decimals)} to {percent(classes.high[c], decimals)})"
        for c in by_share(classes)[:_NAMED]
    ]
    return f"its own {records(classes)}: " + ", ".join(said) + _more(target)


def records(classes: NodeClasses) -> str:
    """Return how many records a node has, and how many that are not randomized tell as much."""
    return f"{classes.total:,.0f} records (worth {classes.effective:,.0f})"


def _more(target: Variable) -> str:
    left = target.size - _NAMED
    return f", and {left} more" if left > 0 else ""


def told(split: Split, tree: DecisionTree) -> str:
    """Return what a question tells, with its interval; through a model, what that expects."""
    if tree.through is not None:
        return f"{split.gain:.3f} bits expected"
    return f"{split.excess:.3f} bits ({split.low:.3f} to {split.high:.3f})"


def tested(split: Split, tree: DecisionTree) -> str:
    """Return the test that a question passed; "" through a model, where there is none."""
    if tree.through is not None:
        return ""
    significance = tree.options.limit
    found = f"likelihood ratio {_size(split.statistic)}"
    if split.limit is not None and significance is not None:
        found += f", by chance above {_size(split.limit)} in {100 * significance:g} %"
        found += f" (best of {split.tried})" if split.tried > 1 else ""
    return f"{found}; {p_value(split)}"


def _size(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def p_value(split: Split) -> str:
    """Return how often chance alone would show as much."""
    return "p < 1e-9" if split.p_value < _CERTAIN else f"p = {split.p_value:.2g}"
