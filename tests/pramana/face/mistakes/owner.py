"""Mistakes with keys, reports, joins, accounts and files."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import pandas as pd

import pramana as pm
from pramana_core.errors import (
    DomainError,
    DuplicateRecordId,
    InputError,
    KeyFileError,
    MissingColumn,
    MissingRecordId,
    OptionError,
    PlanError,
    RecordsDoNotAlign,
    TableError,
    TableUnreadable,
    UnknownCategory,
)
from pramana_core.plan import Plan
from tests.pramana.face.mistakes import Mistake
from tests.pramana.reporting.plans import PLANS, people, reports_of

KEYS = pm.Keys.for_experiments(1)
PLAN = PLANS["symmetric"]
FRAME = people()
REPORTS = reports_of(PLAN)


def written(content: bytes) -> Path:
    path = Path(tempfile.mkdtemp()) / "thing"
    path.write_bytes(content)
    return path


def randomized(frame=FRAME, plan=PLAN, keys=KEYS, *, record_id="person", study="study"):
    return lambda: pm.randomize(frame, plan, keys, record_id=record_id, study=study)


def twice_in_one_folder() -> None:
    folder = tempfile.mkdtemp() + "/keys"
    pm.Keys.create(folder)
    pm.Keys.create(folder)


def open_to_all() -> None:
    folder = Path(tempfile.mkdtemp()) / "keys"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    pm.Keys.create(folder)


MISTAKES = [
    Mistake(
        "randomizing without keys",
        lambda: pm.randomize(FRAME, PLAN),
        KeyFileError,
        ("keys", "None", 'pm.Keys.create("keys")', "gives it away"),
    ),
    Mistake(
        "keys as the name of their folder",
        randomized(keys="keys"),
        KeyFileError,
        ("keys must be", "'keys' (str)"),
    ),
    Mistake(
        "keys as a seed", randomized(keys=42), KeyFileError, ("keys must be the owner's Keys", "42")
    ),
    Mistake(
        "keys before the plan",
        lambda: pm.randomize(FRAME, KEYS, PLAN, record_id="person"),
        PlanError,
        ("plan must be a Plan", "a Keys"),
    ),
    Mistake(
        "randomizing without ids",
        lambda: pm.randomize(FRAME, PLAN, KEYS),
        MissingRecordId,
        ("record_id", "frame.index", "given away"),
    ),
    Mistake(
        "ids in a column that is not there",
        randomized(record_id="patient"),
        MissingColumn,
        ("record_id", "'patient'", "'a', 'b', 'c'"),
    ),
    Mistake(
        "one of several columns of ids that is not there",
        randomized(record_id=["a", "patient"]),
        MissingColumn,
        ("record_id", "'patient'"),
    ),
    Mistake(
        "a column with repeated values as ids",
        randomized(record_id="b"),
        DuplicateRecordId,
        ("record_id", "'b'", "3 ids more than once", "keep one row"),
    ),
    Mistake(
        "ids of another table",
        randomized(record_id=range(5)),
        TableError,
        ("record_id must have one id for each of the 50 rows", "not 5"),
    ),
    Mistake(
        "ids that are missing in a row",
        randomized(record_id=[None, *range(len(FRAME) - 1)]),
        MissingRecordId,
        ("record_id", "empty in 1 row (row 1)"),
    ),
    Mistake(
        "ids in a series of another order",
        randomized(record_id=pd.Series(range(len(FRAME)), index=FRAME.index[::-1])),
        TableError,
        ("record_id is a series whose index is not", "series.to_numpy()"),
    ),
    Mistake(
        "a number as ids",
        randomized(record_id=2.5),
        TableError,
        ("record_id must be", "2.5 (float)"),
    ),
    Mistake(
        "a frame without one of the plan's columns",
        randomized(frame=FRAME[["a"]]),
        MissingColumn,
        ("frame", "'b'", "'a'"),
    ),
    Mistake(
        "a frame with other categories",
        randomized(frame=FRAME.replace({"b": {"3": "4"}})),
        UnknownCategory,
        ("'b'", "'4'", "'1', '2', '3'"),
    ),
    Mistake(
        "a study's name with spaces",
        randomized(study="my study"),
        OptionError,
        ("study must be a name", "'my study'"),
    ),
    Mistake(
        "a channel in a plan's place",
        randomized(plan=PLAN.blocks[0].channel),
        PlanError,
        ("plan must be a Plan", "Symmetric"),
    ),
    Mistake(
        "a design in its plan's place",
        randomized(plan=pm.design(PLANS["mixture"].domain, 1000, gamma=9)),
        PlanError,
        ("plan must be a Plan", "a Design", "write design.plan"),
    ),
    Mistake(
        "keys made twice in one folder",
        twice_in_one_folder,
        KeyFileError,
        ("folder", "holds keys already", "pm.Keys.open("),
    ),
    Mistake(
        "keys in a folder that others may read", open_to_all, KeyFileError, ("0755", "chmod 700")
    ),
    Mistake(
        "opening keys that were never made",
        lambda: pm.Keys.open("/nowhere/keys"),
        KeyFileError,
        ("'/nowhere/keys'", "pm.Keys.create("),
    ),
    Mistake(
        "making keys without a folder",
        lambda: pm.Keys.create(None),
        KeyFileError,
        ("folder must be the name of a folder", "None"),
    ),
    Mistake(
        "keys called with a folder",
        lambda: pm.Keys("keys", "here"),
        KeyFileError,
        ("'keys' (str)", "pm.Keys.create(folder)"),
    ),
    Mistake(
        "a linkage secret that is not there",
        lambda: pm.Keys.create("/nowhere/keys", linkage="/nowhere/linkage.key"),
        KeyFileError,
        ("linkage", "'/nowhere/linkage.key'", "export_linkage"),
    ),
    Mistake(
        "a seed that is text",
        lambda: pm.Keys.for_experiments("seed"),
        OptionError,
        ("seed must be a whole number", "'seed' (str)"),
    ),
    Mistake("pickling keys", lambda: pickle.dumps(KEYS), KeyFileError, ("keys", "pm.Keys.open")),
    Mistake(
        "reports of a frame without its plan",
        lambda: pm.Reports.from_frame(FRAME, None),
        PlanError,
        ("plan must be a Plan, not None",),
    ),
    Mistake(
        "reports of a frame of another plan",
        lambda: pm.Reports.from_frame(FRAME, PLANS["one-hot"]),
        MissingColumn,
        ("frame has no column 'b=1'", "['a', 'b', 'c', 'd']"),
    ),
    Mistake(
        "a belief of five per cent as 5",
        lambda: REPORTS.privacy(prior=5),
        OptionError,
        ("prior must be a number above 0 and below 1", "5"),
    ),
    Mistake(
        "joining frames",
        lambda: pm.join(FRAME, FRAME),
        TableError,
        ("reports 1 must be Reports", "a DataFrame"),
    ),
    Mistake(
        "joining in pandas' words",
        lambda: pm.join(REPORTS, REPORTS, how="inner"),
        OptionError,
        ("how must be 'identical', 'common' or 'any'", "'inner'"),
    ),
    Mistake(
        "joining reports with themselves",
        lambda: pm.join(REPORTS, REPORTS),
        PlanError,
        ("'b' is in two", "pm.estimate"),
    ),
    Mistake(
        "joining one owner's reports",
        lambda: pm.join(REPORTS),
        OptionError,
        ("two owners or more", "1"),
    ),
    Mistake(
        "joining other people",
        lambda: pm.join(
            REPORTS,
            pm.randomize(FRAME, PLANS["dense"], pm.Keys.for_experiments(3), record_id="person"),
        ),
        RecordsDoNotAlign,
        ("0 records in common, of 100", "linkage secret"),
    ),
    Mistake(
        "an account of a number",
        lambda: pm.accountant(1.5),
        OptionError,
        ("what must be reports, plans", "1.5 (float)"),
    ),
    Mistake("an account of nothing", lambda: pm.accountant(), OptionError, ("what", "nothing")),
    Mistake(
        "saving a frame", lambda: pm.save(FRAME, "x.json"), InputError, ("thing", "a DataFrame")
    ),
    Mistake(
        "saving to no name",
        lambda: pm.save(PLAN, None),
        OptionError,
        ("path must be the name of a file", "None"),
    ),
    Mistake(
        "saving where there is no folder",
        lambda: pm.save(PLAN, "/nowhere/plan.json"),
        OptionError,
        ("path '/nowhere/plan.json' cannot be written", "No such file"),
    ),
    Mistake(
        "loading what is not there",
        lambda: pm.load("/nowhere/model.json"),
        TableUnreadable,
        ("path '/nowhere/model.json'", "must be a file that exists"),
    ),
    Mistake(
        "a plan saved as a pickle",
        lambda: pm.save(pm.plan(pm.Domain.of(sex=["f", "m"]), p=0.1), "/tmp/plan.pkl"),
        OptionError,
        ("'/tmp/plan.pkl'", "no", "pickle", "plan.json"),
    ),
    Mistake(
        "a design of a column that is the same for everybody",
        lambda: pm.design(pm.Domain.of(sex=["f", "m"], town=["A"]), 100, gamma=19),
        DomainError,
        ("'town'", "one category", "leave out"),
    ),
    Mistake(
        "a list of categories with one",
        lambda: pm.domain({"town": ["A", "A"]}, {"town": ["A"]}),
        DomainError,
        ("'town'", "one category", "leave out"),
    ),
    Mistake(
        "a plan of more than it takes",
        lambda: pm.plan(pm.Domain.of(sex=["f", "m"]), strength=0.1),  # type: ignore[call-arg]
        OptionError,
        ("plan has no option 'strength'", "gamma", "epsilon"),
    ),
    Mistake(
        "loading a pickled model",
        lambda: pm.load(written(pickle.dumps({"model": 1}))),
        TableUnreadable,
        ("path", "pickle", "pm.save"),
    ),
    Mistake(
        "loading a table as a model",
        lambda: pm.load(written(b"a,b\n1,2\n")),
        TableUnreadable,
        ("path", "neither JSON nor Parquet"),
    ),
    Mistake(
        "loading a plan with half of it gone",
        lambda: pm.load(written(b'{"blocks": [{"variables": []}]}')),
        TableUnreadable,
        ("path", "blocks.0"),
    ),
    Mistake(
        "loading reports from a plan's file",
        lambda: pm.Reports.load(written(Plan.canonical_json(PLAN))),
        TableUnreadable,
        ("path", "Reports.save"),
    ),
]
