"""What the releases that a model is learned from tell of one person, over all their owners."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlalchemy.orm import Session

from miner_service.intake.study_privacy import told_of
from miner_service.intake.unbounded import unbounded_of
from miner_service.store.people import find_study
from miner_service.store.schema import ReleaseRow
from pramana_core.privacy import Amplification, told_by


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
