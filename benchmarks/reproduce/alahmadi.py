"""AlAhmadi: relationships in true records, compared with those in records masked by every method.

A relationship is a conditional expectation (AlAhmadi III.1): E(X1 | S), E(X1 | X2), E(X1 | S, X2).
A method keeps it if the masked records give the same expectation at the true records' values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Axes, Claim, Figure, Result, Setting
from pramana.setups import DATASETS, STORE_RECORDS
from pramana_core.errors import PramanaError
from pramana_core.mask import METHODS
from pramana_core.mask.measures import Measures, measure_all
from pramana_core.mask.measures.expectations import expectation
from pramana_core.mask.pictures import share, trend
from pramana_core.mixed import Floats, MixedTable, design_of, numeric_table, read_mixed
from pramana_core.pictures import plots
from pramana_core.ties import first_smallest

EXISTING = ("egadp", "shuffle")
"""The existing methods whose effect on a hump the dissertation shows in figure 4."""

PROPOSED = ("nmegadp", "nmegadp-shuffle", "nmegadp-copula", "nmegadp-copula-shuffle")
"""The dissertation's four (its masking methods 1 to 4)."""

KEEPERS = ("nmegadp", "nmegadp-shuffle")
"""The methods that keep every relationship."""

QUICK = (*EXISTING, *KEEPERS)
"""The methods drawn with --quick."""

QUICK_RECORDS = 400


def versions(
    s: MixedTable, x: MixedTable, setting: Setting, stream: str
) -> Iterator[tuple[str, MixedTable | None, str]]:
    """Yield each method with the table that it masked, or with None and the reason for failure."""
    methods = QUICK if setting.quick else tuple(METHODS)
    for name in setting.steps(methods):
        try:
            made = METHODS[name](s, x, setting.rng("alahmadi", stream, name))
        except PramanaError as error:
            yield name, None, error.message
        else:
            yield name, numeric_table(x.names, made.matrix), ""


STORE = "ME.L"
CONFIDENTIAL = DATASETS[STORE].confidential


def tables(setting: Setting, name: str) -> tuple[MixedTable, MixedTable]:
    """Return S and X of a generated data set."""
    made = DATASETS[name]
    records = QUICK_RECORDS if setting.quick else STORE_RECORDS
    frame = made.make(setting.rng("alahmadi", "data", name), records)
    shown = frame[list(made.told)]
    if "gender" in shown.columns:
        shown = shown.assign(gender=shown["gender"].map({0: "male", 1: "female"}))
    return read_mixed(shown), read_mixed(frame[list(made.confidential)])


@dataclass(frozen=True)
class Relation:
    """E(X_target | the columns of X in `given`, and S if `given_s`); columns count from 1."""

    target: int
    given: tuple[int, ...] = ()
    given_s: bool = True

    def words(self) -> str:
        """The relationship as the dissertation writes it, such as E(X1 | S, X2)."""
        given = [*(["S"] if self.given_s else []), *(f"X{name}" for name in self.given)]
        return f"E(X{self.target} | {', '.join(given)})"


FIRST = Relation(1)

SIX = (
    FIRST,
    Relation(2),
    Relation(1, (2,), given_s=False),
    Relation(2, (1,), given_s=False),
    Relation(1, (2,)),
    Relation(2, (1,)),
)
"""The relationships of two confidential columns, in the order of figures 31 to 36."""


class PreservedRelation(NamedTuple):
    """Predictions at the true records' values, by fits to true records and to masked ones.

    Slope and R^2 come from regressing `masked` on `true`; both are 1 if the relationship is kept.
    """

    true: Floats
    masked: Floats
    slope: float
    r_squared: float

    @property
    def words(self) -> str:
        """Slope and R^2 as text for a picture; a slope that rounds to 0 has no sign."""
        slope = abs(self.slope) if abs(self.slope) < TINY else self.slope
        return f"{slope:.2f}, {self.r_squared:.2f}"


