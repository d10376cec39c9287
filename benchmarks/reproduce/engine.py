"""What an experiment is given and what it returns, and the curves and claims of many.

An experiment is a function of a `Setting` that `experiments.toml` names. It writes nothing.
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
    """A sentence that compares a result with the paper, and whether it holds.

    `agrees` is computed; None where the paper gives nothing to check and the sentence only reports.
    """

    text: str
    agrees: Any = None


@dataclass(frozen=True)
class Setting:
    """What every experiment is given: seed, folder of public tables, extent, progress.

    Raises:
        OptionError: the seed is negative, or `data` is no folder.
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
                remedy="Give 0 or more.",
            )
        if self.data is not None and not self.data.is_dir():
            raise _no_data(f"There is no folder {self.data}.")

    def rng(self, *stream: float | str) -> np.random.Generator:
        """Return the generator of a named stream: no experiment's numbers depend on another's."""
        label = "/".join(str(part) for part in stream)
        return np.random.default_rng([self.seed, *label.encode()])

    def steps(self, work: Iterable[T]) -> Iterator[T]:
        """Yield the parts of the work, and report the share done after each."""
        parts = list(work)
        for done, part in enumerate(parts, 1):
            yield part
            self.progress(done / len(parts))

    def part(self, low: float, high: float) -> Setting:
        """Return the setting of a part of the work, whose progress is from low to high."""
        return replace(self, progress=lambda share: self.progress(low + (high - low) * share))

    def file(self, name: str) -> Path:
        """Return the path of a table in the data folder. Raises OptionError if it is absent."""
        if self.data is None:
            raise _no_data(f"The table {name} is needed.")
        if not (self.data / name).is_file():
            raise _no_data(f"There is no {name} in {self.data}.")
        return self.data / name


def _no_data(message: str) -> OptionError:
    return OptionError(
        message, where="--data", remedy="Name the folder that holds the public tables with --data."
    )


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Args:
        tables: data frames by name; they become CSV files.
        findings: the claims that were checked, in the order of the report.
        draw: is given a figure that is 10 inches wide, and the tables; title and source are added.
        height: the figure's height in inches.
        facts: single numbers worth keeping, JSON values by name.
    """

    tables: Mapping[str, pd.DataFrame]
    findings: Iterable[Claim]
    draw: Callable[..., None]
    height: float = 4.6
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Comparisons of arrays give numpy's booleans, which JSON does not know.
        found = (
            Claim(text, agrees if agrees is None else bool(agrees))
            for text, agrees in self.findings
        )
        object.__setattr__(self, "findings", tuple(found))

    def picture(self, figure: Figure) -> None:
        """Draw the picture."""
        self.draw(figure, *self.tables.values())


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper and how to make it again: an entry of `experiments.toml`."""

    name: str
    title: str
    source: str
    run: Callable[[Setting], Result]
    needs_data: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()


def where(table: pd.DataFrame, /, **wanted: object) -> pd.DataFrame:
    """Return the rows that have these values in columns of these names."""
    for name, value in wanted.items():
        table = table[table[name] == value]
    return table


def plausible(statistic: float, degrees: int) -> tuple[bool, float, float]:
    """Return whether a chi-square statistic is between the limits of 999 in 1,000, and these."""
    low, high = (float(stats.chi2.ppf(q, degrees)) for q in (0.0005, 0.9995))
    return low <= statistic <= high, low, high


Look: TypeAlias = tuple[Any, str, str]
"""Colour, marker and line of a curve."""

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
    """Draw a curve with a mark and a bar at each point; `how` is matplotlib's `errorbar`'s."""
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

    `error` is the column of half the bars' lengths. `looks` orders the curves (default: the rows'
    order). `label` formats the value for the legend; `how` goes to matplotlib's `errorbar`.
    """
    looks = looks or dict(zip(dict.fromkeys(rows[by]), LOOKS, strict=False))
    for name, look in looks.items():
        own = rows[rows[by] == name]
        if not own.empty:
            spread = own[error].fillna(0.0) if error else None
            bars(axis, own[x], own[y], spread, look, label.format(name), **how)


def thousands(axis: Axes, records: Sequence[int]) -> None:
    """Let the axis of numbers of records double from step to step, with ticks at some."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(records, [f"{n // 1000}k" for n in records])
    axis.minorticks_off()


ACCURATE = 0.10
"""What we call accurate: at most a tenth of the records would have to move."""


def accurate(title: str, estimate: Tensor, truth: Tensor) -> Claim:
    """Check the paper's word "accurate" by the share of records counted in a wrong cell."""
    moved = float(np.abs(estimate - truth).sum() / truth.sum()) / 2
    return Claim(
        f"The paper calls the estimates accurate. The {title} estimate misplaces"
        f" {100 * moved:.1f} % of the records (total variation; we call up to"
        f" {100 * ACCURATE:.0f} % accurate).",
        moved <= ACCURATE,
    )
