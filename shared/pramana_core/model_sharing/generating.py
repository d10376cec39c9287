"""Pseudo-data of a tree: path-based generation, PGEN, and the baseline, BASEGEN (sections 2.2, 4).

How many records of each class a path has is settled first, exactly. The values of a record then
depend on its path and its number there alone, so that the same randomness gives the same records
whether they are made at once or chunk by chunk.

Also here:

* How many records of each class each path gives: whole numbers from counts that need not be.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pramana_core.errors import LimitExceeded, ModelError, OptionError
from pramana_core.mixed.table import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.generation_values import (
    GenerationOptions,
    Places,
    class_shares,
    values_of,
)
from pramana_core.model_sharing.tree import Leaf, SharedTree

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


RECORDS_AT_ONCE = 65_536


def generate(
    tree: SharedTree, rng: np.random.Generator, options: GenerationOptions | None = None
) -> MixedTable:
    """Return pseudo-data of a tree: its attributes and, last, the class.

    Args:
        tree: the tree.
        rng: the randomness.
        options: how many records, and how their values are drawn.

    Raises:
        ModelError: records are asked of a tree that counts none.
        OptionError: quantiles do not fit the attributes.
    """
    options = options or GenerationOptions()
    at_once = max(pseudo_records(tree, options) + 1, 1)
    chunks = list(generate_chunks(tree, rng, options, at_once))
    return chunks[0]


def generate_chunks(
    tree: SharedTree,
    rng: np.random.Generator,
    options: GenerationOptions | None = None,
    per_chunk: int = RECORDS_AT_ONCE,
) -> Iterator[MixedTable]:
    """Return the records of `generate` with the same randomness, in chunks; at least one chunk.

    Beside the chunk in hand, 4 bytes for each record are kept if they are shuffled.

    Args:
        tree, rng, options: as of `generate`; nothing else may draw from `rng` meanwhile.
        per_chunk: the most records of a chunk; the last may have fewer.

    Raises:
        ModelError, OptionError: as `generate`, and OptionError if `per_chunk` is below 1.
        LimitExceeded: more than 4 thousand million records are to be shuffled.
    """
    options = options or GenerationOptions()
    if per_chunk < 1:
        raise OptionError(f"per_chunk must be at least 1, not {per_chunk}.", where="per_chunk")
    _require_known(tree, options)
    return _made(tree, rng, options, per_chunk)


def _made(
    tree: SharedTree, rng: np.random.Generator, options: GenerationOptions, per_chunk: int
) -> Iterator[MixedTable]:
    """Yield records of the paths, or drawn evenly from all ranges and labelled by the tree."""
    by_paths, conditions = options.method == "pgen", [path.conditions for path in tree.paths()]
    how = options
    if by_paths:
        shares = class_shares(tree)
        sizes = cell_sizes(tree, options, shares, rng)
        counts = expected_counts(tree, options, shares).sum(axis=1)
    else:
        sizes = np.array([[pseudo_records(tree, options)]])
        how, conditions, counts = GenerationOptions(), [{}], np.ones(1)
    columns = [
        values_of(a, [known.get(a.name) for known in conditions], counts, how)
        for a in tree.schema.attributes
    ]
    places = Places(sizes.sum(axis=1), len(columns), options.spread, rng)
    ends, target = np.cumsum(sizes), tree.schema.target
    total = int(ends[-1])
    order = _shuffled(total, rng) if options.shuffle and by_paths else None
    for start in range(0, max(total, 1), per_chunk):
        records = np.arange(start, min(start + per_chunk, total))
        if order is not None:
            records = order[records].astype(np.intp)
        paths, classes = np.divmod(np.searchsorted(ends, records, side="right"), sizes.shape[1])
        drawn = places.of(records, paths)
        found = tuple(column.column(paths, drawn[:, k]) for k, column in enumerate(columns))
        if not by_paths:
            classes = tree.predict(MixedTable(found, len(records)))
        labels = CategoricalColumn(target.name, classes, target.categories)
        yield MixedTable((*found, labels), len(records))


def _shuffled(records: int, rng: np.random.Generator) -> npt.NDArray[np.uint32]:
    """Return the numbers of all records in random order, in 4 bytes each."""
    if records >= 1 << 32:
        raise LimitExceeded(
            f"{records:,} records are too many to be shuffled.",
            where="shuffle",
            remedy="Ask for fewer, or for records path by path.",
        )
    order = np.arange(records, dtype=np.uint32)
    rng.shuffle(order)
    return order


def _require_known(tree: SharedTree, options: GenerationOptions) -> None:
    if unknown := sorted(set(options.quantiles) - set(tree.schema.names)):
        raise OptionError(
            f"Quantiles are given of {unknown}; the tree has the attributes"
            f" {list(tree.schema.names)}.",
            where="quantiles",
        )
