"""Joining owners' masked releases: one table per masked copy, of the records that a job uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from miner_service.alignment.align import AlignedSource, Aligner
from miner_service.alignment.joining import LoadColumns
from miner_service.alignment.ranges import Rows
from pramana_core.mixed import CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.wire.parts import Values
from pramana_core.wire.release_kinds import MaskedTableMessage, TableColumn


@dataclass(frozen=True)
class MaskedRelease:
    """A sealed masked release and its description."""

    source: AlignedSource
    table: MaskedTableMessage

    @property
    def columns(self) -> dict[str, TableColumn]:
        """Its columns by name."""
        return {column.name: column for column in self.table.columns}


def rows_together(
    needed: Sequence[MaskedRelease], variables: Sequence[str], copies: int, load: LoadColumns
) -> list[MixedTable]:
    """Return the copies of records of different people; all releases have the same variables."""
    parts = [_copies_of(release, variables, copies, load, _all_of(release)) for release in needed]
    return [
        MixedTable(
            tuple(_appended([table[name] for table in tables]) for name in variables),
            sum(table.records for table in tables),
        )
        for tables in zip(*parts, strict=True)
    ]


def columns_together(
    releases: Sequence[MaskedRelease],
    needed: Mapping[str, Sequence[str]],
    variables: Sequence[str],
    copies: int,
    aligner: Aligner,
    load: LoadColumns,
) -> list[MixedTable]:
    """Return the masked copies of the records that all releases have, joined by pseudonym.

    `needed` has the variables that each release gives, by its id; columns have the order of
    `variables`.
    """
    sources = [release.source for release in releases]
    places: Sequence[Rows] = [_all_of(release) for release in releases]
    if len({source.keys_digest for source in sources}) > 1:
        places = aligner.common(sources)
    found: list[list[MixedTable]] = []
    for release, rows in zip(releases, places, strict=True):
        if own := needed.get(release.source.release):
            found.append(_copies_of(release, own, copies, load, rows))
    joined = []
    for tables in zip(*found, strict=True):
        whole = tables[0]
        for table in tables[1:]:
            whole = whole.beside(table)
        joined.append(whole.project(variables))
    return joined


def _all_of(release: MaskedRelease) -> slice:
    return slice(0, release.source.records)


def _copies_of(
    release: MaskedRelease,
    variables: Sequence[str],
    copies: int,
    load: LoadColumns,
    rows: Rows,
) -> list[MixedTable]:
    """Return some columns of a release's copies. Where all are told, every copy is the same."""
    described = release.columns
    names = [
        release.table.copy_names(min(copy, release.table.copies)) for copy in range(1, copies + 1)
    ]
    wanted = list(dict.fromkeys(own[name] for own in names for name in variables))
    loaded = load(release.source.release, wanted)
    made: dict[str, Column] = {}
    for own in names:
        for name in variables:
            if own[name] not in made:
                made[own[name]] = _column(described[name], loaded[own[name]][rows])
    records = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    return [MixedTable(tuple(made[own[name]] for name in variables), records) for own in names]


def _column(described: TableColumn, values: Values) -> Column:
    if described.categories is None:
        return NumericColumn(described.name, values)
    return CategoricalColumn(described.name, values, tuple(described.categories))


def _appended(columns: Sequence[Column]) -> Column:
    first = columns[0]
    if isinstance(first, CategoricalColumn):
        codes = [column.codes for column in columns if isinstance(column, CategoricalColumn)]
        return CategoricalColumn(first.name, np.concatenate(codes), first.categories)
    values = [column.values for column in columns if isinstance(column, NumericColumn)]
    return NumericColumn(first.name, np.concatenate(values))
