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
    KeyFileError: [
        (lambda: pm.randomize(FRAME, PLAN), "keys"),
        (randomized(keys="keys"), "keys"),
        (randomized(keys=42), "keys"),
        (twice_in_one_folder, "folder"),
        (open_to_all, "/keys"),
        (lambda: pm.Keys.open("/nowhere/keys"), "folder"),
        (lambda: pm.Keys.create(None), "folder"),
        (lambda: pm.Keys("keys", "here"), "keys"),
        (lambda: pm.Keys.create("/nowhere/keys", linkage="/nowhere/linkage.key"), "linkage"),
        (lambda: pickle.dumps(KEYS), "keys"),
    ],
    PlanError: [
        (lambda: pm.randomize(FRAME, KEYS, PLAN, record_id="person"), "plan"),
        (randomized(plan=PLAN.blocks[0].channel), "plan"),
        (randomized(plan=pm.design(PLANS["mixture"].domain, 1000, gamma=9)), "plan"),
        (lambda: pm.Reports.from_frame(FRAME, None), "plan"),
        (lambda: pm.join(REPORTS, REPORTS), "reports"),
    ],
    MissingRecordId: [
        (lambda: pm.randomize(FRAME, PLAN, KEYS), "record_id"),
        (randomized(record_id=[None, *range(len(FRAME) - 1)]), "record_id"),
    ],
    MissingColumn: [
        (randomized(record_id="patient"), "record_id"),
        (randomized(record_id=["a", "patient"]), "record_id"),
        (randomized(frame=FRAME[["a"]]), "frame"),
        (lambda: pm.Reports.from_frame(FRAME, PLANS["one-hot"]), "frame"),
    ],
    DuplicateRecordId: [
        (randomized(record_id="b"), "b"),
    ],
    TableError: [
        (randomized(record_id=range(5)), "record_id"),
        (randomized(record_id=pd.Series(range(len(FRAME)), index=FRAME.index[::-1])), "record_id"),
        (randomized(record_id=2.5), "record_id"),
        (lambda: pm.join(FRAME, FRAME), "reports 1"),
    ],
    UnknownCategory: [
        (randomized(frame=FRAME.replace({"b": {"3": "4"}})), "b"),
    ],
    OptionError: [
        (randomized(study="my study"), "study"),
        (lambda: pm.Keys.for_experiments("seed"), "seed"),
        (lambda: REPORTS.privacy(prior=5), "prior"),
        (lambda: pm.join(REPORTS, REPORTS, how="inner"), "how"),
        (lambda: pm.join(REPORTS), "reports"),
        (lambda: pm.accountant(1.5), "what"),
        (lambda: pm.accountant(), "what"),
        (lambda: pm.save(PLAN, None), "path"),
        (lambda: pm.save(PLAN, "/nowhere/plan.json"), "path"),
        (lambda: pm.save(pm.plan(pm.Domain.of(sex=["f", "m"]), p=0.1), "/tmp/plan.pkl"), "path"),
        (
            lambda: pm.plan(pm.Domain.of(sex=["f", "m"]), strength=0.1),  # type: ignore[call-arg]
            "strength",
        ),
    ],
    RecordsDoNotAlign: [
        (
            lambda: pm.join(
                REPORTS,
                pm.randomize(FRAME, PLANS["dense"], pm.Keys.for_experiments(3), record_id="person"),
            ),
            "reports",
        ),
    ],
    InputError: [
        (lambda: pm.save(FRAME, "x.json"), "thing"),
    ],
    TableUnreadable: [
        (lambda: pm.load("/nowhere/model.json"), "path"),
        (lambda: pm.load(written(pickle.dumps({"model": 1}))), "path"),
        (lambda: pm.load(written(b"a,b\n1,2\n")), "path"),
        (lambda: pm.load(written(b'{"blocks": [{"variables": []}]}')), "/thing"),
        (lambda: pm.Reports.load(written(Plan.canonical_json(PLAN))), "path"),
    ],
    DomainError: [
        (lambda: pm.design(pm.Domain.of(sex=["f", "m"], town=["A"]), 100, gamma=19), "town"),
        (lambda: pm.domain({"town": ["A", "A"]}, {"town": ["A"]}), "town"),
    ],
}
