"""Pseudo-data of a tree: path-based generation, PGEN, and the baseline, BASEGEN (sections 2.2, 4).

The records of a path are independent of one another, and given their path and class so are their
values. So how many records of each class a path has is settled first, exactly; then come the
values, of each record from numbers of its own, so that the same randomness gives the same records
whether they are made at once or chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shared.errors import OptionError
from shared.mixed.table import CategoricalColumn, Floats, MixedTable
from shared.model_sharing.core.tree import Leaf, SharedTree
from shared.model_sharing.generation.estimates import class_shares
from shared.model_sharing.generation.options import GenerationOptions
from shared.model_sharing.generation.sizes import cell_sizes, expected_counts, pseudo_records
from shared.model_sharing.generation.values import Drawn, values_of

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
        tree: the tree.
        rng: the randomness; nothing else may draw from it meanwhile.
        options: how many records, and how their values are drawn.
        per_chunk: the most records of a chunk; the last may have fewer.

    Raises:
        ModelError: records are asked of a tree that counts none.
        OptionError: quantiles do not fit the attributes, or `per_chunk` is below 1.
    """
    options = options or GenerationOptions()
    if per_chunk < 1:
        raise OptionError(f"per_chunk must be at least 1, not {per_chunk}.", where="per_chunk")
    _require_known(tree, options)
    made = _baseline if options.method == "basegen" else _by_paths
    return made(tree, rng, options, per_chunk)


def _by_paths(
    tree: SharedTree, rng: np.random.Generator, options: GenerationOptions, per_chunk: int
) -> Iterator[MixedTable]:
    number = tree.schema.classes
    shares = class_shares(tree)
    sizes = cell_sizes(tree, options, shares, rng).ravel()
    cells = _Cells(sizes, rng if options.shuffle else None)
    columns = _columns(tree, options, shares)
    for start in range(0, max(cells.records, 1), per_chunk):
        paths, classes = np.divmod(cells.between(start, start + per_chunk), number)
        yield _table(tree, columns, paths, classes, rng)


def _baseline(
    tree: SharedTree, rng: np.random.Generator, options: GenerationOptions, per_chunk: int
) -> Iterator[MixedTable]:
    """Yield records drawn evenly from the ranges of all attributes, labelled by the tree."""
    records = pseudo_records(tree, options)
    bare = SharedTree(tree.schema, Leaf(0, 0, 0))
    columns = _columns(bare, GenerationOptions(), np.full(tree.schema.classes, 1.0))
    for start in range(0, max(records, 1), per_chunk):
        nowhere = np.zeros(min(per_chunk, records - start), dtype=np.intp)
        drawn = _table(bare, columns, nowhere, nowhere, rng)
        attributes = drawn.project(tree.schema.names)
        target = tree.schema.target
        labels = CategoricalColumn(target.name, tree.predict(attributes), target.categories)
        yield MixedTable((*attributes.columns, labels), drawn.records)


class _Cells:
    """Which path and class each record has, as one number: path x classes + class."""

    def __init__(self, sizes: npt.NDArray[np.int64], rng: np.random.Generator | None) -> None:
        self._ends = np.cumsum(sizes)
        self.records = int(self._ends[-1])
        self._order: npt.NDArray[np.int32] | None = None
        if rng is not None:
            self._order = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            rng.shuffle(self._order)

    def between(self, start: int, end: int) -> npt.NDArray[np.intp]:
        """Return those of some records."""
        if self._order is not None:
            return self._order[start:end].astype(np.intp)
        rows = np.arange(start, min(end, self.records))
        return np.searchsorted(self._ends, rows, side="right").astype(np.intp)


def _columns(tree: SharedTree, options: GenerationOptions, shares: Floats) -> tuple[Drawn, ...]:
    paths = list(tree.paths())
    counts = expected_counts(tree, options, shares)
    return tuple(
        values_of(a, [path.conditions.get(a.name) for path in paths], counts, options)
        for a in tree.schema.attributes
    )


def _table(
    tree: SharedTree,
    columns: tuple[Drawn, ...],
    paths: npt.NDArray[np.intp],
    classes: npt.NDArray[np.intp],
    rng: np.random.Generator,
) -> MixedTable:
    # Row by row: which chunk a record is in does not change what it is made of.
    drawn = rng.uniform(size=(len(paths), len(columns)))
    found = [column.column(paths, classes, drawn[:, k]) for k, column in enumerate(columns)]
    target = tree.schema.target
    labels = CategoricalColumn(target.name, classes, target.categories)
    return MixedTable((*found, labels), len(paths))


def _require_known(tree: SharedTree, options: GenerationOptions) -> None:
    if unknown := sorted(set(options.quantiles) - set(tree.schema.names)):
        raise OptionError(
            f"Quantiles are given of {unknown}; the tree has the attributes"
            f" {list(tree.schema.names)}.",
            where="quantiles",
        )
