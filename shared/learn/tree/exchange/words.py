"""What is said of a node in words: what decided its class, and what its question was found to tell.

The text, the picture and the miner's page say it alike.
"""

from __future__ import annotations

from shared.domain import Variable
from shared.learn.bayes_classifier.exchange.words import NAMES
from shared.learn.tree.model import DecisionTree
from shared.learn.tree.node import NodeClasses, Split
from shared.ties import descending

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
        " that are reported. Intervals and p-values are the model's: they suppose that it holds."
        " Questions are not tested in their node; one that tells 0 bits there is within its noise."
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


def told(split: Split) -> str:
    """Return what a question tells, with its interval."""
    return f"{split.excess:.3f} bits ({split.low:.3f} to {split.high:.3f})"


def tested(split: Split, significance: float | None) -> str:
    """Return the test that a question passed, or that there was none."""
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
