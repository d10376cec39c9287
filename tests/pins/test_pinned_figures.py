"""Pinned: findings, facts and tables of every experiment of `pramana reproduce --quick --seed 1`.

Each is one command, as a person would give it, that draws its picture and tells how far it is; to
those that would take seconds `LESS` of `tests/quick_runs.py` gives less to do. Three whose program
others run too run in `make campaign`. Other tests look closer at the same runs. The public tables
are looked for beside the project, or in the folder that PRAMANA_DATA names.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pramana.cli import app

QUICK = [
    "ma-2.2", "ma-2.3", "ma-3.1", "ma-3.2", "ma-3.3", "ma-5.1", "ma-table-5.2",
    "ma-5.4", "ma-5.7", "ma-6.1", "ma-6.3", "ma-7.3", "ma-7.5", "ma-7.9",
    "frapp-table-3", "frapp-3", "frapp-4",
]  # fmt: skip
SLOW = ["ma-3.4", "ma-5.5", "ma-5.8", "ma-5.9", "ma-5.10", "ma-6.2", "ma-7.4", "ma-7.8",
        "masiv-table-2", "masiv-4", "masiv-5", "frapp-census",
        "sharkey-5", "sharkey-6"]  # fmt: skip
ALIKE = {"ma-5.10": "ma-5.9", "ma-7.4": "ma-7.5", "ma-7.8": "ma-7.9"}
"""Each runs the program of the other, which is quicker, with another table or score."""
NEVER = ["frapp-health"]
"""Their table is not public."""
CHOSEN = [
    "alahmadi-4", "alahmadi-31", "alahmadi-48", "alahmadi-methods",
]  # fmt: skip
"""Their kernels are chosen by leave-one-out errors: where two are as good, another processor's
rounding may choose the other. tests/benchmarks/reproduce/test_alahmadi.py holds what they find."""
SLOWEST = ["sharkey-7"]
"""Even with --quick it takes longer than a test should. tests/benchmarks/reproduce/sharkey
holds how they judge what they find."""

STEP = 1 / 20_000
"""One draw of a distribution function that `ma-5.1 --quick` simulates."""

STEPS = {
    "ma-5.1": {"hinkley_off": 2 * STEP, "normal_off": 2 * STEP},
    "ma-2.2": {"ml": 0.01},
    "ma-3.4": {"kl_bits": 0.02, "kl_bits_se": 0.01},
}
"""Columns that depend on a processor's rounding. The first move by whole draws: estimates that are
equal but for rounding may be one value or two, so that the distances from a distribution function
differ by a step or two. The others are of maximum likelihood: the search ends where little is left
to gain, on each processor at another place of a flat top."""

LONG = 100
"""Of a table of more rows every third is pinned."""


def value(text: str) -> Any:
    """Return an entry of a table as the number it is, if it is one."""
    try:
        return float(text) if text else text
    except ValueError:
        return text


def columns(path: Path) -> dict[str, list[Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    rows = rows[:: 3 if len(rows) > LONG else 1]
    return {name: [value(row[place]) for row in rows] for place, name in enumerate(names)}


def listed() -> list[dict[str, Any]]:
    found = json.loads(CliRunner().invoke(app, ["reproduce", "--json"]).stdout)
    experiments: list[dict[str, Any]] = found["experiments"]
    return experiments


def test_every_experiment_is_pinned():
    assert {e["name"] for e in listed()} == {*QUICK, *SLOW, *NEVER, *CHOSEN, *SLOWEST}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *QUICK,
        *(pytest.param(slow, marks=pytest.mark.calibration) for slow in SLOW if slow not in ALIKE),
        *(pytest.param(slow, marks=pytest.mark.campaign) for slow in ALIKE),
    ],
)
def test_figures(pin, quick, name: str):
    """Numbers of tables within 1e-6: iterations are behind some; findings word for word."""
    run = quick(name)
    found = json.loads((run.folder / f"{name}.json").read_text(encoding="utf-8"))
    tables = {file: columns(run.folder / file) for file in found["files"] if file.endswith(".csv")}
    del found["choices"]  # words about the experiment, not what came out of it
    pin(name, found | {"tables": tables}, rel=1e-6, absolute=1e-9, within=STEPS.get(name))
    assert (run.folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert run.shares == sorted(run.shares)
    assert not run.shares or run.shares[-1] == pytest.approx(1)
