"""How many records of each class each path gives: whole numbers from counts that need not be.

Sums are rounded in place of counts: with a random start U, count i becomes the number of whole
numbers between U + c_1 + ... + c_(i-1) and U + c_1 + ... + c_i (systematic sampling). Its
expectation is c_i itself, it is off by less than 1, and so is the sum of any run of counts;
counts that are whole stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt

from pramana_core.errors import ModelError
from pramana_core.learn.common.options import require_limits
from pramana_core.mixed import Floats
from pramana_core.model_sharing.tree import Leaf, SharedTree

Method = Literal["pgen", "basegen"]


@dataclass(frozen=True)
class GenerationOptions:
    """How pseudo-data are generated; the defaults are the paper's.

    Attributes:
        method: "pgen", from the paths, as many records as each counts (figure 3); or "basegen",
            drawn evenly from the range of each attribute and labelled by the tree.
        records: how many in all; None for as many as the tree counts, times `scale`.
        scale: what the counts are multiplied by; without effect on a given number of records.
        estimated: whether "pgen" draws a value that a path leaves open by the tree's own estimate
            of its attribute's distribution; otherwise evenly from what is left (line 9 of figure
            3).

    Raises:
        OptionError: an option is out of range.
    """

    method: Method = "pgen"
    records: Annotated[int, Ge(1)] | None = None
    scale: Annotated[float, Gt(0)] = 1.0
    estimated: bool = False

    def __post_init__(self) -> None:
        require_limits(self)


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


def cell_sizes(tree: SharedTree, options: GenerationOptions, rng: np.random.Generator) -> Sizes:
    """Return how many records of each class each path gives: paths x classes.

    First hit and miss of all paths are rounded together, then the misses of each path over its
    other classes: by their counts where the leaf has them, else evenly (section 2.2). So whole
    counts give proposition 1 exactly: hit + miss records on each path, hit of them in its class.

    Args:
        tree: the tree.
        options: how many in all.
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
        shares = _others(leaves[place], tree.schema.classes)
        missed = int(rounded[place, 1])
        found[place] += _rounded(shares * missed, rng.uniform(), missed)
    return found


def _others(leaf: Leaf, classes: int) -> Floats:
    """Return the shares of the other classes among a leaf's misses."""
    found = np.ones(classes) if leaf.distribution is None else np.array(leaf.distribution)
    found[leaf.label] = 0
    if not found.sum():
        found[:] = 1
        found[leaf.label] = classes == 1
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
