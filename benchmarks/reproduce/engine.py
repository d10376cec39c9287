"""What an experiment is, what it is given and what it returns, and what many of them do.

An experiment is a value, `Experiment(...)` in a module, and `run.py` names it. It draws and
writes nothing itself, so that a test can run it and look at its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

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


def silent(share: float) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class Setting:
    """What every experiment is given: seed, folder of public tables, extent, who hears progress.

    Raises:
        OptionError: the seed is negative, or `data` is no folder.
    """

    seed: int = 1
    data: Path | None = None
    quick: bool = False
    progress: OnShare = silent

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise OptionError(
                f"seed must be 0 or more, not {self.seed}.",
                where="--seed",
                remedy="Give 0 or more.",
            )
        if self.data is not None and not self.data.is_dir():
            raise OptionError(
                f"There is no folder {self.data}.",
                where="--data",
                remedy="Name the folder that holds the public tables.",
            )

    def rng(self, *stream: float | str) -> np.random.Generator:
        """Return the generator of a named stream: no experiment's numbers depend on another's."""
        label = "/".join(str(part) for part in stream)
        return np.random.default_rng([self.seed, *label.encode()])

    def steps(
        self,
        work: Iterable[T],
        low: float = 0.0,
        high: float = 1.0,
        cost: Callable[[T], float] = lambda _: 1.0,
    ) -> Iterator[T]:
        """Yield what is to be done and report after each the share done, from low to high.

        `cost` says how long each takes relative to the others.
        """
        parts = list(work)
        spent = np.cumsum([cost(part) for part in parts])
        for part, done in zip(parts, spent.tolist(), strict=True):
            yield part
            self.progress(low + (high - low) * done / float(spent[-1]))

    def parts(self, work: Iterable[T]) -> Iterator[tuple[Setting, T]]:
        """Yield what is to be done, each with the setting whose progress is of that share."""
        pieces = list(work)
        for place, piece in enumerate(pieces):
            yield self.part(place / len(pieces), (place + 1) / len(pieces)), piece

    def part(self, low: float, high: float) -> Setting:
        """Return the setting of a part of the work, whose progress is from low to high."""
        return replace(self, progress=lambda share: self.progress(low + (high - low) * share))

    def file(self, name: str) -> Path:
        """Return the path of a table in the data folder."""
        if self.data is None:
            raise OptionError(
                f"The table {name} is needed.",
                where="--data",
                remedy="Give the folder that holds it with --data.",
            )
        if not (self.data / name).is_file():
            raise OptionError(
                f"There is no {name} in {self.data}.",
                where="--data",
                remedy="Name the folder that holds the public tables.",
            )
        return self.data / name


@dataclass(frozen=True)
class Finding:
    """One sentence that compares a result with the paper.

    `agrees` is computed: True or False where the paper's number or claim was checked, None where
    the paper gives nothing to check and the sentence only reports.
    """

    agrees: bool | None
    text: str

    def __post_init__(self) -> None:
        if self.agrees is not None:
            # Comparisons of arrays give numpy's booleans, which JSON does not know.
            object.__setattr__(self, "agrees", bool(self.agrees))


def claim(text: str, agrees: Any = None) -> Finding:
    """Return a finding: a sentence, and whether it holds; None if it only reports."""
    return Finding(agrees, text)


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Args:
        tables: data frames by name; they become CSV files.
        findings: what agrees with the paper and what does not.
        draw: draws the picture on a figure that is 10 inches wide; title and source are added.
        height: the figure's height in inches.
        facts: single numbers worth keeping, JSON values by name.
    """

    tables: Mapping[str, pd.DataFrame]
    findings: Sequence[Finding]
    draw: Callable[[Figure], None]
    height: float = 4.6
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper and how to make it again.

    Args:
        name: short and unique, such as `ma-2.2`; the files are named after it.
        title: one line that says what is shown.
        source: paper and figure.
        run: makes the result.
        needs_data: the files wanted in the data folder; empty if none.
        choices: what the paper leaves open and how it is settled here, a sentence each.
    """

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
    """Return whether a chi-square statistic is between limits, and these.

    They are kept in 999 of 1,000 cases where the theory holds.
    """
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
    colour: str,
    marker: str,
    label: str,
    dash: str = "-",
    **how: Any,
) -> None:
    """Draw a curve with a mark and a bar at each point; `how` is matplotlib's `errorbar`'s."""
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
    for name, (colour, marker, dash) in looks.items():
        own = rows[rows[by] == name]
        if not own.empty:
            spread = own[error].fillna(0.0) if error else None
            bars(axis, own[x], own[y], spread, colour, marker, label.format(name), dash, **how)


def thousands(axis: Axes, records: Sequence[int]) -> None:
    """Let the axis of numbers of records double from step to step, with ticks at some."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(records, [f"{n // 1000}k" for n in records])
    axis.minorticks_off()


ACCURATE = 0.10
"""What we call accurate: at most a tenth of the records would have to move."""


def as_theory_says(error: Tensor, covariance: Tensor) -> Finding:
    """Hold the errors of all counts at once against the covariance of Ma's theorem 2."""
    free = error.ravel()[:-1]
    statistic = float(free @ np.linalg.solve(covariance[:-1, :-1], free))
    within, low, high = plausible(statistic, free.size)
    return Finding(
        within,
        f"The moment estimate's errors are as large as theorem 2 says: chi-square {statistic:.1f}"
        f" with {free.size} degrees of freedom (between {low:.1f} and {high:.1f} in 999 of 1,000"
        " runs).",
    )


def accurate(title: str, estimate: Tensor, truth: Tensor) -> Finding:
    """Check the paper's word "accurate" by the share of records counted in a wrong cell."""
    moved = float(np.abs(estimate - truth).sum() / truth.sum()) / 2
    return Finding(
        moved <= ACCURATE,
        f"The paper calls the estimates accurate. The {title} estimate misplaces"
        f" {100 * moved:.1f} % of the records (total variation; we call up to"
        f" {100 * ACCURATE:.0f} % accurate).",
    )


def flips(p: float) -> Tensor:
    """Return the matrix that flips a bit with probability p."""
    return np.array([[1 - p, p], [p, 1 - p]])


def covariance(counts: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Return Cov(N^ | D) = P'^-1 diag(P'N) P^-1 - diag(N) (Ma theorems 2 and 5.2).

    It is formed of Kronecker products and of the true counts, which only an experiment knows. The
    product itself never lists them, so that the two can be compared.

    Args:
        counts: the true counts, one axis per variable.
        matrices: each axis's transition matrix, rows the truth.
    """
    joint: Tensor = reduce(lambda a, b: np.kron(a, b).astype(np.float64), matrices)
    inverse = np.linalg.inv(joint)
    cells = counts.ravel()
    full: Tensor = (inverse.T * (joint.T @ cells)) @ inverse - np.diag(cells)
    return full


def parameter_errors(counts: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Return the standard errors of N^_jk / N^_j given the records (Ma 5.4.2), by the delta method.

    Args:
        counts: the true counts, the node's own axis last.
        matrices: as for `covariance`.
    """
    rows = counts.reshape(-1, counts.shape[-1])
    size = rows.shape[1]
    margin = np.repeat(rows.sum(axis=1), size)
    share = counts.ravel() / margin
    same_row = np.kron(np.eye(len(rows)), np.ones((size, size)))
    slope = (np.eye(counts.size) - share[:, None] * same_row) / margin[:, None]
    variance = np.einsum("ij,jk,ik->i", slope, covariance(counts, matrices), slope)
    errors: Tensor = np.sqrt(np.maximum(variance, 0.0)).reshape(counts.shape)
    return errors
