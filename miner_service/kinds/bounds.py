"""Limits on the tables and parameters of a job, checked before any record is counted."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from miner_service.settings import Limits
from pramana_core.domain import Domain
from pramana_core.errors import require_at_most
from pramana_core.estimation.evidence import TEST_CELLS
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.plan import Block, Plan
from pramana_core.wire.jobs import BayesNetParametersSpec, BayesNetStructureSpec, CountsSpec

FEWER = "Choose fewer variables, or variables with fewer categories."


@dataclass(frozen=True)
class RecordLayout:
    """The plans of a job's records, one for each set of records that the same sources report."""

    plans: tuple[Plan, ...]

    @cached_property
    def domain(self) -> Domain:
        """All variables. Each variable is described as in the first plan that has it."""
        found = {v.name: v for plan in reversed(self.plans) for v in reversed(tuple(plan.domain))}
        return Domain(tuple(reversed(found.values())))

    @cached_property
    def _blocks(self) -> list[dict[str, Block]]:
        return [{name: b for b in plan.blocks for name in b.names} for plan in self.plans]

    def cells(self, names: Collection[str]) -> int:
        """Return the count of cells of the largest table, with the whole of each block that is not
        lumpable.
        """
        whole, reported = set(names), [1]
        for block_of in self._blocks:
            cells = 1
            for block in {block_of[name] for name in names if name in block_of}:
                part = block.restrict([name for name in block.names if name in names])
                cells *= (part or block.channel).shape[1]
                whole.update(() if part else block.names)
            reported.append(cells)
        return max(self.domain.project(tuple(whole)).size, *reported)

    def largest(self, nodes: Collection[str], most: int) -> tuple[str, ...]:
        """Return the `most` variables whose one-way tables need the most cells."""
        return tuple(sorted(nodes, key=lambda name: -self.cells({name}))[:most])

    def reports(self, names: Collection[str]) -> bool:
        """Whether a record may report all these variables."""
        return any(plan.reports_together(names) for plan in self.plans)


class Extent(NamedTuple):
    """A job's variables, the layout of its records, and their count."""

    variables: tuple[str, ...]
    layout: RecordLayout
    records: int


def weighs_reports(spec: CountsSpec) -> bool:
    """Whether the estimator weights single reports, and so uses only records with all variables."""
    return spec.estimator in ("moment", "sum")


def can_estimate(spec: CountsSpec, names: Collection[str], layout: RecordLayout) -> bool:
    """Whether the estimator can compute the table over some variables from this layout."""
    if spec.models:
        size = layout.domain.project(tuple(names)).size
        if len(names) > (spec.order or 2) or size > INFORMATION_CELLS:
            return False
    return layout.reports(names)


def require_table(
    spec: CountsSpec, names: Collection[str], layout: RecordLayout, limits: Limits, *, where: str
) -> None:
    """Check the cells of the table over some variables. Raises LimitExceeded."""
    most = limits.job_cells
    if spec.models or (spec.estimator == "ml" and spec.records == "any"):
        # The errors of such a table come from an information matrix over its cells.
        most = min(most, INFORMATION_CELLS)
    cells = layout.domain.project(tuple(names)).size if spec.models else layout.cells(names)
    require_at_most(cells, most, f"cells of the table over {list(names)}", where, FEWER)


def require_network(
    spec: CountsSpec,
    target: str,
    features: Sequence[str],
    most: int,
    layout: RecordLayout,
    limits: Limits,
) -> None:
    """Check the size of a network classifier. Raises LimitExceeded.

    Its features have up to `most` parents in addition to the class.
    """
    require_table(
        spec, (target, *layout.largest(features, most + 1)), layout, limits, where="features"
    )
    sizes = sorted((layout.domain[name].size for name in features), reverse=True)
    cells = layout.domain[target].size * math.prod(sizes[:most]) * sum(sizes)
    require_at_most(
        cells,
        limits.model_parameters,
        "parameters of the classifier",
        "model",
        "Choose naive Bayes, or omit features with many categories.",
    )


def require_families(spec: BayesNetParametersSpec, layout: RecordLayout, limits: Limits) -> None:
    """Check the cells of the table of each node with its parents. Raises LimitExceeded."""
    parameters = sum(layout.domain.project((n, *p)).size for n, p in spec.structure.items())
    require_at_most(
        parameters, limits.model_parameters, "parameters of the network", "structure", FEWER
    )
    for node, parents in spec.structure.items():
        require_table(spec, (node, *parents), layout, limits, where=node)


def require_pairs(
    names: Collection[str], layout: RecordLayout, *, where: str, most: int = INFORMATION_CELLS
) -> None:
    """Check the cells of the largest table of two variables. Raises LimitExceeded."""
    pair = sorted(names, key=lambda name: -layout.domain[name].size)[:2]
    cells = layout.domain.project(pair).size
    require_at_most(cells, most, f"cells of the table over {pair}", where, FEWER)


def require_search(
    spec: BayesNetStructureSpec, nodes: Sequence[str], layout: RecordLayout, limits: Limits
) -> None:
    """Check a structure search's largest table and bootstrap samples. Raises LimitExceeded."""
    require_at_most(
        len(nodes), limits.search_variables, "variables of the search", "variables", FEWER
    )
    search = spec.search.options()
    parents = search.max_parents
    remedy = "Allow fewer parents, or omit variables with many categories."
    require_at_most(
        _most_parameters(layout.domain.project(nodes), parents),
        limits.model_parameters,
        f"parameters with {parents} parents per node",
        "search.max_parents",
        remedy,
    )
    most = min(limits.job_cells, TEST_CELLS)
    if uses_pairs(spec, nodes, layout):
        # Families too large to estimate are not learned (`chow_liu.FAMILY_CELLS`).
        require_pairs(nodes, layout, where="search.max_parents", most=most)
        return
    family = layout.largest(nodes, parents + 1)
    require_table(spec, family, layout, limits, where="search.max_parents")
    require_at_most(
        layout.cells(family) * spec.draws,
        limits.bootstrap_cells,
        f"cells of {spec.draws} bootstrap samples of a table over {list(family)}",
        "draws",
        "Choose fewer draws, or allow fewer parents.",
    )
    # Replacing one parent by another needs a table with both.
    family = layout.largest(nodes, parents + 1 + search.refine)
    what = f"cells of a table over {list(family)}"
    require_at_most(layout.cells(family), most, what, "search.max_parents", remedy)


def uses_pairs(spec: BayesNetStructureSpec, nodes: Sequence[str], layout: RecordLayout) -> bool:
    """Whether a structure search needs only two-way tables (see `structure_learning`)."""
    search = spec.search.options()
    if search.order is not None or search.method == "hill-climbing":
        return False
    return search.method == "chow-liu" or (
        spec.score.name == "likelihood" and not layout.reports(nodes)
    )


def _most_parameters(domain: Domain, most: int) -> int:
    """Return the largest count of parameters of a network whose nodes have `most` parents each."""
    sizes = sorted(domain.shape, reverse=True)
    return sum(
        size * math.prod((sizes[:place] + sizes[place + 1 :])[:most])
        for place, size in enumerate(sizes)
    )
