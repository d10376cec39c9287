"""Rows of supervisors: who runs jobs on this database, on whatever machine."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from miner_service.store.schema import SupervisorRow


def register(session: Session, name: str, host: str, workers: int, now: datetime) -> None:
    """Note that a supervisor has begun; the row of its earlier life is replaced."""
    leave(session, name)
    session.add(SupervisorRow(name=name, host=host, workers=workers, started=now, beat=1, seen=now))


def show_up(session: Session, name: str, host: str, workers: int, now: datetime) -> None:
    """Give a supervisor's sign of life, also where others thought it gone."""
    row = session.get(SupervisorRow, name)
    if row is None:
        register(session, name, host, workers, now)
    else:
        row.beat += 1
        row.seen = now


def leave(session: Session, name: str) -> None:
    """Forget a supervisor."""
    session.execute(delete(SupervisorRow).where(SupervisorRow.name == name))


def signs(session: Session) -> dict[str, int]:
    """Return the count of signs of life of each supervisor."""
    found = session.execute(select(SupervisorRow.name, SupervisorRow.beat))
    return {row.name: row.beat for row in found}


def workers_known(session: Session) -> int:
    """Return how many workers all supervisors have together."""
    return int(session.scalar(select(func.coalesce(func.sum(SupervisorRow.workers), 0))) or 0)