def kept(
    relation: Relation, s: MixedTable, true: MixedTable, masked: MixedTable, setting: Setting
) -> PreservedRelation:
    """Compare a relationship in masked and in true records, both fitted by kernels."""
    shown = design_of(s).matrix if relation.given_s else np.empty((true.records, 0))
    target, given = relation.target - 1, [name - 1 for name in relation.given]
    features, models = [], []
    for matrix in (true.matrix(), masked.matrix()):
        rng = setting.rng("alahmadi", "fit", relation.words())
        features.append(np.column_stack([shown, matrix[:, given]]))
        models.append(expectation("kernel", features[-1], matrix[:, [target]], rng))
    fits = (models[0].fitted[:, 0], models[1].predict(features[0])[:, 0])
    return PreservedRelation(*fits, *compared(*fits))


def compared(true: Floats, masked: Floats) -> tuple[float, float]:
    """Return slope and R^2 of the regression of masked on true fitted values."""
    if not np.ptp(masked):
        return 0.0, 0.0
    found = stats.linregress(true, masked)
    return float(found.slope), float(found.rvalue) ** 2


def height(rows: int) -> float:
    return 1.1 + 1.32 * rows


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
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
    how: dict[str, Any] = {"ha": "left", "va": "top", "bbox": box, "transform": axis.transAxes}
    axis.text(0.04, 0.95, words, fontsize=7.5, parse_math=False, **how)


def dots(axis: Axes, x: Floats, y: Floats, method: str) -> None:
    """Draw records as small dots in the colour of the method's family, true records in grey."""
    proposed = plots.BLUE if method.startswith("nmegadp") else plots.RED
    colour = {TRUE: plots.GREY, "sadp": plots.PURPLE, "cadp": plots.PURPLE}.get(method, proposed)
    axis.plot(
        x, y, ".", markersize=2.0, color=colour, alpha=0.5, markeredgewidth=0, rasterized=True
    )


PILOT_RECORDS = 1_000

KEPT = 0.9
"""The least slope and R^2 of the fitted values of a kept relationship."""

TINY = 0.005
"""Smaller numbers are written without a sign."""

TRUE = "true records"

LINEAR, MONOTONIC, OTHER = "linear", "monotonic", "non-monotonic"


