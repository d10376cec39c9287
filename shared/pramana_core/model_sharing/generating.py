"""Pseudo-data of a tree: path-based generation, PGEN, and the baseline, BASEGEN (sections 2.2, 4).

How many records of each class a path has is settled first, exactly. The values of a record then
depend on its path and its number there alone, so that the same randomness gives the same records
whether they are made at once or chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.drawn_sizes import GenerationOptions, cell_sizes, pseudo_records
from pramana_core.model_sharing.drawn_values import values_of
from pramana_core.model_sharing.tree import SharedTree

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
    return _made(tree, rng, options, per_chunk)


def _made(
    tree: SharedTree, rng: np.random.Generator, options: GenerationOptions, per_chunk: int
) -> Iterator[MixedTable]:
    """Yield records of the paths, or drawn evenly from all ranges and labelled by the tree."""
    by_paths, conditions = options.method == "pgen", [path.conditions for path in tree.paths()]
    estimated = by_paths and options.estimated
    if by_paths:
        sizes = cell_sizes(tree, options, rng)
        counts = np.array([leaf.records for leaf in tree.leaves])
    else:
        sizes = np.array([[pseudo_records(tree, options)]])
        conditions, counts = [{}], np.ones(1)
    columns = [
        values_of(a, [known.get(a.name) for known in conditions], counts, estimated=estimated)
        for a in tree.schema.attributes
    ]
    ends, target = np.cumsum(sizes), tree.schema.target
    total = int(ends[-1])
    order = _shuffled(total, rng) if by_paths else None
    for start in range(0, max(total, 1), per_chunk):
        records = np.arange(start, min(start + per_chunk, total))
        if order is not None:
            records = order[records].astype(np.intp)
        paths, classes = np.divmod(np.searchsorted(ends, records, side="right"), sizes.shape[1])
        # Row by row: which chunk a record is in does not change its values.
        drawn = rng.uniform(size=(len(records), len(columns)))
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
            where="records",
            remedy="Ask for fewer.",
        )
    order = np.arange(records, dtype=np.uint32)
    rng.shuffle(order)
    return order
