"""Counts of records over the cells of a domain, and the interface that learners use.

Learners take `Marginals`, never rows or matrices. The same learner therefore runs on exact counts,
on counts estimated from randomized records, and on an owner's own columns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.errors import DomainError, EmptyTable, LimitExceeded, UnknownVariable
from pramana_core.kernels import counting
from pramana_core.marginals.lack_of_fit import LackOfFit
from pramana_core.marginals.subpopulations import Subpopulation
from pramana_core.marginals.support_counts import Flags, Indices, Item, RuleCounts, SupportCounts
from pramana_core.marginals.tables import MarginalTable
from pramana_core.marginals.value_cache import ValueCache
from pramana_core.progress import Tick, no_cancel

Tensor = npt.NDArray[np.float64]
Codes = counting.Codes
Table = counting.Counts
Places = tuple[int, ...]
"""The indices of a table's columns among all columns."""

T = TypeVar("T")

CUBE_CELLS = 1 << 20
"""Maximum number of cells of a cube that is counted once; every marginal is then a sum over it."""

KEPT_CELLS = 1 << 22
"""Without a cube, the most recent tables are cached up to this total of cells (32 MB)."""

MARGINAL_CELLS = 1 << 26
"""The maximum number of cells of a marginal table (half a gigabyte of counts)."""


