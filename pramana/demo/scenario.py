"""What a demonstration is about: sites with their tables, a structure, and perhaps the truth.

A scenario is either drawn from a known network or made of a user's own table, split by columns.
"""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from owner_agent.site.mistakes import toml
from owner_agent.table.table import read_table
from pramana import setups
from pramana_core.errors import ConfigError, OptionError
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.text_files import read_text

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

RECORD_ID = "record"
"""The record-id column the demonstration gives a table that has none."""


@dataclass(frozen=True)
class SiteTable:
    """One owner's table as text columns, and what its site file says of them."""

    owner: str
    columns: dict[str, list[str]]
    variables: list[dict[str, Any]]
    blocks: list[dict[str, Any]]


@dataclass(frozen=True)
class Scenario:
    """The sites, the structure to learn, and the network the records came from, if known."""

    title: str
    sites: tuple[SiteTable, ...]
    structure: Structure
    truth: BayesNet | None
    note: str = ""

    @property
    def records(self) -> int:
        """The number of records at each site."""
        return len(self.sites[0].columns[RECORD_ID])

    @property
    def owner_of(self) -> dict[str, str]:
        """The owner of every variable."""
        return {v["name"]: site.owner for site in self.sites for v in site.variables}


def from_network(records: int, rng: np.random.Generator) -> Scenario:
    """Draw records from the network of Ma's experiment 1 and give each owner its columns.

    Raises:
        OptionError: fewer than one record.
    """
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
        sites.append(SiteTable(owner, columns, variables, []))
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


def from_table(table: Path, sites: Path, structure: Path) -> Scenario:
    """Split a user's table over the owners of a sites file.

    Args:
        table: CSV or Parquet with all columns.
        sites: TOML with `[[sites]]`, each an `owner` with `variables` (and `blocks`) as in a
            site file, and optionally `record_id`, the column that identifies records.
        structure: JSON that maps every node to the list of its parents.

    Raises:
        ConfigError: a file that cannot be read or says something unknown.
        StructureError: the structure is not one.
        TableError: the table cannot be read or lacks a column.
    """
    content = _read_sites(sites)
    graph = _read_structure(structure)
    record_id = content.get("record_id")
    wanted = [
        v.get("column", v.get("name")) for site in content["sites"] for v in site["variables"]
    ]
    names = list(dict.fromkeys([*([record_id] if record_id else []), *wanted]))
    read = read_table(table, names)
    ids = (
        read.columns[record_id].to_pylist()
        if record_id
        else [f"R{number:07d}" for number in range(1, read.rows + 1)]
    )
    made = []
    for site in content["sites"]:
        columns = {RECORD_ID: ids}
        for variable in site["variables"]:
            source = variable.get("column", variable["name"])
            columns[source] = read.columns[source].to_pylist()
        made.append(SiteTable(site["owner"], columns, site["variables"], site.get("blocks", [])))
    scenario = Scenario(f"{table.name} over {len(made)} owners", tuple(made), graph, None)
    missing = [node for node in graph.nodes if node not in scenario.owner_of]
    if missing:
        raise ConfigError(
            f"No site has the structure's nodes {missing}.",
            where=str(sites),
            remedy="Give each node of the structure to one of the sites.",
        )
    return scenario


def _read_sites(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(read_text(path))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"The sites file {path} cannot be read: {error}.", where=str(path)
        ) from None
    unknown = sorted(set(content) - {"record_id", "sites"})
    sites = content.get("sites")
    if unknown or not isinstance(sites, list) or not sites:
        raise ConfigError(
            f"The sites file {path} holds [[sites]] and perhaps record_id; unknown: {unknown}.",
            where=str(path),
        )
    owners = [site.get("owner") for site in sites if isinstance(site, dict)]
    if len(owners) != len(sites) or len(set(map(str, owners))) != len(owners):
        raise ConfigError(
            f"Each of the [[sites]] in {path} is a table with an owner of its own; the owners are"
            f" {owners}.",
            where=str(path),
        )
    for site in sites:
        strange = sorted(set(site) - {"owner", "variables", "blocks"})
        variables = site.get("variables")
        if (
            strange
            or "owner" not in site
            or not variables
            or not isinstance(variables, list)
            or not all(isinstance(v, dict) and "name" in v for v in variables)
            or not isinstance(site["owner"], str)
            or not _NAME.fullmatch(site["owner"])
        ):
            raise ConfigError(
                f"Each of the [[sites]] in {path} has an owner, named variables and perhaps blocks;"
                f" unknown: {strange}.",
                where=str(path),
            )
    return content


def _read_structure(path: Path) -> Structure:
    try:
        content = json.loads(read_text(path))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"The structure {path} cannot be read: {error}.", where=str(path)
        ) from None
    well_formed = isinstance(content, dict) and all(
        isinstance(parents, list) and all(isinstance(p, str) for p in parents)
        for parents in content.values()
    )
    if not well_formed:
        raise ConfigError(
            f"The structure {path} must map every node to the list of its parents.",
            where=str(path),
            remedy='Write it as {"A": [], "B": ["A"]}.',
        )
    return Structure.of(content)


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
