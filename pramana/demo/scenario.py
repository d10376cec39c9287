"""The content of a demonstration: sites with tables, a structure to learn, and the true network.

The records are drawn from a known network, and each owner has some of the columns.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from owner_agent.site.writing import toml
from pramana import setups
from pramana_core.csv_text import csv_text
from pramana_core.errors import ConfigError, OptionError
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure

RECORD_ID = "record"
"""The record-id column of the tables."""


@dataclass(frozen=True)
class SiteTable:
    """One owner's table as columns of text, and the settings of its site file."""

    owner: str
    columns: dict[str, list[str]]
    variables: list[dict[str, Any]]


@dataclass(frozen=True)
class Scenario:
    """The sites, the structure to learn, and the network behind the records."""

    title: str
    sites: tuple[SiteTable, ...]
    structure: Structure
    truth: BayesNet
    note: str = ""

    @property
    def records(self) -> int:
        """The count of records at each site."""
        return len(self.sites[0].columns[RECORD_ID])

    @property
    def owner_of(self) -> dict[str, str]:
        """The owner of each variable, by variable name."""
        return {v["name"]: site.owner for site in self.sites for v in site.variables}


def from_network(records: int, rng: np.random.Generator) -> Scenario:
    """Draw records from the network of Ma's experiment 1 and give each owner its columns."""
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="--records")
    network = setups.network()
    codes = network.sample(records, rng)
    ids = [f"P{number:07d}" for number in range(1, records + 1)]
    sites = []
    for owner, nodes in setups.OWNERS.items():
        columns = {RECORD_ID: ids}
        for node in nodes:
            labels = np.array(network.domain[node].categories)
            columns[node] = labels[codes[node]].tolist()
        variables = [_ma_variable(network, node) for node in nodes]
        sites.append(SiteTable(owner, columns, variables))
    return Scenario(
        "Ma (2006), experiment 1: eleven variables at three sites",
        tuple(sites),
        network.structure,
        network,
        setups.CHOSEN_EDGES,
    )


def _ma_variable(network: BayesNet, node: str) -> dict[str, Any]:
    variable: dict[str, Any] = {
        "name": node,
        "categories": list(network.domain[node].categories),
        "sensitive": node in setups.CHANNELS,
    }
    if node in setups.CHANNELS:
        variable["channel"] = setups.CHANNELS[node]
    return variable


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
    """The paths of one demonstration's files."""

    root: Path

    def site(self, owner: str) -> Path:
        """An owner's folder."""
        return self.root / "sites" / owner

    def invitation(self, owner: str) -> Path:
        """An owner's invitation."""
        return self.site(owner) / "invitation"


def prepare(root: Path) -> Folder:
    """Empty or create the folder. Raises an error for files that are not a demonstration's."""
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        strange = [] if not root.is_dir() else sorted({p.name for p in root.iterdir()} - _MADE)
        if strange or not (root / _MARKER).is_file():
            raise ConfigError(
                f"{root} contains files other than those of a demonstration"
                f" ({', '.join(strange) or root.name}); nothing was changed.",
                where=str(root),
                remedy="Name another folder with --out.",
            )
        shutil.rmtree(root)
    folder = Folder(root)
    (root / "logs").mkdir(parents=True)
    (root / _MARKER).touch()
    return folder


def write_site(
    folder: Folder, site: SiteTable, miner: dict[str, Any], rng: np.random.Generator
) -> Path:
    """Write an owner's shuffled table and site file; return the site file's path."""
    home = folder.site(site.owner)
    home.mkdir(parents=True, exist_ok=True)
    order = rng.permutation(len(site.columns[RECORD_ID]))
    table = pd.DataFrame(site.columns, dtype=str).iloc[order]
    text = csv_text(table.columns, table.itertuples(index=False))
    (home / "table.csv").write_text(text, encoding="utf-8")
    path = home / "site.toml"
    content: dict[str, Any] = {
        "owner": site.owner,
        "table": "table.csv",
        "record_id": RECORD_ID,
        "miner": miner,
        "variables": list(site.variables),
    }
    path.write_text(toml(content), encoding="utf-8")
    return path


def owners(scenario: Scenario) -> list[str]:
    return [site.owner for site in scenario.sites]
