"""What simulations say of the log-linear models that reports are read by."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pramana.cli import app
from pramana.simulate.study import Outcome, Series
from pramana_core.marginals.score_interval import LackOfFit


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
    ("rules", "--set", "minimum_support=0.1"),
    ("tree", "--target", "c"),
    ("bayes-net",),
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_simulation_lets_interact_what_is_reported_together(
    parity: Path, command: tuple[str, ...]
):
    asked = ["simulate", *command, "--table", str(parity), "--p", "0.1", "--runs", "2"]
    shown = CliRunner().invoke(app, [*asked, "--estimator", "log-linear"])
    assert shown.exit_code == 0, shown.output
    assert "Warning" not in shown.output
    found = CliRunner().invoke(app, [*asked, "--estimator", "log-linear", "--json"])
    fit = json.loads(found.stdout)["lack_of_fit"]
    assert fit["warned"] == 0
    # All three are reported together, and so all three may interact.
    assert all(test["order"] == 3 for run in fit["runs"] for test in run)
    # By moments there is no model that could be wrong.
    plain = CliRunner().invoke(app, [*asked, "--estimator", "moment", "--json"])
    assert "lack_of_fit" not in json.loads(plain.stdout)
    assert "Warning" not in CliRunner().invoke(app, [*asked, "--estimator", "moment"]).output


def test_reports_that_contradict_their_model_are_warned_of():
    contradicted = LackOfFit(("a", "b", "c"), 2, 40.0, 1.0, 1e-9)
    fits = ((contradicted,), (replace(contradicted, p_value=0.5),))
    found = Outcome(SimpleNamespace(), SimpleNamespace(), Series(()), fits)  # type: ignore[arg-type]
    (warned,) = found.warned
    assert warned.startswith("The reports of a, b, c do not fit")
