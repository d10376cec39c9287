"""How much work it is to estimate tables of counts, by the plans of the records alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from miner_service.kinds.affordability import RecordLayout
from miner_service.kinds.costs import Reduction, Work, lower
from pramana_core.domain import Domain
from pramana_core.estimation.core.loglinear import parameters
from pramana_core.marginals.counts import CUBE_CELLS
from pramana_core.wire.learning.jobs import CountsSpec

SpecT = TypeVar("SpecT", bound=CountsSpec)

CLIMB = 0.75
"""The likelihood of a table is climbed in about its cells to this power, and a unit is that."""

FIT = 0.6
"""A log-linear model is fitted in about its cells times its parameters squared, to this power.

The larger it is the fewer steps it takes.
"""

_NUMBER = 8
"""Bytes of a number."""


def table(
    spec: CountsSpec, names: Collection[str], layout: RecordLayout, records: int, number: float = 1
) -> Work:
    """Return the work of a table with its errors, or of a number of tables as large as it."""
    asked = tuple(names)
    shapes = layout.shapes(asked)
    true = math.prod(shape[0] for shape in shapes)
    reports = math.prod(shape[1] for shape in shapes)
    domain = layout.domain.project(asked)
    one = _BY_ESTIMATOR[spec.estimator](spec, domain, true, reports, shapes)
    return reading(asked, layout, records, number) + one.times(number)


def reading(names: Collection[str], layout: RecordLayout, records: int, number: float) -> Work:
    """Return the work of counting the reports of some variables, for a number of tables.

    Where the reports of all variables have few enough cells, they are counted once.
    """
    once = all(math.prod(plan.reported_sizes.values()) <= CUBE_CELLS for plan in layout.plans)
    passes = 1 if once else number
    held = 3 * records * len(layout.domain)
    return Work({"counted": records * len(names) * passes, "asked": number}, held)


def tests(names: Collection[str], layout: RecordLayout, records: int, number: float) -> Work:
    """Return the work of a number of tests of independence on tables of some variables."""
    asked = tuple(names)
    cells = layout.cells(asked)
    climbed = Work({"tested": cells**CLIMB}, 12 * _NUMBER * cells)
    return reading(asked, layout, records, number) + climbed.times(number)


def table_of(spec: CountsSpec) -> Callable[[Collection[str], RecordLayout, int, float], Work]:
    """Return what tells the work of tables of a specification, as `tests` does of tests."""

    def work(names: Collection[str], layout: RecordLayout, records: int, number: float) -> Work:
        return table(spec, names, layout, records, number)

    return work


def network(
    spec: CountsSpec, variables: Collection[str], layout: RecordLayout, records: int, most: int
) -> Work:
    """Return the work of a network of a class and its features, of up to `most` on one other."""
    sized = sorted(variables, key=lambda name: -layout.domain[name].size)
    work = table(spec, sized[:2], layout, records, len(sized))
    work += Work({"families": len(sized) + (math.comb(len(sized), 2) if most else 0)})
    if most:
        work += table(spec, sized[:3], layout, records, math.comb(len(sized), 2))
    if most > 1:
        work += table(spec, sized[: most + 2], layout, records, len(sized))
    return work


def less_order(spec: SpecT) -> Iterable[Reduction[SpecT]]:
    """Return the way to ask for less by fewer variables that interact."""
    if spec.estimator in ("log-linear", "pooled") and spec.interacting > 1:
        yield lower(spec.interacting, "order", lambda most: spec.model_copy(update={"order": most}))


def _moment(
    _spec: CountsSpec, _domain: Domain, true: int, reports: int, shapes: Collection[object]
) -> Work:
    cells = max(true, reports)
    return Work({"solved": cells * max(len(shapes), 1)}, 8 * _NUMBER * cells)


def _likely(
    _spec: CountsSpec, _domain: Domain, true: int, reports: int, shapes: Collection[object]
) -> Work:
    """Return the work of a most likely table.

    Where some channel reports more or fewer codes than there are categories, as one that withholds
    does, errors take the information of all reports over all cells, listed.
    """
    cells = max(true, reports)
    work = Work({"likelihood": cells**CLIMB, "solved": cells * len(shapes)}, 40 * _NUMBER * cells)
    if true == reports:
        return work
    listed = 4 * _NUMBER * reports * true
    return work + Work({"information": float(reports) * true**2}, listed)


def _modelled(
    spec: CountsSpec, domain: Domain, true: int, reports: int, _shapes: Collection[object]
) -> Work:
    count = parameters(domain.shape, min(spec.interacting, len(domain)))
    cells = true + reports
    return Work({"log-linear": (float(cells) * count**2) ** FIT}, 6 * _NUMBER * cells * count)


def _pooled(
    spec: CountsSpec, domain: Domain, _true: int, _reports: int, _shapes: Collection[object]
) -> Work:
    """Return the work of a pooled table: of its cells, and of the pairs under it."""
    pairs = math.comb(len(domain), 2) * spec.interacting
    largest = math.prod(sorted(domain.shape, reverse=True)[:2])
    return Work(
        {"pooled": float(domain.size) ** 2 + pairs * largest**2, "asked": pairs},
        4 * _NUMBER * float(domain.size) ** 2,
    )


_BY_ESTIMATOR = {
    "moment": _moment,
    "ml": _likely,
    "log-linear": _modelled,
    "pooled": _pooled,
}
