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
from tests.pramana.face.mistakes import Mistakes
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


MISTAKES: Mistakes = {
    KeyFileError: {
        "randomizing without keys": (
            lambda: pm.randomize(FRAME, PLAN),
            'keys … None … pm.Keys.create("keys") … gives it away',
        ),
        "keys as the name of their folder": (
            randomized(keys="keys"),
            "keys must be … 'keys' (str)",
        ),
        "keys as a seed": (randomized(keys=42), "keys must be the owner's Keys … 42"),
        "keys made twice in one folder": (
            twice_in_one_folder,
            "folder … holds keys already … pm.Keys.open(",
        ),
        "keys in a folder that others may read": (open_to_all, "0755 … chmod 700"),
        "opening keys that were never made": (
            lambda: pm.Keys.open("/nowhere/keys"),
            "'/nowhere/keys' … pm.Keys.create(",
        ),
        "making keys without a folder": (
            lambda: pm.Keys.create(None),
            "folder must be the name of a folder … None",
        ),
        "keys called with a folder": (
            lambda: pm.Keys("keys", "here"),
            "'keys' (str) … pm.Keys.create(folder)",
        ),
        "a linkage secret that is not there": (
            lambda: pm.Keys.create("/nowhere/keys", linkage="/nowhere/linkage.key"),
            "linkage … '/nowhere/linkage.key' … export_linkage",
        ),
        "pickling keys": (lambda: pickle.dumps(KEYS), "keys … pm.Keys.open"),
    },
    PlanError: {
        "keys before the plan": (
            lambda: pm.randomize(FRAME, KEYS, PLAN, record_id="person"),
            "plan must be a Plan … a Keys",
        ),
        "a channel in a plan's place": (
            randomized(plan=PLAN.blocks[0].channel),
            "plan must be a Plan … Symmetric",
        ),
        "a design in its plan's place": (
            randomized(plan=pm.design(PLANS["mixture"].domain, 1000, gamma=9)),
            "plan must be a Plan … a Design … write design.plan",
        ),
        "reports of a frame without its plan": (
            lambda: pm.Reports.from_frame(FRAME, None),
            "plan must be a Plan, not None",
        ),
        "joining reports with themselves": (
            lambda: pm.join(REPORTS, REPORTS),
            "'b' is in two … pm.estimate",
        ),
    },
    MissingRecordId: {
        "randomizing without ids": (
            lambda: pm.randomize(FRAME, PLAN, KEYS),
            "record_id … frame.index … given away",
        ),
        "ids that are missing in a row": (
            randomized(record_id=[None, *range(len(FRAME) - 1)]),
            "record_id … empty in 1 row (row 1)",
        ),
    },
    MissingColumn: {
        "ids in a column that is not there": (
            randomized(record_id="patient"),
            "record_id … 'patient' … 'a', 'b', 'c'",
        ),
        "a frame without one of the plan's columns": (
            randomized(frame=FRAME[["a"]]),
            "frame … 'b' … 'a'",
        ),
        "reports of a frame of another plan": (
            lambda: pm.Reports.from_frame(FRAME, PLANS["one-hot"]),
            "frame has no column 'b=1' … ['a', 'b', 'c', 'd']",
        ),
    },
    DuplicateRecordId: {
        "a column with repeated values as ids": (
            randomized(record_id="b"),
            "record_id … 'b' … 3 ids more than once … keep one row",
        )
    },
    TableError: {
        "ids of another table": (
            randomized(record_id=range(5)),
            "record_id must have one id for each of the 50 rows … not 5",
        ),
        "ids in a series of another order": (
            randomized(record_id=pd.Series(range(len(FRAME)), index=FRAME.index[::-1])),
            "record_id is a series whose index is not … series.to_numpy()",
        ),
        "a number as ids": (randomized(record_id=2.5), "record_id must be … 2.5 (float)"),
        "joining frames": (
            lambda: pm.join(FRAME, FRAME),
            "reports 1 must be Reports … a DataFrame",
        ),
    },
    UnknownCategory: {
        "a frame with other categories": (
            randomized(frame=FRAME.replace({"b": {"3": "4"}})),
            "'b' … '4' … '1', '2', '3'",
        )
    },
    OptionError: {
        "a study's name with spaces": (
            randomized(study="my study"),
            "study must be a name … 'my study'",
        ),
        "a seed that is text": (
            lambda: pm.Keys.for_experiments("seed"),
            "seed must be a whole number … 'seed' (str)",
        ),
        "a belief of five per cent as 5": (
            lambda: REPORTS.privacy(prior=5),
            "prior must be a number above 0 and below 1 … 5",
        ),
        "joining in pandas' words": (
            lambda: pm.join(REPORTS, REPORTS, how="inner"),
            "how must be 'identical', 'common' or 'any' … 'inner'",
        ),
        "joining one owner's reports": (lambda: pm.join(REPORTS), "two owners or more … 1"),
        "an account of a number": (
            lambda: pm.accountant(1.5),
            "what must be reports, plans … 1.5 (float)",
        ),
        "an account of nothing": (lambda: pm.accountant(), "what … nothing"),
        "saving to no name": (
            lambda: pm.save(PLAN, None),
            "path must be the name of a file … None",
        ),
        "saving where there is no folder": (
            lambda: pm.save(PLAN, "/nowhere/plan.json"),
            "path '/nowhere/plan.json' cannot be written … No such file",
        ),
        "a plan saved as a pickle": (
            lambda: pm.save(pm.plan(pm.Domain.of(sex=["f", "m"]), p=0.1), "/tmp/plan.pkl"),
            "'/tmp/plan.pkl' … no … pickle … plan.json",
        ),
        "a plan of more than it takes": (
            lambda: pm.plan(pm.Domain.of(sex=["f", "m"]), strength=0.1),  # type: ignore[call-arg]
            "plan has no option 'strength' … gamma … epsilon",
        ),
    },
    RecordsDoNotAlign: {
        "joining other people": (
            lambda: pm.join(
                REPORTS,
                pm.randomize(FRAME, PLANS["dense"], pm.Keys.for_experiments(3), record_id="person"),
            ),
            "0 records in common, of 100 … linkage secret",
        )
    },
    InputError: {"saving a frame": (lambda: pm.save(FRAME, "x.json"), "thing … a DataFrame")},
    TableUnreadable: {
        "loading what is not there": (
            lambda: pm.load("/nowhere/model.json"),
            "path '/nowhere/model.json' … must be a file that exists",
        ),
        "loading a pickled model": (
            lambda: pm.load(written(pickle.dumps({"model": 1}))),
            "path … pickle … pm.save",
        ),
        "loading a table as a model": (
            lambda: pm.load(written(b"a,b\n1,2\n")),
            "path … neither JSON nor Parquet",
        ),
        "loading a plan with half of it gone": (
            lambda: pm.load(written(b'{"blocks": [{"variables": []}]}')),
            "path … blocks.0",
        ),
        "loading reports from a plan's file": (
            lambda: pm.Reports.load(written(Plan.canonical_json(PLAN))),
            "path … Reports.save",
        ),
    },
    DomainError: {
        "a design of a column that is the same for everybody": (
            lambda: pm.design(pm.Domain.of(sex=["f", "m"], town=["A"]), 100, gamma=19),
            "'town' … one category … leave out",
        ),
        "a list of categories with one": (
            lambda: pm.domain({"town": ["A", "A"]}, {"town": ["A"]}),
            "'town' … one category … leave out",
        ),
    },
}
