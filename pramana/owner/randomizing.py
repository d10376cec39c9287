"""Randomizing a frame by the owner's keyed draws, or one record by a study's published plan.

Record ids are read as the owner's agent reads them, so that pseudonyms are the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from owner_agent.randomize.draws import draw_id, pseudonyms
from owner_agent.randomize.reports import randomize as draw
from owner_agent.release.single_record import kept_report, permanent_report
from owner_agent.table.encode import record_id_problems
from pramana.frames.codes import encode
from pramana.frames.sentences import one_sentence, options_told
from pramana.frames.tables import Frame, as_frame, names_of, shown
from pramana.owner.keys import Keys
from pramana.reporting.reports import PSEUDONYM, Reports, require_plan
from pramana.reporting.tabulating import BlockDraw
from pramana_core.alike import did_you_mean, first_few
from pramana_core.cells import series_cells
from pramana_core.determined import PairCounts
from pramana_core.errors import (
    BudgetExceeded,
    InputError,
    KeyFileError,
    MissingColumn,
    OptionError,
    PlanError,
    StateError,
    TableError,
    UnprotectedVariable,
)
from pramana_core.learn.prediction import encode_records
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.privacy import record_loss
from pramana_core.terminal import progress_bar
from pramana_core.wire.reports import PublishedPlan

if TYPE_CHECKING:
    import pandas as pd

RecordId: TypeAlias = Any
"""A column's name (or the index's), or the ids themselves."""


def record_ids(table: pd.DataFrame, record_id: RecordId) -> list[str]:
    """Return the ids of a table's rows as text, none empty and none twice.

    Args:
        table: the records.
        record_id: see `pm.randomize`.

    Raises:
        TableError: none were given, or some are empty.
        DuplicateRecordId: some are there twice.
        MissingColumn: there is no such column.
        TableError: they do not fit the table.
    """
    if record_id is None:
        columns = first_few(map(repr, table.columns))
        raise TableError(
            "record_id must say what identifies a record, for the draws are keyed by it and a"
            f" record drawn twice is given away; write record_id= a column ({columns}) or the ids"
            " themselves, such as frame.index.",
            where="record_id",
        )
    named = isinstance(record_id, str | int)
    name = str(record_id) if named else "record_id"
    ids = series_cells(_column(table, name) if named else _given(table, record_id), "record_id")
    with one_sentence("record_id"):
        for problem in record_id_problems(ids, name):
            raise problem
    found: list[str] = ids.to_pylist()
    return found


def _column(table: pd.DataFrame, name: str) -> Any:
    if name in table.columns:
        return table[name]
    if name in table.index.names:
        return table.index.get_level_values(name)
    raise MissingColumn(
        f"record_id names a column {name!r} that frame has"
        f" not{did_you_mean([name], map(str, table.columns))}; it has {list(table.columns)}.",
        where="record_id",
    )


def _given(table: pd.DataFrame, record_id: RecordId) -> Any:
    import pandas as pd

    scalar = isinstance(record_id, str | bytes | dict) or not isinstance(record_id, Iterable)
    if scalar or getattr(record_id, "ndim", 1) != 1 or isinstance(record_id, pd.MultiIndex):
        raise TableError(
            f"record_id must be a column's name, or one id for each row, not {shown(record_id)}.",
            where="record_id",
        )
    values = record_id if hasattr(record_id, "__len__") else list(record_id)
    if len(values) != len(table):
        raise TableError(
            f"record_id must have one id for each of the {len(table):,} rows of frame, not"
            f" {len(values):,}.",
            where="record_id",
        )
    if isinstance(values, pd.Series) and not values.index.equals(table.index):
        raise TableError(
            "record_id is a series whose index is not the one of frame, so that an id might be"
            " another row's; pass a column's name, or series.to_numpy() if the rows are in the"
            " same order.",
            where="record_id",
        )
    return values


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
    reveals: Collection[str] = (),
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
        record_id: what identifies a record: the name of a column or of the index; or n ids, as an
            index, an array, a list, or a series with the frame's index. Ids
            are text in Unicode NFKC, without spaces around it and marks of format. The number 7 and
            the text "7" are one id, and so is 7.0, since tables with missing cells turn whole
            numbers to that.
        study: the study the reports are for: letters, digits and `. _ -`, at most 64. From the
            reports of two studies nobody can tell which records are the same.
        reveals: public columns that may be reported although they give randomized ones away.

    Returns:
        the reports, in the order of their pseudonyms, which hides that of the rows.

    Raises:
        KeyFileError: no keys.
        TableError, DuplicateRecordId: ids that are not there, empty, or there twice.
        PlanError, OptionError: `plan` is no plan, `study` no name.
        TableError, MissingColumn, UnknownCategory: the frame does not fit the plan.
        UnprotectedVariable: a randomized column's value is guessed right for more than 99 % of the
            records from a public column that `reveals` does not name.

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
    _require_hidden(plan, codes, reveals)
    secrets = keys.secrets
    with progress_bar("randomizing") as bar:
        known = pseudonyms(secrets, study, ids, bar)
        with one_sentence():
            made = draw(plan, secrets, study, known, codes)
    owner = keys.fingerprints["draw"]
    people = hashlib.sha256(made.keys.tobytes()).hexdigest()
    draws = tuple(BlockDraw(owner, b, draw_id(secrets, study, b), people) for b in plan.blocks)
    return Reports(plan, made.columns, made.keys, draws, study)


def _require_hidden(plan: Plan, codes: Mapping[str, Codes], reveals: Collection[str]) -> None:
    """Check that no public column gives a randomized one away. Raises UnprotectedVariable."""
    public = [n for b in plan.blocks if b.channel.is_identity for n in b.names]
    given = list(reveals) if isinstance(reveals, set | frozenset) else reveals
    allowed = names_of(given, "reveals")
    hidden = [name for name in plan.domain.names if name not in public]
    givers = [name for name in public if name not in allowed]
    pairs = PairCounts({v.name: v.size for v in plan.domain}, givers, hidden)
    pairs.add(codes)
    for one in pairs.giveaways():
        raise UnprotectedVariable(
            f"Column {one.column!r} of frame would be reported as it is and gives {one.of!r} away:"
            f" from it the value of {one.of!r} is guessed right for {one.share:.1%} of the records;"
            " randomize it, leave it out of the plan, or write"
            f" reveals=[{one.column!r}] if everybody may know.",
            where=one.column,
        )


def _require_study(study: object) -> None:
    if not isinstance(study, str) or not _STUDY.fullmatch(study):
        raise OptionError(
            "study must be a name of letters, digits, '-', '_' and '.' (at most 64), not"
            f" {shown(study)}.",
            where="study",
        )


@options_told
def report(
    record: Mapping[str, Any],
    published: Mapping[str, Any] | str | PathLike[str],
    file: str | PathLike[str],
    *,
    max_gamma: float,
    as_they_are: Collection[str] = (),
) -> dict[str, Any]:
    """Randomize the one record that a person has, by the plan that a study published.

    The first report is the only one: it is kept in the file before it is returned, and every later
    call returns it, whatever the record says by then. So whoever sees all that a person ever sent
    to the study learns no more than one report tells. Randomness is the operating system's.

    Args:
        record: a value of each variable of the plan, by name, as text or a number.
        published: the plan as the miner publishes it (`GET /v1/studies/{study}/reports/plan`): its
            JSON as a dictionary, or a file with it.
        file: where the report is kept, readable by nobody else; its folder must exist. Without
            the file the record would be randomized anew, so keep it as long as the study runs.
        max_gamma: the most that the report may tell: no odds about the record may change by a
            larger factor. It is computed here from the plan itself, and not taken from what the
            plan's sender says.
        as_they_are: the variables that the person agrees to report as they are. No gamma bounds
            what these tell; a plan that does not randomize others too is refused.

    Returns:
        what a gateway is sent: `study`, `plan_digest` and `codes`, one code of each variable.

    Raises:
        PlanError: `published` is no published plan, or was changed on its way.
        BudgetExceeded: the plan tells more than `max_gamma`, or reports a variable as it is that
            is not in `as_they_are`; nothing was drawn.
        StateError: the study takes no more reports, and none is kept; nothing was drawn.
        PlanConflict: the file has a report for another study, or by another plan.
        OptionError: the file cannot be read, or its folder not be written.
        UnknownVariable, InputError, UnknownCategory: the record does not fit the plan.
        KeyFileError: others may read the file.

    Examples:
        >>> import pramana as pm, json, tempfile
        >>> plan = pm.plan(pm.Domain.of(smokes=["no", "yes"], asthma=["no", "yes"]), gamma=3)
        >>> published = {  # what a gateway was given by the miner, and passes on
        ...     "study": "lungs", "owner": "clients", "state": "open", "as_they_are": [],
        ...     "plan_digest": plan.digest, "plan": plan.as_dict(),
        ...     "record": {"epsilon": 2.197, "gamma": 9.0, "grows_to": 0.32},
        ... }
        >>> kept = tempfile.mkdtemp() + "/lungs.json"
        >>> mine = pm.report({"smokes": "no", "asthma": "yes"}, published, kept, max_gamma=9)
        >>> mine == pm.report({"smokes": "yes", "asthma": "yes"}, published, kept, max_gamma=9)
        True
    """
    given: object = max_gamma
    if not isinstance(given, int | float) or not given >= 1:
        raise OptionError(
            f"max_gamma must be a number of at least 1, not {shown(max_gamma)}.", where="max_gamma"
        )
    document = _read(published)
    plan = document.plan.to_plan()
    if plan.digest != document.plan_digest:
        raise PlanError(
            f"The plan's digest is {plan.digest[:12]}..., and {document.plan_digest[:12]}... was"
            " announced: it is not the plan that the study published.",
            where="published",
            remedy="Fetch it again, from whoever runs the study.",
        )
    _require_bounded(plan, max_gamma, as_they_are)
    path = Path(file)
    try:
        made = kept_report(plan, document.study, path)
        if made is None:
            if document.state != "open":
                raise StateError(
                    f"Reports of study {document.study} are {document.state}. Nothing was drawn.",
                    where="published",
                    remedy="Do not answer, or fetch the plan again once reports are taken.",
                )
            made = permanent_report(plan, document.study, _codes(plan, record), path)
    except OSError as error:
        raise OptionError(
            f"The report cannot be kept in {path}: {error.strerror}.",
            where="file",
            remedy="Name a file in a folder that exists and that you may write.",
        ) from None
    return made.model_dump(mode="json")


def _require_bounded(plan: Plan, max_gamma: float, as_they_are: Collection[str]) -> None:
    """Check that a report tells no more than the person agreed to. Raises BudgetExceeded."""
    true = [name for b in plan.blocks if b.channel.is_identity for name in b.names]
    agreed = {as_they_are} if isinstance(as_they_are, str) else set(as_they_are)
    unagreed = [name for name in true if name not in agreed]
    if unagreed and not math.isinf(max_gamma):
        raise BudgetExceeded(
            "By this plan no gamma bounds what a report tells: it has the true"
            f" {', '.join(map(repr, unagreed))}. Nothing was drawn.",
            where=", ".join(unagreed),
            remedy="Answer only if the person agrees to that; then name them in as_they_are.",
        )
    gamma = record_loss(plan).gamma
    if gamma > max_gamma * (1 + 1e-9):
        states = "no gamma bounds" if math.isinf(gamma) else f"gamma {gamma:.4g} is"
        raise BudgetExceeded(
            f"By this plan {states} what a report tells; at most {max_gamma:g} was allowed."
            " Nothing was drawn.",
            where="max_gamma",
            remedy="Answer only if the person agrees to that; then pass max_gamma accordingly.",
        )


def _codes(plan: Plan, record: Mapping[str, Any]) -> dict[str, Codes]:
    """Return a record's true codes. Raises UnknownVariable, InputError, UnknownCategory."""
    if not isinstance(record, Mapping):
        raise InputError(
            f"record must be a dictionary of values by variable, not {shown(record)}.",
            where="record",
        )
    return encode_records(plan.domain, [record])


def _read(published: Mapping[str, Any] | str | PathLike[str]) -> PublishedPlan:
    try:
        if isinstance(published, Mapping):
            return PublishedPlan.model_validate(dict(published))
        return PublishedPlan.model_validate(json.loads(Path(published).read_bytes()))
    except (ValidationError, json.JSONDecodeError, UnicodeDecodeError):
        raise PlanError(
            "published is not a plan as the miner publishes it.",
            where="published",
            remedy="Pass what GET /v1/studies/{study}/reports/plan answered, as it is.",
        ) from None
    except OSError as error:
        raise OptionError(
            f"{published} cannot be read: {error.strerror}.", where="published"
        ) from None
