"""Relationships kept or lost, true and masked by every method: of a store, of the pilot study.

A relationship is a conditional expectation (AlAhmadi III.1): E(X1 | S), E(X1 | X2), E(X1 | S, X2).
It is kept where that of the masked records, at the true records' values, is that of the true ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting, claim
from pramana.setups import DATASETS, STORE_RECORDS
from pramana_core.errors import PramanaError
from pramana_core.mask import METHODS
from pramana_core.mask.measures.expectations import expectation
from pramana_core.mask.pictures import share, trend
from pramana_core.mixed import (
    Floats,
    MixedTable,
    NumericColumn,
    design_of,
    numeric_table,
    read_mixed,
)
from pramana_core.pictures import plots
from pramana_core.ties import first_smallest

EXISTING = ("egadp", "shuffle")
"""Those whose effect on a hump the dissertation shows in figure 4."""

PROPOSED = ("nmegadp", "nmegadp-shuffle", "nmegadp-copula", "nmegadp-copula-shuffle")
"""The dissertation's four (its masking methods 1 to 4)."""

QUICK = ("egadp", "shuffle", "nmegadp", "nmegadp-shuffle")
"""Drawn with --quick."""

QUICK_RECORDS = 400


@dataclass(frozen=True, eq=False)
class Version:
    """Records masked by one method.

    Attributes:
        method: its name.
        masked: Y, with the names of X; None where the method refused.
        refusal: why it did.
    """

    method: str
    masked: MixedTable | None
    refusal: str = ""


def names(setting: Setting) -> tuple[str, ...]:
    """Return the methods that a run compares, in the order of their families."""
    return QUICK if setting.quick else tuple(METHODS)


def versions(
    s: MixedTable, x: MixedTable, setting: Setting, stream: str, methods: Sequence[str] = ()
) -> Iterator[Version]:
    """Yield a table masked by one method after the other."""
    for name in methods or names(setting):
        try:
            made = METHODS[name](s, x, setting.rng("alahmadi", stream, name))
        except PramanaError as error:
            yield Version(name, None, error.message)
        else:
            yield Version(name, numeric_table(x.names, made.matrix))


STORE = "ME.L"
CONFIDENTIAL = DATASETS[STORE].confidential


def tables(setting: Setting, name: str) -> tuple[MixedTable, MixedTable]:
    """Return S and X of one of the made data sets."""
    made = DATASETS[name]
    records = QUICK_RECORDS if setting.quick else STORE_RECORDS
    frame = made.make(setting.rng("alahmadi", "data", name), records)
    told = frame[list(made.told)]
    if "gender" in told.columns:
        told = told.assign(gender=told["gender"].map({0: "male", 1: "female"}))
    return read_mixed(told), read_mixed(frame[list(made.confidential)])


def store_tables(setting: Setting) -> tuple[MixedTable, MixedTable]:
    """Return S (age, gender) and X (expenditure, debt) of the store."""
    return tables(setting, STORE)


@dataclass(frozen=True)
class Relation:
    """E(target | S if `told`, and the confidential columns `given`), numbered from 1."""

    target: int
    given: tuple[int, ...] = ()
    told: bool = True

    def words(self) -> str:
        """Return it as the dissertation writes it, such as E(X1 | S, X2)."""
        given = [*(["S"] if self.told else []), *(f"X{name}" for name in self.given)]
        return f"E(X{self.target} | {', '.join(given)})"


SIX = (
    Relation(1),
    Relation(2),
    Relation(1, (2,), told=False),
    Relation(2, (1,), told=False),
    Relation(1, (2,)),
    Relation(2, (1,)),
)
"""The relationships of two confidential columns: figures 31 to 36, in their order."""


@dataclass(frozen=True, eq=False)
class PreservedRelation:
    """How far a relationship is kept.

    Attributes:
        true: the n fitted expectations of the true records.
        masked: those of the masked records, at the true records' values.
        slope: of `masked` on `true`; 1 where it is kept, 0 where nothing is.
        r_squared: of the same regression.
    """

    true: Floats
    masked: Floats
    slope: float
    r_squared: float


def kept(
    relation: Relation, s: MixedTable, x: Floats, y: Floats, setting: Setting
) -> PreservedRelation:
    """Return how far masked records y (n x q) keep a relationship of s and x, fitted by kernels."""
    told = design_of(s).matrix(s) if relation.told else np.empty((len(x), 0))
    target, given = relation.target - 1, [name - 1 for name in relation.given]
    true_features = np.column_stack([told, x[:, given]])
    rng = setting.rng("alahmadi", "fit", relation.words())
    found = expectation("kernel", true_features, x[:, [target]], rng)
    rng = setting.rng("alahmadi", "fit", relation.words())
    other = expectation("kernel", np.column_stack([told, y[:, given]]), y[:, [target]], rng)
    true, masked = found.fitted[:, 0], other.predict(true_features)[:, 0]
    return PreservedRelation(true, masked, *compared(true, masked))


