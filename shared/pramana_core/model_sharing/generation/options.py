"""How pseudo-data are generated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from pramana_core.errors import ModelError, OptionError
from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.core.tree import Leaf, SharedTree

Method = Literal["pgen", "basegen"]
Numeric = Literal["uniform", "middle", "end", "marginal"]
Absent = Literal["uniform", "marginal"]
Misses = Literal["uniform", "marginal"]
Spread = Literal["independent", "even"]

Quantiles = Sequence[float] | Callable[[Floats], Floats]
"""A distribution of numbers: its quantiles at evenly spaced probabilities from 0 to 1, or the
function that gives the quantiles at probabilities, vectorized."""


@dataclass(frozen=True)
class GenerationOptions:
    """How pseudo-data are generated; the defaults are the paper's.

    Attributes:
        method: "pgen", from the paths, as many records as each counts (figure 3); or "basegen",
            drawn evenly from the range of each attribute and labelled by the tree.
        records: how many in all; None for as many as the tree counts, times `scale`.
        scale: what the counts are multiplied by; without effect on a given number of records.
        numeric: which number an interval gives: one drawn evenly, its "middle", its upper "end",
            or one from the tree's own estimate of the attribute's distribution ("marginal").
        absent: which value an attribute takes that a path does not ask for: one drawn evenly from
            its range (line 9 of figure 3); or one from the tree's own estimate of its distribution
            ("marginal"). Where a path leaves several categories, one of them is drawn in the same
            way.
        misses: which classes the misses of a path take, where its leaf tells only hit and miss:
            all others evenly (section 2.2), or by the tree's own estimate of the class's
            distribution ("marginal"). Where a leaf tells all counts, those decide.
        quantiles: by attribute, a distribution that decides in place of `numeric` and `absent`.
        spread: whether the values of a path's records are "independent" of one another, or
            spread more "even"ly than chance does, with the same distribution for each record: the
            same number of pseudo-data then tells more of the tree.
        shuffle: whether records come in random order, or path by path.

    Raises:
        OptionError: an option is out of range.
    """

    method: Method = "pgen"
    records: int | None = None
    scale: float = 1.0
    numeric: Numeric = "uniform"
    absent: Absent = "uniform"
    misses: Misses = "uniform"
    quantiles: Mapping[str, Quantiles] = field(default_factory=dict)
    spread: Spread = "independent"
    shuffle: bool = True

    def __post_init__(self) -> None:
        chosen = {
            "method": Method,
            "numeric": Numeric,
            "absent": Absent,
            "misses": Misses,
            "spread": Spread,
        }
        for name, kinds in chosen.items():
            if getattr(self, name) not in get_args(kinds):
                raise OptionError(
                    f"{name} must be one of {', '.join(get_args(kinds))}, not"
                    f" {getattr(self, name)!r}.",
                    where=name,
                )
        if self.records is not None and self.records < 1:
            raise OptionError(f"records must be at least 1, not {self.records}.", where="records")
        if not 0 < self.scale < math.inf:
            raise OptionError(f"scale must be a number above 0, not {self.scale:g}.", where="scale")


# How many records of each class each path gives: whole numbers from counts that need not be.
#
# Sums are rounded in place of counts: with a random start U, count i becomes the number of whole
# numbers between U + c_1 + ... + c_(i-1) and U + c_1 + ... + c_i (systematic sampling). Its
# expectation is c_i itself, it is off by less than 1, and so is the sum of any run of counts;
# counts that are whole stay as they are.

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

    Raises:
        ModelError: records are asked of a tree that counts none.
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


# What a tree tells of the distribution of one attribute, or of its class.
#
# A path of n records that asks for an attribute tells that n of its values are within a condition;
# one that does not tells nothing. That is a sample with grouped values, and its maximum-likelihood
# distribution is the fixed point of self-consistency (Turnbull 1976; EM): each path's records are
# spread over the cells of its condition in proportion to the distribution, and what they add up to
# is the distribution. It takes for granted that paths that do not ask for an attribute have it
# distributed as those that do. One record spread evenly is added, so that nothing is impossible and
# the fixed point is unique.

_MOST_STEPS = 500
_TOLERANCE = 1e-7
_LEAST = 1e-9
"""Shares below it, which are differences of sums, are not told from nothing."""


def category_shares(allowed: Sequence[tuple[int, ...]], weights: Floats, categories: int) -> Floats:
    """Return the estimated shares of categories.

    Args:
        allowed: the codes that each condition leaves.
        weights: how many records have it.
        categories: how many there are.
    """
    inside = np.zeros((len(allowed), categories))
    for place, codes in enumerate(allowed):
        inside[place, list(codes)] = 1
    shares = np.full(categories, 1 / categories)
    for _ in range(_MOST_STEPS):
        expected = weights / (inside @ shares)
        shares, before = _step(shares, inside.T @ expected, weights.sum()), shares
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return shares


def cell_shares(
    edges: Floats, starts: npt.NDArray[np.intp], ends: npt.NDArray[np.intp], weights: Floats
) -> Floats:
    """Return the estimated shares of the cells between edges.

    Args:
        edges: the ends of m cells, m + 1, ascending.
        starts: the first cell of each condition.
        ends: the first cell beyond each.
        weights: how many records have it.
    """
    widths = np.diff(edges)
    even = widths / widths.sum()
    shares: Floats = even
    for _ in range(_MOST_STEPS):
        sums = np.concatenate([[0.0], np.cumsum(shares)])
        expected = weights / np.maximum(sums[ends] - sums[starts], _LEAST)
        steps = np.zeros(len(edges))
        np.add.at(steps, starts, expected)
        np.add.at(steps, ends, -expected)
        factors = np.maximum(np.cumsum(steps)[:-1], 0)
        shares, before = _step(shares, factors, weights.sum(), even), shares
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return shares


def _step(shares: Floats, factors: Floats, records: float, even: Floats | None = None) -> Floats:
    prior = 1 / len(shares) if even is None else even
    found: Floats = (shares * factors + prior) / (records + 1)
    scaled: Floats = found / found.sum()
    return scaled


def class_shares(tree: SharedTree) -> Floats:
    """Return the estimated shares of the classes, from hit and miss or all counts of the leaves."""
    number = tree.schema.classes
    told = [leaf for leaf in tree.leaves if leaf.distribution is not None]
    rest = [leaf for leaf in tree.leaves if leaf.distribution is None]
    known = np.sum([leaf.classes(number) for leaf in told], axis=0) if told else np.zeros(number)
    labels = np.array([leaf.label for leaf in rest], dtype=np.intp)
    np.add.at(known, labels, [leaf.hit for leaf in rest])
    missed = np.bincount(labels, weights=[leaf.miss for leaf in rest], minlength=number)
    shares = np.full(number, 1 / number)
    for _ in range(_MOST_STEPS if number > 1 else 0):
        expected = missed / np.maximum(1 - shares, np.finfo(float).tiny)
        factors = expected.sum() - expected
        total = known.sum() + missed.sum()
        before, shares = shares, (known + shares * factors + 1 / number) / (total + 1)
        shares /= shares.sum()
        if np.abs(shares - before).max() < _TOLERANCE:
            break
    return shares
