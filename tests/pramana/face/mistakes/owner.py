"""Mistakes with keys, reports, joins, accounts and files."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import pramana as pm
from pramana_core.errors import (
    DomainError,
    DuplicateRecordId,
    EmptyTable,
    InputError,
    KeyFileError,
    MissingColumn,
    OptionError,
    PlanError,
    RecordsDoNotAlign,
    TableError,
    UnknownCategory,
)
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
    (KeyFileError, "keys"): [
        lambda: pm.randomize(FRAME, PLAN),
        randomized(keys="keys"),
    ],
    (KeyFileError, "folder"): [twice_in_one_folder],
    (KeyFileError, None): [open_to_all],
    (KeyFileError, "linkage"): [
        lambda: pm.Keys.create("/nowhere/keys", linkage="/nowhere/linkage.key")
    ],
    (PlanError, "plan"): [
        lambda: pm.randomize(FRAME, KEYS, PLAN, record_id="person"),
        randomized(plan=PLAN.blocks[0].channel),
    ],
    (PlanError, "reports"): [lambda: pm.join(REPORTS, REPORTS)],
    (MissingColumn, "record_id"): [randomized(record_id="patient")],
    (MissingColumn, "frame"): [randomized(frame=FRAME[["a"]])],
    (EmptyTable, "frame"): [randomized(frame=FRAME[:0])],
    (DuplicateRecordId, "b"): [randomized(record_id="b")],
    (TableError, "record_id"): [
        lambda: pm.randomize(FRAME, PLAN, KEYS),
        randomized(record_id=[None, *range(len(FRAME) - 1)]),
    ],
    (TableError, "reports 1"): [lambda: pm.join(FRAME, FRAME)],
    (UnknownCategory, "b"): [randomized(frame=FRAME.replace({"b": {"3": "4"}}))],
    (OptionError, "study"): [randomized(study="my study")],
    (OptionError, "seed"): [lambda: pm.Keys.for_experiments("seed")],
    (OptionError, "prior"): [lambda: REPORTS.privacy(prior=5)],
    (OptionError, "how"): [lambda: pm.join(REPORTS, REPORTS, how="inner")],
    (OptionError, "reports"): [lambda: pm.join(REPORTS)],
    (OptionError, "what"): [lambda: pm.accountant(1.5)],
    (OptionError, "path"): [lambda: pm.save(PLAN, None)],
    (OptionError, "strength"): [lambda: pm.plan(pm.Domain.of(sex=["f", "m"]), strength=0.1)],
    (RecordsDoNotAlign, "reports"): [
        lambda: pm.join(
            REPORTS,
            pm.randomize(FRAME, PLANS["dense"], pm.Keys.for_experiments(3), record_id="person"),
        )
    ],
    (InputError, "thing"): [lambda: pm.save(FRAME, "x.json")],
    (TableError, "path"): [
        lambda: pm.load("/nowhere/model.json"),
        lambda: pm.load(written(pickle.dumps({"model": 1}))),
    ],
    (TableError, None): [lambda: pm.load(written(b'{"blocks": [{"variables": []}]}'))],
    (DomainError, "town"): [
        lambda: pm.design(pm.Domain.of(sex=["f", "m"], town=["A"]), 100, gamma=19),
    ],
}
