"""Joining the owners' releases: the records of a job, and the marginals over these records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from miner_service.alignment.align import AlignedSource, Aligner
from miner_service.alignment.coins import require_one_coin
from miner_service.alignment.pieces import PassPlace, RecordSet
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Marginals
from pramana_core.marginals.passes import PartitionedCounts, Pass
from pramana_core.plan import Block, Plan
from pramana_core.progress import Tick, no_cancel
from pramana_core.wire.jobs import CountsSpec
from pramana_core.wire.parts import Values

T = TypeVar("T")

LoadColumns = Callable[[str, Sequence[str]], Mapping[str, Values]]
"""A function that returns the named columns of a sealed release."""


@dataclass(frozen=True)
class PlannedRelease:
    """A sealed release with its plan."""

    source: AlignedSource
    plan: Plan


Needed = Sequence[tuple[PlannedRelease, tuple[Block, ...]]]
"""The releases that a job needs, each with the needed blocks of its plan."""


@dataclass(frozen=True)
class RecordAccess:
    """Functions to align, read and count records, at most `piece_records` of them at a time."""

    aligner: Aligner
    load: LoadColumns
    count: PassPlace
    piece_records: int


def marginals_of(
    spec: CountsSpec,
    releases: Sequence[PlannedRelease],
    needed: Needed,
    access: RecordAccess,
    variables: Sequence[str],
    tick: Tick = no_cancel,
) -> Marginals:
    """Return the marginals over a job's records. Raises RecordsDoNotAlign, DomainError."""
    strata = [
        _stratum(sources, needed, present, records, access, tick)
        for sources, present, records in _record_sets(spec, releases, needed, access.aligner)
    ]
    return EstimatedMarginals.of(
        strata,
        estimator=spec.estimator or "moment",
        order=spec.order,
        variables=variables,
        tick=tick,
    )


Chosen = tuple[Sequence[AlignedSource], tuple[bool, ...] | None, int]
"""A set of records: the sources, flags of the sources with exactly these records, and the count.

Without flags (None), all sources have the same pseudonyms.
"""


def _record_sets(
    spec: CountsSpec, releases: Sequence[PlannedRelease], needed: Needed, aligner: Aligner
) -> list[Chosen]:
    own = [release.source for release, _ in needed]
    # Common records are at all releases in use, not only at the needed ones.
    sources = own if spec.records == "any" else [release.source for release in releases]
    if len({source.keys_digest for source in sources}) == 1:
        return [(own, None, sources[0].records)]
    counts = aligner.together(sources)
    if spec.records == "any":
        names = [source.release for source in sources]
        found = {tuple(name in there for name in names): n for there, n in counts.items()}
        return [(sources, present, found[present]) for present in sorted(found)]
    everywhere = frozenset(source.release for source in sources)
    return [(sources, (True,) * len(sources), counts[everywhere])]


def _stratum(
    sources: Sequence[AlignedSource],
    needed: Needed,
    present: tuple[bool, ...] | None,
    records: int,
    access: RecordAccess,
    tick: Tick,
) -> tuple[PartitionedCounts, Plan]:
    there = present or (True,) * len(sources)
    having = {source.release for source, has in zip(sources, there, strict=True) if has}
    blocks = [
        (release.source, block)
        for release, own in needed
        if release.source.release in having
        for block in own
    ]
    whole = Plan.combine([Plan(tuple(block for _, block in blocks))])
    chosen = RecordSet(
        releases=tuple(source.release for source in sources),
        digests=tuple(source.columns_digest for source in sources),
        columns=tuple(
            tuple(name for owner, block in blocks if owner == source for name in block.names)
            for source in sources
        ),
        sizes=whole.reported_sizes,
        present=present,
    )
    pieces = chosen.pieces(
        [source.records for source in sources], access.aligner.load_keys, access.piece_records
    )

    def run(work: Pass[T], tick: Tick, /) -> T:
        return access.count(chosen, pieces, work, tick)

    reports = PartitionedCounts(whole.reported_sizes, records, run, tick)
    require_one_coin([(source.owner, block) for source, block in blocks], reports, tick)
    return reports, whole
