"""Counts of records over the cells of a domain, and the interface through which learners see them.

Learners take `Marginals`, never rows or matrices: the same learner runs on exact counts, on counts
estimated from randomized records, and on an owner's own columns.
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
"""A table's columns by their indices among all."""

T = TypeVar("T")

CUBE_CELLS = 1 << 20
"""Up to this many cells the whole cube is counted once; every marginal is a sum of it."""

KEPT_CELLS = 1 << 22
"""Otherwise tables of so many cells in all, counted last, are kept (32 MB)."""

MARGINAL_CELLS = 1 << 26
"""The most cells of a marginal table (half a gigabyte of counts)."""

LEVEL = 0.95
"""The confidence of the intervals of a table's cells, if no other is asked for."""


class ReportTables(Protocol):
    """Counts of reported codes over any of some columns."""

    @property
    def records(self) -> int:
        """The number of records."""

    def table(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the counts over the named columns, axes in that order. Raises UnknownVariable."""


class Independence(ABC):
    """Evidence against the independence of some variables given others: one exact `ratio`, or
    bounds.
    """

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
        """Return the ratio in each of some bootstrap samples of the records, shape (draws,)."""

    @property
    def upper(self) -> float:
        """A bound, cheap to compute, that `ratio` cannot exceed."""
        return self.ratio

    @property
    def saturated(self) -> float:
        """The log-likelihood of the records, in nats, that no hypothesis can exceed."""
        return self.ratio

    @property
    def null_log_likelihood(self) -> float:
        """The log-likelihood under independence."""
        return 0.0

    @property
    def null_bounds(self) -> tuple[float, float]:
        """Bounds of `null_log_likelihood` at a fraction of its cost."""
        return (self.null_log_likelihood,) * 2

    @property
    def alternative_log_likelihood(self) -> float:
        """The log-likelihood without restriction, up to the accuracy of its maximization."""
        return self.ratio

    @property
    def inflation(self) -> float:
        """How many times randomization multiplies the chance part of the plain gain."""
        return 1.0


class Explanation(NamedTuple):
    """A network's largest log-likelihood of whole records, in nats, and its free parameters."""

    parameters: int
    log_likelihood: float


class Supports(Protocol):
    """Estimates how many records have sets of items."""

    @property
    def items(self) -> tuple[Item, ...]:
        """The items; itemsets name them by their places here."""

    def counts(self, itemsets: Indices) -> SupportCounts:
        """Return the estimated counts of itemsets: ascending item indices, (n, k)."""

    def rules(self, itemsets: Indices, antecedents: Flags) -> RuleCounts:
        """Return the counts of itemsets and parts; flags, (n, k), mark the antecedents' items."""


class Marginals(Protocol):
    """Anything that gives marginal tables over a domain."""

    @property
    def domain(self) -> Domain:
        """All variables a marginal can be asked of."""

    @property
    def records(self) -> int:
        """The number of records."""

    def marginal(self, variables: Sequence[str]) -> MarginalTable:
        """Return the table over `variables`, axes in that order. Raises UnknownVariable."""

    def can_estimate(self, variables: Sequence[str]) -> bool:
        """Return whether reports estimate a table without smaller ones. Raises UnknownVariable."""

    def unbiased(self, variables: Sequence[str]) -> MarginalTable | None:
        """Return the table whose counts are right on average, negative ones included.

        None if there is none, or only under assumptions. Raises UnknownVariable.
        """

    def expected(self, variables: Sequence[str]) -> Tensor:
        """Return the posterior expectation of each true cell's count, sum N (Ma 4.2)."""

    def subpopulation(self) -> Subpopulation:
        """Return all records as a subpopulation."""

    def supports(self, items: Sequence[Item]) -> Supports:
        """Return the estimator of supports of these items. Raises UnknownVariable, DomainError."""

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> Independence:
        """Return the evidence in the reports on the independence of variables, given others."""

    def jointly_reported(self, variables: Sequence[str]) -> bool:
        """Return whether some records report all these variables. Raises UnknownVariable."""

    def halves(self) -> tuple[Marginals, Marginals] | None:
        """Return the marginals of each half of the records; None where they cannot be parted."""

    @property
    def lack_of_fit(self) -> tuple[LackOfFit, ...]:
        """Of each model that tables were taken from, whether the reports contradict it."""

    @property
    def filled_in(self) -> tuple[tuple[str, ...], ...]:
        """The sets of variables of tables that are made of smaller ones."""

    def explanation(self, parents: Mapping[str, Collection[str]]) -> Explanation | None:
        """Return how well a network of `parents` explains whole records; None where too large."""


def _require_small(shape: Sequence[int]) -> None:
    cells = math.prod(map(int, shape))
    if cells > MARGINAL_CELLS:
        message = f"A table of {cells} cells is larger than the {MARGINAL_CELLS} allowed."
        raise LimitExceeded(message, remedy="Ask for fewer variables at once.")


class RecordTables(ABC):
    """Counts of reported codes over any of the columns of some records.

    Columns are read once where the product of all `sizes` is at most `CUBE_CELLS`, else whenever
    new tables are wanted; tables of `pass_cells` cells together are counted in one pass.
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
        """Return the counts over the named columns, axes in that order; see `tables`."""
        return self.tables([names])[0]

    def tables(self, asked: Sequence[Sequence[str]], tick: Tick = no_cancel) -> list[Table]:
        """Return several tables, each as counts over named columns, axes in that order.

        `tick` is called for each chunk of records. Raises UnknownVariable, and LimitExceeded: a
        table has more than `MARGINAL_CELLS` cells.
        """
        for name in {name for names in asked for name in names}:
            self._require(name)
        place = {name: number for number, name in enumerate(self._names)}
        if self.cells <= CUBE_CELLS:
            if self._cube is None:
                every = tuple(range(len(self._names)))
                self._cube = self._counted([every], tick)[0]
            return _margins(self._cube, [[place[name] for name in names] for names in asked])
        keys = [tuple(sorted(place[name] for name in names)) for names in asked]
        found = {key: self._kept[key] for key in keys if key in self._kept}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        for some in _passes(missing, list(self._sizes.values()), self.pass_cells):
            for key, counted in zip(some, self._counted(some, tick), strict=True):
                # A part of a larger array would keep all of it in memory.
                whole = counted.base is None or counted.base.nbytes <= counted.nbytes
                table = counted if whole else counted.copy()
                table.flags.writeable = False
                found[key] = table
                if table.size <= KEPT_CELLS:
                    self._kept.put(key, table)
        return [
            np.transpose(found[key], [key.index(place[name]) for name in names])
            for key, names in zip(keys, asked, strict=True)
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
        """Count tables, each over some columns, in one pass."""


class ReportedCounts(RecordTables):
    """Counts of reported codes over any of the columns, from memory or memory-mapped files.

    `rows` says which rows of all records these are, however they are cut into pieces; by default
    the first. Raises EmptyTable, DomainError: no records, a column without a size, or lengths that
    differ.
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

    def counted(self, asked: Callable[[ReportedCounts, Tick], T], tick: Tick = no_cancel) -> T:
        """Return what a pass counts of all records; see `passes.Pass`."""
        return asked(self, tick)

    def count_at_once(self, asked: Sequence[Sequence[str]], tick: Tick) -> list[Table]:
        """Return several tables, all counted now and by this thread alone; see `tables`."""
        places = [tuple(self._names.index(name) for name in names) for names in asked]
        return self._count(places, tick, threads=1)

    def _count(
        self, tables: Sequence[Places], tick: Tick, threads: int | None = None
    ) -> list[Table]:
        columns, sizes = list(self._columns.values()), list(self._sizes.values())
        return counting.count_tables(
            columns, sizes, tables, names=self._names, threads=threads, tick=tick
        )


def _margins(cube: Table, asked: Sequence[Sequence[int]]) -> list[Table]:
    """Return margins of a table, each over some of its axes in their order."""
    found = []
    for places in asked:
        left, table = sorted(places), cube
        # One axis after another: ten times faster than all of them at once.
        for axis in range(cube.ndim):
            if axis not in left:
                table = table.sum(axis=axis - cube.ndim + table.ndim)
        found.append(table.transpose([left.index(place) for place in places]))
    return found


def _passes(tables: Sequence[Places], sizes: Sequence[int], most: int) -> Iterator[list[Places]]:
    """Yield tables that are counted together: several of them have so many cells at most."""
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
