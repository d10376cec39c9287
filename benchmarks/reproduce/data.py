"""Ma's distributions and networks, and public tables as the papers have them, as records.

Public files are read from the folder a person names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.reproduce.engine import Setting
from pramana_core.channels import Identity, Symmetric
from pramana_core.discretize import Discretization, interval_labels, mgas
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, OptionError, TableError
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import code_dtype

# Ma table 2.1. The printed entries sum to 19/20: the twentieth that is missing would make the last
# column 1/5, but nothing shows which of its cells is wrong. All entries are therefore divided
# by 19/20, which keeps their ratios and the cells printed as zero.
NAMES = ("X1", "X2")

_PRINTED = """
    1/40  3/10  0     1/60  0
    3/40  0     1/30  1/20  1/20
    0     1/10  1/30  0     0
    1/20  0     0     1/60  1/10
    1/20  0     1/30  1/60  0
"""

PRINTED = tuple(tuple(map(Fraction, line.split())) for line in _PRINTED.split("\n") if line.strip())
"""The entries as printed, X1 in rows."""

RESCALED = "Table 2.1 is divided by the sum of its entries: no printed zero becomes positive."


def pmf() -> Tensor:
    """Return the rescaled table: a 5 x 5 array that sums to 1."""
    total = sum(map(sum, PRINTED), Fraction(0))
    return np.array([[float(entry / total) for entry in row] for row in PRINTED])


def multicategory(p: float) -> Plan:
    """Return the plan that replaces each variable's category with probability `p` (Ma 2.1)."""
    labels = tuple(str(k + 1) for k in range(len(PRINTED)))
    channel = Symmetric.from_probability(len(labels), p)
    return Plan(tuple(Block((Variable(name, labels),), channel) for name in NAMES))


# The two-triangle distribution of Ma 2.5 and 3.3. The paper names the density and does not give it;
# the width is chosen so that MGAS makes 39 groups of 100,000 samples, as the paper reports.
SUPPORT = 24.0
MINIMUM_COUNT = 1_500
GRANULARITY = 0.25

TRIANGLES = (
    "The two-triangle density is not given: two equal triangles side by side on [0, 12] and"
    " [12, 24], a width with which MGAS makes about the 39 groups of the paper."
)


def density(x: Tensor, support: float = SUPPORT) -> Tensor:
    """Return the density at points: two triangles, each half of [0, support] and half the mass."""
    quarter = support / 4
    height = 1 / (2 * quarter)
    from_peak = np.minimum(np.abs(x - quarter), np.abs(x - 3 * quarter))
    value: Tensor = height * np.maximum(0.0, 1 - from_peak / quarter)
    return value


def triangle_sample(records: int, rng: np.random.Generator, support: float = SUPPORT) -> Tensor:
    """Draw values from the density."""
    quarter = support / 4
    values = rng.triangular(0.0, quarter, 2 * quarter, records)
    return values + 2 * quarter * rng.integers(0, 2, records)


def discretize(values: Tensor) -> Discretization:
    """Group values by MGAS with the paper's minimum count and granularity."""
    return mgas(values, minimum_count=MINIMUM_COUNT, granularity=GRANULARITY)


def triangle_plan(groups: Discretization, keep: float) -> Plan:
    """Return the plan that keeps a group's number with probability `keep`, else any other."""
    channel = Symmetric.from_probability(groups.size, 1 - keep)
    return Plan((Block((Variable("X", groups.labels),), channel),))


def codes(groups: Discretization, values: Tensor) -> dict[str, Codes]:
    """Return the groups' numbers as the column of the plan's variable."""
    return {"X": groups.codes(values)}


def edges(groups: Discretization) -> Tensor:
    """Return the k + 1 ends of the intervals, the outer ones being those of the support."""
    return np.array([0.0, *groups.cuts, SUPPORT])


def heights(groups: Discretization, counts: Tensor) -> Tensor:
    """Return the estimated density on each interval (Ma 3.2.1): its share over its width."""
    value: Tensor = counts / counts.sum() / np.diff(edges(groups))
    return value


_MIDPOINTS = 2048


def l1_distance(groups: Discretization, counts: Tensor) -> float:
    """Return the integral of |f - f^| by midpoints, f^ constant on each interval (Ma 3.2.1)."""
    ends = edges(groups)
    step = np.diff(ends)[:, None] / _MIDPOINTS
    values = density(ends[:-1, None] + step * (np.arange(_MIDPOINTS) + 0.5))
    off = np.abs(values - heights(groups, counts)[:, None])
    return float((off * step).sum())


def widths(groups: Discretization) -> list[float]:
    """Return the widths of the inner groups; those at the ends have no second boundary."""
    return [high - low for low, high in pairwise(groups.cuts)]


