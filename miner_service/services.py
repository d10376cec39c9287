"""The parts of a running miner that its functions share, and the input of jobs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from sqlalchemy.orm import Session

from miner_service.alignment.align import AlignedSource, Aligner
from miner_service.alignment.cluster import ClusterPlace
from miner_service.alignment.copies import Copies, ReleaseInUse, Reports
from miner_service.alignment.joining import RecordAccess
from miner_service.alignment.pieces import LocalPlace, PassPlace, PieceReader
from miner_service.kinds import kind_of
from miner_service.kinds.base import PreparedJob, ReleaseContent
from miner_service.settings import Clock, Settings
from miner_service.store import releases as release_rows
from miner_service.store.columns import load_columns, load_keys
from miner_service.store.database import Database, open_key
from miner_service.store.schema import ReleaseRow
from miner_service.store.segments import Segments, open_segments
from miner_service.store.sqlite import open_database
from pramana_core.audit import AUDIT, AuditLog
from pramana_core.opening import require_own_folder
from pramana_core.wire.jobs import JobSpec
from pramana_core.wire.parts import Values
from pramana_core.wire.release_kinds import KINDS, RANDOMIZED, ReleaseKindName
from pramana_core.wire.releases import Alignment, SameReleases


@dataclass(frozen=True)
class Services:
    """The store, the clock and the settings, which all parts of the service share."""

    settings: Settings
    clock: Clock
    database: Database
    segments: Segments
    audit: AuditLog
    key: bytes = field(repr=False)
    aligner: Aligner = field(init=False)
    copies: Copies = field(init=False)
    checking: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(2))
    """Limits how many parts are checked at the same time, because a check needs memory."""
    building: threading.Lock = field(default_factory=threading.Lock)
    """The lock on building a release's columns, which needs much memory."""

    def __post_init__(self) -> None:
        load = self.segments.data_path
        object.__setattr__(self, "aligner", Aligner(lambda release: load_keys(load(release))))
        object.__setattr__(self, "copies", Copies(self.reports))

    def now(self) -> datetime:
        """Return the current time."""
        return self.clock()

    def columns(self, release: str, names: Sequence[str]) -> dict[str, Values]:
        """Return the named columns of a sealed release, memory-mapped."""
        return load_columns(self.segments.data_path(release), names)

    @cached_property
    def access(self) -> RecordAccess:
        """The functions with which jobs read and count records, locally or on the cluster."""
        cluster = self.settings.cluster
        if cluster.scheduler is None:
            place: PassPlace = LocalPlace(PieceReader(self.segments.data_path))
        else:
            place = ClusterPlace(cluster)
        return RecordAccess(self.aligner, self.columns, place, cluster.piece_records)

    def reports(self, release: str, names: Sequence[str]) -> Reports:
        """Return the pseudonyms and the named columns of a sealed release, memory-mapped."""
        path = self.segments.data_path(release)
        return Reports(load_keys(path), load_columns(path, names))

    def verify(self, rows: Iterable[ReleaseRow]) -> None:
        """Compare the files of sealed releases with their digests. Raises StoreCorrupt."""
        for row in (row for row in rows if release_rows.kind_of_release(row).has_records):
            self.segments.verify_data(row.id, str(row.data_sha256))

    def alignment(
        self, session: Session, study: str, kind: ReleaseKindName = RANDOMIZED
    ) -> Alignment:
        """Align the releases in use. Active owners without a release count as missing."""
        names = [one.name for one in KINDS.values()]
        in_use = {name: release_rows.releases_in_use(session, study, name) for name in names}
        sources = [source_of(row) for row in in_use[kind].values()]
        there = {owner for rows in in_use.values() for owner in rows}
        missing = [o for o in release_rows.active_owners(session, study) if o not in there]
        used = {kind} if sources else {name for name in names if in_use[name]}
        no_records = bool(used) and not any(KINDS[name].has_records for name in used)
        found = self.aligner.align(study, sources, missing, no_records=no_records)
        return found.model_copy(update={"same": self.same(session, study, kind)})

    def same(self, session: Session, study: str, kind: ReleaseKindName) -> list[SameReleases]:
        """Return the pairs of equal or nearly equal releases in use, of one kind."""
        rows = release_rows.releases_in_use(session, study, kind).values()
        return self.copies.among(
            [
                ReleaseInUse(
                    row.owner,
                    row.id,
                    row.content_digest,
                    row.data_sha256,
                    row.records,
                    _columns(row),
                )
                for row in rows
            ]
        )

    def prepare(self, session: Session, study: str, spec: JobSpec) -> PreparedJob:
        """Check that a job can run on the releases in use. Raises the errors of the job's kind."""
        kind = kind_of(spec)
        rows = release_rows.releases_in_use(session, study, kind.release_kind)
        prepared: PreparedJob = kind.prepare(
            spec,
            [release_content(row) for row in rows.values()],
            self.alignment(session, study, kind.release_kind),
            self.settings.limits,
            self.aligner,
        )
        return prepared


def open_services(settings: Settings, clock: Clock, *, begin: bool = True) -> Services:
    """Open a store; with `begin`, create or upgrade it.

    Raises StoreCorrupt, NotReady, StorageFull, KeyFileError.
    """
    folder = settings.data_dir
    require_own_folder(folder)
    database = open_database(settings, begin=begin)
    return Services(
        settings=settings,
        clock=clock,
        database=database,
        segments=open_segments(settings),
        audit=AuditLog(folder / AUDIT, clock),
        key=open_key(database),
    )


def source_of(row: ReleaseRow) -> AlignedSource:
    """Return a sealed release as a source of records."""
    return AlignedSource(
        row.owner,
        row.id,
        row.digest,
        row.keys_digest,
        row.records,
        row.linkage,
        row.data_sha256,
    )


@release_rows.cached_by_content
def _columns(row: ReleaseRow) -> tuple[str, ...]:
    kind = release_rows.kind_of_release(row)
    return tuple(kind.schema_of(release_rows.content_of(row)).sizes) if kind.has_records else ()


def release_content(row: ReleaseRow) -> ReleaseContent:
    """Return a sealed release as a source of records, with its content."""
    return source_of(row), release_rows.content_of(row)
