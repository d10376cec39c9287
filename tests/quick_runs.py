"""Every experiment of `pramana reproduce` runs once in its quick form, for all tests that read it.

What a run found is kept in the folder of the session, so that pins and verdicts read the same run,
whichever process of pytest-xdist made it. Those that take seconds even so are given less to do: the
same code on fewer levels, runs, columns or records.
"""

from __future__ import annotations

import fcntl
import pickle
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name

import pytest
from typer.testing import CliRunner

from benchmarks.reproduce import run as running
from benchmarks.reproduce.engine import Result, Setting
from benchmarks.reproduce.run import select
from pramana.cli import app
from tests.places import DATA

_MA = "benchmarks.reproduce.ma"
_FEW_COLUMNS = {
    "benchmarks.reproduce.frapp:CENSUS": lambda census: (census[0], census[1], *census[4:]),
}
_FEW_RECORDS = {"benchmarks.reproduce.sharkey.figures:QUICK_RECORDS": lambda _: 400}
_FEW_STEPS = {f"{_MA}.classifiers:LinearOptions": lambda options: partial(options, steps=200)}

LESS = {
    "frapp-3": _FEW_COLUMNS,
    "frapp-census": _FEW_COLUMNS,
    "ma-3.4": {
        f"{_MA}.ma_3:KEEP_A": lambda keep: keep[::3],
        f"{_MA}.ma_3:KEEP_B": lambda keep: keep[::3],
        f"{_MA}.ma_3:RECORDS_A": lambda records: records[::2],
    },
    "ma-5.5": {
        f"{_MA}.parameters:RECORDS_5_5": lambda records: records[:2],
        f"{_MA}.parameters:STEP": lambda step: 2 * step,
    },
    "ma-5.8": {
        f"{_MA}.parameters:RECORDS_5_8": lambda records: records[:3],
        f"{_MA}.parameters:RUNS_5_8": lambda _: 4,
    },
    "ma-5.9": {f"{_MA}.structures:LEVELS": lambda levels: levels[::3]},
    "ma-6.1": _FEW_STEPS,
    "ma-6.2": _FEW_STEPS,
    "ma-7.5": {
        # All records, for the verdict that their number decides.
        "benchmarks.reproduce.tables:_QUICK_STEP": lambda _: 1,
        f"{_MA}.itemsets:_levels": lambda _: lambda *_: (0.3, 0.4),
    },
    "masiv-4": {
        f"{_MA}.parameters:SIZES_4": lambda sizes: sizes[:2],
        f"{_MA}.parameters:STEP": lambda step: 3 * step,
    },
    "masiv-5": {
        f"{_MA}.structures:LEVELS": lambda levels: levels[3:],
        f"{_MA}.structures:MORE": lambda records: records // 5,
        f"{_MA}.structures:QUICK_RUNS_MASIV": lambda _: 2,
    },
    "sharkey-5": _FEW_RECORDS,
    "sharkey-6": _FEW_RECORDS,
}
"""What is other than with `--quick` alone, by experiment: a name, and what is made of its value."""


def less(name: str, patch: pytest.MonkeyPatch) -> None:
    """Give an experiment less to do."""
    for place, made in LESS.get(name, {}).items():
        patch.setattr(place.replace(":", "."), made(resolve_name(place)))


@dataclass(frozen=True)
class QuickRun:
    """What `pramana reproduce NAME --quick --seed 1` found and wrote.

    Args:
        result: what the experiment returned; its picture is in the folder and not drawn again.
        shares: the shares of the work that it told.
        folder: its files.
        shown: what the command printed at a terminal of 80 columns.
    """

    result: Result
    shares: list[float]
    folder: Path
    shown: str


def quick_run(name: str, kept: Path) -> QuickRun:
    """Return the run of an experiment, which is made if `kept` has none.

    The test is skipped where the public tables that it needs are absent.
    """
    (experiment,) = select([name])
    if not all((DATA / file).is_file() for file in experiment.needs_data):
        pytest.skip("the public tables are not there")
    kept.mkdir(exist_ok=True)
    file = kept / f"{name}.pickle"
    with (kept / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_bytes(pickle.dumps(_made(name, kept / name)))
    found: QuickRun = pickle.loads(file.read_bytes())
    return found


def _made(name: str, folder: Path) -> QuickRun:
    (experiment,) = select([name])
    results: list[Result] = []
    shares: list[float] = []

    def run(setting: Setting) -> Result:
        def told(share: float) -> None:
            shares.append(share)
            setting.progress(share)

        results.append(experiment.run(replace(setting, progress=told)))
        return results[-1]

    data = ["--data", str(DATA)] if experiment.needs_data else []
    arguments = ["reproduce", name, "--quick", "--seed", "1", "--out", str(folder), *data]
    with pytest.MonkeyPatch.context() as patch:
        less(name, patch)
        patch.setattr(running, "select", lambda _names: (replace(experiment, run=run),))
        ended = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    assert ended.exit_code == 0, ended.output
    (result,) = results
    return QuickRun(replace(result, draw=print), shares, folder, ended.stdout)


def kept_by_all(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all processes of this session share, and no other session."""
    base = factory.getbasetemp()
    # Not by the environment, which a session that a test starts has from that test's own.
    return (base.parent if hasattr(config, "workerinput") else base) / "quick-runs"
