"""Joining the owners' masked releases into one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from miner_service.alignment.align import AlignedSource, Aligner
from miner_service.alignment.joining import LoadColumns
from miner_service.alignment.ranges import Rows
from pramana_core.mixed import CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.wire.parts import Values
from pramana_core.wire.release_kinds import MaskedTableMessage, TableColumn


@dataclass(frozen=True)
class MaskedRelease:
    """A sealed masked release, and the description of its table."""

    source: AlignedSource
    table: MaskedTableMessage

    @property
    def columns(self) -> dict[str, TableColumn]:
        """The release's columns by name."""
        return {column.name: column for column in self.table.columns}


def rows_together(
    needed: Sequence[MaskedRelease], variables: Sequence[str], load: LoadColumns
) -> MixedTable:
    """Return one table with the records of all releases, for owners with different people.

    All releases must have the same variables.
    """
    tables = [_columns_of(release, variables, load, _all_of(release)) for release in needed]
    return MixedTable(
        tuple(_append([table[name] for table in tables]) for name in variables),
        sum(table.records for table in tables),
    )


def columns_together(
    releases: Sequence[MaskedRelease],
    needed: Mapping[str, Sequence[str]],
    variables: Sequence[str],
    aligner: Aligner,
    load: LoadColumns,
) -> MixedTable:
    """Return one table with the masked records that all releases have, joined by pseudonym.

    `needed` maps the id of each release to the variables taken from it. The columns of the result
    are in the order of `variables`.
    """
    sources = [release.source for release in releases]
    places: Sequence[Rows] = [_all_of(release) for release in releases]
    if len({source.keys_digest for source in sources}) > 1:
        places = aligner.common(sources)
    found = [
        _columns_of(release, own, load, rows)
        for release, rows in zip(releases, places, strict=True)
        if (own := needed.get(release.source.release))
    ]
    return reduce(MixedTable.beside, found).project(variables)


def _all_of(release: MaskedRelease) -> slice:
    return slice(0, release.source.records)


def _columns_of(
    release: MaskedRelease, variables: Sequence[str], load: LoadColumns, rows: Rows
) -> MixedTable:
    described = release.columns
    loaded = load(release.source.release, list(variables))
    records = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    columns = (_column(described[name], loaded[name][rows]) for name in variables)
    return MixedTable(tuple(columns), records)


def _column(described: TableColumn, values: Values) -> Column:
    if described.categories is None:
        return NumericColumn(described.name, values)
    return CategoricalColumn(described.name, values, tuple(described.categories))


def _append(columns: Sequence[Column]) -> Column:
    first = columns[0]
    if isinstance(first, CategoricalColumn):
        codes = [column.codes for column in columns if isinstance(column, CategoricalColumn)]
        return CategoricalColumn(first.name, np.concatenate(codes), first.categories)
    values = [column.values for column in columns if isinstance(column, NumericColumn)]
    return NumericColumn(first.name, np.concatenate(values))
