"""Owner -> masked release -> HTTP -> regression, with real processes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from owner_agent.release.outbox import reopen
from pramana_core.wire.parts import decode_part
from tests.end_to_end.conftest import Study, mining, outbox_of

pytestmark = pytest.mark.end_to_end

RECORDS = 600

MASK = """
[mask]
confidential = ["expenditure", "debt"]
tell = ["age", { column = "gender", categories = ["f", "m"] }]
method = "egadp"
"""


@pytest.fixture(scope="module")
def learning_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """A miner that runs jobs, for all tests; each has an owner of its own."""
    with mining(tmp_path_factory.mktemp("miner")) as made:
        yield made


@pytest.fixture(scope="module")
def customers() -> str:
    """A table whose expenditure falls with age, and debt with expenditure."""
    rng = np.random.default_rng(7)
    age = rng.integers(20, 61, RECORDS)
    gender = np.where(rng.random(RECORDS) < 0.5, "f", "m")
    expenditure = 400 - 3 * age + 8 * (gender == "m") + 20 * rng.standard_normal(RECORDS)
    debt = 800 - expenditure + 20 * rng.standard_normal(RECORDS)
    rows = (f"c{i},{age[i]},{gender[i]},{expenditure[i]:.4f},{debt[i]:.4f}" for i in range(RECORDS))
    return "\n".join(["id,age,gender,expenditure,debt", *rows]) + "\n"


def _mask(run, site: Path, *words: str):
    said = ["mask", "--publish", "--yes", "--no-report", "--json", "--site", str(site)]
    done = run("owner_agent", *said, *words)
    return done, json.loads(done.stdout)["release"] if done.returncode == 0 else None


def _sent(site: Path, name: str) -> dict[str, np.ndarray]:
    """Return the columns that a release in the outbox holds."""
    prepared = reopen(site.parent / ".pramana" / "outbox", name)
    schema = prepared.manifest.table.schema_of_parts
    numbers = range(len(prepared.manifest.parts))
    parts = [decode_part(schema, prepared.part(number))[1] for number in numbers]
    return {column: np.concatenate([part[column] for part in parts]) for column in schema.sizes}


def _coefficients(columns: dict[str, np.ndarray]) -> np.ndarray:
    ones = np.ones(RECORDS)
    design = np.column_stack([ones, columns["age"], columns["gender"], columns["expenditure"]])
    return np.linalg.lstsq(design, columns["debt"], rcond=None)[0]


def test_a_regression_at_the_miner_is_that_of_the_masked_file(learning_study, customers, run):
    study = learning_study
    site = study.add_owner("shop", customers, MASK)
    _, first = _mask(run, site, "--part-records", "100")
    assert (first["already"], first["parts"], first["records"]) == (False, 6, RECORDS)
    outbox = outbox_of(site)
    before = study.releases()
    _, again = _mask(run, site)
    assert (again["already"], again["name"]) == (True, first["name"])
    assert study.releases() == before
    assert outbox_of(site) == outbox

    spec = {
        "kind": "regression", "target": "debt", "features": ["age", "gender", "expenditure"],
    }  # fmt: skip
    job = study.admin.post("/v1/studies/trial/jobs", {"spec": spec})
    done = study.admin.wait(f"/v1/jobs/{job['id']}")
    model = study.admin.get(f"/v1/models/{done['model']}")
    found = [coefficient["estimate"] for coefficient in model["document"]["coefficients"]]
    masked = _sent(site, first["name"])
    assert found == pytest.approx(_coefficients(masked), rel=1e-9)

    rows = list(csv.DictReader(io.StringIO(customers)))
    true = {
        name: np.array([float(r[name]) for r in rows]) for name in ("age", "expenditure", "debt")
    }
    true["gender"] = np.array([float(r["gender"] == "m") for r in rows])
    assert found == pytest.approx(_coefficients(true), rel=1e-7)
    assert not np.isin(masked["debt"], true["debt"]).any()