def _clusters(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    which = rng.integers(0, 3, n)
    s = np.array([-2.0, 0.0, 2.0])[which] + 0.35 * rng.standard_normal(n)
    return s, np.array([0.0, 3.0, 0.5])[which] + 0.4 * rng.standard_normal(n)


def _drawn(shape: str, rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    if shape == "three clusters":
        return _clusters(rng, n)
    s = rng.uniform(-2.0, 2.0, n) if shape == "U shape" else rng.standard_normal(n)
    noise = rng.standard_normal(n)
    made: Mapping[str, Floats] = {
        "linear": 0.8 * s + 0.6 * noise,
        "monotonic I": np.tanh(1.5 * s) + 0.2 * noise,
        "monotonic II": np.exp(0.7 * s + 0.25 * noise),
        "U shape": s**2 + 0.4 * noise,
    }
    return s, made[shape]


SHAPES = {
    "linear": LINEAR,
    "monotonic I": MONOTONIC,
    "monotonic II": MONOTONIC,
    "U shape": OTHER,
    "three clusters": OTHER,
}
"""The kind of dependence of each shape."""


def run_pilot(setting: Setting) -> Result:
    """Mask the five tables by every method and compare E(Y | S) with E(X | S)."""
    records = QUICK_RECORDS if setting.quick else PILOT_RECORDS
    clouds: dict[tuple[str, str], tuple[MixedTable, MixedTable | None, str]] = {}
    rows = []
    for index, (shape, kind) in enumerate(SHAPES.items()):
        part = setting.part(index / len(SHAPES), (index + 1) / len(SHAPES))
        drawn = _drawn(shape, setting.rng("alahmadi", "pilot", shape), records)
        s, x = (numeric_table((n,), d[:, None]) for n, d in zip("SX", drawn, strict=True))
        clouds[TRUE, shape] = s, x, ""
        for method, masked, refusal in versions(s, x, part, shape):
            slope, r_squared, shown = np.nan, np.nan, "refused"
            if masked is not None:
                fit = kept(FIRST, s, x, masked, setting)
                slope, r_squared, shown = fit.slope, fit.r_squared, fit.words
            clouds[method, shape] = s, masked, shown
            rows.append((shape, kind, method, slope, r_squared, refusal))
    found = pd.DataFrame(rows, columns=["shape", "kind", "method", "slope", "r_squared", "refused"])
    return Result(
        {"shapes": found},
        findings(found),
        lambda figure, *_: _draw_pilot(figure, clouds),
        height=height(1 + found["method"].nunique()),
    )


def findings(found: pd.DataFrame) -> Iterator[Claim]:
    """Compare the shapes with the dissertation's statements on each family of methods."""
    every = (LINEAR, MONOTONIC, OTHER)
    for method, kinds, words in (
        ("egadp", (LINEAR,), "EGADP keeps a linear relationship"),
        ("shuffle", (LINEAR, MONOTONIC), "Data shuffling keeps monotonic ones"),
        *((name, every, f"{name} keeps all five") for name in KEEPERS),
    ):
        rows = found[(found["method"] == method) & found["kind"].isin(kinds)]
        shown = "; ".join(
            f"{shape} slope {slope:.3f}, R^2 {r_squared:.3f}"
            for shape, slope, r_squared in rows[["shape", "slope", "r_squared"]].to_numpy()
        )
        near = rows["slope"].between(KEPT, 2 - KEPT) & (rows["r_squared"] >= KEPT)
        yield Claim(
            f"{words}, of fitted E(Y | S) on E(X | S): {shown} (kept from {KEPT:g}).",
            len(rows) and near.all(),
        )
    for method in EXISTING:
        rows = found[(found["method"] == method) & (found["kind"] == OTHER)]
        shown = "; ".join(
            f"{name} slope {slope:.3f}"
            for name, slope in zip(rows["shape"], rows["slope"], strict=True)
        )
        yield Claim(
            f"{method} destroys relationships that are not monotonic: {shown}.",
            (rows["slope"] < 1 - KEPT + 0.1).all() and len(rows),
        )


def _draw_pilot(
    figure: Figure, clouds: Mapping[tuple[str, str], tuple[MixedTable, MixedTable | None, str]]
) -> None:
    rows, shapes = (list(dict.fromkeys(each)) for each in zip(*clouds, strict=True))

    def draw(axis: Axes, row: int, column: int) -> None:
        s, masked, words = clouds[rows[row], shapes[column]]
        note(axis, words)
        if masked is not None:
            values = masked.matrix()[:, 0]
            dots(axis, s.matrix()[:, 0], values, rows[row])
            axis.plot(*trend(s.columns[0], values), color=plots.BLACK, linewidth=1.2)

    grid(figure, rows, shapes, draw)


SIX_KEPT = 0.95
"""The least slope and R^2 of the fitted values of a kept relationship."""


def run_six(setting: Setting) -> Result:
    """Compare the fitted values of six relationships under every method."""
    s, x = tables(setting, STORE)
    fits = {
        (method, relation.words()): kept(relation, s, x, masked, setting)
        for method, masked, _ in versions(s, x, setting, "store")
        if masked is not None
        for relation in SIX
    }
    found = pd.DataFrame(
        [(*names, fit.slope, fit.r_squared) for names, fit in fits.items()],
        columns=["method", "relationship", "slope", "r_squared"],
    )
    return Result(
        {"relationships": found},
        _six_claims(found),
        lambda figure, *_: _draw_six(figure, fits),
        height=height(found["method"].nunique()),
    )


def _six_claims(found: pd.DataFrame) -> Iterator[Claim]:
    for method in PROPOSED:
        rows = found[found["method"] == method]
        if rows.empty:
            continue
        least = rows[["slope", "r_squared"]].min(axis=1)
        worst = rows.iloc[first_smallest(least, scale=1.0)]
        yield Claim(
            f"{method} keeps all six relationships: the one kept least is {worst['relationship']},"
            f" slope {worst['slope']:.3f}, R² {worst['r_squared']:.3f} (kept from {SIX_KEPT:g}).",
            (least >= SIX_KEPT).all() and (rows["slope"] <= 2 - SIX_KEPT).all(),
        )
    for method in EXISTING:
        rows = found[(found["method"] == method) & ~found["relationship"].str.contains("S")]
        words = "; ".join(
            f"{r.relationship} slope {r.slope:.3f}, R² {r.r_squared:.3f}" for r in rows.itertuples()
        )
        yield Claim(
            f"{method} keeps what is linear, the relationship among the confidential columns:"
            f" {words}.",
            ((rows["slope"] - 1).abs() <= 1 - SIX_KEPT).all()
            and (rows["r_squared"] >= SIX_KEPT).all(),
        )


def _draw_six(figure: Figure, fits: Mapping[tuple[str, str], PreservedRelation]) -> None:
    rows, columns = (list(dict.fromkeys(each)) for each in zip(*fits, strict=True))

    def draw(axis: Axes, row: int, column: int) -> None:
        fit = fits[rows[row], columns[column]]
        ends = [float(np.min(fit.true)), float(np.max(fit.true))]
        axis.plot(ends, ends, color=plots.BLACK, linewidth=1.0)
        dots(axis, fit.true, fit.masked, rows[row])
        note(axis, fit.words)

    grid(figure, rows, columns, draw)


_GAIN = "snooper-gain"

SHOWN = (
    ("relationship-slope-kernel", "kept", "slope of curves over S (1)"),
    ("relationship-r2-kernel", "kept", "R² of curves over S (1)"),
    ("relationship-slope-linear", "kept", "slope of lines over S (1)"),
    (_GAIN, "gain", "snooper's gain (0)"),
)
"""The measures in the picture: name, scale, and label."""

_ACROSS = 2
_SCALES = {"kept": (0.0, 1.0), "gain": (0.0, 0.25)}
_BEST = {"kept": 1.0, "gain": 0.0}

_DATA = (
    STORE,
    *(name for name in DATASETS if name != STORE),
)
"""The store, the five relationships that are not monotonic, and the three that are."""

_QUICK_DATA = (STORE, "NM.02")


def run_methods(setting: Setting) -> Result:
    """Mask each table by every method; measure how useful and how revealing the results are."""
    chosen = _QUICK_DATA if setting.quick else _DATA
    rows = []
    for index, name in enumerate(chosen):
        part = setting.part(index / len(chosen), (index + 1) / len(chosen))
        s, x = tables(setting, name)
        for method, masked, failure in versions(s, x, part, f"compare {name}"):
            row: dict[str, Any] = {"table": name, "method": method, "failure": failure}
            if masked is not None:
                rng = setting.rng("alahmadi", "compare", name, method)
                row |= _numbers(s, measure_all(s, x, masked, rng=rng))
            rows.append(row)
    found = pd.DataFrame(rows)
    return Result(
        {"methods": found},
        _method_claims(found),
        _draw_methods,
        height=2.1 + 0.25 * found["method"].nunique() * len(SHOWN) / _ACROSS,
    )


def _numbers(s: MixedTable, measures: Measures) -> dict[str, float]:
    by_s = f"given {', '.join(s.names)}"
    found = {
        name: [m.value for m in measures.named(name) if m.about.endswith(by_s) or name == _GAIN]
        for name, _, _ in SHOWN
    }
    return {name: float(np.mean(values)) for name, values in found.items()}


def _method_claims(found: pd.DataFrame) -> Iterator[Claim]:
    for row in found[found["failure"] != ""].itertuples():
        yield Claim(f"{row.table}: {row.method} refused: {row.failure}")


def _draw_methods(figure: Figure, found: pd.DataFrame) -> None:
    shape = len(SHOWN) // _ACROSS, _ACROSS
    axes = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False).ravel()
    methods, sources = list(found["method"].unique()), list(found["table"].unique())
    for axis, (column, scale, words) in zip(axes, SHOWN, strict=True):
        _heat(axis, found.pivot(index="method", columns="table", values=column)
              .reindex(index=methods, columns=sources), scale, words)  # fmt: skip


def _heat(axis: Axes, numbers: pd.DataFrame, scale: str, words: str) -> None:
    low, high = _SCALES[scale]
    values = numbers.to_numpy(dtype=float)
    off = np.clip(np.abs(values - _BEST[scale]) / (high - low), 0, 1)
    axis.imshow(off, cmap="Blues", vmin=0, vmax=1.25, aspect="auto")
    small = 7.5 if len(numbers.columns) < 8 else 5
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            axis.text(column, row, _number(value), ha="center", va="center", fontsize=small,
                      color="white" if off[row, column] > 0.55 else plots.BLACK)  # fmt: skip
        else:
            axis.text(column, row, "–", ha="center", va="center", fontsize=small)
    axis.set_title(words, fontsize=9.5)
    axis.set_yticks(range(len(numbers)), list(numbers.index), fontsize=8)
    many = len(numbers.columns) > 3
    turned: dict[str, Any] = {"rotation": 60, "ha": "right"} if many else {}
    axis.set_xticks(range(len(numbers.columns)), list(numbers.columns), fontsize=8, **turned)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)


