"""The evidence in the reports of some sources; tables asked of again are kept."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence

from pramana_core.errors import OptionError
from pramana_core.estimation.core.axes import strata_of, table_of
from pramana_core.estimation.evidence.explanation import NetworkExplanation
from pramana_core.estimation.evidence.independence import ConditionalIndependence, ReportedTable
from pramana_core.marginals.counts import ReportTables
from pramana_core.plan import Plan
from pramana_core.progress import Tick, unstopped

TEST_CELLS = 1 << 22
"""A test of independence over more true cells than this is refused."""

WHOLE_CELLS = 1 << 12
"""Up to this many true cells networks are compared by the likelihood of whole records."""

KEPT_CELLS, KEPT_TABLES = 1 << 13, 256
"""So many tables of so many cells are kept for tests of other independences on them."""


class Evidence:
    """Tests of independence and of networks, on the reports of some sources."""

    def __init__(self, sources: Sequence[tuple[ReportTables, Plan]], tick: Tick = unstopped):
        self._sources, self._tick = sources, tick
        self._kept: OrderedDict[tuple[str, ...], ReportedTable] = OrderedDict()

    def independence(
        self, left: Sequence[str], right: Sequence[str], given: Sequence[str]
    ) -> ConditionalIndependence:
        """Return the evidence on the independence of `left` and `right` given more.

        Raises:
            UnknownVariable: a variable that no source has.
            OptionError: a variable named twice.
            LimitExceeded: the table has more than `TEST_CELLS` cells.
        """
        asked = sorted([*left, *right, *given])
        if not left or not right or len(set(asked)) < len(asked):
            raise OptionError(
                f"A test of independence needs distinct variables, not {list(left)} and"
                f" {list(right)} given {list(given)}."
            )
        table = self._table(tuple(asked))
        axes = [tuple(asked.index(name) for name in part) for part in (left, right, given)]
        return ConditionalIndependence(table, *axes)

    def explanation(self, parents: Mapping[str, Collection[str]]) -> NetworkExplanation | None:
        """Return how well a network explains the reports of whole records.

        None if their true table has more than `WHOLE_CELLS` cells.

        Raises:
            UnknownVariable: a node that no source has.
        """
        nodes = tuple(sorted(parents))
        if not nodes or table_of(self._sources, nodes).size > WHOLE_CELLS:
            return None
        table = self._table(nodes)
        families = tuple(
            (nodes.index(node), tuple(sorted(nodes.index(parent) for parent in parents[node])))
            for node in nodes
        )
        return NetworkExplanation(table, families)

    def _table(self, asked: tuple[str, ...]) -> ReportedTable:
        table = self._kept.pop(asked, None)
        if table is None:
            table = ReportedTable(strata_of(self._sources, asked, TEST_CELLS), self._tick)
        if math.prod(table.shape) <= KEPT_CELLS:
            self._kept[asked] = table
            if len(self._kept) > KEPT_TABLES:
                self._kept.popitem(last=False)
        return table
