"""Every experiment of `pramana reproduce` runs once in its quick form, for all tests that read it.

What a run found is kept in the folder of the session, so that pins and verdicts read the same run,
whichever process of pytest-xdist made it.
"""

from __future__ import annotations

import fcntl
import pickle
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.reproduce import run as running
from benchmarks.reproduce.engine import Result, Setting
from benchmarks.reproduce.run import select
from pramana.cli import app
from tests.places import DATA


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
