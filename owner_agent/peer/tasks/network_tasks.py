"""Networks that all owners learn together: their parameters, or their structure too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from owner_agent.peer.protocol.messages import ParametersTask, StructureTask
from owner_agent.peer.protocol.steps import Holdings, cross_parents, preceding
from owner_agent.peer.tasks.task import Findings, LearningTask, require_distinct
from pramana_core.learn.networks.bayes_net import LearnedFamily, learn_parameters
from pramana_core.learn.networks.search.structure_learning import learn_structure
from pramana_core.learn.networks.structure import Scoring, Search, Structure
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress


def _learn_parameters(
    task: ParametersTask, marginals: Marginals, nodes: Sequence[str], watch: Progress
) -> Findings:
    parents = {node: tuple(task.structure[node]) for node in nodes}
    return Findings(_families(task, marginals, parents, watch))


def _learn_structure(
    task: StructureTask, marginals: Marginals, nodes: Sequence[str], watch: Progress
) -> Findings:
    # A peer's joint block may bring variables that nobody asked for: last, they are no parents.
    known = marginals.domain.names
    order = sorted(known, key=lambda n: task.order.index(n) if n in task.order else len(task.order))
    found = learn_structure(
        marginals,
        Scoring(name=task.score),
        Search(order=tuple(order), max_parents=task.max_parents),
        children=frozenset(nodes),
        draws=task.draws,
        seed=task.seed,
        on_step=watch,
    )
    parents = {node: found.structure.parents[node] for node in nodes}
    links = tuple(link for link in found.links if link.child in parents)
    return Findings(_families(task, marginals, parents, watch), links)


def _families(
    task: ParametersTask | StructureTask,
    marginals: Marginals,
    parents: Mapping[str, tuple[str, ...]],
    watch: Progress,
) -> tuple[LearnedFamily, ...]:
    """Learn some families; a peer's variable that is a parent stands without parents here."""
    others = {p: () for mine in parents.values() for p in mine if p not in parents}
    structure = Structure.of({**others, **parents})
    learned = learn_parameters(marginals, structure, **asdict(task.parameters()), on_node=watch)
    return tuple(family for family in learned.families if family.node in parents)


def _parameters_scopes(task: ParametersTask) -> list[tuple[str, ...]]:
    return [(*parents, node) for node, parents in task.structure.items()]


def _parameters_asks(
    task: ParametersTask, holdings: Holdings, sender: str, receiver: str
) -> tuple[str, ...]:
    return cross_parents(Structure.of(task.structure), holdings, sender, receiver)


def _check_structure(task: ParametersTask) -> None:
    Structure.of(task.structure)


def _check_order(task: StructureTask) -> None:
    require_distinct(task.order, "order")


PARAMETERS = LearningTask(
    variables=lambda task: tuple(task.structure),
    check=_check_structure,
    asks=_parameters_asks,
    scopes=_parameters_scopes,
    learn=_learn_parameters,
    agreed_parents=lambda task, node: tuple(task.structure[node]),
    fewer="give it fewer parents",
    shared=True,
)

STRUCTURE = LearningTask(
    variables=lambda task: tuple(task.order),
    check=_check_order,
    asks=lambda task, holdings, sender, receiver: preceding(task.order, holdings, sender, receiver),
    scopes=lambda task: [tuple(task.order)],
    learn=_learn_structure,
    fewer="lower max_parents, leave a variable out of the order",
    shared=True,
)