# The network that stands for Ma's figures 5.3 and 5.6, whose drawings and tables are lost: six
# binary nodes in the order that 5.6.4 assumes; node D has its parents at the other site (5.6.2).
STRUCTURE = Structure.of(
    {"A": [], "B": ["A"], "C": ["A"], "D": ["B", "C"], "E": ["D"], "F": ["C", "D"]}
)

SIX_NODES = (
    "The networks of figures 5.3 and 5.6 are lost. Chosen for both: links A-B, A-C, B-D, C-D, D-E,"
    " C-F, D-F, all binary, with Pr(1 | parents), first parent slowest, A .4; B .2 .75; C .7 .25;"
    " D .9 .35 .45 .1; E .2 .8; F .85 .3 .4 .15."
)

_DOMAIN = Domain.of(**{node: ["1", "2"] for node in STRUCTURE.nodes})

_FIRST = {
    "A": [0.4],
    "B": [0.2, 0.75],
    "C": [0.7, 0.25],
    "D": [0.9, 0.35, 0.45, 0.1],
    "E": [0.2, 0.8],
    "F": [0.85, 0.3, 0.4, 0.15],
}


@cache
def network() -> BayesNet:
    """Return the network."""
    tables = {}
    for node, parents in STRUCTURE.families:
        first = np.array(_FIRST[node]).reshape([2] * len(parents))
        tables[node] = np.stack([first, 1 - first], axis=-1)
    return BayesNet(_DOMAIN, STRUCTURE, tables)


def six_plan(p: float, nodes: str = "ABCDEF", exact: str = "") -> Plan:
    """Return the binary symmetric randomization of some nodes with parameter `p`.

    Nodes in `exact` are not randomized: those of the site that learns, without a miner.
    """
    channel = Symmetric.from_probability(2, p)
    return Plan(
        tuple(Block((_DOMAIN[node],), Identity(2) if node in exact else channel) for node in nodes)
    )


def six_sample(records: int, rng: np.random.Generator) -> dict[str, Codes]:
    """Draw the true codes of all nodes."""
    drawn = network().sample(records, rng)
    return {node: column.astype(code_dtype(2)) for node, column in drawn.items()}


def counted(codes: dict[str, Codes], node: str) -> Tensor:
    """Return the true counts of a node's family: its parents' axes, then its own."""
    names = [*STRUCTURE.parents[node], node]
    counts = ReportedCounts({name: codes[name] for name in names}, dict.fromkeys(names, 2))
    return counts.table(names).astype(np.float64)


def family(*nodes: str) -> Structure:
    """Return the structure of these nodes and their parents, which have none themselves."""
    needed = {name for node in nodes for name in (node, *STRUCTURE.parents[node])}
    parents = {n: STRUCTURE.parents[n] if n in nodes else () for n in "ABCDEF" if n in needed}
    return Structure.of(parents)


# The tables of Ma's experiments with itemsets and trees. The dissertation gives the cardinalities
# and not the variables; ours are chosen to have them.
REST = "other"
"""The category of every label that no group names, where there is such a category."""

MUSHROOM_FILE, ADULT_FILE = "mushroom.csv", "adult-train.csv.gz"
CANCER_FILE = "breast-cancer-wisconsin.csv"

REPEATED = (
    "Repeating a table is the paper's device and no honest study: no table of that many different"
    " records is so regular. The table once is shown, too."
)

ADULT_CHOICE = (
    "The paper does not name its eleven variables, nor how categories were combined. Ours have its"
    " cardinalities: age 4, work class 3, years of education 3, marital status 3, occupation 2,"
    " relationship 3, race 2, hours per week 3, sex 2, survey weight 3, income 2; from the training"
    " part of 32,561 records."
)
CANCER_CHOICE = (
    "The paper does not say which breast cancer table or how it was grouped. Wisconsin's (original)"
    " has ten variables with the class: its grades are cut at 3, or at 3 and 6, in turn; the 16"
    " records without bare-nuclei are left out."
)


