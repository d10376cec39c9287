"""The input and the result of an experiment, and shared functions for curves and claims.

An experiment is a function of a `Setting`, listed in `experiments.toml`. It writes no files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from pramana_core.errors import OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures import plots
from pramana_core.progress import OnShare

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # matplotlib is loaded with the first picture
    Axes = Figure = Any

T = TypeVar("T")


class Claim(NamedTuple):
    """A sentence that compares a result with the paper's, and whether the two agree.

    `agrees` is None if the paper has no such result and the sentence only reports ours.
    """

    text: str
    agrees: Any = None


@dataclass(frozen=True)
class Setting:
    """The input of every experiment: seed, folder of public tables, extent and progress callback.

    Raises:
        OptionError: the seed is negative, or `data` is not a folder.
    """

    seed: int = 1
    data: Path | None = None
    quick: bool = False
    progress: OnShare = lambda _share: None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise OptionError(
                f"seed must be 0 or more, not {self.seed}.",
                where="--seed",
                remedy="Pass 0 or a positive number.",
            )
        if self.data is not None and not self.data.is_dir():
            raise _no_data(f"The folder {self.data} does not exist.")

    def rng(self, *stream: float | str) -> np.random.Generator:
        """Return the generator of a named stream, which is independent of other streams."""
        label = "/".join(str(part) for part in stream)
        return np.random.default_rng([self.seed, *label.encode()])

    def steps(self, work: Iterable[T]) -> Iterator[T]:
        """Yield the parts of the work, and report the finished share after each."""
        parts = list(work)
        for done, part in enumerate(parts, 1):
            yield part
            self.progress(done / len(parts))

    def part(self, low: float, high: float) -> Setting:
        """Return this setting for the part of the work from `low` to `high` of the progress."""
        return replace(self, progress=lambda share: self.progress(low + (high - low) * share))

    def file(self, name: str) -> Path:
        """Return the path of a table in the data folder. Raises OptionError if it is missing."""
        if self.data is None:
            raise _no_data(f"This experiment needs the table {name}.")
        if not (self.data / name).is_file():
            raise _no_data(f"The folder {self.data} has no file {name}.")
        return self.data / name


def _no_data(message: str) -> OptionError:
    return OptionError(
        message, where="--data", remedy="Name the folder of the public tables with --data."
    )


@dataclass(frozen=True)
class Result:
    """The result of an experiment.

    Args:
        tables: data frames by name; they become CSV files.
        findings: the checked claims, in the order of the report.
        draw: a function that draws on a figure 10 inches wide, given the tables; the title and the
            source are added later.
        height: the figure's height in inches.
        facts: further results that are single values, as JSON values by name.
    """

    tables: Mapping[str, pd.DataFrame]
    findings: Iterable[Claim]
    draw: Callable[..., None]
    height: float = 4.6
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Comparisons of arrays give numpy booleans, which JSON cannot represent.
        found = (
            Claim(text, agrees if agrees is None else bool(agrees))
            for text, agrees in self.findings
        )
        object.__setattr__(self, "findings", tuple(found))

    def picture(self, figure: Figure) -> None:
        self.draw(figure, *self.tables.values())


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper with its reproduction: an entry of `experiments.toml`."""

    name: str
    title: str
    source: str
    run: Callable[[Setting], Result]
    needs_data: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


def where(table: pd.DataFrame, /, **wanted: object) -> pd.DataFrame:
    """Return the rows that have the given values in the columns named by the arguments."""
    for name, value in wanted.items():
        table = table[table[name] == value]
    return table


def plausible(statistic: float, degrees: int) -> tuple[bool, float, float]:
    """Return whether a chi-square statistic is within its 99.9 % limits, then the two limits."""
    low, high = (float(stats.chi2.ppf(q, degrees)) for q in (0.0005, 0.9995))
    return low <= statistic <= high, low, high


Look: TypeAlias = tuple[Any, str, str]
"""The colour, marker and line style of a curve."""

LOOKS: tuple[Look, ...] = (
    (plots.BLUE, "o", "-"),
    (plots.ORANGE, "s", "-"),
    (plots.GREEN, "^", "-"),
    (plots.RED, "v", "-"),
    (plots.PURPLE, "D", "-"),
)


def bars(
    axis: Axes,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    error: npt.ArrayLike | None,
    look: Look,
    label: str,
    **how: Any,
) -> None:
    """Draw a curve with a mark and an error bar at each point."""
    colour, marker, dash = look
    how = {"markersize": 5, "elinewidth": 1} | how
    axis.errorbar(x, y, error, color=colour, marker=marker, linestyle=dash, label=label, **how)


def curves(
    axis: Axes,
    rows: pd.DataFrame,
    x: str,
    y: str,
    by: str,
    *,
    error: str | None = None,
    looks: Mapping[Any, Look] | None = None,
    label: str = "{}",
    **how: Any,
) -> None:
    """Draw a curve of column y over x for each value of `by`, in a tidy frame.

    `error` is the column with half the length of each bar. `looks` sets the order of the curves, by
    default that of the rows. `label` formats the value of `by` for the legend; `how` is passed to
    matplotlib's `errorbar`.
    """
    looks = looks or dict(zip(dict.fromkeys(rows[by]), LOOKS, strict=False))
    for name, look in looks.items():
        own = rows[rows[by] == name]
        if not own.empty:
            spread = own[error].fillna(0.0) if error else None
            bars(axis, own[x], own[y], spread, look, label.format(name), **how)


def thousands(axis: Axes, records: Sequence[int]) -> None:
    """Give an axis of record counts a logarithmic scale with base 2, with the given ticks."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(records, [f"{n // 1000}k" for n in records])
    axis.minorticks_off()


ACCURATE = 0.10
"""The largest share of misplaced records that we call accurate."""


def accurate(title: str, estimate: Tensor, truth: Tensor) -> Claim:
    """Check the claim "accurate" by the share of records that the estimate misplaces."""
    moved = float(np.abs(estimate - truth).sum() / truth.sum()) / 2
    return Claim(
        f"The paper calls the estimates accurate. The {title} estimate misplaces"
        f" {100 * moved:.1f} % of the records (total variation; we call up to"
        f" {100 * ACCURATE:.0f} % accurate).",
        moved <= ACCURATE,
    )
