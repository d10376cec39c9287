"""All methods side by side at equal disclosure risk: on made tables, on public ones, on adult."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.reproduce.alahmadi.versions import QUICK_RECORDS, STORE, names, tables
from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting
from pramana.setups.relationships import DATASETS
from pramana_core.errors import NotInstalled
from pramana_core.mask.comparison import compare
from pramana_core.mask.measures import Measures
from pramana_core.mixed.table import MixedTable, read_mixed
from pramana_core.pictures import plots
from pramana_core.ties import FITTED_TIE, first_largest

ADULT_FILE = "adult-train.csv.gz"
ADULT_RECORDS = 4_000

CHOSEN = {
    "diabetes": (["age", "sex", "s5"], ["bmi", "bp", "target"]),
    "wine": (["class", "color_intensity"], ["alcohol", "proline", "flavanoids"]),
    "breast cancer": (["class", "mean texture"], ["mean radius", "mean concavity"]),
}
"""Which columns are told and which are taken for confidential, by table."""

WORDS = (
    "Of diabetes body mass, blood pressure and progress are masked, given age, sex and s5; of wine"
    " alcohol, proline and flavanoids, given class and colour; of breast cancer mean radius and"
    " concavity, given class and texture."
)

ADULT_WORDS = (
    f"Masked are age and hours per week, given years of education, sex and income class;"
    f" {ADULT_RECORDS:,} records drawn from the training file."
)


def scikit_learn_tables(setting: Setting) -> dict[str, tuple[MixedTable, MixedTable]]:
    """Return S and X of three tables that come with scikit-learn.

    Raises:
        NotInstalled: scikit-learn is not there.
    """
    try:
        from sklearn import datasets
    except ImportError as error:
        raise NotInstalled(
            "scikit-learn is not installed, which these tables come with.",
            where="alahmadi-real",
            remedy="Install the extra: pip install 'pramana[models]'.",
        ) from error
    diabetes = datasets.load_diabetes(as_frame=True, scaled=False).frame
    diabetes["sex"] = diabetes["sex"].map({1.0: "1", 2.0: "2"})
    frames = {"diabetes": diabetes}
    for name, loaded in (
        ("wine", datasets.load_wine(as_frame=True)),
        ("breast cancer", datasets.load_breast_cancer(as_frame=True)),
    ):
        labels = np.asarray(loaded.target_names)[loaded.target]
        frames[name] = loaded.data.assign(**{"class": labels})
    chosen = list(CHOSEN)[:1] if setting.quick else list(CHOSEN)
    return {name: _split(frames[name], *CHOSEN[name]) for name in chosen}


def adult_tables(setting: Setting) -> dict[str, tuple[MixedTable, MixedTable]]:
    """Return S and X of adult's numeric columns. Raises OptionError where the file is not there."""
    frame = pd.read_csv(setting.file(ADULT_FILE), skipinitialspace=True)
    records = QUICK_RECORDS if setting.quick else ADULT_RECORDS
    rows = setting.rng("alahmadi", "adult").permutation(len(frame))[:records]
    frame = frame.iloc[np.sort(rows)]
    told = ["education-num", "sex", "income"]
    return {"adult": _split(frame, told, ["age", "hours-per-week"])}


def _split(
    frame: pd.DataFrame, told: list[str], confidential: list[str]
) -> tuple[MixedTable, MixedTable]:
    return read_mixed(frame[told]), read_mixed(frame[confidential])


Source = Callable[[Setting], Mapping[str, tuple[MixedTable, MixedTable]]]

SHOWN = (
    ("curve slope", "kept", "slope of curves over S (1)"),
    ("curve R2", "kept", "R² of curves over S (1)"),
    ("line slope", "kept", "slope of lines over S (1)"),
    ("error given all others", "error", "error given all others (1)"),
    ("correlation moved", "moved", "correlation moved (0)"),
    ("kernel gain", "gain", "snooper's gain (0)"),
)
"""What the picture shows of each method: the comparison's column, its scale, and words."""

_SCALES = {"kept": (0.0, 1.0), "error": (1.0, 3.0), "moved": (0.0, 0.5), "gain": (0.0, 0.25)}
_BEST = {"kept": 1.0, "error": 1.0, "moved": 0.0, "gain": 0.0}

