"""Real service processes on free loopback ports, started and always stopped again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from owner_agent.site.mistakes import toml
from pramana.demo.scenario import RECORD_ID, Scenario, SiteTable
from pramana_core.errors import ConfigError, Unreachable

_START_SECONDS = 300.0
_STOP_SECONDS = 10.0


class Processes(ExitStack):
    """The processes of one demonstration; leaving the context stops them all.

    Args:
        logs: a folder; each process writes `<name>.log` there.
    """

    def __init__(self, logs: Path) -> None:
        super().__init__()
        self._logs = logs

    def serve(self, name: str, module: str, *arguments: str) -> str:
        """Start `python -m module arguments --port 0 --ready-file ...`; return its URL once ready.

        Raises:
            Unreachable: it ended, or was not ready in time; its log says why.
        """
        ready = self._logs / f"{name}.ready"
        command = [sys.executable, "-m", module, *arguments]
        command += ["--port", "0", "--ready-file", str(ready)]
        log = self.enter_context((self._logs / f"{name}.log").open("wb"))
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self.callback(_stop, process)
        deadline = time.monotonic() + _START_SECONDS
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                said = (self._logs / f"{name}.log").read_text(errors="replace").strip()
                raise Unreachable(
                    f"The {name} process did not start: {said or 'it said nothing'}",
                    remedy=f"See {self._logs / name}.log.",
                )
            time.sleep(0.02)
        url: str = json.loads(ready.read_text())["url"]
        return url


def run(module: str, *arguments: str) -> None:
    """Run one command of a service to its end.

    Raises:
        Unreachable: it ended with an exit code other than 0.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Unreachable(
            f"`{module.replace('_', '-')} {arguments[0]}` ended with exit code {done.returncode}:"
            f" {done.stderr.strip()}"
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# The demonstration's folder on disk: each owner's table and site file, logs and results.

_MARKER = ".pramana-demo"
_MADE = {
    _MARKER,
    "admin.token",
    "linkage.key",
    "logs",
    "miner",
    "model.bif",
    "report.html",
    "result.json",
    "sites",
}


@dataclass(frozen=True)
class Folder:
    """Where everything of one demonstration lies."""

    root: Path

    @property
    def miner(self) -> Path:
        """The miner's data."""
        return self.root / "miner"

    @property
    def logs(self) -> Path:
        """What the processes say."""
        return self.root / "logs"

    @property
    def report(self) -> Path:
        """The report for people."""
        return self.root / "report.html"

    @property
    def result(self) -> Path:
        """The result for scripts."""
        return self.root / "result.json"

    def site(self, owner: str) -> Path:
        """An owner's folder."""
        return self.root / "sites" / owner

    def invitation(self, owner: str) -> Path:
        """An owner's invitation."""
        return self.site(owner) / "invitation"


def prepare(root: Path) -> Folder:
    """Make an empty demonstration folder, removing only what an earlier demonstration left.

    Raises:
        ConfigError: the folder holds something else.
    """
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        strange = [] if not root.is_dir() else sorted({p.name for p in root.iterdir()} - _MADE)
        if strange or not (root / _MARKER).is_file():
            raise ConfigError(
                f"{root} holds what no demonstration made ({', '.join(strange) or root.name});"
                " nothing in it was touched.",
                where=str(root),
                remedy="Name another folder with --out.",
            )
        shutil.rmtree(root)
    folder = Folder(root)
    folder.logs.mkdir(parents=True)
    (root / _MARKER).touch()
    return folder


def write_site(
    folder: Folder, site: SiteTable, miner: dict[str, Any], rng: np.random.Generator
) -> Path:
    """Write an owner's table, in an order of its own, and its site file; return the latter."""
    home = folder.site(site.owner)
    home.mkdir(parents=True, exist_ok=True)
    order = rng.permutation(len(site.columns[RECORD_ID]))
    table = pd.DataFrame(site.columns, dtype=str).iloc[order]
    table.to_csv(home / "table.csv", index=False, lineterminator="\n")
    path = home / "site.toml"
    content: dict[str, Any] = {
        "owner": site.owner,
        "table": "table.csv",
        "record_id": RECORD_ID,
        "miner": miner,
        "variables": list(site.variables),
    }
    if site.blocks:
        content["blocks"] = list(site.blocks)
    path.write_text(toml(content), encoding="utf-8")
    return path


def owners(scenario: Scenario) -> list[str]:
    """The owners' names, in order."""
    return [site.owner for site in scenario.sites]
