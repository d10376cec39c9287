"""The papers' public tables: the grouping of their columns into categories, and the true records.

The user names the folder with the files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.reproduce.engine import Setting
from pramana_core.discretize import interval_labels
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, TableError
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.wire.parts import code_dtype


@dataclass(frozen=True)
class Grouping:
    """A column and its conversion to categories, by `cuts` for numbers or by `groups` for labels.

    `groups` maps the label of a category to its values; an empty list gets all others.
    """

    column: str
    cuts: tuple[float, ...] = ()
    groups: Mapping[str, tuple[str, ...]] | None = None

    @property
    def variable(self) -> Variable:
        """The categories in code order."""
        labels = interval_labels(self.cuts) if self.groups is None else tuple(self.groups)
        return Variable(self.column, labels)

    def codes(self, column: pd.Series[str], *, closed: str = "left") -> Codes:
        """Replace values by codes, with intervals closed on the left or on the right.

        Raises TableError if a value fits no category.
        """
        if self.groups is None:
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
            # `side` is where equal values go: right of a cut is closed on the left.
            side = "right" if closed == "left" else "left"
            put = np.searchsorted(self.cuts, numbers, side=side)  # type: ignore[call-overload]
            found = np.where(np.isfinite(numbers), put, -1)
        else:
            code_of = {v: k for k, values in enumerate(self.groups.values()) for v in values}
            rest = next((k for k, values in enumerate(self.groups.values()) if not values), -1)
            found = column.map(lambda value: code_of.get(value, rest)).to_numpy(dtype=np.int64)
        if bad := int((found < 0).sum()):
            raise TableError(
                f"Column {self.column!r} has {bad} values that fit none of its categories.",
                where=self.column,
                remedy=f"Its categories are {', '.join(self.variable.categories)}.",
            )
        return found.astype(code_dtype(self.variable.size))


@dataclass(frozen=True, eq=False)
class TrueRecords:
    """True records: the variables and their codes."""

    domain: Domain
    codes: Mapping[str, Codes]

    @property
    def size(self) -> int:
        return len(self.codes[self.domain.names[0]])

    def majority(self, target: str) -> float:
        """Return the share of the most frequent category of a variable."""
        return float(np.bincount(self.codes[target]).max() / self.size)

    def counts(self) -> ReportedCounts:
        return ReportedCounts(self.codes, {v.name: v.size for v in self.domain})

    def repeated(self, times: int) -> TrueRecords:
        """Return the records repeated `times` times."""
        return TrueRecords(self.domain, {name: np.tile(c, times) for name, c in self.codes.items()})

    def taken(self, rows: slice | npt.NDArray[np.int64]) -> TrueRecords:
        """Return the selected records."""
        return TrueRecords(self.domain, {name: c[rows] for name, c in self.codes.items()})


def domain_of(groupings: Sequence[Grouping]) -> Domain:
    """Return the domain of grouped columns; no data are needed."""
    return Domain(tuple(g.variable for g in groupings))


def read_records(
    setting: Setting,
    files: Sequence[str],
    groupings: Sequence[Grouping],
    *,
    keep: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame,
    closed: str = "left",
) -> TrueRecords:
    """Read the rows of some files that `keep` keeps. Raises OptionError, TableError."""
    frames = []
    for name in files:
        frame = pd.read_csv(setting.file(name), dtype=str, keep_default_na=False)
        if missing := [g.column for g in groupings if g.column not in frame.columns]:
            raise MissingColumn(
                f"The table {name} has no column {', '.join(missing)}.",
                where=missing[0],
                remedy=f"Use a table with {', '.join(g.column for g in groupings)}.",
            )
        frames.append(keep(frame))
    frame = pd.concat(frames)
    codes = {g.column: g.codes(frame[g.column], closed=closed) for g in groupings}
    return TrueRecords(domain_of(groupings), codes)


_TABLES = Path(__file__).with_name("tables.toml")


@cache
def described(name: str) -> dict[str, Any]:
    """Return the entry of a table in `tables.toml`: its columns and the items in groups."""
    found: dict[str, Any] = tomllib.loads(_TABLES.read_text(encoding="utf-8"))[name]
    return found


def groupings(name: str) -> tuple[Grouping, ...]:
    """Return the columns of a table in `tables.toml`."""
    return tuple(_grouping(column, given) for column, given in described(name)["columns"].items())


def _grouping(column: str, given: Sequence[Any] | Mapping[str, Any]) -> Grouping:
    if isinstance(given, Mapping):
        return Grouping(column, groups={label: tuple(values) for label, values in given.items()})
    if isinstance(given[0], str):
        return Grouping(column, groups={label: (label,) for label in given})
    return Grouping(column, cuts=tuple(given))


MUSHROOM_FILE, ADULT_FILE = "mushroom.csv", "adult-train.csv.gz"
CANCER_FILE = "breast-cancer-wisconsin.csv"

MUSHROOM, ADULT, CANCER = map(groupings, ("mushroom", "adult", "breast-cancer"))

_QUICK_STEP = 8


def mushroom(setting: Setting) -> TrueRecords:
    """Read the nine mushroom variables. Raises OptionError, TableError."""
    return read_records(setting, [MUSHROOM_FILE], MUSHROOM)


def adult(setting: Setting) -> TrueRecords:
    """Read the eleven variables of adult's training part; with --quick every eighth record."""
    whole = read_records(setting, [ADULT_FILE], ADULT)
    return whole.taken(slice(None, None, _QUICK_STEP if setting.quick else 1))


def breast_cancer(setting: Setting) -> TrueRecords:
    """Read the complete records of Wisconsin's table. Raises OptionError, TableError."""
    return read_records(setting, [CANCER_FILE], CANCER, keep=lambda f: f[f["bare-nuclei"] != "?"])
