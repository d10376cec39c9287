"""What simulations say of reports that contradict the log-linear model they are read by."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pramana.cli import app


@pytest.fixture
def parity(tmp_path: Path) -> Path:
    """3,000 records of which c is mostly the parity of the two others."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, (2, 3000))
    c = np.where(rng.random(3000) < 0.8, a ^ b, 1 - (a ^ b))
    path = tmp_path / "parity.csv"
    pd.DataFrame({"a": a, "b": b, "c": c}).to_csv(path, index=False)
    return path


COMMANDS = [
    ("rules", "--min-support", "0.1"),
    ("tree", "--target", "c"),
    ("bayes-net",),
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_simulation_warns_where_more_variables_interact(parity: Path, command: tuple[str, ...]):
    asked = ["simulate", *command, "--table", str(parity), "--p", "0.1", "--runs", "2"]
    shown = CliRunner().invoke(app, [*asked, "--estimator", "log-linear"])
    assert shown.exit_code == 0, shown.output
    told = " ".join(shown.output.split())
    assert "Warning (in 2 of 2 runs): The reports of a, b, c do not fit" in told
    found = CliRunner().invoke(app, [*asked, "--estimator", "log-linear", "--json", "-"])
    fit = json.loads(found.stdout)["lack_of_fit"]
    assert fit["warned"] == 2
    assert all(test["p_value"] < 1e-6 for run in fit["runs"] for test in run)
    # By moments there is no model that could be wrong.
    plain = CliRunner().invoke(app, [*asked, "--estimator", "moment", "--json", "-"])
    assert "lack_of_fit" not in json.loads(plain.stdout)
    assert "Warning" not in CliRunner().invoke(app, [*asked, "--estimator", "moment"]).output