def compared(true: Floats, masked: Floats) -> tuple[float, float]:
    """Return slope and R^2 of the regression of masked fitted values on the true ones."""
    a, b = true - true.mean(), masked - masked.mean()
    saa, sbb, sab = float(a @ a), float(b @ b), float(a @ b)
    if saa == 0:
        return float("nan"), float("nan")
    return sab / saa, sab**2 / (saa * sbb) if sbb > 0 else 0.0


HIGH = 1.32
"""Inches of a row."""


def height(rows: int) -> float:
    """Return how high a grid of so many rows is, with what stands above and below, in inches."""
    return 1.1 + HIGH * rows


def grid(
    figure: Figure,
    rows: Sequence[str],
    columns: Sequence[str],
    draw: Callable[[Axes, int, int], None],
) -> None:
    """Draw small pictures whose axes are shared in each column."""
    axes = figure.subplots(len(rows), len(columns), squeeze=False)
    for row, name in enumerate(rows):
        for column, title in enumerate(columns):
            axis = axes[row, column]
            draw(axis, row, column)
            axis.tick_params(labelsize=7, length=2, pad=1.5)
            axis.locator_params(nbins=4)
            if row == 0:
                axis.set_title(title, fontsize=9, loc="center", parse_math=False)
            if column == 0:
                label = name.replace("nmegadp-", "nmegadp-\n")
                axis.set_ylabel(label, fontsize=9, rotation=0, ha="right", va="center")
            if row < len(rows) - 1:
                axis.set_xticklabels([])
    for column in range(len(columns)):
        share([axes[row, column] for row in range(len(rows))])


def note(axis: Axes, words: str) -> None:
    """Write a few words into the upper left corner of a small picture."""
    axis.text(
        0.04, 0.95, words, transform=axis.transAxes, ha="left", va="top", fontsize=7.5,
        parse_math=False, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )  # fmt: skip


def refused(axis: Axes) -> None:
    """Say that a method refused."""
    axis.text(0.5, 0.5, "refused", transform=axis.transAxes, ha="center", fontsize=8,
              color=plots.GREY)  # fmt: skip


def dots(axis: Axes, x: Floats, y: Floats, colour: str = plots.BLUE) -> None:
    """Draw records as small dots."""
    axis.plot(x, y, ".", markersize=2.0, color=colour, alpha=0.5, markeredgewidth=0,
              rasterized=True)  # fmt: skip


PILOT_RECORDS = 1_000

KEPT = 0.9
"""A relationship is called kept if slope and R^2 of the fitted values are at least this."""

TINY = 0.005
"""Is written without a sign."""

TRUE = "true records"

LINEAR, MONOTONIC, OTHER = "linear", "monotonic", "non-monotonic"

_RELATION = Relation(1)

Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]


