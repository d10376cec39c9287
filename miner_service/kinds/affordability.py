"""What a job may cost, asked of the plans alone before it runs.

A table is bounded by its cells, true or reported, whichever are more (see `RecordLayout`).

Also here:

* The documents of models.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from miner_service.kinds.counting import RecordLayout, estimated, largest_family
from miner_service.settings import Limits
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded
from pramana_core.estimation.evidence import TEST_CELLS
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.learn.common.documents import write_json
from pramana_core.wire.jobs import BayesNetParametersSpec, BayesNetStructureSpec, CountsSpec


def require_network(
    spec: CountsSpec,
    target: str,
    features: Sequence[str],
    most: int,
    layout: RecordLayout,
    limits: Limits,
) -> None:
    """Bound the tables and parameters of a Bayesian network classifier.

    Args:
        spec: the job.
        target: the class.
        features: what it is told from.
        most: the most features that one depends on.
        layout: the plans.
        limits: what is allowed.

    Raises:
        LimitExceeded: the largest table that may be asked for, or all of them, are too large.
    """
    if estimated(spec).own_cells:
        family = sorted(features, key=lambda name: -layout.domain[name].size)[: most + 1]
        cells = layout.domain.project((target, *family)).size
        if cells > INFORMATION_CELLS:
            raise LimitExceeded(
                f"The table over {[target, *family]} has {cells} cells; {INFORMATION_CELLS} are"
                " allowed.",
                where="features",
                remedy="Leave out the features of many categories, or group these.",
            )
    else:
        _, asked = largest_family(layout, features, min(most + 1, len(features)))
        require_table(spec, (target, *asked), layout, limits, where="features")
    sizes = sorted((layout.domain[name].size for name in features), reverse=True)
    cells = layout.domain[target].size * math.prod(sizes[:most])
    if cells * sum(sizes) > limits.model_parameters:
        raise LimitExceeded(
            f"The classifier could have {cells * sum(sizes)} parameters;"
            f" {limits.model_parameters} are allowed.",
            where="model",
            remedy="Ask for naive Bayes, or leave out the features of many categories.",
        )


def require_small(spec: BayesNetParametersSpec, layout: RecordLayout, limits: Limits) -> None:
    """Bound the table of each node with its parents. Raises LimitExceeded."""
    domain = layout.domain
    parameters = sum(domain.project((n, *p)).size for n, p in spec.structure.items())
    if parameters > limits.model_parameters:
        raise LimitExceeded(
            f"The network has {parameters} parameters; {limits.model_parameters} are allowed.",
            where="structure",
            remedy="Give its nodes fewer parents, or its variables fewer categories.",
        )
    for node, parents in spec.structure.items():
        cells = layout.cells({node, *parents})
        if cells > limits.job_cells:
            raise LimitExceeded(
                f"The table of node {node!r} and its parents has {cells} cells;"
                f" {limits.job_cells} are allowed.",
                where=node,
                remedy="Give the node fewer parents, or its variables fewer categories.",
            )
        estimated(spec).require_listable(cells, layout.table((node, *parents)))


def require_table(
    spec: CountsSpec, names: Collection[str], layout: RecordLayout, limits: Limits, *, where: str
) -> None:
    """Bound the one table over some variables. Raises LimitExceeded."""
    cells = layout.cells(names)
    if cells > limits.job_cells:
        raise LimitExceeded(
            f"The table over {list(names)} has {cells} cells; {limits.job_cells} are allowed.",
            where=where,
            remedy="Ask for fewer variables, or for variables of fewer categories.",
        )
    estimated(spec).require_listable(cells, layout.table(names))


def require_affordable_search(
    spec: BayesNetStructureSpec, nodes: Sequence[str], layout: RecordLayout, limits: Limits
) -> None:
    """Bound the largest table that a search could ask for, with its bootstrap samples.

    Raises:
        LimitExceeded: too many variables, or too many parents for their categories.
    """
    if len(nodes) > limits.search_variables:
        raise LimitExceeded(
            f"The search has {len(nodes)} variables; {limits.search_variables} are allowed.",
            where="variables",
            remedy="Name those that matter in `variables`.",
        )
    search = spec.search.options()
    most = search.max_parents
    parameters = _most_parameters(layout.domain.project(nodes), most)
    if parameters > limits.model_parameters:
        raise LimitExceeded(
            f"With {most} parents a node the network could have {parameters} parameters;"
            f" {limits.model_parameters} are allowed.",
            where="search.max_parents",
            remedy="Allow fewer parents, or leave out variables of many categories.",
        )
    if by_pairs(spec, nodes, layout):
        # Larger families than can be estimated are not learned (`chow_liu.FAMILY_CELLS`).
        _require_tables(*_largest_pair(nodes, layout), limits)
        return
    cells, family = largest_family(layout, nodes, most + 1)
    estimated(spec).require_listable(cells, layout.table(family))
    _require_samples(spec, cells, family, limits)
    # To exchange a parent for another is judged on a table that has both.
    both = most + 2 if search.refine else most + 1
    _require_tables(*largest_family(layout, nodes, both), limits)


def by_pairs(spec: BayesNetStructureSpec, nodes: Sequence[str], layout: RecordLayout) -> bool:
    """Whether a search needs the tables of pairs alone (`structure_learning`)."""
    search = spec.search.options()
    if search.order is not None or search.method == "hill-climbing":
        return False
    together = any(plan.reports_together(nodes) for plan in layout.plans)
    return search.method == "chow-liu" or (spec.score.name == "likelihood" and not together)


def _largest_pair(nodes: Collection[str], layout: RecordLayout) -> tuple[int, tuple[str, ...]]:
    """Return the cells of the largest table of two variables, and these."""
    largest = sorted(nodes, key=lambda name: -layout.domain[name].size)[:2]
    return layout.domain.project(largest).size, tuple(largest)


def require_pairs(
    spec: CountsSpec, names: Collection[str], layout: RecordLayout, *, where: str
) -> None:
    """Bound the tables of pairs, from which pooled supports are made. Raises LimitExceeded."""
    cells, pair = _largest_pair(names, layout)
    if cells > INFORMATION_CELLS:
        raise LimitExceeded(
            f"The table over {list(pair)} has {cells} cells; {INFORMATION_CELLS} are allowed of"
            f" the estimator {spec.estimator!r}.",
            where=where,
            remedy="Leave out variables of many categories, or group these.",
        )


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
    if cells * spec.draws > limits.bootstrap_cells:
        raise LimitExceeded(
            f"{spec.draws} bootstrap samples of a table over {list(family)} have"
            f" {cells * spec.draws} cells; {limits.bootstrap_cells} are allowed.",
            where="draws",
            remedy=f"Ask for at most {limits.bootstrap_cells // cells} draws, or allow fewer"
            " parents.",
        )


def _most_parameters(domain: Domain, most: int) -> int:
    """Return how many parameters a network can have if each node has the largest parents."""
    sizes = sorted(domain.shape, reverse=True)
    total = 0
    for place, size in enumerate(sizes):
        others = sizes[:place] + sizes[place + 1 :]
        total += size * math.prod(others[:most])
    return total


# The documents of models.


class WithDocument(Protocol):
    """A model's message that has the model as a document."""

    @property
    def document(self) -> dict[str, Any]:
        """What JSON is made of."""


def read_document(message: WithDocument) -> str:
    """Return the JSON of a model in the form that every `Predictor` is read from."""
    return json.dumps(message.document, ensure_ascii=False, allow_nan=False)


def write_document(message: WithDocument) -> str:
    """Return the same as lines, for a file."""
    return write_json(message.document)
