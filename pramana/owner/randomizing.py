"""Randomizing a frame: the owner's keyed draws, for one column of record ids."""

from __future__ import annotations

import hashlib
import re

from owner_agent.randomize.draws import draw_id, pseudonyms
from owner_agent.randomize.reports import randomize as draw
from pramana.frames.codes import encode
from pramana.frames.sentences import one_sentence, options_told
from pramana.frames.tables import Frame, as_frame, shown
from pramana.owner.keys import Keys
from pramana.owner.record_ids import RecordId, record_ids
from pramana.reporting.reports import PSEUDONYM, Reports, require_plan
from pramana.reporting.tabulating import BlockDraw
from pramana_core.errors import KeyFileError, OptionError, TableError
from pramana_core.plan import Plan
from pramana_core.terminal import progress_bar

_STUDY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a study may be called (`pramana_core.wire.base.Name`)."""


@options_told
def randomize(
    frame: Frame,
    plan: Plan,
    keys: Keys | None = None,
    *,
    record_id: RecordId = None,
    study: str = "study",
) -> Reports:
    """Randomize an owner's records under a plan: the one place where true values become reports.

    The draw of a record is a function of the keys, the study, the record's id and its true values.
    So a record is never randomized twice in different ways: the same call gives the same reports,
    in whatever order the rows come and whoever else is among them (Ma 5.2.2). They are those that
    `owner-agent publish` sends for the same keys, study, plan and records.

    Args:
        frame: the true records, n rows; it has a column for each of the plan's variables, and
            others are left alone.
        plan: how each variable is randomized; public ones are reported as they are.
        keys: the owner's keys.
        record_id: what identifies a record: the name of a column or of the index; a list of such
            names; or n ids, as an index, an array, a list, or a series with the frame's index. Ids
            are text without spaces around it and in Unicode NFC. The number 7 and the text "7" are
            one id, and so is 7.0, since tables with missing cells turn whole numbers to that.
            Several columns are one id as a JSON list of texts.
        study: the study the reports are for: letters, digits and `. _ -`, at most 64. From the
            reports of two studies nobody can tell which records are the same.

    Returns:
        the reports, in the order of their pseudonyms, which hides that of the rows.

    Raises:
        KeyFileError: no keys.
        MissingRecordId, DuplicateRecordId: ids that are not there, empty, or there twice.
        PlanError, OptionError: `plan` is no plan, `study` no name.
        TableError, MissingColumn, UnknownCategory: the frame does not fit the plan.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> plan = pm.plan(pm.domain(people, pm.observed_categories(people)), p=0.2)
        >>> keys = pm.Keys.for_experiments(1)
        >>> reports = pm.randomize(people, plan, keys, record_id="person")
        >>> reports
        Reports(4,526 records of department, sex, admitted; whole record: gamma 320, epsilon 5.768)
        >>> again = pm.randomize(people[::-1], plan, keys, record_id="person")
        >>> again.digest == reports.digest
        True
    """
    require_plan(plan)
    if not isinstance(keys, Keys):
        raise KeyFileError(
            f"keys must be the owner's Keys, not {shown(keys)}: without them the same record would"
            ' be randomized anew each time, which gives it away; write keys=pm.Keys.create("keys")'
            ' once, and keys=pm.Keys.open("keys") from then on.',
            where="keys",
        )
    _require_study(study)
    table = as_frame(frame, "frame")
    if table.index.name == PSEUDONYM:
        raise TableError(
            "frame holds reports, for its index is called 'pseudonym', and what was randomized is"
            " not randomized again; pass the true records.",
            where="frame",
        )
    ids = record_ids(table, record_id)
    codes = encode(table, plan.domain, "frame")
    secrets = keys.secrets
    with progress_bar("randomizing") as bar:
        known = pseudonyms(secrets, study, ids, bar)
        with one_sentence():
            made = draw(plan, secrets, study, known, codes)
    owner = keys.fingerprints["draw"]
    people = hashlib.sha256(made.keys.tobytes()).hexdigest()
    draws = tuple(BlockDraw(owner, b, draw_id(secrets, study, b), people) for b in plan.blocks)
    return Reports(plan, made.columns, made.keys, draws, study)


def _require_study(study: object) -> None:
    if not isinstance(study, str) or not _STUDY.fullmatch(study):
        raise OptionError(
            "study must be a name of letters, digits, '-', '_' and '.' (at most 64), not"
            f" {shown(study)}.",
            where="study",
        )
