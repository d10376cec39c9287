"""The joint tasks of owners (``task`` in a session file), with a class for each kind of task."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import (
    DRAWS,
    Draws,
    MaxParents,
    Method,
    ParameterOptions,
    Positive,
    ScoreName,
    Scoring,
    Search,
    Seed,
)
from pramana_core.wire.base import MAX_VARIABLES, Label
from pramana_core.wire.jobs import WithParameters

if TYPE_CHECKING:
    from pramana_core.learn.networks.bayes_net import LearnedFamily
    from pramana_core.learn.networks.structure_learning import LearnedLink
    from pramana_core.marginals.counts import Marginals
    from pramana_core.progress import Progress

Labels = Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]
Parents = dict[Label, Annotated[list[Label], Field(max_length=64)]]


@dataclass(frozen=True, eq=False)
class Findings:
    """What an owner learned: the families of its variables, and the links between them."""

    families: tuple[LearnedFamily, ...]
    links: tuple[LearnedLink, ...] = ()


class NetworkTask(WithParameters):
    """Learning a network that all owners receive. Each owner learns its own nodes' families."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the network."""
        raise NotImplementedError

    def check(self) -> None:
        """Check that the task is consistent. Raises InputError."""
        raise NotImplementedError

    def possible_parents(self, node: str) -> Sequence[str]:
        """Return the variables that the task allows as parents of a node."""
        raise NotImplementedError

    def agreed_parents(self, node: str) -> Sequence[str]:  # noqa: ARG002 - of a known structure
        """Return those parents of a node that are known before learning."""
        return ()

    def allows(self, node: str, parents: Sequence[str]) -> bool:
        """Return whether the task allows these parents of a node."""
        raise NotImplementedError

    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Learn the families of some nodes from an owner's marginals."""
        raise NotImplementedError

    def needs(self, own: Collection[str]) -> Collection[str]:
        """Return all possible parents of an owner's nodes (Ma 5.2.1, definition 2; 5.2.2)."""
        nodes = [node for node in self.names if node in own]
        return {parent for node in nodes for parent in self.possible_parents(node)}

    def families(
        self, marginals: Marginals, parents: Mapping[str, Sequence[str]], watch: Progress
    ) -> tuple[LearnedFamily, ...]:
        """Learn this owner's families.

        A parent node that belongs to another owner is treated as having no parents.
        """
        from pramana_core.learn.networks.bayes_net import learn_parameters
        from pramana_core.learn.networks.structure import Structure

        others = {p: () for mine in parents.values() for p in mine if p not in parents}
        structure = Structure.of({**others, **parents})
        options = asdict(self.parameters())
        learned = learn_parameters(marginals, structure, **options, on_node=watch)
        return tuple(family for family in learned.families if family.node in parents)


class ParametersTask(NetworkTask):
    """Learning the parameters of a network with a known structure (Ma 5.2.1)."""

    kind: Literal["parameters"] = "parameters"
    structure: Annotated[Parents, Field(min_length=1, max_length=MAX_VARIABLES)]
    method: Method = ParameterOptions.method
    alpha: Positive = ParameterOptions.alpha

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes of the structure."""
        return tuple(self.structure)

    def check(self) -> None:
        """Check that the structure has no cycle. Raises StructureError."""
        from pramana_core.learn.networks.structure import Structure

        Structure.of(self.structure)

    def possible_parents(self, node: str) -> Sequence[str]:
        """Return a node's parents in the structure."""
        return self.structure[node]

    def agreed_parents(self, node: str) -> Sequence[str]:
        """Return a node's parents in the structure."""
        return self.structure[node]

    def allows(self, node: str, parents: Sequence[str]) -> bool:
        """Return whether these are a node's parents in the structure, in the structure's order."""
        return self.structure[node] == list(parents)

    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Learn the families of some nodes."""
        parents = {node: self.structure[node] for node in nodes}
        return Findings(self.families(marginals, parents, watch))


class StructureTask(NetworkTask):
    """Learning the structure for a given order of all variables, then the parameters (Ma 5.2.2)."""

    kind: Literal["structure"] = "structure"
    order: Labels
    max_parents: MaxParents = Search.max_parents
    score: ScoreName = Scoring.name
    draws: Draws = DRAWS
    seed: Seed = 0
    method: Method = ParameterOptions.method
    alpha: Positive = ParameterOptions.alpha

    @property
    def names(self) -> tuple[str, ...]:
        """The variables in their order."""
        return tuple(self.order)

    def check(self) -> None:
        """Check that the order lists no variable twice. Raises OptionError."""
        if len(set(self.order)) < len(self.order):
            raise OptionError("The task's order names a variable twice.", where="task.order")

    def possible_parents(self, node: str) -> Sequence[str]:
        """Return the variables that precede a node in the order."""
        return self.order[: self.order.index(node)]

    def allows(self, node: str, parents: Sequence[str]) -> bool:
        """Return whether the parents precede the node and are at most `max_parents`."""
        return {*parents} <= {*self.possible_parents(node)} and len(parents) <= self.max_parents

    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Search for the parents of some nodes, and learn their families."""
        from pramana_core.learn.networks.structure_learning import learn_structure

        # A peer's joint block may include unneeded variables: placed last, they are no parents.
        known = marginals.domain.names
        ordered = [name for name in self.order if name in known]
        ordered += [name for name in known if name not in self.order]
        found = learn_structure(
            marginals,
            Scoring(name=self.score),
            Search(order=tuple(ordered), max_parents=self.max_parents),
            children=frozenset(nodes),
            draws=self.draws,
            seed=self.seed,
            on_step=watch,
        )
        parents = {node: found.structure.parents[node] for node in nodes}
        links = tuple(link for link in found.links if link.child in parents)
        return Findings(self.families(marginals, parents, watch), links)


TaskMessage = Annotated[ParametersTask | StructureTask, Field(discriminator="kind")]