@dataclass(frozen=True)
class Grouping:
    """A column and how its values become categories: `cuts` for numbers, `groups` for labels.

    `groups` gives a category's label with the values it stands for; an empty one takes all others.
    """

    column: str
    cuts: tuple[float, ...] = ()
    groups: Mapping[str, tuple[str, ...]] | None = None

    @property
    def variable(self) -> Variable:
        """The categories in code order."""
        labels = interval_labels(self.cuts) if self.groups is None else tuple(self.groups)
        return Variable(self.column, labels)

    def codes(self, column: pd.Series[str]) -> Codes:
        """Replace values by codes. Raises TableError for values that fit no category."""
        if self.groups is None:
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
            found = np.where(
                np.isfinite(numbers), np.searchsorted(self.cuts, numbers, side="right"), -1
            )
        else:
            code_of = {v: k for k, values in enumerate(self.groups.values()) for v in values}
            rest = next((k for k, values in enumerate(self.groups.values()) if not values), -1)
            found = column.map(lambda value: code_of.get(value, rest)).to_numpy(dtype=np.int64)
        if bad := int((found < 0).sum()):
            raise TableError(
                f"Column {self.column!r} has {bad} values that fit none of its categories.",
                where=self.column,
                remedy="Name the folder that holds the public tables.",
            )
        return found.astype(code_dtype(self.variable.size))


@dataclass(frozen=True, eq=False)
class TrueRecords:
    """True records: the variables and their codes."""

    domain: Domain
    codes: Mapping[str, Codes]

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.codes[self.domain.names[0]])

    def majority(self, target: str) -> float:
        """Return the share of the most frequent category of a variable."""
        return float(np.bincount(self.codes[target]).max() / self.size)

    def counts(self) -> ReportedCounts:
        """Return the exact counts."""
        return ReportedCounts(self.codes, {v.name: v.size for v in self.domain})

    def repeated(self, times: int) -> TrueRecords:
        """Return the records that many times over."""
        return TrueRecords(self.domain, {name: np.tile(c, times) for name, c in self.codes.items()})

    def taken(self, rows: slice | npt.NDArray[np.int64]) -> TrueRecords:
        """Return some of the records."""
        return TrueRecords(self.domain, {name: c[rows] for name, c in self.codes.items()})


def as_they_are(column: str, *values: str) -> Grouping:
    """Return the grouping of a column in which every value is a category."""
    return Grouping(column, groups={value: (value,) for value in values})


MUSHROOM = (
    as_they_are("class", "e", "p"),
    as_they_are("cap-surface", "f", "g", "s", "y"),
    as_they_are("bruises", "f", "t"),
    as_they_are("gill-attachment", "a", "f"),
    as_they_are("gill-spacing", "c", "w"),
    as_they_are("gill-size", "b", "n"),
    as_they_are("stalk-shape", "e", "t"),
    as_they_are("stalk-surface-above-ring", "f", "k", "s", "y"),
    as_they_are("ring-number", "n", "o", "t"),
)
"""Nine variables of 23 categories as the file has them."""

ADULT = (
    Grouping("age", cuts=(28, 38, 50)),
    Grouping(
        "workclass",
        groups={
            "private": ("Private",),
            "self-employed": ("Self-emp-not-inc", "Self-emp-inc"),
            REST: (),
        },
    ),
    Grouping("education-num", cuts=(10, 13)),
    Grouping(
        "marital-status",
        groups={
            "married": ("Married-civ-spouse", "Married-AF-spouse"),
            "never": ("Never-married",),
            "formerly": (),
        },
    ),
    Grouping(
        "occupation",
        groups={
            "office": (
                "Exec-managerial",
                "Prof-specialty",
                "Adm-clerical",
                "Sales",
                "Tech-support",
            ),
            REST: (),
        },
    ),
    Grouping(
        "relationship",
        groups={"spouse": ("Husband", "Wife"), "not-in-family": ("Not-in-family",), REST: ()},
    ),
    Grouping("race", groups={"white": ("White",), REST: ()}),
    Grouping("hours-per-week", cuts=(40, 41)),
    as_they_are("sex", "Female", "Male"),
    Grouping("fnlwgt", cuts=(120_000, 220_000)),
    as_they_are("income", "<=50K", ">50K"),
)
"""Eleven variables of 4 3 3 3 2 3 2 3 2 3 2 categories; the last is the tree's class."""

CANCER = (
    *(
        Grouping(name, cuts=(3, 6) if place % 2 == 0 else (3,))
        for place, name in enumerate(
            (
                "clump-thickness",
                "uniformity-of-cell-size",
                "uniformity-of-cell-shape",
                "marginal-adhesion",
                "single-epithelial-cell-size",
                "bare-nuclei",
                "bland-chromatin",
                "normal-nucleoli",
                "mitoses",
            )
        )
    ),
    as_they_are("class", "2", "4"),
)
"""Ten variables of 3 2 3 2 3 2 3 2 3 2 categories; the last is the tree's class."""


_QUICK_STEP = 8


def mushroom(setting: Setting) -> TrueRecords:
    """Read the nine mushroom variables. Raises OptionError, TableError."""
    return _grouped(_read(setting, MUSHROOM_FILE), MUSHROOM)


