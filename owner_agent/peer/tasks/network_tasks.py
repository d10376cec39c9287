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


class Parameters(LearningTask[ParametersTask]):
    """The parameters of a network whose structure is agreed."""

    fewer = "give it fewer parents"
    shared = True

    def variables(self) -> tuple[str, ...]:
        """Return the nodes."""
        return tuple(self.task.structure)

    def check(self) -> None:
        """Check that the structure is one."""
        Structure.of(self.task.structure)

    def asks(self, holdings: Holdings, sender: str, receiver: str) -> tuple[str, ...]:
        """Return the sender's parents of the receiver's nodes."""
        return cross_parents(Structure.of(self.task.structure), holdings, sender, receiver)

    def scopes(self) -> list[tuple[str, ...]]:
        """Return each node with its parents."""
        return [(*parents, node) for node, parents in self.task.structure.items()]

    def agreed_parents(self, node: str) -> tuple[str, ...]:
        """Return the parents of a node in the structure."""
        return tuple(self.task.structure[node])

    def allows(self, node: str, parents: Sequence[str]) -> bool:
        """Return whether these are the parents in the structure, in their order."""
        return self.agreed_parents(node) == tuple(parents)

    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Learn the families of some nodes."""
        parents = {node: self.agreed_parents(node) for node in nodes}
        return Findings(_families(self.task, marginals, parents, watch))


class NetworkStructure(LearningTask[StructureTask]):
    """The structure along an agreed order, and its parameters."""

    fewer = "lower max_parents, leave a variable out of the order"
    shared = searches = True

    def variables(self) -> tuple[str, ...]:
        """Return the variables in their order."""
        return tuple(self.task.order)

    def check(self) -> None:
        """Check that the order names each variable once."""
        require_distinct(self.task.order, "order")

    def asks(self, holdings: Holdings, sender: str, receiver: str) -> tuple[str, ...]:
        """Return the sender's variables that come before one of the receiver's."""
        return preceding(self.task.order, holdings, sender, receiver)

    def allows(self, node: str, parents: Sequence[str]) -> bool:
        """Return whether these come before the node and are not too many."""
        before = self.task.order[: self.task.order.index(node)]
        return set(parents) <= set(before) and len(parents) <= self.task.max_parents

    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Search for the parents of some nodes, and learn their families."""
        # A peer's joint block may bring variables that nobody asked for: last, they are no parents.
        task, last = self.task, len(self.task.order)
        known = marginals.domain.names
        order = sorted(known, key=lambda n: task.order.index(n) if n in task.order else last)
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
