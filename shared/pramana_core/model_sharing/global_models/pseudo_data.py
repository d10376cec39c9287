"""The pseudo-data of several owners' trees, together in one schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pramana_core.errors import ModelError
from pramana_core.mixed import CategoricalColumn, Column, MixedTable, NumericColumn, coded_as
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.generating import (
    RECORDS_AT_ONCE,
    GenerationOptions,
    generate_chunks,
    shared_out,
)
from pramana_core.model_sharing.global_models.common_schema import common_schema
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import SharedTree


def pooled_chunks(
    trees: Sequence[SharedTree],
    rng: np.random.Generator,
    options: GenerationOptions | None = None,
    per_chunk: int = RECORDS_AT_ONCE,
) -> Iterator[MixedTable]:
    """Return the pseudo-data of trees, one tree's after the other's, in chunks.

    Each tree draws from randomness of its own, so that the same `rng` gives the same records
    whatever the size of chunks, and a tree the same whatever trees come after it.

    Args:
        trees: the trees.
        rng: the randomness.
        options: as for one tree; a number of records is of all trees together, shared out in
            proportion to their counts.
        per_chunk: the most records of a chunk.

    Raises:
        ModelError: the trees cannot be combined, see `common_schema`, or count no records.
        OptionError: see `generate_chunks`.
    """
    options = options or GenerationOptions()
    schema = common_schema(trees)
    streams = rng.spawn(len(trees))
    for tree, stream, one in zip(trees, streams, _each(trees, options), strict=True):
        if one is not None:
            for chunk in generate_chunks(tree, stream, one, per_chunk):
                yield _in_schema(chunk, schema)


def together(tables: Sequence[MixedTable]) -> MixedTable:
    """Return the records of tables with the same columns, one after the other.

    Raises:
        ModelError: there are no tables.
    """
    if not tables:
        raise ModelError("There are no tables to put together.", where="tables")
    columns: list[Column] = []
    for name in tables[0].names:
        parts = [table[name] for table in tables]
        categorical = [part for part in parts if isinstance(part, CategoricalColumn)]
        if categorical:
            codes = np.concatenate([part.codes for part in categorical])
            columns.append(CategoricalColumn(name, codes, categorical[0].categories))
        else:
            numbers = [part.values for part in parts if isinstance(part, NumericColumn)]
            columns.append(NumericColumn(name, np.concatenate(numbers)))
    return MixedTable(tuple(columns), sum(table.records for table in tables))


def _each(
    trees: Sequence[SharedTree], options: GenerationOptions
) -> list[GenerationOptions | None]:
    """Return the options of each tree; None where it gives no record."""
    if options.records is None:
        return [options] * len(trees)
    counts = np.array([tree.records for tree in trees])
    if not counts.sum():
        counts = np.ones(len(trees))
    sizes = shared_out(counts, options.records)
    return [replace(options, records=int(size)) if size else None for size in sizes]


def _in_schema(table: MixedTable, schema: TreeSchema) -> MixedTable:
    attributes = schema.read(table)
    target = coded_as(table[schema.target.name], schema.target.categories, "tree")
    return MixedTable((*attributes.columns, target), table.records)


def labelled_chunks(
    votes: VotesModel,
    rng: np.random.Generator,
    options: GenerationOptions | None = None,
    per_chunk: int = RECORDS_AT_ONCE,
) -> Iterator[MixedTable]:
    """Return pseudo-data of trees in chunks, each record with its likeliest class by their votes.

    A tree knows little of a region where its owner has few records; the votes know what all of them
    know. A model learned from such records is the votes in another form (cf. Craven and Shavlik
    1996). Arguments and errors are as those of `pooled_chunks`.
    """
    target = votes.schema.target
    for chunk in pooled_chunks(votes.trees, rng.spawn(1)[0], options, per_chunk):
        attributes = chunk.project(votes.schema.names)
        column = CategoricalColumn(target.name, votes.predict(attributes), target.categories)
        yield MixedTable((*attributes.columns, column), chunk.records)
