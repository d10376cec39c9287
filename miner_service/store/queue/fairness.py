"""Whose turn it is: fair between studies, short jobs first within one, and nobody starves.

The study with the fewest running jobs comes first, then the one that was served longest ago.
Within a study a job is passed only by those that were created before it would have ended by its
prediction: a short one soon passes a long one, but not for ever. With several workers the last one
is kept: neither long jobs alone nor one study alone can hold all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from miner_service.store.queue.leases import Lease, lease_to
from miner_service.store.schema import JobRow, StudyRow

LONGEST_WAIT = 600.0
"""For how many seconds at most jobs that were created later may pass a longer one."""


@dataclass(frozen=True)
class Rules:
    """What is reserved: `workers` there are in all, and how many seconds a short job takes."""

    workers: int
    short_seconds: float

    def long(self, predicted: float | None) -> bool:
        """Whether a job is long, or may be."""
        return predicted is None or predicted > self.short_seconds


def claim_next(session: Session, holder: str, rules: Rules, now: datetime) -> Lease | None:
    """Begin the job whose turn it is, if one may begin."""
    row = next_job(session, rules)
    return lease_to(session, row, holder, now) if row is not None else None


def next_job(session: Session, rules: Rules) -> JobRow | None:
    """Return the queued job whose turn it is, if one may begin."""
    running = session.execute(
        select(JobRow.study, JobRow.predicted_seconds).where(JobRow.state == "running")
    ).all()
    keep = rules.workers - 1 if rules.workers > 1 else None
    only_short = keep is not None and sum(rules.long(p) for _, p in running) >= keep
    held: dict[str, int] = {}
    for study, _ in running:
        held[study] = held.get(study, 0) + 1
    alone = keep is None or session.scalar(select(func.count()).select_from(StudyRow)) == 1
    for study in _turns(session, held):
        if not alone and held.get(study, 0) >= (keep or 0):
            continue
        queued = select(JobRow).where(JobRow.state == "queued", JobRow.study == study)
        rows = [
            r
            for r in session.scalars(queued)
            if not only_short or not rules.long(r.predicted_seconds)
        ]
        if rows:
            return min(rows, key=lambda row: _rank(row, rules))
    return None


def _turns(session: Session, held: dict[str, int]) -> list[str]:
    """Return the studies with queued jobs in the order of their turns."""
    waiting = select(JobRow.study).where(JobRow.state == "queued").distinct()
    served = session.execute(
        select(JobRow.study, func.max(JobRow.started), func.min(JobRow.seq))
        .where(JobRow.study.in_(waiting))
        .group_by(JobRow.study)
    ).all()
    never = datetime.min.replace(tzinfo=UTC)

    def turn(one: Any) -> Any:
        study, last, first = one
        return held.get(study, 0), last or never, first

    return [study for study, *_ in sorted(served, key=turn)]


def _rank(row: JobRow, rules: Rules) -> tuple[datetime, int]:
    takes = rules.short_seconds if row.predicted_seconds is None else row.predicted_seconds
    return row.created + timedelta(seconds=min(takes, LONGEST_WAIT)), row.seq
