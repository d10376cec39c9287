"""C4.5's pruning of splits that tell no more than chance (Quinlan 1993, ch. 4).

A leaf of n records that errs in e of them is expected to err in the upper confidence limit of e/n.
A subtree whose leaves together are expected to err as often as the single leaf in its place, or
nearly, is replaced. Nothing is held out for it, and nothing is protected by it: anonymity is the
business of `pruning`.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from pramana_core.mixed import Floats
from pramana_core.model_sharing.tree import Leaf, Node, Split

_CONFIDENCE = 0.25
"""The chance that a leaf's rate of errors is above its limit: the default of C4.5 and of Weka's
J48, the paper's learner."""

_NEARLY = 0.1
"""As in C4.5: a subtree expected to save less than a tenth of an error is not worth having."""


def simplified(node: Node) -> Node:
    """Return a tree of splits in two without the subtrees that are not worth having."""
    return _cut(node)[0]


def expected_errors(counts: Floats) -> float:
    """Return how many errors are expected at a leaf that has counted its records by classes."""
    records, wrong = counts.sum(), counts.sum() - counts.max()
    if not records - wrong:
        return 0.0
    return float(records * special.betaincinv(wrong + 1, records - wrong, 1 - _CONFIDENCE))


def _cut(node: Node) -> tuple[Node, Floats, float]:
    """Return what is left of a tree, its counts of the classes and the errors expected there."""
    if isinstance(node, Leaf):
        counts = np.array(node.distribution, dtype=np.float64)
        return node, counts, expected_errors(counts)
    (one, first), (other, second) = node.parts
    left, right = _cut(first), _cut(second)
    counts, errors = left[1] + right[1], left[2] + right[2]
    alone = expected_errors(counts)
    if alone <= errors + _NEARLY:
        return Leaf.of(counts), counts, alone
    return Split(node.attribute, ((one, left[0]), (other, right[0]))), counts, errors