def _number(value: float) -> str:
    if value > 9:
        return ">9"
    text = f"{value:.2f}".replace("-0.00", "0.00")
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


PRINTED = {"expenditure": (296.775, 59.299), "debt": (504.692, 59.054)}
"""Mean and standard deviation in dollars (table 1)."""

FLAT, HUMP_KEPT = 0.1, 0.99
"""The hump is gone below the first slope; NMEGADP must reach at least the second."""

COLUMNS = 5
"""The count of pictures in a row."""


def run_hump(setting: Setting) -> Result:
    """Mask the store by every method and compare E(Y1 | S) with E(X1 | S)."""
    s, x = tables(setting, STORE)
    clouds: dict[str, MixedTable] = {TRUE: x}
    fits: dict[str, PreservedRelation] = {}
    for method, masked, _ in versions(s, x, setting, "store"):
        if masked is not None:
            clouds[method] = masked
            fits[method] = kept(FIRST, s, x, masked, setting)
    rows = [(method, fit.slope, fit.r_squared) for method, fit in fits.items()]
    found = pd.DataFrame(rows, columns=["method", "slope", "r_squared"])
    return Result(
        {"hump": found},
        _hump_findings(x, found),
        lambda figure, *_: _draw_hump(figure, s, clouds, fits),
        height=0.9 + 2.0 * -(-len(clouds) // COLUMNS),
    )


def _hump_findings(x: MixedTable, found: pd.DataFrame) -> Iterator[Claim]:
    for name in CONFIDENTIAL:
        values = x.project([name]).matrix()[:, 0]
        mean, deviation = PRINTED[name]
        z = (values.mean() - mean) / (deviation / np.sqrt(len(values)))
        yield Claim(
            f"{name}: mean {values.mean():.1f} and standard deviation {values.std():.1f}; table"
            f" 1 prints {mean:.1f} and {deviation:.1f} (drawn, not the paper's own records).",
            abs(z) < 4 and abs(values.std() / deviation - 1) < 0.15,
        )
    numbers = found.set_index("method")
    for method in (*EXISTING, *KEEPERS):
        slope, r_squared = (float(numbers[c][method]) for c in ("slope", "r_squared"))
        gone = method in EXISTING
        yield Claim(
            f"{method} {'destroys the hump (figure 4)' if gone else 'keeps the hump'}: slope of"
            f" E(Y1 | S) on E(X1 | S) {slope:.3f}, R² {r_squared:.3f} (destroyed below a slope"
            f" of {FLAT:g}, kept from {HUMP_KEPT:g}).",
            abs(slope) < FLAT if gone else min(slope, r_squared) >= HUMP_KEPT,
        )


def _draw_hump(
    figure: Figure,
    s: MixedTable,
    clouds: Mapping[str, MixedTable],
    fits: Mapping[str, PreservedRelation],
) -> None:
    lines = -(-len(clouds) // COLUMNS)
    axes = list(figure.subplots(lines, COLUMNS, squeeze=False).ravel())
    age = s.project(["age"])
    for place, (axis, (name, table)) in enumerate(zip(axes, clouds.items(), strict=False)):
        values = table.project(["expenditure"]).matrix()[:, 0]
        dots(axis, age.matrix()[:, 0], values, name)
        axis.plot(*trend(age.columns[0], values), color=plots.BLACK, linewidth=1.4)
        axis.set_title(f"{name}\n{fits[name].words if name in fits else ' '}", fontsize=9)
        axis.tick_params(
            labelsize=8,
            labelleft=place % COLUMNS == 0,
            labelbottom=place + COLUMNS >= len(clouds),
        )
        if place + COLUMNS >= len(clouds):
            axis.set_xlabel("age, years", fontsize=8.5)
    for axis in axes[len(clouds) :]:
        axis.set_visible(False)
    share(axes[: len(clouds)])
    figure.supylabel("expenditure, $", fontsize=8.5)
