"""Randomization of a frame by the owner's keyed draws.

Record ids are read as in the owner's agent, so pseudonyms are the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from owner_agent.randomize.draws import draw_id, pseudonyms
from owner_agent.randomize.reports import randomize as draw
from owner_agent.table.encode import record_id_problems
from pramana.frames.codes import encode
from pramana.frames.sentences import checked_options, one_sentence
from pramana.frames.tables import Frame, as_frame, names_of, shown
from pramana.owner.keys import Keys
from pramana.reporting.disclosure import BlockDraw
from pramana.reporting.reports import PSEUDONYM, Reports, require_plan
from pramana_core.alike import did_you_mean, first_few
from pramana_core.cells import series_cells
from pramana_core.determined import PairCounts
from pramana_core.errors import (
    KeyFileError,
    MissingColumn,
    OptionError,
    TableError,
    UnprotectedVariable,
)
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd

RecordId: TypeAlias = Any
"""The name of a column or of the index, or the ids themselves."""


def record_ids(table: pd.DataFrame, record_id: RecordId) -> list[str]:
    """Return the ids of a table's rows as text, none empty or repeated; see `pm.randomize`.

    Raises TableError, DuplicateRecordId, MissingColumn.
    """
    if record_id is None:
        columns = first_few(map(repr, table.columns))
        raise TableError(
            "record_id is missing, but the draws depend on it; pass as record_id the name of a"
            f" column ({columns}) or the ids themselves, such as frame.index.",
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
        f"record_id names a column {name!r} that frame"
        f" lacks{did_you_mean([name], map(str, table.columns))}; it has {list(table.columns)}.",
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
            f"record_id must have {len(table):,} ids, one per row, not {len(values):,}.",
            where="record_id",
        )
    if isinstance(values, pd.Series) and not values.index.equals(table.index):
        raise TableError(
            "record_id is a series whose index differs from that of frame, so that ids cannot be"
            " matched to rows; pass a column's name, or series.to_numpy() if the rows are in the"
            " same order.",
            where="record_id",
        )
    return values


_STUDY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The pattern of study names (`pramana_core.wire.base.Name`)."""


@checked_options
def randomize(
    frame: Frame,
    plan: Plan,
    keys: Keys | None = None,
    *,
    record_id: RecordId = None,
    study: str = "study",
    reveals: Collection[str] = (),
) -> Reports:
    """Turn an owner's true records into reports by randomizing them under a plan.

    The draw of a record is a function of the keys, the study, the record's id and its true values.
    So the same call gives a record the same report, whatever the order of the rows and whatever the
    other records are (Ma 5.2.2). `owner-agent publish` sends the same reports for the same keys,
    study, plan and records.

    Args:
        frame: the true records, n rows, with a column for each variable of the plan.
        plan: the channel of each variable; public variables are reported unchanged.
        keys: the owner's keys.
        record_id: the name of the column or index of record ids; or n ids, as an index, an array, a
            list, or a series with the frame's index. Ids are text in Unicode NFKC, without
            surrounding spaces and format characters. The number 7, the text "7" and 7.0 are one id.
        study: the name of the study: letters, digits and `. _ -`, at most 64 characters. Reports of
            two studies do not show which records are the same.
        reveals: public columns that may be reported although they reveal randomized ones.

    Returns:
        the reports, in the order of their pseudonyms, which hides the order of the rows.

    Raises:
        KeyFileError: `keys` is missing.
        TableError, DuplicateRecordId: ids are missing, empty, or repeated.
        PlanError, OptionError: `plan` is not a plan, or `study` not a valid name.
        TableError, MissingColumn, UnknownCategory: the frame does not fit the plan.
        UnprotectedVariable: a public column that `reveals` does not name predicts the value of a
            randomized column for more than 99 % of the records.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> plan = pm.plan(pm.domain(people, pm.observed_categories(people)), p=0.2)
        >>> keys = pm.Keys.for_experiments(1)
        >>> reports = pm.randomize(people, plan, keys, record_id="person")
        >>> reports
        Reports(4,526 records of department, sex, admitted; whole record: gamma 320, epsilon 5.769)
        >>> again = pm.randomize(people[::-1], plan, keys, record_id="person")
        >>> again.digest == reports.digest
        True
    """
    require_plan(plan)
    if not isinstance(keys, Keys):
        raise KeyFileError(
            f'keys must be the owner\'s Keys, not {shown(keys)}; write pm.Keys.create("keys") once,'
            ' and pm.Keys.open("keys") later.',
            where="keys",
        )
    named: object = study
    if not isinstance(named, str) or not _STUDY.fullmatch(named):
        raise OptionError(
            "study must be a name of letters, digits, '-', '_' and '.' (at most 64), not"
            f" {shown(study)}.",
            where="study",
        )
    table = as_frame(frame, "frame")
    if table.index.name == PSEUDONYM:
        raise TableError(
            "frame has the index 'pseudonym', as reports have; pass the true records.",
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
    """Check that no public column reveals a randomized one. Raises UnprotectedVariable."""
    public = [n for b in plan.blocks if b.channel.is_identity for n in b.names]
    given = list(reveals) if isinstance(reveals, set | frozenset) else reveals
    allowed = names_of(given, "reveals")
    hidden = [name for name in plan.domain.names if name not in public]
    givers = [name for name in public if name not in allowed]
    pairs = PairCounts({v.name: v.size for v in plan.domain}, givers, hidden)
    pairs.add(codes)
    for one in pairs.giveaways():
        raise UnprotectedVariable(
            f"Column {one.column!r} of frame would be reported unchanged and reveals {one.of!r}: it"
            f" predicts the value of {one.of!r} for {one.share:.1%} of the records; randomize"
            f" {one.column!r}, omit it from the plan, or pass reveals=[{one.column!r}] if"
            f" {one.of!r} may become public.",
            where=one.column,
        )