def adult(setting: Setting) -> TrueRecords:
    """Read the eleven variables of the training part of adult; with --quick every eighth record."""
    return _grouped(_read(setting, ADULT_FILE), ADULT).taken(
        slice(None, None, _QUICK_STEP if setting.quick else 1)
    )


def breast_cancer(setting: Setting) -> TrueRecords:
    """Read the records of Wisconsin's table that lack nothing. Raises OptionError, TableError."""
    return _grouped(_read(setting, CANCER_FILE, lambda f: f[f["bare-nuclei"] != "?"]), CANCER)


def _read(
    setting: Setting,
    file: str,
    keep: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame,
) -> pd.DataFrame:
    return keep(pd.read_csv(setting.file(file), dtype=str, keep_default_na=False))


def _grouped(frame: pd.DataFrame, groupings: Sequence[Grouping]) -> TrueRecords:
    missing = [g.column for g in groupings if g.column not in frame.columns]
    if missing:
        raise MissingColumn(
            f"The table has no column {', '.join(missing)}.",
            where=missing[0],
            remedy="Name the folder that holds the public tables.",
        )
    domain = Domain(tuple(g.variable for g in groupings))
    return TrueRecords(domain, {g.column: g.codes(frame[g.column]) for g in groupings})


ABSENT, PRESENT = "no", "yes"

Named = tuple[str, str]
"""An item: a variable and one of its categories."""

MUSHROOM_GROUPS: tuple[tuple[Named, ...], ...] = (
    (("cap-surface", "f"), ("cap-surface", "s"), ("cap-surface", "y")),
    (
        ("stalk-surface-above-ring", "f"),
        ("stalk-surface-above-ring", "k"),
        ("stalk-surface-above-ring", "s"),
    ),
    (("ring-number", "n"), ("ring-number", "o"), ("ring-number", "t")),
    (("gill-attachment", "a"), ("gill-spacing", "c"), ("gill-spacing", "w")),
    (("class", "e"), ("class", "p")),
    (("bruises", "f"), ("bruises", "t")),
)
"""Four groups of three items and two of two; the other seven items are alone."""

ADULT_GROUPS: tuple[tuple[Named, ...], ...] = (
    (("workclass", "private"), ("workclass", "self-employed"), ("workclass", "other")),
    (("education-num", "<10"), ("education-num", "10-13"), ("education-num", ">=13")),
    (("marital-status", "married"), ("marital-status", "never"), ("marital-status", "formerly")),
    (("relationship", "spouse"), ("relationship", "not-in-family"), ("relationship", "other")),
    (("occupation", "office"), ("occupation", "other")),
    (("race", "white"), ("race", "other")),
    (("sex", "Female"), ("sex", "Male")),
    (("income", "<=50K"), ("income", ">50K")),
    (("age", "<28"), ("age", "28-38")),
)
"""Four groups of three items and five of two; the other eight items are alone."""


@dataclass(frozen=True)
class ItemGroups:
    """Binary variables, one per item, and which of them are randomized together."""

    groups: tuple[tuple[Variable, ...], ...]

    @property
    def domain(self) -> Domain:
        """The items, group by group."""
        return Domain(tuple(item for group in self.groups for item in group))

    def plan(self, p: float) -> Plan:
        """Return the plan that changes each group's combination with probability `p`.

        Any of the 2^|G| - 1 other combinations is reported with equal probability (Ma 7.1.2.1).
        """
        return Plan(
            tuple(
                Block(group, Symmetric.from_probability(2 ** len(group), p))
                for group in self.groups
            )
        )


def item_groups(domain: Domain, named: Sequence[Sequence[Named]]) -> ItemGroups:
    """Make the groups that are named, and one of each item that is not."""
    for group in named:
        for name, category in group:
            domain[name].code(category)
    taken = [item for group in named for item in group]
    if len(set(taken)) < len(taken):
        raise OptionError("An item is in two groups.", where="named")
    alone = [((v.name, c),) for v in domain for c in v.categories if (v.name, c) not in taken]
    return ItemGroups(tuple(tuple(map(_variable, group)) for group in (*named, *alone)))


def transactions(records: TrueRecords, groups: ItemGroups) -> dict[str, Codes]:
    """Return which records have each item, codes by the item's name."""
    found: dict[str, Codes] = {}
    for variable in records.domain:
        for code, category in enumerate(variable.categories):
            name = item_name((variable.name, category))
            found[name] = (records.codes[variable.name] == code).astype("uint8")
    return {name: found[name] for name in groups.domain.names}


def item_name(item: Named) -> str:
    """Return the name of an item's variable, as `variable=category`."""
    return "=".join(item)


def _variable(item: Named) -> Variable:
    return Variable(item_name(item), (ABSENT, PRESENT))
