"""What an experiment is, what it is given and what it returns, and what many of them do.

An experiment is a value, `Experiment(...)` in a module, and `run.py` names it. It draws and
writes nothing itself, so that a test can run it and look at its tables.

Also here:

* The errors that theory gives the estimated parameters, computed the long way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from pramana_core.errors import OptionError
from pramana_core.marginals.counts import Tensor
from pramana_core.progress import OnShare

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # matplotlib is loaded with the first picture
    Axes = Figure = Any

T = TypeVar("T")

_NAME = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)*")


def silent(share: float) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class Setting:
    """What every experiment is given.

    Args:
        seed: decides samples and keys; the same seed gives the same files.
        data: the folder of public tables, for experiments that need one.
        quick: fewer repetitions and smaller grids, for a first look.
        progress: told the share that is done.

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
        """Yield what is to be done and tell after each which share of it is, from low to high.

        `cost` says how long each takes beside the others.
        """
        parts = list(work)
        spent = np.cumsum([cost(part) for part in parts])
        for part, done in zip(parts, spent.tolist(), strict=True):
            yield part
            self.progress(low + (high - low) * done / float(spent[-1]))

    def part(self, low: float, high: float) -> Setting:
        """Return the setting of a part of the work, whose progress is from low to high."""
        return replace(self, progress=lambda share: self.progress(low + (high - low) * share))

    def file(self, name: str) -> Path:
        """Return the path of a table in the data folder.

        Raises:
            OptionError: no folder was given, or the file is not in it.
        """
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

    Raises:
        OptionError: the text is empty.
    """

    agrees: bool | None
    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise OptionError("A finding needs a sentence.", where="text")
        if self.agrees is not None:
            # Comparisons of arrays give numpy's booleans, which JSON does not know.
            object.__setattr__(self, "agrees", bool(self.agrees))


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    Args:
        tables: data frames by name; they become CSV files.
        findings: what agrees with the paper and what does not.
        draw: draws the picture on a figure that is 10 inches wide; title and source are added.
        height: the figure's height in inches.
        facts: single numbers worth keeping, JSON values by name.

    Raises:
        OptionError: no table, or no finding.
    """

    tables: Mapping[str, pd.DataFrame]
    findings: tuple[Finding, ...]
    draw: Callable[[Figure], None]
    height: float = 4.6
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.tables or not self.findings:
            raise OptionError("A result has at least one table and one finding.")


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

    Raises:
        OptionError: a name that is not lower-case words joined by `-` or `.`, or an empty title.
    """

    name: str
    title: str
    source: str
    run: Callable[[Setting], Result]
    needs_data: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise OptionError(f"{self.name!r} is not a valid name for an experiment.", where="name")
        if not self.title or not self.source:
            raise OptionError(f"Experiment {self.name} needs a title and a source.", where="title")


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


def bars(
    axis: Axes,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    error: npt.ArrayLike,
    colour: str,
    marker: str,
    label: str,
    dash: str = "-",
    **how: Any,
) -> None:
    """Draw a curve with a mark and a bar at each point; `how` is matplotlib's `errorbar`'s."""
    how = {"markersize": 5, "elinewidth": 1} | how
    axis.errorbar(x, y, error, color=colour, marker=marker, linestyle=dash, label=label, **how)


def thousands(axis: Axes, records: Sequence[int]) -> None:
    """Let the axis of numbers of records double from step to step, with ticks at some."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(records, [f"{n // 1000}k" for n in records])
    axis.minorticks_off()


ACCURATE = 0.10
"""What we call accurate: at most a tenth of the records would have to move."""


def as_theory_says(error: Tensor, covariance: Tensor) -> Finding:
    """Hold the errors of all counts at once against the covariance of Ma's theorem 2.

    Args:
        error: estimate less truth, of all k cells.
        covariance: k x k, given the records. The counts sum to a known number, so its rank is
            k - 1 and the last cell is left out.
    """
    free = error.ravel()[:-1]
    statistic = float(free @ np.linalg.solve(covariance[:-1, :-1], free))
    held, low, high = plausible(statistic, free.size)
    return Finding(
        held,
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


# The errors that theory gives the estimated parameters, computed the long way.
#
# The covariance of theorem 5.2 is formed of Kronecker products and of the true counts, which only
# an experiment knows. The product itself never lists them, so that the two can be compared.


def covariance(counts: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """Return Cov(N^ | D) = P'^-1 diag(P'N) P^-1 - diag(N) (Ma theorems 2 and 5.2).

    Args:
        counts: the true counts, one axis per variable.
        matrices: each axis's transition matrix, rows the truth.
    """
    joint = reduce(_kron, matrices)
    inverse = np.linalg.inv(joint)
    cells = counts.ravel()
    full: Tensor = (inverse.T * (joint.T @ cells)) @ inverse - np.diag(cells)
    return full


def _kron(left: Tensor, right: Tensor) -> Tensor:
    product: Tensor = np.kron(left, right).astype(np.float64)
    return product


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
