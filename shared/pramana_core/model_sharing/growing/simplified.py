"""Trees cut back where their splits tell no more than chance: C4.5's pruning (Quinlan 1993, ch. 4).

A leaf of n records that errs in e of them is expected to err in the upper confidence limit of e/n.
A subtree whose leaves together are expected to err as often as the single leaf in its place, or
nearly, is replaced. Nothing is held out for it, and nothing is protected by it: what anonymity asks
for is pruned in `anonymity`.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.core.tree import Leaf
from pramana_core.model_sharing.growing.questions import Asked, Question

CONFIDENCE = 0.25
"""What C4.5 and Weka's J48, the paper's learner, take unless told otherwise."""

MOST_CONFIDENCE = 0.5

_NEARLY = 0.1
"""As in C4.5: a subtree expected to save less than a tenth of an error is not worth having."""


def simplified(node: Asked, confidence: float = CONFIDENCE) -> Asked:
    """Return a tree of questions without the subtrees that are not worth having.

    Args:
        node: the tree; its leaves count whole records of all classes.
        confidence: the chance that a leaf's rate of errors is above its limit: the smaller, the
            more is cut.
    """
    return _cut(node, confidence)[0]


def expected_errors(counts: Floats, confidence: float) -> float:
    """Return how many errors are expected at a leaf that has counted its records by classes."""
    records, wrong = counts.sum(), counts.sum() - counts.max()
    if not records - wrong:
        return 0.0
    return float(records * special.betaincinv(wrong + 1, records - wrong, 1 - confidence))


def _cut(node: Asked, confidence: float) -> tuple[Asked, Floats, float]:
    """Return what is left of a tree, its counts of the classes and the errors expected there."""
    if isinstance(node, Leaf):
        counts = np.array(node.distribution, dtype=np.float64)
        return node, counts, expected_errors(counts, confidence)
    (one, first), (other, second) = node.sides
    left, right = _cut(first, confidence), _cut(second, confidence)
    counts, errors = left[1] + right[1], left[2] + right[2]
    alone = expected_errors(counts, confidence)
    if alone <= errors + _NEARLY:
        return Leaf.of(counts), counts, alone
    return Question(node.attribute, ((one, left[0]), (other, right[0]))), counts, errors