def _linear(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    s = rng.standard_normal(n)
    return s, 0.8 * s + 0.6 * rng.standard_normal(n)


def _saturating(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    s = rng.standard_normal(n)
    return s, np.tanh(1.5 * s) + 0.2 * rng.standard_normal(n)


def _growing(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    s = rng.standard_normal(n)
    return s, np.exp(0.7 * s + 0.25 * rng.standard_normal(n))


def _u_shape(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    s = rng.uniform(-2.0, 2.0, n)
    return s, s**2 + 0.4 * rng.standard_normal(n)


def _clusters(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    which = rng.integers(0, 3, n)
    s = np.array([-2.0, 0.0, 2.0])[which] + 0.35 * rng.standard_normal(n)
    return s, np.array([0.0, 3.0, 0.5])[which] + 0.4 * rng.standard_normal(n)


SHAPES: Mapping[str, tuple[str, Draw]] = {
    "linear": (LINEAR, _linear),
    "monotonic I": (MONOTONIC, _saturating),
    "monotonic II": (MONOTONIC, _growing),
    "U shape": (OTHER, _u_shape),
    "three clusters": (OTHER, _clusters),
}
"""The five shapes by name: which kind of dependence each is, and how it is drawn."""


def run_pilot(setting: Setting) -> Result:
    """Mask the five tables by every method and compare E(Y | S) with E(X | S)."""
    records = QUICK_RECORDS if setting.quick else PILOT_RECORDS
    tables, rows = {}, []
    clouds: dict[tuple[str, str], MixedTable | None] = {}
    for shape, (kind, draw) in setting.steps(SHAPES.items()):
        s, x = table(setting, shape, draw, records)
        tables[shape] = s, x
        clouds[TRUE, shape] = x
        for version in versions(s, x, setting, shape):
            clouds[version.method, shape] = version.masked
            rows.append(row(setting, shape, kind, s, x, version))
    found = pd.DataFrame(rows)
    return Result(
        {"shapes": found},
        findings(found),
        lambda figure: draw_all(figure, tables, clouds, found),
        height=height(1 + found["method"].nunique()),
    )


def table(setting: Setting, shape: str, draw: Draw, records: int) -> tuple[MixedTable, MixedTable]:
    """Return S and X of a shape."""
    s, x = draw(setting.rng("alahmadi", "pilot", shape), records)
    return (
        MixedTable((NumericColumn("S", s),), records),
        MixedTable((NumericColumn("X", x),), records),
    )


def row(
    setting: Setting, shape: str, kind: str, s: MixedTable, x: MixedTable, version: Version
) -> dict[str, object]:
    """Return what a method keeps of a shape."""
    found = {"shape": shape, "kind": kind, "method": version.method}
    if version.masked is None:
        return found | {"slope": np.nan, "r_squared": np.nan, "refused": version.refusal}
    fit = kept(_RELATION, s, x.matrix(), version.masked.matrix(), setting)
    return found | {"slope": fit.slope, "r_squared": fit.r_squared, "refused": ""}


def findings(found: pd.DataFrame) -> tuple[Finding, ...]:
    """Hold the shapes against what the dissertation says of each family of methods."""
    return (
        _keeps(found, "egadp", (LINEAR,), "EGADP keeps a linear relationship"),
        _keeps(found, "shuffle", (LINEAR, MONOTONIC), "Data shuffling keeps monotonic ones"),
        *(_destroys(found, name) for name in EXISTING),
        *(
            _keeps(found, name, (LINEAR, MONOTONIC, OTHER), f"{name} keeps all five")
            for name in ("nmegadp", "nmegadp-shuffle")
        ),
    )


def _keeps(found: pd.DataFrame, method: str, kinds: tuple[str, ...], words: str) -> Finding:
    rows = found[(found["method"] == method) & found["kind"].isin(kinds)]
    told = "; ".join(
        f"{r.shape_} slope {r.slope:.3f}, R^2 {r.r_squared:.3f}"
        for r in rows.rename(columns={"shape": "shape_"}).itertuples()
    )
    held = bool(
        (rows["slope"].between(KEPT, 2 - KEPT) & (rows["r_squared"] >= KEPT)).all() and len(rows)
    )
    return Finding(held, f"{words}, of fitted E(Y | S) on E(X | S): {told} (kept from {KEPT:g}).")


def _destroys(found: pd.DataFrame, method: str) -> Finding:
    rows = found[(found["method"] == method) & (found["kind"] == OTHER)]
    words = "; ".join(
        f"{name} slope {slope:.3f}"
        for name, slope in zip(rows["shape"], rows["slope"], strict=True)
    )
    return claim(
        f"{method} destroys relationships that are not monotonic: {words}.",
        (rows["slope"] < 1 - KEPT + 0.1).all() and len(rows),
    )


def draw_all(
    figure: Figure,
    tables: Mapping[str, tuple[MixedTable, MixedTable]],
    clouds: Mapping[tuple[str, str], MixedTable | None],
    found: pd.DataFrame,
) -> None:
    """Draw every shape in a column and every method in a row."""
    rows = [TRUE, *found["method"].unique()]
    shapes = list(tables)
    numbers = found.set_index(["method", "shape"])[["slope", "r_squared"]]

    def draw(axis: Axes, row: int, column: int) -> None:
        shown = clouds[rows[row], shapes[column]]
        s, _ = tables[shapes[column]]
        if shown is None:
            refused(axis)
            return
        values = shown.matrix()[:, 0]
        colour = plots.GREY if row == 0 else colour_of(rows[row])
        dots(axis, s.matrix()[:, 0], values, colour)
        axis.plot(*trend(s.columns[0], values), color=plots.BLACK, linewidth=1.2)
        if row:
            slope, r_squared = numbers.loc[(rows[row], shapes[column])]
            note(axis, f"{abs(slope) if abs(slope) < TINY else slope:.2f}, {r_squared:.2f}")

    grid_titles = list(shapes)
    grid(figure, rows, grid_titles, draw)


def colour_of(method: str) -> str:
    """Return the colour of a method's family: existing or proposed."""
    if method.startswith("nmegadp"):
        return plots.BLUE
    return plots.PURPLE if method in ("sadp", "cadp") else plots.RED


PILOT = Experiment(
    name="alahmadi-48",
    title="Five shapes of dependence, masked by every method",
    source="AlAhmadi (2006), figures 48 to 52",
    run=run_pilot,
    choices=(
        "The data sets are not published; these are drawn in the likeness of their names.",
        (
            "Across: S; upwards: X or its masked values. The line joins means of 20 groups of S;"
            " the numbers are slope and R² of fitted E(Y | S) on E(X | S), both by kernel ridge"
            " regression."
        ),
        f"Called kept: slope between {KEPT:g} and {2 - KEPT:g} and R² of at least {KEPT:g}.",
    ),
)


SIX_KEPT = 0.95
"""A relationship is called kept if slope and R^2 of the fitted values are at least this."""


def run_six(setting: Setting) -> Result:
    """Compare the fitted values of six relationships under every method."""
    s, x = store_tables(setting)
    fits: dict[tuple[str, int], PreservedRelation] = {}
    rows = []
    for done, version in enumerate(versions(s, x, setting, "store")):
        if version.masked is None:
            continue
        for place, relation in enumerate(SIX):
            fit = kept(relation, s, x.matrix(), version.masked.matrix(), setting)
            fits[version.method, place] = fit
            rows.append((version.method, relation.words(), fit.slope, fit.r_squared))
        setting.progress((done + 1) / (done + 2))
    found = pd.DataFrame(rows, columns=["method", "relationship", "slope", "r_squared"])
    return Result(
        {"relationships": found},
        (
            *(_all_kept(found, name) for name in PROPOSED if name in set(found["method"])),
            *(_among_x(found, name) for name in ("egadp", "shuffle")),
        ),
        lambda figure: _draw(figure, fits),
        height=height(found["method"].nunique()),
    )


def _all_kept(found: pd.DataFrame, method: str) -> Finding:
    rows = found[found["method"] == method]
    least = rows[["slope", "r_squared"]].min(axis=1)
    worst = rows.iloc[first_smallest(least, scale=1.0)]
    return claim(
        f"{method} keeps all six relationships: the one kept least is {worst['relationship']},"
        f" slope {worst['slope']:.3f}, R² {worst['r_squared']:.3f} (kept from {SIX_KEPT:g}).",
        (least >= SIX_KEPT).all() and (rows["slope"] <= 2 - SIX_KEPT).all(),
    )


def _among_x(found: pd.DataFrame, method: str) -> Finding:
    rows = found[(found["method"] == method) & ~found["relationship"].str.contains("S")]
    words = "; ".join(
        f"{r.relationship} slope {r.slope:.3f}, R² {r.r_squared:.3f}" for r in rows.itertuples()
    )
    return claim(
        f"{method} keeps what is linear, the relationship among the confidential columns: {words}.",
        ((rows["slope"] - 1).abs() <= 1 - SIX_KEPT).all() and (rows["r_squared"] >= SIX_KEPT).all(),
    )


def _draw(figure: Figure, fits: dict[tuple[str, int], PreservedRelation]) -> None:
    rows = list(dict.fromkeys(method for method, _ in fits))

    def draw(axis: Axes, row: int, column: int) -> None:
        fit = fits[rows[row], column]
        ends = [float(np.min(fit.true)), float(np.max(fit.true))]
        axis.plot(ends, ends, color=plots.BLACK, linewidth=1.0)
        dots(axis, fit.true, fit.masked, colour_of(rows[row]))
        note(
            axis,
            f"{abs(fit.slope) if abs(fit.slope) < TINY else fit.slope:.2f}, {fit.r_squared:.2f}",
        )

    grid(figure, rows, [relation.words() for relation in SIX], draw)


RELATIONSHIPS = Experiment(
    name="alahmadi-31",
    title="Six relationships of the store: fitted values, true across, masked upwards ($)",
    source="AlAhmadi (2006), figures 31 to 36",
    run=run_six,
    choices=(
        "The store's 1,000 records are not published; these are drawn in its likeness.",
        (
            "X1 is expenditure, X2 debt, S age and gender. Fitted values are by kernel ridge"
            " regression, those of the masked records at the true records' values; the line is"
            " where both are equal, the numbers are slope and R²."
        ),
        (
            f"Called kept: slope between {SIX_KEPT:g} and {2 - SIX_KEPT:g} and R² of at least"
            f" {SIX_KEPT:g}."
        ),
    ),
)
