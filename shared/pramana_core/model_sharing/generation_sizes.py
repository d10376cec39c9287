"""How many records of each class each path gives: whole numbers from counts that need not be.

Sums are rounded in place of counts: with a random start U, count i becomes the number of whole
numbers between U + c_1 + ... + c_(i-1) and U + c_1 + ... + c_i (systematic sampling). Its
expectation is c_i itself, it is off by less than 1, and so is the sum of any run of counts; counts
that are whole stay as they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.errors import ModelError
from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.generation_options import GenerationOptions
from pramana_core.model_sharing.tree import Leaf, SharedTree

_NEAR = 1e-9
"""Sums so near to a whole number, in proportion, are that number: thirds add up to 1."""

Sizes = npt.NDArray[np.int64]


def pseudo_records(tree: SharedTree, options: GenerationOptions) -> int:
    """Return how many records a tree gives; of fractional counts that add up to none, the nearest.

    Raises:
        ModelError: records are asked of a tree that counts none.
    """
    if options.records is None:
        return round(tree.records * options.scale)
    if options.method == "pgen" and not tree.records:
        raise ModelError(
            "The tree counts no records, so that none can be drawn in proportion to its counts."
        )
    return options.records


def cell_sizes(
    tree: SharedTree, options: GenerationOptions, classes: Floats, rng: np.random.Generator
) -> Sizes:
    """Return how many records of each class each path gives: paths x classes.

    First hit and miss of all paths are rounded together, then the misses of each path over its
    other classes. So whole counts give proposition 1 exactly: hit + miss records on each path,
    hit of them in its class.

    Args:
        tree: the tree.
        options: how many in all, and which classes misses take.
        classes: the shares of the classes that "marginal" misses take.
        rng: the randomness.

    Raises: as `pseudo_records`.
    """
    total = pseudo_records(tree, options)
    leaves = tree.leaves
    counted = np.array([(leaf.hit, leaf.miss) for leaf in leaves])
    known = counted.sum()
    wanted = counted * (total / known) if known and options.records else counted * options.scale
    rounded = _rounded(wanted.ravel(), rng.uniform(), total if known else 0).reshape(-1, 2)
    found = np.zeros((len(leaves), tree.schema.classes), dtype=np.int64)
    labels = np.array([leaf.label for leaf in leaves], dtype=np.intp)
    found[np.arange(len(leaves)), labels] = rounded[:, 0]
    for place in np.flatnonzero(rounded[:, 1]):
        shares = _others(leaves[place], classes, options)
        missed = int(rounded[place, 1])
        found[place] += _rounded(shares * missed, rng.uniform(), missed)
    return found


def expected_counts(tree: SharedTree, options: GenerationOptions, classes: Floats) -> Floats:
    """Return the counts that `cell_sizes` makes whole: leaves x classes."""
    found = np.zeros((len(tree.leaves), len(classes)))
    for place, leaf in enumerate(tree.leaves):
        found[place] = _others(leaf, classes, options) * leaf.miss
        found[place, leaf.label] += leaf.hit
    return found


def _others(leaf: Leaf, classes: Floats, options: GenerationOptions) -> Floats:
    """Return the shares of the other classes among a leaf's misses."""
    if leaf.distribution is not None:
        found = np.array(leaf.distribution, dtype=np.float64)
    else:
        found = np.ones_like(classes) if options.misses == "uniform" else classes.copy()
    found[leaf.label] = 0
    if not found.sum():
        found[:] = 1
        found[leaf.label] = len(found) == 1
    shares: Floats = found / found.sum()
    return shares


def shared_out(counts: Floats, total: int) -> Sizes:
    """Return a whole number shared out in proportion to counts, by largest remainders."""
    wanted = counts * (total / counts.sum())
    found: Sizes = np.floor(wanted).astype(np.int64)
    missing = total - int(found.sum())
    found[np.argsort(found - wanted, kind="stable")[:missing]] += 1
    return found


def _rounded(counts: Floats, start: float, total: int) -> Sizes:
    """Return counts made whole, of a given sum, by systematic sampling."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    if sums[-1]:
        sums *= total / sums[-1]
    nearest = np.rint(sums)
    near = np.abs(sums - nearest) <= _NEAR * np.maximum(nearest, 1)
    sums = np.where(near, nearest, sums)
    return np.diff(np.floor(sums + start)).astype(np.int64)
