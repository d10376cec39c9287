"""How large the tables of counts are that a job asks for, by the plans of the records alone.

A table has its true cells and its reported ones. A joint block whose channel is not lumpable for
the variables of a table counts whole. Where records are reported differently, blocks of several
owners may share variables; variables that blocks link are judged together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded
from pramana_core.estimation.estimated import COUNT_ESTIMATORS
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.plan import Block, Plan
from pramana_core.wire.jobs import CountsSpec


@dataclass(frozen=True)
class LinkedBlocks:
    """Variables that blocks link, and these blocks by set of records (some sets have none)."""

    variables: tuple[Variable, ...]
    blocks: tuple[tuple[Block, ...], ...]

    def shape(self, names: Collection[str]) -> tuple[int, int]:
        """Return how many true and reported cells this part has in a table over some variables."""
        asked = {v.name for v in self.variables if v.name in names}
        axes = asked | self.whole([asked])
        true = math.prod(v.size for v in self.variables if v.name in axes)
        return true, max(math.prod(_reported(b, asked) for b in blocks) for blocks in self.blocks)

    def cells(self, names: Collection[str]) -> int:
        """Return the cells of this part, true or reported, whichever are more."""
        return max(self.shape(names))

    def whole(self, tables: Iterable[Collection[str]]) -> set[str]:
        """Return the variables of the blocks that count whole in one of some tables."""
        return {
            name
            for table in tables
            for block in {block for blocks in self.blocks for block in blocks}
            if (asked := _asked(block, table)) and block.restrict(asked) is None
            for name in block.names
        }


@dataclass(frozen=True)
class TableCells:
    """A table's variables, and how many true and reported cells each part of it has."""

    domain: Domain
    parts: tuple[tuple[int, int], ...]

    @property
    def true(self) -> int:
        """How many true cells there are."""
        return math.prod(true for true, _ in self.parts)

    @property
    def reported(self) -> int:
        """How many reported cells there are."""
        return math.prod(reported for _, reported in self.parts)


@dataclass(frozen=True)
class RecordLayout:
    """The plans of a job's records, one per set of records that are reported alike."""

    plans: tuple[Plan, ...]

    @cached_property
    def domain(self) -> Domain:
        """All variables, as the first plan that has them lists them."""
        found = {v.name: v for plan in reversed(self.plans) for v in reversed(tuple(plan.domain))}
        return Domain(tuple(reversed(found.values())))

    @cached_property
    def parts(self) -> tuple[LinkedBlocks, ...]:
        """The variables, apart where no block links them, in the order of the domain."""
        linked: list[set[str]] = []
        for names in {b.names: None for plan in self.plans for b in plan.blocks}:
            met = [part for part in linked if part & set(names)]
            linked = [part for part in linked if part not in met]
            linked.append(set(names).union(*met))
        ordered = sorted(linked, key=lambda part: min(self.domain.axis(n) for n in part))
        return tuple(self._part(names) for names in ordered)

    def _part(self, names: set[str]) -> LinkedBlocks:
        return LinkedBlocks(
            tuple(v for v in self.domain if v.name in names),
            tuple(tuple(b for b in p.blocks if names & set(b.names)) for p in self.plans),
        )

    def table(self, names: Collection[str]) -> TableCells:
        """Return the cells of a table over some variables."""
        met = (part for part in self.parts if any(v.name in names for v in part.variables))
        return TableCells(
            self.domain.project(tuple(names)), tuple(part.shape(names) for part in met)
        )

    def cells(self, names: Collection[str]) -> int:
        """Return the most cells, true or reported, that a table over some variables needs."""
        return math.prod(max(shape) for shape in self.table(names).parts)


def largest_family(
    layout: RecordLayout, nodes: Collection[str], most: int
) -> tuple[int, tuple[str, ...]]:
    """Return the most cells that a table of up to `most` nodes can need, and such nodes."""
    best: dict[int, tuple[int, tuple[str, ...]]] = {0: (1, ())}
    for part in layout.parts:
        options = _options(part, nodes, most)
        grown = dict(best)
        for taken, (cells, names) in best.items():
            for more, (cost, asked) in options.items():
                if taken + more <= most and cells * cost > grown.get(taken + more, (0, ()))[0]:
                    grown[taken + more] = (cells * cost, (*names, *asked))
        best = grown
    return max(best.values())


