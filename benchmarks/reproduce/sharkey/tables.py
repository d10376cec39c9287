"""The paper's tables that are public, with their taxonomies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reproduce.experiment import Setting
from pramana.simulate.model_sharing_simulation import PreparedTable
from pramana.simulate.model_sharing_tables import SharingTable, read_sharing_table, read_taxonomies

TAXONOMIES = Path(__file__).with_name("taxonomies.toml")

QUICK_RECORDS = 1_500
"""With --quick every table has at most so many records, drawn at random."""


@dataclass(frozen=True)
class Source:
    """A table of the paper: its file, its class, how many classes, and the most records used."""

    file: str
    target: str
    classes: int
    most: int | None = None


SOURCES = {
    "adult": Source("adult-train.csv.gz", "income", 2, 6_000),
    "car": Source("car.csv", "class", 4),
    "nursery": Source("nursery.csv.gz", "class", 5),
}

FILES = tuple(source.file for source in SOURCES.values())

ADULT_WORDS = (
    f"Of adult {SOURCES['adult'].most:,} of the training file's complete records are drawn, the"
    " same for every setting."
)


@cache
def taxonomies(name: str) -> dict[str, Any]:
    """Return the groups of a table's categories, by attribute."""
    return read_taxonomies(TAXONOMIES, name)


def table_of(setting: Setting, name: str) -> SharingTable:
    """Return one of the paper's tables. Raises OptionError where its file is not there."""
    source = SOURCES[name]
    table = read_sharing_table(setting.file(source.file), source.target)
    limits = [source.most or table.records.records, table.records.records]
    most = min([*limits, QUICK_RECORDS] if setting.quick else limits)
    if most < table.records.records:
        chosen = setting.rng("sharkey", name).permutation(table.records.records)[:most]
        table = replace(table, records=table.records.rows(np.sort(chosen)))
    return table


def kept_of(setting: Setting, name: str) -> PreparedTable:
    """Return a table with its taxonomies, for the cells of an experiment."""
    return PreparedTable(table_of(setting, name), taxonomies(name))
