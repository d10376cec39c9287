"""A clinic whose diagnoses follow from age and ward, up to some noise."""

from __future__ import annotations

import numpy as np
import pytest

SITE = """
owner = "clinic-north"
table = "patients.csv"
record_id = "patient_id"

[miner]
url = "http://127.0.0.1:9"
study = "asia"

[share_model]
requirement = { k = 10, c = 8, l = 2, by = "growing" }

[share_model.target]
column = "diagnosis"
categories = ["healthy", "flu", "asthma"]

[[share_model.attributes]]
column = "age"
low = 0
high = 100
whole = true

[[share_model.attributes]]
column = "ward"
categories = ["north", "south", "east", "west"]
"""

OLDEST = "97.125"
"""The greatest age of all: it stands in no message and nothing that is printed."""


def clinic_rows(records: int, seed: int = 5) -> list[str]:
    """Return rows of a table in which the old have asthma and the south has the flu."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, records).astype(float)
    age[rng.integers(records)] = float(OLDEST)
    ward = rng.integers(0, 4, records)
    likely = np.where(age > 60, 2, np.where(ward == 1, 1, 0))
    diagnosis = np.where(rng.random(records) < 0.75, likely, rng.integers(0, 3, records))
    wards, classes = ("north", "south", "east", "west"), ("healthy", "flu", "asthma")
    return [
        f"P-{i:05d},{age[i]:g},{wards[ward[i]]},{classes[diagnosis[i]]}" for i in range(records)
    ]


def table_of(rows: list[str]) -> str:
    """Return the CSV file of some rows."""
    return "\n".join(["patient_id,age,ward,diagnosis", *rows]) + "\n"


@pytest.fixture
def rows():
    """300 patients."""
    return clinic_rows(300)


@pytest.fixture
def clinic(bench, rows):
    """A site that shares a tree and has joined its study."""
    bench.write(SITE, table_of(rows))
    return bench


@pytest.fixture
def site_text():
    """The site file of the clinic."""
    return SITE


@pytest.fixture
def private_text(site_text):
    """The site file of the clinic, its tree private."""
    return site_text.replace(
        'requirement = { k = 10, c = 8, l = 2, by = "growing" }', "private = { epsilon = 2 }"
    )


@pytest.fixture
def written():
    """The maker of a table of rows."""
    return table_of
