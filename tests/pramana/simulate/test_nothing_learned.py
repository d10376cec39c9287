"""What learned nothing says so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pramana.cli import app

NETWORK = """network two {}
variable A { type discrete [ 2 ] { a0, a1 }; }
variable B { type discrete [ 2 ] { b0, b1 }; }
probability ( A ) { table 0.5, 0.5; }
probability ( B | A ) { (a0) 0.9, 0.1; (a1) 0.1, 0.9; }
"""


def run(*asked: str) -> tuple[str, dict[str, object]]:
    """Return what a simulation prints, in one line, and its JSON."""
    results = [CliRunner().invoke(app, ["simulate", *asked, *more]) for more in ((), ("--json",))]
    assert [result.exit_code for result in results] == [0, 0]
    return " ".join(results[0].output.split()), json.loads(results[1].stdout)


@pytest.mark.parametrize(("p", "better"), [("0.05", True), ("0.499", False)])
def test_a_structure_is_compared_with_no_links_at_all(tmp_path: Path, p: str, better: bool):
    (tmp_path / "two.bif").write_text(NETWORK, encoding="utf-8")
    asked = (
        "bayes-net-structure",
        "--bif",
        str(tmp_path / "two.bif"),
        "--p",
        p,
        "--records",
        "1000",
    )
    told, found = run(*asked, "--runs", "2")
    assert "KL without any links, nats" in told
    assert found["better_than_no_links"] is better
    assert ("not closer to the reference than one without links" in told) is not better
    # Of the clean records 0.368 nats are lost without the link: log 2 less the entropy of 0.1.
    assert found["clean"]["mean"]["kl_unlinked"] == pytest.approx(0.368, abs=0.01)


@pytest.mark.parametrize(("p", "better"), [("0.05", True), ("0.499", False)])
def test_a_classifier_is_compared_with_the_most_frequent_class(
    tmp_path: Path, p: str, better: bool
):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 2000)
    y = np.where(rng.random(2000) < 0.8, x, 0)
    pd.DataFrame({"x": x, "y": y}).to_csv(tmp_path / "t.csv", index=False)
    asked = (
        "decision-tree",
        "--table",
        str(tmp_path / "t.csv"),
        "--target",
        "y",
        "--p",
        p,
        "--runs",
        "2",
    )
    told, found = run(*asked)
    assert found["better_than_majority"] is better
    assert found["verdict"] in told
    assert (found["mean"]["gain"] > 2 * found["mean"]["gain_se"]) is better