class ReportTables(Protocol):
    """Counts of reported codes over any subset of the columns."""

    @property
    def records(self) -> int:
        """The number of records."""

    def table(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the counts over the named columns, axes in that order. Raises UnknownVariable."""


class Independence(ABC):
    """Evidence against the independence of variables given others: `ratio`, or bounds on it."""

    @property
    @abstractmethod
    def degrees_of_freedom(self) -> int:
        """The number of additional free parameters of dependence."""

    @property
    @abstractmethod
    def ratio(self) -> float:
        """The log-likelihood ratio of dependence against independence, at least 0, in nats."""

    @abstractmethod
    def resampled(self, draws: int, rng: np.random.Generator) -> Tensor:
        """Return the ratio in each of `draws` bootstrap samples of the records, shape (draws,)."""

    @property
    def upper(self) -> float:
        """An upper bound on `ratio` that is cheap to compute."""
        return self.ratio

    @property
    def saturated(self) -> float:
        """An upper bound, in nats, on the records' log-likelihood under any hypothesis."""
        return self.ratio

    @property
    def null_log_likelihood(self) -> float:
        """The log-likelihood under independence."""
        return 0.0

    @property
    def null_bounds(self) -> tuple[float, float]:
        """Lower and upper bounds on `null_log_likelihood`, which are cheaper to compute."""
        return (self.null_log_likelihood,) * 2

    @property
    def alternative_log_likelihood(self) -> float:
        """The unrestricted maximum of the log-likelihood, to the accuracy of the maximization."""
        return self.ratio

    @property
    def inflation(self) -> float:
        """The factor of randomization for the gain expected by chance, before penalties."""
        return 1.0


class Explanation(NamedTuple):
    """The largest log-likelihood of whole records under a network, and its parameter count."""

    parameters: int
    log_likelihood: float


class Supports(Protocol):
    """Estimates the numbers of records that contain itemsets."""

    @property
    def items(self) -> tuple[Item, ...]:
        """The items; itemsets refer to them by index."""

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of n itemsets, given as ascending item indices (n, k)."""

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the counts for rules from itemsets. `antecedents`, (n, k), flags their items."""


class Marginals(Protocol):
    """A source of marginal tables over a domain."""

    @property
    def domain(self) -> Domain:
        """All variables that a marginal may contain."""

    @property
    def records(self) -> int:
        """The number of records."""

    def marginal(self, variables: Sequence[str]) -> MarginalTable:
        """Return the table over `variables`, axes in that order. Raises UnknownVariable."""

    def can_estimate(self, variables: Sequence[str]) -> bool:
        """Return whether a table needs no model of smaller tables. Raises UnknownVariable."""

    def unbiased(self, variables: Sequence[str]) -> MarginalTable | None:
        """Return a table with unbiased counts, which may be negative, or None.

        None means that no such table exists without assumptions. Raises UnknownVariable.
        """

    def expected(self, variables: Sequence[str]) -> Tensor:
        """Return the posterior expectation of each true cell's count, summing to N (Ma 4.2)."""

    def subpopulation(self) -> Subpopulation:
        """Return all records as a subpopulation."""

    def supports(self, items: Sequence[Item]) -> Supports:
        """Return an estimator of these items' supports. Raises UnknownVariable, DomainError."""

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        """Return the reports' evidence on the independence of variables, given others."""

    def jointly_reported(self, variables: Sequence[str]) -> bool:
        """Return whether some record reports all these variables. Raises UnknownVariable."""

    def halves(self) -> tuple[Marginals, Marginals] | None:
        """Return the marginals of each half of the records, or None if they cannot be split."""

    @property
    def lack_of_fit(self) -> tuple[LackOfFit, ...]:
        """For each model that tables come from, a test of whether the reports contradict it."""

    @property
    def filled_in(self) -> tuple[tuple[str, ...], ...]:
        """The sets of variables whose tables are assembled from smaller tables."""

    def explanation(self, parents: Mapping[str, Collection[str]]) -> Explanation | None:
        """Return the fit of a network of `parents` to whole records, or None if it is too large."""


def _require_small(shape: Sequence[int]) -> None:
    cells = math.prod(map(int, shape))
    if cells > MARGINAL_CELLS:
        message = f"A table of {cells} cells is larger than the {MARGINAL_CELLS} allowed."
        raise LimitExceeded(message, remedy="Request fewer variables at once.")


class RecordTables(ABC):
    """Counts of reported codes over any subset of some records' columns.

    If the product of `sizes` is at most `CUBE_CELLS`, columns are read once. Otherwise they are
    read whenever new tables are requested. One pass counts up to `pass_cells` cells.
    """

    pass_cells: ClassVar[int] = MARGINAL_CELLS

    def __init__(self, sizes: Mapping[str, int], records: int):
        self.records = records
        self._names = tuple(sizes)
        self._sizes = {name: int(size) for name, size in sizes.items()}
        self.cells = math.prod(self._sizes.values())
        self._cube: npt.NDArray[np.int64] | None = None
        self._kept: ValueCache[Places, Table] = ValueCache(KEPT_CELLS, lambda table: table.size)

    def table(self, names: Sequence[str]) -> Table:
        """Return the counts over the named columns, with axes in that order; see `tables`."""
        return self.tables([names])[0]

    def tables(self, wanted: Sequence[Sequence[str]], tick: Tick = no_cancel) -> list[Table]:
        """Return the counts over each list of named columns, with axes in that order.

        `tick` is called for each chunk of records. Raises UnknownVariable, and LimitExceeded: a
        table has more than `MARGINAL_CELLS` cells.
        """
        for name in {name for names in wanted for name in names}:
            self._require(name)
        place = {name: number for number, name in enumerate(self._names)}
        if self.cells <= CUBE_CELLS:
            if self._cube is None:
                every = tuple(range(len(self._names)))
                self._cube = self._counted([every], tick)[0]
            return _margins(self._cube, [[place[name] for name in names] for names in wanted])
        keys = [tuple(sorted(place[name] for name in names)) for names in wanted]
        found = {key: self._kept[key] for key in keys if key in self._kept}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        for some in _passes(missing, list(self._sizes.values()), self.pass_cells):
            for key, counted in zip(some, self._counted(some, tick), strict=True):
                # A view would keep all of a larger array in memory.
                whole = counted.base is None or counted.base.nbytes <= counted.nbytes
                table = counted if whole else counted.copy()
                table.flags.writeable = False
                found[key] = table
                if table.size <= KEPT_CELLS:
                    self._kept.put(key, table)
        return [
            np.transpose(found[key], [key.index(place[name]) for name in names])
            for key, names in zip(keys, wanted, strict=True)
        ]

    def sizes_of(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of reported categories of some columns."""
        return {name: self._sizes[name] for name in names}

    def _require(self, name: str) -> None:
        if name not in self._sizes:
            raise UnknownVariable(f"There is no reported column {name!r}.", where=name)

    def _counted(self, tables: Sequence[Places], tick: Tick) -> list[Table]:
        for table in tables:
            _require_small([self._sizes[self._names[column]] for column in table])
        return self._count(tables, tick)

    @abstractmethod
    def _count(self, tables: Sequence[Places], tick: Tick) -> list[Table]:
        """Count records over each set of columns, in one pass."""


class ReportedCounts(RecordTables):
    """Counts of reported codes over any subset of columns, in memory or memory-mapped files.

    `rows` returns the positions of these records in the whole table, which do not depend on how it
    is divided into pieces; by default they are 0 to N - 1. Raises EmptyTable: there are no records.
    DomainError: a column has no size, or lengths differ.
    """

    def __init__(
        self,
        columns: Mapping[str, Codes],
        sizes: Mapping[str, int],
        rows: Callable[[], npt.NDArray[np.int64]] | None = None,
    ):
        if set(columns) != set(sizes):
            raise DomainError(
                f"Columns {sorted(columns)} and sizes {sorted(sizes)} name different variables."
            )
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1:
            raise DomainError(f"The columns have different lengths: {sorted(lengths)}.")
        super().__init__({name: sizes[name] for name in columns}, lengths.pop())
        if self.records == 0:
            raise EmptyTable("There are no records to count.")
        self._columns = dict(columns)
        self.rows = rows or partial(np.arange, self.records)

    def column(self, name: str) -> Codes:
        """Return the codes of a column. Raises UnknownVariable."""
        self._require(name)
        return self._columns[name]

    def counted(self, task: Callable[[ReportedCounts, Tick], T], tick: Tick = no_cancel) -> T:
        """Return the counts of a pass over all records; see `passes.Pass`."""
        return task(self, tick)

    def count_at_once(self, wanted: Sequence[Sequence[str]], tick: Tick) -> list[Table]:
        """Return several tables, counted immediately in this thread; see `tables`."""
        places = [tuple(self._names.index(name) for name in names) for names in wanted]
        return self._count(places, tick, threads=1)

    def _count(
        self, tables: Sequence[Places], tick: Tick, threads: int | None = None
    ) -> list[Table]:
        columns, sizes = list(self._columns.values()), list(self._sizes.values())
        return counting.count_tables(
            columns, sizes, tables, names=self._names, threads=threads, tick=tick
        )


def _margins(cube: Table, wanted: Sequence[Sequence[int]]) -> list[Table]:
    found = []
    for places in wanted:
        left, table = sorted(places), cube
        # Summing one axis at a time is ten times faster than all at once.
        for axis in range(cube.ndim):
            if axis not in left:
                table = table.sum(axis=axis - cube.ndim + table.ndim)
        found.append(table.transpose([left.index(place) for place in places]))
    return found


def _passes(tables: Sequence[Places], sizes: Sequence[int], most: int) -> Iterator[list[Places]]:
    """Yield groups of tables, one group per pass; a group of several has at most `most` cells."""
    some: list[Places] = []
    cells = 0
    for table in tables:
        own = math.prod(sizes[column] for column in table)
        if some and cells + own > most:
            yield some
            some, cells = [], 0
        some.append(table)
        cells += own
    if some:
        yield some
