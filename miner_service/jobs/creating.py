"""Jobs as they are asked for: created as rows, and cancelled.

Also here:

* Pseudo-data as Parquet, drawn again from the released trees and written piece by piece.
* What the releases that a model is learned from tell of one person, over all their owners.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy.orm import Session

from miner_service.intake.study_privacy import told_of
from miner_service.intake.unbounded import unbounded_of
from miner_service.jobs.questions import Predicted, predicted
from miner_service.kinds import kind_of
from miner_service.kinds.base import PreparedJob
from miner_service.services import Services
from miner_service.store import jobs as job_rows
from miner_service.store.people import find_study
from miner_service.store.queue import UNFINISHED, add_line, create_job, finish
from miner_service.store.schema import ReleaseRow
from pramana_core.mixed.table import CategoricalColumn, MixedTable
from pramana_core.privacy import Amplification, told_by
from pramana_core.wire.learning.jobs import Job, JobCreate, JobSpec, read_job_spec
from pramana_core.wire.releases import Alignment
from pramana_core.wire.releases.messages import secrets_differ


def create(services: Services, study: str, body: JobCreate) -> tuple[Job, bool]:
    """Create a job, or find the same one created before; say whether it is to run.

    Raises:
        StructureError, RecordsDoNotAlign, VariablesMissing, Conflict, LimitExceeded: it cannot
            run, or its key belongs to another job.
        QuotaExceeded: too many jobs of the study wait.
    """
    with services.database.read() as session:
        find_study(session, study)
        if body.key is not None:
            known = job_rows.job_by_key(session, study, body.key)
            if known is not None and _same(read_job_spec(known.spec), body.spec):
                return job_rows.job_message(session, known, services.now()), False
        spec, prepared, expected = foreseen(services, session, study, body.spec)
    with services.database.write() as session:
        row, to_run = create_job(
            session,
            study=study,
            key=body.key or _default_key(spec, prepared.alignment),
            default_key=body.key is None,
            spec=spec,
            releases=[source.release for source in prepared.sources],
            most_queued=services.settings.quotas.queued_jobs,
            now=services.now(),
        )
        if to_run:
            expected.note(row)
            if prepared.alignment.secrets == "different" and row.records == "any":
                add_line(session, row, _twice(prepared.alignment), services.now())
            for told in prepared.copied:
                add_line(session, row, f"Warning: {told}", services.now())
        return job_rows.job_message(session, row, services.now()), to_run


def foreseen(
    services: Services, session: Session, study: str, asked: JobSpec
) -> tuple[JobSpec, PreparedJob, Predicted]:
    """Return a job as it would run, on what, and what it would take. Raises as `create` does."""
    prepared = services.prepare(session, study, asked)
    spec = kind_of(asked).settled(asked, prepared)
    return spec, prepared, predicted(session, spec, prepared, services.settings.limits)


def _default_key(spec: JobSpec, alignment: Alignment) -> str:
    """Return the key of a job that names none: equal for equal work on equal data."""
    work = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    content = f"{work}\n{alignment.digest}"
    return "job-" + hashlib.sha256(content.encode()).hexdigest()[:16]


def _same(known: JobSpec, asked: JobSpec) -> bool:
    """Whether a job is the one asked for; what it left to the records was settled as in that."""
    if getattr(asked, "order", 0) is None:
        asked = asked.model_copy(update={"order": getattr(known, "order", None)})
    return known == asked


def _twice(alignment: Alignment) -> str:
    """Say that records that are put together may be of the same people."""
    return (
        f"Warning: {secrets_differ(alignment.secret_groups)} One person has other pseudonyms under"
        " each, so a person whom several owners know counts once for each of them."
    )


def cancel(services: Services, identifier: str) -> Job:
    """Cancel a job; one that is finished stays as it is. Raises NotFound."""
    with services.database.write() as session:
        row = job_rows.find_job(session, identifier)
        if row.state in UNFINISHED:
            finish(session, row, "cancelled", services.now())
        return job_rows.job_message(session, row, services.now())


# Pseudo-data as Parquet, drawn again from the released trees and written piece by piece.


class _Pipe:
    """A file that is only written, and read as it grows."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> int:
        """Take bytes."""
        self._pieces.append(bytes(data))
        return len(self._pieces[-1])

    def flush(self) -> None:
        """Do nothing: there is nothing behind it."""

    def close(self) -> None:
        """Note that nothing more comes."""
        self.closed = True

    def taken(self) -> bytes:
        """Return what was written since it was last asked."""
        found = b"".join(self._pieces)
        self._pieces.clear()
        return found


def parquet_pieces(chunks: Iterator[MixedTable]) -> Iterator[bytes]:
    """Return tables of the same columns as one Parquet file, a row group for each, piece by piece.

    Categories are written as dictionaries. The first chunk is drawn at once, so that what is wrong
    is said before anything is sent.
    """
    first = next(chunks)
    return _pieces(first, chunks)


def _pieces(first: MixedTable, rest: Iterator[MixedTable]) -> Iterator[bytes]:
    pipe = _Pipe()
    table = _arrow(first)
    with pq.ParquetWriter(pa.PythonFile(pipe, mode="w"), table.schema) as writer:
        for one in itertools.chain([table], map(_arrow, rest)):
            writer.write_table(one)
            yield pipe.taken()
    yield pipe.taken()


def _arrow(table: MixedTable) -> pa.Table:
    columns = {}
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            labels = pa.array(list(column.categories), pa.string())
            codes = pa.array(np.asarray(column.codes, dtype=np.int32))
            columns[column.name] = pa.DictionaryArray.from_arrays(codes, labels)
        else:
            columns[column.name] = pa.array(column.values)
    return pa.table(columns)


# What the releases that a model is learned from tell of one person, over all their owners.


def told_to(session: Session, study: str, rows: Sequence[ReleaseRow]) -> Amplification:
    """Return the amplification of one person's whole record, if columns determine each other.

    It is infinite where a release carries no gamma, or no column of them is randomized. Columns
    that are told as they are count in none where others are randomized, as in the study's sums.
    """
    told = [block for row in rows for block in told_of(row)]
    if any(unbounded_of(row) for row in rows) or not any(block.randomized for block in told):
        return Amplification(math.inf)
    apart = find_study(session, study).people == "different"
    return told_by(told, different_people=apart).record.determined