def _options(
    part: LinkedBlocks, nodes: Collection[str], most: int
) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Return, by number of variables, the most that so many of a part can cost, and which."""
    names = [v.name for v in part.variables if v.name in nodes]
    names.sort(key=lambda name: part.cells({name}), reverse=True)
    # Not lumpable for one of them, a block counts whole as soon as that one is asked for.
    whole = part.whole([name] for name in names)
    rest = [name for name in names if name not in whole]
    options = {}
    for number in range(1, min(most, len(names)) + 1):
        bound = part.cells({*whole, *rest[:number]})
        options[number] = (max(bound, part.cells(names[:number])), tuple(names[:number]))
    return options


def _asked(block: Block, names: Collection[str]) -> list[str]:
    return [name for name in block.names if name in names]


def _reported(block: Block, names: Collection[str]) -> int:
    asked = _asked(block, names)
    return (block.restrict(asked) or block.channel).shape[1] if asked else 1


class Extent(NamedTuple):
    """What a job counts: its variables, how their records are reported, and how many these are."""

    variables: tuple[str, ...]
    layout: RecordLayout
    records: int


@dataclass(frozen=True)
class Estimated:
    """What a job asks where its counts are estimated in one way; a class for each estimator.

    Attributes:
        by_reports: whether reports are weighed one by one, where their channels allow it.
        needs_all: whether every record must report all variables.
        settles_order: whether an order that is left out may follow the records.
        own_cells: whether a table costs its own cells, whatever block they are reported in.
    """

    spec: CountsSpec

    by_reports: ClassVar[bool] = False
    needs_all: ClassVar[bool] = False
    settles_order: ClassVar[bool] = False
    own_cells: ClassVar[bool] = False

    @property
    def by_pairs(self) -> bool:
        """Whether supports of itemsets are made of the tables of pairs."""
        return COUNT_ESTIMATORS[self.spec.estimator].makes_of_pairs(self.spec.order)

    def told(self, names: Collection[str], layout: RecordLayout) -> bool:
        """Return whether the reports tell a table; see `Marginals.can_estimate`."""
        return any(plan.reports_together(names) for plan in layout.plans)

    def require_listable(self, cells: int, table: TableCells) -> None:
        """Bound a table, of so many cells, whose errors are listed. Raises LimitExceeded."""


class ByMoments(Estimated):
    """Counts by moments."""

    by_reports = needs_all = True


class MostLikely(Estimated):
    """The most likely counts."""

    def require_listable(self, cells: int, table: TableCells) -> None:
        """Bound the tables whose errors come from an information matrix."""
        if self.spec.records == "any" and cells > INFORMATION_CELLS:
            raise LimitExceeded(
                f"The table over {list(table.domain.names)} has {cells} cells; where records are"
                f" reported differently, {INFORMATION_CELLS} are allowed.",
                where="records",
                remedy="Ask for smaller tables, of fewer variables or parents, or only for the"
                " records that all owners report.",
            )


class Pooled(Estimated):
    """Counts pooled over overlapping sets."""

    settles_order = own_cells = True

    def told(self, names: Collection[str], layout: RecordLayout) -> bool:
        """Return whether the variables may all interact, and reports tell their table."""
        size = layout.domain.project(tuple(names)).size
        small = len(names) <= self.spec.interacting and size <= INFORMATION_CELLS
        return small and super().told(names, layout)

    def require_listable(self, cells: int, table: TableCells) -> None:  # noqa: ARG002
        """Bound the tables that are pooled, by their own cells."""
        domain = table.domain
        if domain.size > INFORMATION_CELLS:
            raise LimitExceeded(
                f"The table over {list(domain.names)} has {domain.size} cells; from overlapping"
                f" sets {INFORMATION_CELLS} are estimated.",
                where="estimator",
                remedy="Ask for smaller tables, of fewer variables or parents.",
            )


_BY_ESTIMATOR: Mapping[str, type[Estimated]] = {
    "moment": ByMoments,
    "sum": ByMoments,
    "ml": MostLikely,
    "pooled": Pooled,
}


def estimated(spec: CountsSpec) -> Estimated:
    """Return what a job asks by its estimator."""
    return _BY_ESTIMATOR[spec.estimator](spec)
