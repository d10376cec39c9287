"""The demonstration's folder on disk: each owner's table and site file, logs and results."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pramana.demo.scenario import RECORD_ID, Scenario, SiteTable
from shared.errors import ConfigError

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
    path.write_text(_site_file(site, miner), encoding="utf-8")
    return path


def _site_file(site: SiteTable, miner: dict[str, Any]) -> str:
    lines = [
        f"owner = {_toml(site.owner)}",
        'table = "table.csv"',
        f"record_id = {_toml(RECORD_ID)}",
        "",
        "[miner]",
        *(f"{key} = {_toml(value)}" for key, value in miner.items()),
    ]
    for section, entries in (("variables", site.variables), ("blocks", site.blocks)):
        for entry in entries:
            lines += ["", f"[[{section}]]", *(f"{k} = {_toml(v)}" for k, v in entry.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    # JSON's strings, numbers and booleans are TOML's.
    return json.dumps(value, ensure_ascii=False)


def owners(scenario: Scenario) -> list[str]:
    """The owners' names, in order."""
    return [site.owner for site in scenario.sites]
