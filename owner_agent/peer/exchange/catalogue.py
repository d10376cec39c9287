"""The tasks that owners can learn together: `TASKS`.

A task says which of a peer's columns an owner may ask for, and what it learns from the marginals:
exact ones of its own columns, estimated ones of its peers'. All owners learn networks together.
The initiator alone learns tables, rules and classifiers, asks columns for them and keeps the files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from owner_agent.peer.exchange.entitlement import Holdings, cross_parents, preceding
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.protocol.tasks import (
    BayesTask,
    LinearTask,
    ParametersTask,
    RulesTask,
    StructureTask,
    TableTask,
    TreeTask,
)
from pramana_core.csv_text import csv_text
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.common.options import Scoring, Search
from pramana_core.learn.learners import LEARNERS, ClassLearner
from pramana_core.learn.networks.bayes_net import LearnedFamily, learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedLink, learn_structure
from pramana_core.learn.rules.documents import findings_csv, write_findings
from pramana_core.learn.rules.drawing import itemsets_chart, rules_chart
from pramana_core.learn.rules.itemsets import Itemset, items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import Rule, derive_rules
from pramana_core.marginals.counts import Marginals, MarginalTable
from pramana_core.marginals.support_counts import Item
from pramana_core.progress import Progress, part_of
from pramana_core.wire.base import Message


@dataclass(frozen=True, eq=False)
class Findings:
    """What one owner learned: its families of the network, or files for itself alone."""

    families: tuple[LearnedFamily, ...] = ()
    links: tuple[LearnedLink, ...] = ()
    files: Mapping[str, bytes] | None = None

    @classmethod
    def kept(cls, texts: Mapping[str, str]) -> Findings:
        """Return files for this owner alone, by name."""
        return cls(files={name: text.encode() for name, text in texts.items()})


TaskT_co = TypeVar("TaskT_co", bound=Message, covariant=True)


@dataclass(frozen=True)
class LearningTask(ABC, Generic[TaskT_co]):
    """What is learned in a session; a class for each kind.

    Attributes:
        task: what the session's proposal says of it.
        fewer: in the words of a remedy, how the session can ask for smaller families.
        shared: whether all owners learn their part and end with the same network; else the
            initiator alone learns, and keeps the result.
    """

    task: TaskT_co

    fewer: ClassVar[str]
    shared: ClassVar[bool] = False

    @abstractmethod
    def variables(self) -> tuple[str, ...]:
        """Return the variables that the session is about."""

    @abstractmethod
    def check(self) -> None:
        """Raise an InputError where the task contradicts itself."""

    @abstractmethod
    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Run the learner for some nodes on an owner's marginals."""

    def asks(self, holdings: Holdings, sender: str, receiver: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the sender's variables that the receiver may ask for."""
        wanted = self.variables()
        return tuple(name for name in holdings[sender] if name in wanted)

    def agreed_parents(self, node: str) -> tuple[str, ...]:  # noqa: ARG002
        """Return the parents of a node that are known before anything is learned."""
        return ()

    def allows(self, node: str, parents: Sequence[str]) -> bool:  # noqa: ARG002
        """Return whether a node of a shared network may be learned with some parents."""
        return False

    def require_fit(self, domain: Domain) -> None:
        """Raise an InputError where the task names what the owners' variables do not have."""


def require_distinct(names: Sequence[str], where: str) -> None:
    """Check that a task names no variable twice in one place. Raises OptionError."""
    if len(set(names)) < len(names):
        raise OptionError(f"The task's {where} name a variable twice.", where=f"task.{where}")


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
    shared = True

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
        # A peer's joint block may bring variables that nobody wants: last, they are no parents.
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


class Table(LearningTask[TableTask]):
    """A contingency table."""

    fewer = "ask for fewer variables"

    def variables(self) -> tuple[str, ...]:
        """Return the variables of the table."""
        return tuple(self.task.variables)

    def check(self) -> None:
        """Check that each variable is named once."""
        require_distinct(self.task.variables, "variables")

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Count the table; `table.csv`."""
        watch(0, 1)
        written = _table_csv(marginals.marginal(self.task.variables))
        watch(1, 1)
        return Findings.kept({"table.csv": written})


class Rules(LearningTask[RulesTask]):
    """Frequent itemsets and the rules between their parts."""

    fewer = "ask for fewer variables, or a smaller max_length"

    def variables(self) -> tuple[str, ...]:
        """Return the variables of the items."""
        return tuple(self.task.variables)

    def check(self) -> None:
        """Check that items are of the variables, and options in their limits."""
        task = self.task
        require_distinct(task.variables, "variables")
        items = task.items or {}
        for name, labels in items.items():
            require_distinct(labels, f"items.{name}")
        strange = sorted(set(items) - set(task.variables))
        if strange:
            raise OptionError(
                f"The task has items of {strange}, which are not among its variables.",
                where="task.items",
                remedy="Name them in the task's variables too.",
            )
        if items and task.present is not None:
            raise OptionError("Give items or present, and not both.", where="task.present")
        task.options()

    def require_fit(self, domain: Domain) -> None:
        """Check that every category that the items name exists. Raises UnknownCategory."""
        self._items(domain)

    def _items(self, domain: Domain) -> tuple[Item, ...]:
        """Return the items: of the task's own variables, whatever else is in the domain."""
        own = domain.project(self.task.variables)
        return items_of(own, self.task.present, self.task.items)

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Mine itemsets and derive their rules; `rules.json`, and tables and pictures of both."""
        task = self.task
        items = self._items(marginals.domain)
        found = mine_itemsets(marginals, items, task.options(), part_of(watch, 0, 70))
        rules = derive_rules(
            found,
            marginals,
            task.minimum_confidence,
            certain=task.certain,
            on_step=part_of(watch, 70, 30),
        )
        word = found.item_labels.__getitem__
        return Findings.kept(
            {
                "rules.json": write_json(write_findings(found, rules, examined=False)),
                "itemsets.csv": findings_csv(Itemset, found.frequent, word),
                "rules.csv": findings_csv(Rule, rules, word),
                "itemsets.svg": itemsets_chart(found).svg(),
                "rules.svg": rules_chart(found, rules).svg(),
            }
        )


ClassTask_co = TypeVar("ClassTask_co", bound=TreeTask | LinearTask | BayesTask, covariant=True)


class Classifier(LearningTask[ClassTask_co]):
    """A predictor of a class from other variables: the one of `LEARNERS` that the task names."""

    @property
    def fewer(self) -> str:  # type: ignore[override]
        """How the session can ask for smaller tables."""
        return self._learner.fewer

    @property
    def _learner(self) -> ClassLearner[Any, Any]:
        return LEARNERS[self.task.kind]

    @property
    def _features(self) -> list[str]:
        features: list[str] = getattr(self.task, self._learner.features)
        return features

    def variables(self) -> tuple[str, ...]:
        """Return the features and the class."""
        return (*self._features, self.task.target)

    def check(self) -> None:
        """Check that each variable is named once, and options are in their limits."""
        require_distinct(self.variables(), f"target and {self._learner.features}")
        self.task.options()

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Learn the model; the files that its learner keeps."""
        task, learner = self.task, self._learner
        seed = getattr(task, "seed", 0)
        model = learner.learn(
            marginals, task.target, self._features, task.options(), seed=seed, on_step=watch
        )
        return Findings.kept(learner.kept(model))


def _table_csv(table: MarginalTable) -> str:
    """Return a row for each cell: its labels, count, errors (of the noise; in all), interval."""
    table = table.unshrunk
    columns = {
        "count": table.counts,
        "se_records": np.sqrt(table.variance(population=False)),
        "se_population": np.sqrt(table.variance(population=True)),
    }
    columns["low"], columns["high"] = table.interval(population=True)
    cells = product(*(variable.categories for variable in table.domain))
    numbers = zip(*(column.ravel().tolist() for column in columns.values()), strict=True)
    rows = ((*cell, *row) for cell, row in zip(cells, numbers, strict=True))
    return csv_text([*table.domain.names, *columns], rows)


TASKS: dict[str, type[LearningTask[Any]]] = {
    "parameters": Parameters,
    "structure": NetworkStructure,
    "contingency-table": Table,
    "association-rules": Rules,
    **dict.fromkeys(LEARNERS, Classifier),
}


def task_of(proposal: Proposal) -> LearningTask[Any]:
    """Return what a session learns."""
    return TASKS[proposal.task.kind](proposal.task)


def variables_of(proposal: Proposal) -> tuple[str, ...]:
    """Return the variables that a session is about."""
    return task_of(proposal).variables()


def learners(proposal: Proposal) -> tuple[str, ...]:
    """Return the owners that learn: all, or the initiator where it alone gets columns."""
    if task_of(proposal).shared:
        return tuple(proposal.participants)
    return (proposal.initiator,)


def entitled(proposal: Proposal, holdings: Holdings, sender: str, receiver: str) -> tuple[str, ...]:
    """Return the sender's variables that the receiver gets; the sender decides by this alone."""
    if sender == receiver or receiver not in learners(proposal):
        return ()
    return task_of(proposal).asks(holdings, sender, receiver)