_DATA = (
    STORE,
    *(name for name in DATASETS if name.startswith(("NM.0", "MNL.0")) and len(name) < 7),
)
"""The store, the five relationships that are not monotonic, and the three that are."""

_QUICK_DATA = (STORE, "NM.02")

_CHANCE = 1e-3
"""How often chance may make any of a method's tables look unsafe."""

_CONTROL = "sadp"
"""Is tuned to give something away, which the test of the gain must find."""


def _made(setting: Setting) -> dict[str, tuple[MixedTable, MixedTable]]:
    chosen = _QUICK_DATA if setting.quick else _DATA
    return {name: tables(setting, name) for name in chosen}


def runner(source: Source) -> Callable[[Setting], Result]:
    """Return the run of an experiment on the tables of a source."""

    def run(setting: Setting) -> Result:
        found = compared(setting, source(setting))
        return Result(
            {"methods": found},
            _findings(found),
            lambda figure: _draw(figure, found),
            height=2.1 + 0.25 * found["method"].nunique() * len(SHOWN) / _across(found),
        )

    return run


def compared(
    setting: Setting, sources: Mapping[str, tuple[MixedTable, MixedTable]]
) -> pd.DataFrame:
    """Return a row for each table and method: what it keeps, and what it gives away."""
    parts = []
    for done, (name, (s, x)) in enumerate(sources.items()):
        found = compare(
            s,
            x,
            setting.rng("alahmadi", "compare", name),
            methods=names(setting),
            on_step=lambda k, n, at=done: setting.progress((at + k / n) / len(sources)),
        )
        frame = found.frame().reset_index()
        frame.insert(0, "table", name)
        gains = [_largest_gain(row.measures) for row in found.rows]
        frame[["gain", "gain error"]] = np.array(gains, dtype=float).reshape(-1, 2)
        parts.append(frame)
    setting.progress(1.0)
    return pd.concat(parts, ignore_index=True)


def _largest_gain(runs: Sequence[Measures]) -> tuple[float, float]:
    """Return the gain about a column that lies most errors above zero, and its error."""
    rows = [m for run in runs for m in run.named("snooper-gain-kernel") if np.isfinite(m.value)]
    if not rows:
        return float("nan"), float("nan")
    above = [m.value / m.error if m.error else np.sign(m.value) * 1e9 for m in rows]
    most = rows[first_largest(above, tie=FITTED_TIE)]
    return most.value, most.error or 0.0


def _findings(found: pd.DataFrame) -> tuple[Finding, ...]:
    return (
        *(_no_gain(found, name) for name in ("egadp", "shuffle", "nmegadp", "nmegadp-shuffle")),
        *_control(found),
        *_failures(found),
        *_lines(found),
    )


def _no_gain(found: pd.DataFrame, method: str) -> Finding:
    """A snooper's gain is none: not larger than chance explains, over all tables together."""
    rows, limit = _gains(found, method)
    if not len(rows):
        return Finding(None, f"{method} masked none of the tables.")
    over = rows["gain"] - limit * rows["gain error"]
    worst = rows.iloc[first_largest(over, scale=1.0)]
    clearest = (
        f"the clearest is {worst['gain']:.4f} of the variance, with standard error"
        f" {worst['gain error']:.4f}, on {worst['table']}"
        if rows["gain error"].any()
        else "he found nothing to go by"
    )
    return Finding(
        bool((over <= 0).all()),
        f"{method}: what a kernel snooper gains by Y over S alone cannot be told from zero on any"
        f" of {len(rows)} tables: {clearest} (it could from {limit:.2f} standard errors).",
    )


def _control(found: pd.DataFrame) -> list[Finding]:
    """The negative control: the same test finds what additive noise gives away."""
    rows, limit = _gains(found, _CONTROL)
    if not len(rows):
        return []
    held = rows["gain"] > limit * rows["gain error"]
    return [
        Finding(
            bool(held.mean() >= 0.5),
            f"The same test finds what {_CONTROL} gives away on {int(held.sum())} of {len(rows)}"
            f" tables: gains of {rows['gain'].min():.4f} to {rows['gain'].max():.4f} (expected on"
            " at least half of them).",
        )
    ]


