"""A shop with customers whose spending is confidential."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from owner_agent.report import masked as reports
from pramana_core.mask.measures import Measures

SITE = """
owner = "clinic-north"
table = "patients.csv"
record_id = "patient_id"

[miner]
url = "http://127.0.0.1:9"
study = "asia"

[mask]
confidential = ["expenditure", "debt"]
tell = ["age", { column = "gender", categories = ["f", "m"] }]
method = "egadp"
"""


def shop_rows(records: int, seed: int = 5) -> list[str]:
    """Return rows of a table in which debt falls with expenditure, and expenditure with age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 61, records)
    gender = np.where(rng.random(records) < 0.5, "f", "m")
    expenditure = 400 - 3 * age + 20 * rng.standard_normal(records)
    debt = 800 - expenditure + 20 * rng.standard_normal(records)
    return [
        f"C-{i:05d},{age[i]},{gender[i]},{expenditure[i]:.2f},{debt[i]:.2f}" for i in range(records)
    ]


def table_of(rows: list[str]) -> str:
    """Return the CSV file of some rows."""
    return "\n".join(["patient_id,age,gender,expenditure,debt", *rows]) + "\n"


@pytest.fixture(scope="module")
def measures() -> dict[bytes, Measures]:
    """What was measured of tables that were masked by the tests of a module."""
    return {}


@pytest.fixture
def measured_once(measures: dict[bytes, Measures], monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the measures of the same true and masked values from the test that took them first."""
    measure = reports.measure_all

    def remembered(*tables: Any, **more: Any) -> Measures:
        same = pickle.dumps(tables)
        if same not in measures:
            measures[same] = measure(*tables, **more)
        return measures[same]

    monkeypatch.setattr(reports, "measure_all", remembered)


@pytest.fixture
def rows():
    """120 customers."""
    return shop_rows(120)


@pytest.fixture
def shop(bench, rows):
    """A site that masks two columns and has joined its study."""
    bench.write(SITE, table_of(rows))
    return bench


@pytest.fixture
def site_text():
    """The site file of the shop."""
    return SITE


@pytest.fixture
def written():
    """The maker of a table of rows."""
    return table_of
