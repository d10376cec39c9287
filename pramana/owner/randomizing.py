"""Randomizing a frame: the owner's keyed draws, for one column of record ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from owner_agent.randomize.draws import draw_id, pseudonyms
from owner_agent.randomize.reports import randomize as draw
from pramana.frames.codes import encode
from pramana.frames.tables import Frame, as_frame, shown
from pramana.owner.keys import Keys
from pramana.reporting.reports import Reports, require_plan
from shared.errors import KeyFileError, MissingRecordId
from shared.plan import Plan

if TYPE_CHECKING:
    import pandas as pd


def randomize(
    frame: Frame,
    plan: Plan,
    keys: Keys | None = None,
    *,
    record_id: str | Sequence[str] | pd.Series | pd.Index | None = None,
    study: str = "study",
) -> Reports:
    """Randomize an owner's records under a plan.

    The draw of a record is a function of the key, the study, the record's id, and what is true of
    it: the same record is never randomized twice in different ways, in whatever order the rows
    come.
    """
    require_plan(plan)
    if not isinstance(keys, Keys):
        raise KeyFileError(
            f"keys must be the owner's Keys, not {shown(keys)}: without them the same record would"
            ' be randomized anew each time, which gives it away; write keys=pm.Keys.create("keys")'
            ' once, and keys=pm.Keys.open("keys") from then on.',
            where="keys",
        )
    table = as_frame(frame, "frame")
    ids = _ids(table, record_id)
    codes = encode(table, plan.domain, "frame")
    secrets = keys.secrets
    made = draw(plan, secrets, study, pseudonyms(secrets, study, ids), codes)
    draws = {block.name: draw_id(secrets, study, block) for block in plan.blocks}
    return Reports(plan, made.columns, made.keys, draws)


def _ids(
    table: pd.DataFrame, record_id: str | Sequence[str] | pd.Series | pd.Index | None
) -> list[str]:
    if record_id is None:
        raise MissingRecordId(
            "record_id must name the column that identifies a record, or be the ids themselves,"
            " such as frame.index: draws are keyed by it.",
            where="record_id",
        )
    column = table[record_id] if isinstance(record_id, str) else record_id
    return [str(value).strip() for value in column]