def _gains(found: pd.DataFrame, method: str) -> tuple[pd.DataFrame, float]:
    """Return the tables that a method masked, and from how many errors a gain is none of chance."""
    rows = found[(found["method"] == method) & found["gain"].notna()]
    return rows, float(stats.norm.isf(_CHANCE / max(1, len(rows))))


def _failures(found: pd.DataFrame) -> list[Finding]:
    failed = found[found["failure"] != ""]
    return [
        Finding(None, f"{row.table}: {row.method} refused: {row.failure}")
        for row in failed.itertuples()
    ]


def _lines(found: pd.DataFrame) -> list[Finding]:
    """Report of each table what is kept by whom, for there is no number in the file to hold."""
    told = []
    for table, rows in found.groupby("table", sort=False):
        best = rows.loc[(rows["curve slope"] - 1).abs().sort_values().index]
        pairs = zip(best["method"], best["curve slope"].to_numpy(dtype=float), strict=True)
        words = ", ".join(f"{name} {slope:.2f}" for name, slope in pairs if np.isfinite(slope))
        told.append(Finding(None, f"{table}: slope of fitted curves over S: {words}."))
    return told


def _draw(figure: Figure, found: pd.DataFrame) -> None:
    across = _across(found)
    shape = len(SHOWN) // across, across
    axes = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False).ravel()
    methods, sources = list(found["method"].unique()), list(found["table"].unique())
    for axis, (column, scale, words) in zip(axes, SHOWN, strict=True):
        _heat(axis, found.pivot(index="method", columns="table", values=column)
              .reindex(index=methods, columns=sources), scale, words)  # fmt: skip


def _across(found: pd.DataFrame) -> int:
    """Return how many panels stand beside each other: of a single table all of them."""
    return len(SHOWN) if found["table"].nunique() == 1 else 3


def _heat(axis: Axes, numbers: pd.DataFrame, scale: str, words: str) -> None:
    """Draw numbers in cells: the farther from what is right, the darker."""
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
    if len(numbers.columns) == 1:
        axis.set_title(_broken(words), fontsize=8.5)
    else:
        axis.set_title(words, fontsize=9.5)
    axis.set_yticks(range(len(numbers)), list(numbers.index), fontsize=8)
    many = len(numbers.columns) > 3
    turned: dict[str, Any] = {"rotation": 60, "ha": "right"} if many else {}
    axis.set_xticks(range(len(numbers.columns)), list(numbers.columns), fontsize=8, **turned)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)


def _broken(words: str) -> str:
    """Return words on two lines, for a narrow panel."""
    parts = words.split()
    half = len(parts) // 2
    return " ".join(parts[:half]) + "\n" + " ".join(parts[half:])


def _number(value: float) -> str:
    if value > 9:
        return ">9"
    text = f"{value:.2f}".replace("-0.00", "0.00")
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _choices(of: str) -> Sequence[str]:
    return (
        of,
        (
            "The noise of SADP and CADP is such that a kernel snooper gains 5 % of the variance by"
            " their release (half of what S leaves, if that is less); the others have no such dial."
        ),
        "In brackets: what is right. The darker a cell, the farther from it.",
    )


MADE = Experiment(
    name="alahmadi-methods",
    title="All methods on the store and its companions",
    source="AlAhmadi (2006), tables 21 to 38, appendices",
    run=runner(_made),
    choices=tuple(_choices("The data sets are drawn in the likeness of their names.")),
)

REAL = Experiment(
    name="alahmadi-real",
    title="All methods on three public tables",
    source="AlAhmadi (2006), measures; tables of scikit-learn",
    run=runner(scikit_learn_tables),
    choices=tuple(_choices(WORDS)),
)

ADULT = Experiment(
    name="alahmadi-adult",
    title="All methods on the numbers of the adult table",
    source="AlAhmadi (2006), measures; adult table",
    run=runner(adult_tables),
    needs_data=(ADULT_FILE,),
    choices=tuple(_choices(ADULT_WORDS)),
)
