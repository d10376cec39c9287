"""Jobs on masked records, which learn from one table per masked copy, as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from miner_service.alignment.align import Aligner, LoadColumns, require_aligned
from miner_service.alignment.mixing import MaskedRelease, columns_together, rows_together
from miner_service.kinds import TableJobKind
from miner_service.kinds.common.base import MaskedSource, MaskedTables, TableExtent
from miner_service.kinds.common.costs import Less, Work
from miner_service.mining.prepared import (
    Held,
    Learned,
    PreparedJob,
    require_one_owner,
    said_of_copies,
)
from miner_service.settings import Limits
from pramana_core.errors import Conflict, DomainError, VariablesMissing
from pramana_core.progress import Progress
from pramana_core.wire.learning.learners import RecordsSpec
from pramana_core.wire.releases import Alignment
from pramana_core.wire.releases.masked import TableColumn


@dataclass(frozen=True)
class TablesJob(PreparedJob):
    """A job that can run: its variables, the releases in use, and those that have variables.

    `apart` says whether these hold records of different people, to be put one under the other.
    """

    variables: tuple[str, ...]
    releases: tuple[MaskedRelease, ...]
    needed: tuple[MaskedRelease, ...]
    copies: int
    apart: bool
    extent: TableExtent


def prepare(
    spec: RecordsSpec,
    kind: TableJobKind[Any],
    held: Sequence[Held],
    alignment: Alignment,
    limits: Limits,
    aligner: Aligner,
) -> TablesJob:
    """Check that a job can run on releases that hold masked tables.

    Raises:
        OptionError: the specification is wrong in itself.
        VariablesMissing: no masked release is in use, or none has a column that is asked for.
        RecordsDoNotAlign: the owners' records may not be joined as the job asks.
        Conflict: two owners have the same column (with records `any`: of the same record), or not
            the same number of masked copies.
        DomainError: owners describe a column differently.
        LimitExceeded: the job would be too large.
    """
    kind.check(spec)
    releases = tuple(MaskedRelease(source, table) for source, table in held)
    if not releases and not alignment.missing:
        raise VariablesMissing(
            f"No masked release is in use in study {alignment.study}; this job learns from such"
            " releases alone.",
            where="kind",
            remedy="Let an owner publish one with `owner-agent mask`.",
        )
    require_aligned(alignment, spec.records)
    described = _described(releases)
    variables = kind.variables(spec, list(described.values()))
    _require_released(variables, described)
    needed = tuple(r for r in releases if set(variables) & set(r.columns))
    copies = _copies(needed, variables)
    apart = spec.records == "any"
    if apart:
        _require_whole(variables, needed)
        _require_different_people(needed, aligner, alignment)
    else:
        require_one_owner(
            ((name, r.source.owner) for r in needed for name in variables if name in r.columns),
            alignment,
        )
    extent = TableExtent(
        columns=tuple(described[name] for name in variables),
        records=sum(r.source.records for r in needed) if apart else _joined(alignment),
        copies=copies,
    )
    kind.require_affordable(spec, extent, limits)
    sources = tuple(r.source for r in releases)
    return TablesJob(sources, alignment, variables, releases, needed, copies, apart, extent)


def work(spec: RecordsSpec, kind: TableJobKind[Any], prepared: TablesJob) -> Work:
    """Return how much work a specification is on the tables of a job that can run."""
    return kind.work(spec, prepared.extent)


def less(
    spec: RecordsSpec, kind: TableJobKind[Any], prepared: TablesJob
) -> Iterable[Less[RecordsSpec]]:
    """Return the ways to ask for less."""
    return kind.less(spec, prepared.extent)


def learn(
    spec: RecordsSpec,
    kind: TableJobKind[Any],
    prepared: TablesJob,
    aligner: Aligner,
    load: LoadColumns,
    on_step: Progress,
) -> Learned:
    """Put a job's tables together and learn its model from them.

    Raises:
        TableError, EstimationError, LimitExceeded: the data cannot support it.
    """
    if prepared.apart:
        tables = rows_together(prepared.needed, prepared.variables, prepared.copies, load)
    else:
        given = {
            release.source.release: [n for n in prepared.variables if n in release.columns]
            for release in prepared.needed
        }
        tables = columns_together(
            prepared.releases, given, prepared.variables, prepared.copies, aligner, load
        )
    sources = [MaskedSource(r.source.owner, r.source.release, r.table) for r in prepared.needed]
    content = kind.learn(spec, MaskedTables(tables, sources), on_step)
    return Learned(tables[0].records, content)


def _joined(alignment: Alignment) -> int:
    return alignment.in_all or 0


def _described(releases: Sequence[MaskedRelease]) -> dict[str, TableColumn]:
    """Return all columns by name; one that is masked anywhere is a masked one."""
    found: dict[str, TableColumn] = {}
    for release in releases:
        for name, column in release.columns.items():
            known = found.get(name)
            if known is None or column.role == "masked":
                found[name] = column
    return found


def _require_released(variables: Collection[str], released: Collection[str]) -> None:
    if missing := sorted(set(variables) - set(released)):
        raise VariablesMissing(
            f"No masked release in use has {missing}.",
            where=", ".join(missing),
            remedy=f"The columns released are {sorted(released)}.",
        )


def _copies(needed: Sequence[MaskedRelease], variables: Collection[str]) -> int:
    """Return how many copies the masked variables have, the same at all owners."""
    copies = {
        release.source.owner: release.table.copies
        for release in needed
        if set(variables) & set(release.table.masked)
    }
    if len(set(copies.values())) > 1:
        told = ", ".join(f"{owner} {count}" for owner, count in sorted(copies.items()))
        raise Conflict(
            f"The owners released different numbers of masked copies ({told}).",
            where=", ".join(sorted(copies)),
            remedy="Copies are used together, the first with the first: let all owners release as"
            " many, or choose columns of one of them.",
        )
    return next(iter(copies.values()), 1)


def _require_whole(variables: Sequence[str], needed: Sequence[MaskedRelease]) -> None:
    """Check that each release has every variable, described alike."""
    first = needed[0].columns
    for release in needed:
        own = release.columns
        if absent := sorted(set(variables) - set(own)):
            raise VariablesMissing(
                f"The masked release of {release.source.owner} has no columns {absent}; with"
                ' `"records": "any"` every owner must have all of them.',
                where=", ".join(absent),
                remedy='Choose columns that all have, or `"records": "identical"` or `"common"` if'
                " the owners know the same people.",
            )
        for name in variables:
            form = [(c[name].type, c[name].categories) for c in (own, first)]
            if form[0] != form[1]:
                raise DomainError(
                    f"{release.source.owner} and {needed[0].source.owner} describe column {name!r}"
                    " differently: its type, or its categories and their order.",
                    where=name,
                    remedy="Let both release it with the same categories in the same order.",
                )


def _require_different_people(
    needed: Sequence[MaskedRelease], aligner: Aligner, alignment: Alignment
) -> None:
    if len(needed) > 1 and not aligner.different_people([[r.source] for r in needed]):
        owners = sorted(r.source.owner for r in needed)
        raise Conflict(
            f"Some records are at several of {owners}; put together they would count twice."
            f"{said_of_copies(alignment)}",
            where=", ".join(owners),
            remedy='With `"records": "any"` the owners must know different people.',
        )
