"""A shop with customers whose spending is confidential."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from owner_agent.report import masked as reports
from pramana_core.mask.measures import Measures
from tests.owner_agent.release.kinds import KINDS, MASK


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
    return list(KINDS["masked"].rows)


@pytest.fixture
def shop(bench):
    """A site that masks two columns and has joined its study."""
    KINDS["masked"].write(bench)
    return bench


@pytest.fixture
def site_text():
    """The site file of the shop."""
    return MASK


@pytest.fixture
def written():
    """The maker of a table of rows."""
    return KINDS["masked"].table
