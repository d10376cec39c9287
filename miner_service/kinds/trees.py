"""Decision trees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from miner_service.kinds import counting
from miner_service.kinds.affordability import (
    predicted_from,
    read_document,
    require_among,
    require_network,
    require_table,
    write_document,
)
from miner_service.kinds.base import Content, render
from miner_service.kinds.costs import Reduction, Work, fewer, lower
from miner_service.kinds.counting import RecordLayout, estimated, largest_family
from miner_service.kinds.counts import CountsKind
from miner_service.settings import Limits
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded
from pramana_core.estimation.core.curvature import INFORMATION_CELLS
from pramana_core.learn.tree.documents import read_tree_json, tree_json
from pramana_core.learn.tree.drawing import draw_tree
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.text import said_of_model, write_tree_text
from pramana_core.marginals.counts import CUBE_CELLS, Marginals
from pramana_core.plan import Plan
from pramana_core.progress import Progress
from pramana_core.wire.learning.jobs import DecisionTreeSpec
from pramana_core.wire.learning.models import DecisionTreeMessage

MOST_NODES = 20_000
"""Nobody reads a larger tree."""

MOST_GUESSED = 64
"""Noise leaves few splits beyond chance: of no more nodes is the time of a tree predicted."""


def _counted_once(plan: Plan) -> bool:
    """Whether all reports fit into one table, from which every node's counts are cut out."""
    return math.prod(plan.reported_sizes.values()) <= CUBE_CELLS


def _model(message: DecisionTreeMessage) -> DecisionTree:
    return read_tree_json(read_document(message))


def _draw(message: DecisionTreeMessage) -> str:
    return draw_tree(_model(message)).svg()


def _write_text(message: DecisionTreeMessage) -> str:
    return write_tree_text(_model(message), show_weights=True)


def _page(message: DecisionTreeMessage) -> str:
    tree = _model(message)
    return render(
        "tree.html.j2",
        message,
        tree=tree,
        picture=draw_tree(tree).svg(),
        through=said_of_model(tree),
        text=write_tree_text(tree, show_weights=True),
    )


class DecisionTreeKind(CountsKind[DecisionTreeSpec, DecisionTreeMessage]):
    """Decision trees."""

    spec, message = DecisionTreeSpec, DecisionTreeMessage
    views: ClassVar = {"page": _page, "svg": _draw, "text": _write_text, "document": write_document}
    predictor = staticmethod(_model)

    def check(self, spec: DecisionTreeSpec) -> None:
        spec.options()
        require_among(spec.target, spec.attributes, "attributes")

    def variables(self, spec: DecisionTreeSpec, reported: Domain) -> tuple[str, ...]:
        return predicted_from(spec.target, spec.attributes, reported)

    def require_affordable(
        self,
        spec: DecisionTreeSpec,
        variables: tuple[str, ...],
        layout: RecordLayout,
        limits: Limits,
    ) -> None:
        """Bound the variables, the table of each split, and what its counts come from.

        These are tables of whole paths where a node is counted anew, or those of a model.
        """
        if len(variables) > limits.search_variables:
            raise LimitExceeded(
                f"The tree has {len(variables)} variables; {limits.search_variables} are allowed.",
                where="attributes",
                remedy="Name those that matter in `attributes`.",
            )
        domain = layout.domain.project(variables)
        largest = max(v.size for v in domain if v.name != spec.target) * domain[spec.target].size
        if largest > INFORMATION_CELLS:
            raise LimitExceeded(
                f"The split of a node would have a table of {largest} cells; {INFORMATION_CELLS}"
                " are allowed.",
                where="attributes",
                remedy="Leave out the attributes of many categories.",
            )
        if not estimated(spec).told(variables, layout):
            # Through a model that is learned of the class with one or two attributes.
            features = [name for name in variables if name != spec.target]
            require_network(spec, spec.target, features, 1, layout, limits)
            return
        if estimated(spec).by_reports and all(_counted_once(plan) for plan in layout.plans):
            return
        depth = spec.options().max_depth
        _, family = largest_family(
            layout, variables, len(variables) if depth is None else min(depth + 1, len(variables))
        )
        require_table(spec, family, layout, limits, where="max_depth")

    def work(
        self, spec: DecisionTreeSpec, variables: tuple[str, ...], layout: RecordLayout, records: int
    ) -> Work:
        """Return the work of a tree's nodes: each looks at the table of every attribute left."""
        domain, options = layout.domain.project(variables), spec.options()
        attributes = domain.project([name for name in variables if name != spec.target])
        if not estimated(spec).told(variables, layout):
            # A network tells the counts of every path.
            known = counting.network(spec, variables, layout, records, 1)
            return known + Work({"nodes": MOST_GUESSED * len(attributes)})
        depth = (
            len(attributes)
            if options.max_depth is None
            else min(options.max_depth, len(attributes))
        )
        branches = max(2.0, sum(attributes.shape) / len(attributes))
        nodes = min(branches**depth, max(records / 500, 1.0), float(MOST_GUESSED))
        split = sorted(variables, key=lambda name: -domain[name].size)[: min(depth, 3) + 1]
        looked = Work({"nodes": nodes * len(attributes)})
        return counting.table(spec, split, layout, records, nodes) + looked

    def less(
        self, spec: DecisionTreeSpec, variables: tuple[str, ...], layout: RecordLayout
    ) -> Iterator[Reduction[DecisionTreeSpec]]:
        names = [name for name in variables if name != spec.target]
        names.sort(key=lambda name: -layout.domain[name].size)
        yield fewer(
            names, "attributes", lambda most: spec.model_copy(update={"attributes": names[:most]})
        )
        depth = min(spec.options().max_depth or len(names), len(names))
        yield lower(depth, "max_depth", lambda most: spec.model_copy(update={"max_depth": most}))
        yield from counting.less_order(spec)

    def learn(self, spec: DecisionTreeSpec, marginals: Marginals, on_step: Progress) -> Content:
        attributes = [name for name in marginals.domain.names if name != spec.target]
        tree = learn_tree(marginals, spec.target, attributes, spec.options(), on_step)
        nodes = sum(1 for _ in tree.root)
        if nodes > MOST_NODES:
            raise LimitExceeded(
                f"The tree has {nodes} nodes; {MOST_NODES} are allowed in a model.",
                where="max_depth",
                remedy="Allow less depth, or ask for a smaller significance.",
            )
        on_step(1, 1)
        return {"document": tree_json(tree)}
