"""What a job may cost, asked of the plans alone before it runs.

A table is bounded by its cells, true or reported, whichever are more. A joint block whose channel
is not lumpable for the variables of a table counts whole. Where records are reported differently,
blocks of several owners may share variables; variables that blocks link are judged together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from miner_service.settings import Limits
from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.estimation.core.curvature import INFORMATION_CELLS
from pramana_core.estimation.core.loglinear import affordable
from pramana_core.estimation.evidence import TEST_CELLS
from pramana_core.learn.common.documents import write_json
from pramana_core.plan import Block, Plan
from pramana_core.wire.learning.jobs import (
    BayesNetParametersSpec,
    BayesNetStructureSpec,
    CountsSpec,
)


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

    def shapes(self, names: Collection[str]) -> list[tuple[int, int]]:
        """Return the true and reported cells of a table over some variables, by part."""
        met = (part for part in self.parts if any(v.name in names for v in part.variables))
        return [part.shape(names) for part in met]

    def cells(self, names: Collection[str]) -> int:
        """Return the most cells, true or reported, that a table over some variables needs."""
        return math.prod(max(shape) for shape in self.shapes(names))


def told(spec: CountsSpec, names: Collection[str], layout: RecordLayout) -> bool:
    """Return whether the reports tell a table, as the estimator of the job will find it.

    See `Marginals.can_estimate`.
    """
    if spec.estimator == "log-linear":
        return True
    if spec.estimator == "pooled":
        size = layout.domain.project(tuple(names)).size
        if len(names) > spec.interacting or size > INFORMATION_CELLS:
            return False
    return any(plan.reports_together(names) for plan in layout.plans)


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
    if spec.estimator == "pooled":
        # Their cost is that of their own cells, whatever block they are reported in.
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
        _require_listable(spec, cells, (node, *parents), layout)
        if spec.estimator == "log-linear" and not _fits(layout, {node, *parents}, spec.interacting):
            raise LimitExceeded(
                f"A log-linear model of node {node!r} and its parents is too large to fit.",
                where=node,
                remedy="Give the node fewer parents, or ask for a lower order.",
            )


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
    _require_listable(spec, cells, tuple(names), layout)
    if spec.estimator == "log-linear" and not _fits(layout, set(names), spec.interacting):
        raise LimitExceeded(
            f"A log-linear model of {list(names)} is too large to fit.",
            where=where,
            remedy="Ask for fewer variables, or for a lower order.",
        )


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
    _require_listable(spec, cells, family, layout)
    _require_samples(spec, cells, family, limits)
    # To exchange a parent for another is judged on a table that has both.
    both = most + 2 if search.refine else most + 1
    _require_tables(*largest_family(layout, nodes, both), limits)
    if spec.estimator == "log-linear" and not _fits(layout, set(family), spec.interacting):
        raise LimitExceeded(
            f"A log-linear model over {list(family)} is too large to fit.",
            where="search.max_parents",
            remedy="Allow fewer parents, or ask for a lower order.",
        )


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


def _require_listable(
    spec: CountsSpec, cells: int, family: tuple[str, ...], layout: RecordLayout
) -> None:
    """Bound the tables whose errors come from an information matrix, or that are pooled."""
    if spec.estimator == "pooled" and (true := layout.domain.project(family).size) > (
        INFORMATION_CELLS
    ):
        raise LimitExceeded(
            f"The table over {list(family)} has {true} cells; from overlapping sets"
            f" {INFORMATION_CELLS} are estimated.",
            where="estimator",
            remedy="Ask for smaller tables, of fewer variables or parents.",
        )
    if spec.records == "any" and spec.estimator == "ml" and cells > INFORMATION_CELLS:
        raise LimitExceeded(
            f"The table over {list(family)} has {cells} cells; where records are reported"
            f" differently, {INFORMATION_CELLS} are allowed.",
            where="records",
            remedy="Ask for smaller tables, of fewer variables or parents, or only for the records"
            " that all owners report.",
        )


def _most_parameters(domain: Domain, most: int) -> int:
    """Return how many parameters a network can have if each node has the largest parents."""
    sizes = sorted(domain.shape, reverse=True)
    total = 0
    for place, size in enumerate(sizes):
        others = sizes[:place] + sizes[place + 1 :]
        total += size * math.prod(others[:most])
    return total


def _fits(layout: RecordLayout, names: set[str], order: int) -> bool:
    """Whether a log-linear model over some variables can be fitted."""
    sizes = [layout.domain[name].size for name in names]
    reports = math.prod(reported for _, reported in layout.shapes(names))
    return affordable(sizes, min(order, len(sizes)), reports)


def _asked(block: Block, names: Collection[str]) -> list[str]:
    return [name for name in block.names if name in names]


def _reported(block: Block, names: Collection[str]) -> int:
    asked = _asked(block, names)
    return (block.restrict(asked) or block.channel).shape[1] if asked else 1


# What jobs that learn to predict a class have in common, and the documents of their models.


class WithDocument(Protocol):
    """A model's message that has the model as a document."""

    @property
    def document(self) -> dict[str, Any]:
        """What JSON is made of."""


def require_among(target: str, others: Sequence[str] | None, where: str) -> None:
    """Check that a class is told from other variables.

    Raises:
        OptionError: one of them is named twice, or is the class itself.
    """
    names = others or ()
    if len(set(names)) < len(names) or target in names:
        raise OptionError(
            "A variable is named twice, or is the class itself.",
            where=where,
            remedy=f"Name in `{where}` other variables than the class, each once.",
        )


def predicted_from(target: str, others: Sequence[str] | None, reported: Domain) -> tuple[str, ...]:
    """Return the variables of such a job, the class last: by default all that are reported.

    Raises:
        OptionError: nothing but the class is reported.
    """
    names = [name for name in others or reported.names if name != target]
    if not names:
        raise OptionError(
            "Only the class is reported: there is nothing to predict it from.", where="target"
        )
    return (*names, target)


def read_document(message: WithDocument) -> str:
    """Return the JSON of a model in the form that every `Predictor` is read from."""
    return json.dumps(message.document, ensure_ascii=False, allow_nan=False)


def write_document(message: WithDocument) -> str:
    """Return the same as lines, for a file."""
    return write_json(message.document)
