"""What a job will take here: the prediction by its plans, corrected by the jobs this miner has run.

A machine is faster or slower than the one that rates were measured on, and a kind of job may be
predicted too low or too high for the data at hand: the median of what the last jobs of a kind took,
over what was predicted of them, corrects both.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.kinds import kind_of
from miner_service.kinds.common.costs import SEEN, Cost, correction
from miner_service.mining import mining
from miner_service.mining.prepared import PreparedJob
from miner_service.settings import Limits
from miner_service.store.schema import JobRow, ModelRow
from pramana_core.wire.learning.jobs import JobSpec, read_job_spec


@dataclass(frozen=True)
class Predicted:
    """What a job is predicted to take, and by what factor the time was corrected."""

    cost: Cost
    factor: float

    def note(self, row: JobRow) -> None:
        """Write it into the job's row."""
        row.predicted_seconds = self.cost.seconds
        row.predicted_bytes = self.cost.bytes
        row.predicted_factor = self.factor


def predicted(session: Session, spec: JobSpec, prepared: PreparedJob, limits: Limits) -> Predicted:
    """Predict what a job takes. Raises LimitExceeded if that is more than is allowed."""
    factor = correction(_ratios(session, spec))
    return Predicted(mining.require_predicted(spec, prepared, limits, factor), factor)


def _ratios(session: Session, spec: JobSpec) -> list[float]:
    """Return what the last jobs of a kind took over what the plans alone had said."""
    query = (
        select(JobRow)
        .join(ModelRow, ModelRow.job == JobRow.id)
        .where(ModelRow.kind == kind_of(spec).model.name)
        .where(JobRow.predicted_seconds.is_not(None), JobRow.started.is_not(None))
        .order_by(ModelRow.seq.desc())
        .limit(2 * SEEN)
    )
    found = []
    for row in session.scalars(query):
        ran, told = _seconds(row), row.predicted_seconds
        if ran is not None and told and read_job_spec(row.spec).kind == spec.kind:
            found.append(ran * (row.predicted_factor or 1.0) / told)
    return found[:SEEN]


def _seconds(row: JobRow) -> float | None:
    if row.started is None or row.finished is None:
        return None
    return (row.finished - row.started).total_seconds()
