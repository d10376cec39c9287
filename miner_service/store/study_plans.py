"""Rows of study plans: at most one in a study."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from sqlalchemy.orm import Session

from miner_service.store.schema import StudyPlanRow
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.study_plans import StudyPlanMessage


def find_study_plan(session: Session, study: str) -> StudyPlan | None:
    """Return the plan that a study agreed on, if it has one."""
    row = session.get(StudyPlanRow, study)
    return None if row is None else _read(row.plan)


def store_study_plan(session: Session, study: str, plan: StudyPlan, now: datetime) -> None:
    """Give a study a plan, in place of the one it had."""
    row = session.get(StudyPlanRow, study)
    if row is None:
        row = StudyPlanRow(study=study)
        session.add(row)
    row.digest, row.plan, row.agreed = plan.digest, plan.canonical_json().decode(), now
    session.flush()


def remove_study_plan(session: Session, study: str) -> None:
    """Leave a study without a plan."""
    row = session.get(StudyPlanRow, study)
    if row is not None:
        session.delete(row)
        session.flush()


@lru_cache(maxsize=16)
def _read(text: str) -> StudyPlan:
    """Read a stored plan: thousands of sets, asked for at every announcement and every view."""
    return StudyPlanMessage.model_validate_json(text).to_plan()
