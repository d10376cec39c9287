"""The demonstration's folder on disk: each owner's table and site file, logs and results."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from owner_agent.site.mistakes import toml
from pramana.demo.scenario import RECORD_ID, Scenario, SiteTable
from pramana_core.errors import ConfigError

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
