"""What a job may cost, asked of the plans alone before it runs.

A table is bounded by its cells, true or reported, whichever are more. A joint block whose channel
is not lumpable for the variables of a table counts whole.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from miner_service.settings import Limits
from shared.domain import Domain
from shared.errors import LimitExceeded
from shared.estimate import TEST_CELLS
from shared.information import INFORMATION_CELLS
from shared.loglinear import affordable
from shared.plan import Block, Plan
from shared.wire import BayesNetParametersSpec, BayesNetStructureSpec, JobSpec


def require_small(spec: BayesNetParametersSpec, plan: Plan, limits: Limits) -> None:
    """Bound the table of each node with its parents. Raises LimitExceeded."""
    domain = plan.domain
    parameters = sum(domain.project((n, *p)).size for n, p in spec.structure.items())
    if parameters > limits.model_parameters:
        raise LimitExceeded(
            f"The network has {parameters} parameters; {limits.model_parameters} are allowed.",
            where="structure",
            remedy="Give its nodes fewer parents, or its variables fewer categories.",
        )
    for node, parents in spec.structure.items():
        cells = _cells(plan, {node, *parents})
        if cells > limits.job_cells:
            raise LimitExceeded(
                f"The table of node {node!r} and its parents has {cells} cells;"
                f" {limits.job_cells} are allowed.",
                where=node,
                remedy="Give the node fewer parents, or its variables fewer categories.",
            )
        _require_listable(spec, cells, (node, *parents))
        if spec.estimator == "log-linear" and not _fits(plan, {node, *parents}, spec.order):
            raise LimitExceeded(
                f"A log-linear model of node {node!r} and its parents is too large to fit.",
                where=node,
                remedy="Give the node fewer parents, or ask for a lower order.",
            )


def require_affordable_search(
    spec: BayesNetStructureSpec, nodes: Sequence[str], plan: Plan, limits: Limits
) -> None:
    """Bound the largest table that a search could ask for, with its bootstrap samples.

    Raises:
        LimitExceeded: too many variables, or too many parents for their categories.
    """
    if len(nodes) > limits.search_variables:
        raise LimitExceeded(
            f"A structure is to be searched for among {len(nodes)} variables;"
            f" {limits.search_variables} are allowed.",
            where="variables",
            remedy="Name those that matter in `variables`.",
        )
    most = spec.search.max_parents
    parameters = _most_parameters(plan.domain.project(nodes), most)
    if parameters > limits.model_parameters:
        raise LimitExceeded(
            f"With {most} parents a node the network could have {parameters} parameters;"
            f" {limits.model_parameters} are allowed.",
            where="search.max_parents",
            remedy="Allow fewer parents, or leave out variables of many categories.",
        )
    cells, family = largest_family(plan, nodes, most + 1)
    _require_listable(spec, cells, family)
    _require_samples(spec, cells, family, limits)
    # To exchange a parent for another is judged on a table that has both.
    both = spec.search.refine
    _require_tables(*largest_family(plan, nodes, most + 2 if both else most + 1), limits)
    if spec.estimator == "log-linear" and not _fits(plan, set(family), spec.order):
        raise LimitExceeded(
            f"A log-linear model over {list(family)} is too large to fit.",
            where="search.max_parents",
            remedy="Allow fewer parents, or ask for a lower order.",
        )


def largest_family(plan: Plan, nodes: Collection[str], most: int) -> tuple[int, tuple[str, ...]]:
    """Return the most cells that a table of up to `most` nodes can need, and such nodes."""
    best: dict[int, tuple[int, tuple[str, ...]]] = {0: (1, ())}
    for block in plan.blocks:
        options = _options(block, nodes, most)
        grown = dict(best)
        for taken, (cells, names) in best.items():
            for more, (cost, asked) in options.items():
                if taken + more <= most and cells * cost > grown.get(taken + more, (0, ()))[0]:
                    grown[taken + more] = (cells * cost, (*names, *asked))
        best = grown
    return max(best.values())


def _options(
    block: Block, nodes: Collection[str], most: int
) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Return, by number of variables, the most that so many of a block can cost, and which."""
    variables = sorted(
        (v for v in block.variables if v.name in nodes), key=lambda v: v.size, reverse=True
    )
    # Not lumpable for one of them, the block counts whole as soon as that one is asked for.
    single = max((_part_cells(block, {v.name}) for v in variables), default=1)
    options = {}
    for number in range(1, min(most, len(variables)) + 1):
        names = tuple(v.name for v in variables[:number])
        options[number] = (max(single, _part_cells(block, set(names))), names)
    return options


def _require_tables(cells: int, family: tuple[str, ...], limits: Limits) -> None:
    allowed = min(limits.job_cells, TEST_CELLS)
    if cells > allowed:
        raise LimitExceeded(
            f"A table over {list(family)}, for which the search may ask, has {cells} cells;"
            f" {allowed} are allowed.",
            where="search.max_parents",
            remedy="Allow fewer parents, or leave out variables of many categories.",
        )


def _require_samples(
    spec: BayesNetStructureSpec, cells: int, family: tuple[str, ...], limits: Limits
) -> None:
    if cells * spec.draws > limits.job_cells:
        raise LimitExceeded(
            f"{spec.draws} bootstrap samples of a table over {list(family)} have"
            f" {cells * spec.draws} cells; {limits.job_cells} are allowed.",
            where="draws",
            remedy=f"Ask for at most {limits.job_cells // cells} draws, or allow fewer parents.",
        )


def _require_listable(spec: JobSpec, cells: int, family: tuple[str, ...]) -> None:
    """Bound the tables whose errors come from an information matrix that is inverted."""
    if spec.records == "any" and spec.estimator == "ml" and cells > INFORMATION_CELLS:
        raise LimitExceeded(
            f"The table over {list(family)} has {cells} cells; where records are reported"
            f" differently, {INFORMATION_CELLS} are allowed.",
            where="records",
            remedy="Use fewer parents, or only the records that all owners report.",
        )


def _most_parameters(domain: Domain, most: int) -> int:
    """Return how many parameters a network can have if each node has the largest parents."""
    sizes = sorted(domain.shape, reverse=True)
    total = 0
    for place, size in enumerate(sizes):
        others = sizes[:place] + sizes[place + 1 :]
        total += size * math.prod(others[:most])
    return total


def _fits(plan: Plan, names: set[str], order: int) -> bool:
    """Whether a log-linear model over some variables can be fitted."""
    sizes = [plan.domain[name].size for name in names]
    reports = math.prod(reported for _, reported in _shapes(plan, names))
    return affordable(sizes, min(order, len(sizes)), reports)


def _cells(plan: Plan, names: set[str]) -> int:
    return math.prod(max(shape) for shape in _shapes(plan, names))


def _shapes(plan: Plan, names: set[str]) -> list[tuple[int, int]]:
    """Return the shape of the channel that each block's part in a table is estimated by."""
    return [_shape(block, names) for block in plan.blocks if names & set(block.names)]


def _part_cells(block: Block, names: set[str]) -> int:
    return max(_shape(block, names))


def _shape(block: Block, names: set[str]) -> tuple[int, int]:
    asked = [name for name in block.names if name in names]
    return (block.restrict(asked) or block.channel).shape
