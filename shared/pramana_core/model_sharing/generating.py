"""Pseudo-data of a tree, by the path-based PGEN and the baseline BASEGEN (sections 2.2, 4).

First, systematic sampling draws the number of records for each path and class, within 1 of its
expectation. After that, a record depends only on its path and its own random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt

from pramana_core.errors import ModelError
from pramana_core.learn.common.options import require_limits
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.drawn_values import values_of
from pramana_core.model_sharing.tree import Leaf, SharedTree

_NEAR = 1e-9
"""The relative distance within which a sum counts as a whole number, as in 1/3 + 1/3 + 1/3 = 1."""

Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GenerationOptions:
    """Options on how to generate pseudo-data; the defaults are those of the paper.

    Attributes:
        method: "pgen", from the paths (figure 3); or "basegen", evenly from the ranges, labelled by
            the tree.
        records, scale: the number of records, or a factor for the number of records in the tree.
        estimated: for attributes that a path does not use, whether "pgen" draws values from their
            distribution as estimated from the tree, instead of evenly (line 9 of figure 3).

    Raises OptionError: an option is out of range.
    """

    method: Literal["pgen", "basegen"] = "pgen"
    records: Annotated[int, Ge(1)] | None = None
    scale: Annotated[float, Gt(0)] = 1.0
    estimated: bool = False

    def __post_init__(self) -> None:
        require_limits(self)


def generate(
    tree: SharedTree, rng: np.random.Generator, options: GenerationOptions | None = None
) -> MixedTable:
    """Return pseudo-data: a tree's attributes and, last, the class. Raises ModelError."""
    options = options or GenerationOptions()
    by_paths, conditions = options.method == "pgen", [path.conditions for path in tree.paths()]
    if by_paths:
        sizes = cell_sizes(tree, options, rng)
        counts = np.array([leaf.records for leaf in tree.leaves])
    else:
        sizes = np.array([[_pseudo_records(tree, options)]])
        conditions, counts = [{}], np.ones(1)
    estimated = by_paths and options.estimated
    columns = [
        values_of(a, [known.get(a.name) for known in conditions], counts, estimated=estimated)
        for a in tree.schema.attributes
    ]
    ends, target = np.cumsum(sizes), tree.schema.target
    records = np.arange(ends[-1])
    if by_paths:
        rng.shuffle(records)
    paths, classes = np.divmod(np.searchsorted(ends, records, side="right"), sizes.shape[1])
    drawn = rng.uniform(size=(len(records), len(columns)))
    found = tuple(column.column(paths, drawn[:, k]) for k, column in enumerate(columns))
    if not by_paths:
        classes = tree.predict(MixedTable(found, len(records)))
    labels = CategoricalColumn(target.name, classes, target.categories)
    return MixedTable((*found, labels), len(records))


def _pseudo_records(tree: SharedTree, options: GenerationOptions) -> int:
    if options.records is None:
        return round(tree.records * options.scale)
    if options.method == "pgen" and not tree.records:
        raise ModelError(
            "The counts of the tree are all 0, so records cannot be drawn in proportion to them."
        )
    return options.records


def cell_sizes(tree: SharedTree, options: GenerationOptions, rng: np.random.Generator) -> Sizes:
    """Return the number of records that each path generates in each class, paths x classes.

    Hits and misses are first rounded together. Then misses are divided among the other classes in
    proportion to their counts, or evenly if these are unknown (section 2.2). If all counts are
    whole numbers, proposition 1 is exact.
    """
    total = _pseudo_records(tree, options)
    leaves = tree.leaves
    counted = np.array([(leaf.hit, leaf.miss) for leaf in leaves])
    known = counted.sum()
    wanted = counted * (total / known) if known and options.records else counted * options.scale
    rounded = _rounded(wanted.ravel(), rng.uniform(), total if known else 0).reshape(-1, 2)
    found = np.zeros((len(leaves), tree.schema.classes), dtype=np.int64)
    labels = np.array([leaf.label for leaf in leaves], dtype=np.intp)
    found[np.arange(len(leaves)), labels] = rounded[:, 0]
    for place in np.flatnonzero(rounded[:, 1]):
        missed = int(rounded[place, 1])
        shares = _others(leaves[place], tree.schema.classes)
        found[place] += _rounded(shares * missed, rng.uniform(), missed)
    return found


def _others(leaf: Leaf, classes: int) -> Floats:
    found = np.ones(classes) if leaf.distribution is None else np.array(leaf.distribution)
    found[leaf.label] = 0
    if not found.sum():
        found[:] = 1
        found[leaf.label] = classes == 1
    shares: Floats = found / found.sum()
    return shares


def shared_out(counts: Floats, total: int) -> Sizes:
    """Return the division of a whole number in proportion to counts (largest remainders)."""
    wanted = counts * (total / counts.sum())
    found: Sizes = np.floor(wanted).astype(np.int64)
    missing = total - int(found.sum())
    found[np.argsort(found - wanted, kind="stable")[:missing]] += 1
    return found


def _rounded(counts: Floats, start: float, total: int) -> Sizes:
    """Return counts rounded to whole numbers with a given total, by systematic sampling."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    if sums[-1]:
        sums *= total / sums[-1]
    nearest = np.rint(sums)
    near = np.abs(sums - nearest) <= _NEAR * np.maximum(nearest, 1)
    sums = np.where(near, nearest, sums)
    return np.diff(np.floor(sums + start)).astype(np.int64)
