"""What owners can learn together: the ``task`` of a session file, one class for each kind.

A task has the options, limits and defaults of the miner's job of that name. It also says which of a
peer's columns an owner may ask for, and what it learns from the marginals: exact ones of its own
columns, estimated ones of its peers'. All owners learn networks together. Tables, rules and
classifiers are the initiator's alone: it asks for columns, learns, and keeps the files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

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
from pramana_core.wire.base import MAX_VARIABLES, Label, Message
from pramana_core.wire.jobs import (
    AssociationRulesTask,
    BayesClassifierTask,
    DecisionTreeTask,
    LinearClassifierTask,
    WithParameters,
)

if TYPE_CHECKING:
    from pramana_core.domain import Domain
    from pramana_core.learn.networks.bayes_net import LearnedFamily
    from pramana_core.learn.networks.structure_learning import LearnedLink
    from pramana_core.marginals.counts import Marginals
    from pramana_core.marginals.support_counts import Item
    from pramana_core.progress import Progress

MAX_COLUMNS = 64
"""The most variables that an owner learns from for itself."""

Labels = Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]
Columns = Annotated[list[Label], Field(min_length=1, max_length=MAX_COLUMNS)]
Parents = dict[Label, Annotated[list[Label], Field(max_length=64)]]


@dataclass(frozen=True, eq=False)
class Findings:
    """What one owner learned: its families of the network, or files for itself alone."""

    families: tuple[LearnedFamily, ...] = ()
    links: tuple[LearnedLink, ...] = ()
    files: Mapping[str, bytes] | None = None


class LearningTask:
    """What a task of each kind says of a session; `shared` if all owners learn it together."""

    shared: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that the session is about."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise an InputError where the task contradicts itself."""

    def require_fit(self, domain: Domain) -> None:
        """Raise an InputError where the task names what the owners' variables do not have."""

    def needs(self, own: Collection[str]) -> Collection[str]:  # noqa: ARG002 - of networks
        """Return what an owner that learns needs besides its `own` variables."""
        return self.names

    def agreed_parents(self, node: str) -> Sequence[str]:  # noqa: ARG002 - of a known structure
        """Return the parents of a node that are known before anything is learned."""
        return ()

    def allows(self, node: str, parents: Sequence[str]) -> bool:  # noqa: ARG002 - of networks
        """Return whether a node of a shared network may be learned with some parents."""
        return False

    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Run the learner for some nodes on an owner's marginals."""
        raise NotImplementedError


class NetworkTask(LearningTask, WithParameters):
    """A network that all owners end with; each learns its own nodes."""

    shared: ClassVar[bool] = True

    def possible_parents(self, node: str) -> Sequence[str]:
        """Return the variables that may be parents of a node."""
        raise NotImplementedError

    def needs(self, own: Collection[str]) -> Collection[str]:
        """Return what may be a parent of an owner's nodes (Ma 5.2.1, definition 2; 5.2.2)."""
        nodes = [node for node in self.names if node in own]
        return {parent for node in nodes for parent in self.possible_parents(node)}

    def families(
        self, marginals: Marginals, parents: Mapping[str, Sequence[str]], watch: Progress
    ) -> tuple[LearnedFamily, ...]:
        """Learn families; a peer's variable that is a parent has no parents here."""
        from pramana_core.learn.networks.bayes_net import learn_parameters
        from pramana_core.learn.networks.structure import Structure

        others = {p: () for mine in parents.values() for p in mine if p not in parents}
        structure = Structure.of({**others, **parents})
        options = asdict(self.parameters())
        learned = learn_parameters(marginals, structure, **options, on_node=watch)
        return tuple(family for family in learned.families if family.node in parents)


class ParametersTask(NetworkTask):
    """The parameters of a network of known structure (Ma 5.2.1)."""

    kind: Literal["parameters"] = "parameters"
    structure: Annotated[Parents, Field(min_length=1, max_length=MAX_VARIABLES)]
    method: Method = ParameterOptions.method
    alpha: Positive = ParameterOptions.alpha

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes."""
        return tuple(self.structure)

    def check(self) -> None:
        """Check that the structure has no cycle. Raises StructureError."""
        from pramana_core.learn.networks.structure import Structure

        Structure.of(self.structure)

    def possible_parents(self, node: str) -> Sequence[str]:
        """Return the parents in the structure."""
        return self.structure[node]

    def agreed_parents(self, node: str) -> Sequence[str]:
        """Return the parents in the structure."""
        return self.structure[node]

    def allows(self, node: str, parents: Sequence[str]) -> bool:
        """Return whether these are the parents in the structure, in their order."""
        return self.structure[node] == list(parents)

    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Learn the families of some nodes."""
        parents = {node: self.structure[node] for node in nodes}
        return Findings(self.families(marginals, parents, watch))


class StructureTask(NetworkTask):
    """The structure along one order of all variables, and then its parameters (Ma 5.2.2)."""

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
        """Check that the order names each variable once. Raises OptionError."""
        _require_distinct(self.order, "order")

    def possible_parents(self, node: str) -> Sequence[str]:
        """Return the variables before a node."""
        return self.order[: self.order.index(node)]

    def allows(self, node: str, parents: Sequence[str]) -> bool:
        """Return whether these come before the node and are not too many."""
        return {*parents} <= {*self.possible_parents(node)} and len(parents) <= self.max_parents

    def learn(self, marginals: Marginals, nodes: Sequence[str], watch: Progress) -> Findings:
        """Search for the parents of some nodes, and learn their families."""
        from pramana_core.learn.networks.structure_learning import learn_structure

        # A peer's joint block may bring variables that nobody wants: last, they are no parents.
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


class TableTask(LearningTask, Message):
    """A contingency table, for the initiator alone."""

    kind: Literal["contingency-table"] = "contingency-table"
    variables: Annotated[list[Label], Field(min_length=1, max_length=32)]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the table."""
        return tuple(self.variables)

    def check(self) -> None:
        """Check that each variable is named once. Raises OptionError."""
        _require_distinct(self.variables, "variables")

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Estimate the table: `table.csv`, a row a cell with its count, errors and interval."""
        from pramana_core.csv_text import csv_text

        watch(0, 1)
        table = marginals.marginal(self.variables).unshrunk
        low, high = table.interval(population=True)
        columns = {
            "count": table.counts,
            "se_records": table.variance(population=False) ** 0.5,
            "se_population": table.variance(population=True) ** 0.5,
            "low": low,
            "high": high,
        }
        cells = product(*(variable.categories for variable in table.domain))
        numbers = zip(*(column.ravel().tolist() for column in columns.values()), strict=True)
        rows = ((*cell, *row) for cell, row in zip(cells, numbers, strict=True))
        watch(1, 1)
        return _files({"table.csv": csv_text([*table.domain.names, *columns], rows)})


class RulesTask(LearningTask, AssociationRulesTask):
    """Frequent itemsets and the rules between their parts, for the initiator alone (Ma 7.1).

    Items are the categories of the variables: all, those that `items` names (of the variables it
    names), or the one category `present`, of the variables that have it. Without `max_length`
    itemsets may have any length.
    """

    kind: Literal["association-rules"] = "association-rules"
    variables: Columns

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the items."""
        return tuple(self.variables)

    def check(self) -> None:
        """Check the items' variables, and the options' limits. Raises OptionError."""
        items = self.items or {}
        _require_distinct(self.variables, "variables")
        for name, labels in items.items():
            _require_distinct(labels, f"items.{name}")
        strange = sorted(set(items) - set(self.variables))
        if strange:
            raise OptionError(
                f"The task has items of {strange}, which are not among its variables.",
                where="task.items",
                remedy="Name them in the task's variables too.",
            )
        if items and self.present is not None:
            raise OptionError("Give items or present, and not both.", where="task.present")
        self.options()

    def require_fit(self, domain: Domain) -> None:
        """Check that every category that the items name exists. Raises UnknownCategory."""
        self._wanted(domain)

    def _wanted(self, domain: Domain) -> tuple[Item, ...]:
        from pramana_core.learn.rules.itemsets import items_wanted

        return items_wanted(domain.project(self.variables), self.present, self.items)

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Mine itemsets and derive their rules; `rules.json`, and tables and pictures of both."""
        from pramana_core.learn.common.documents import write_json
        from pramana_core.learn.rules.documents import itemsets_csv, rules_csv, write_findings
        from pramana_core.learn.rules.drawing import itemsets_chart, rules_chart
        from pramana_core.learn.rules.itemsets import item_label
        from pramana_core.learn.rules.mining import mine_itemsets
        from pramana_core.learn.rules.rules import derive_rules
        from pramana_core.progress import part_of

        items = self._wanted(marginals.domain)
        found = mine_itemsets(marginals, items, self.options(), part_of(watch, 0, 70))
        least, on_step = self.minimum_confidence, part_of(watch, 70, 30)
        rules = derive_rules(found, marginals, least, certain=self.certain, on_step=on_step)
        return _files(
            {
                "rules.json": write_json(write_findings(found, rules, examined=False)),
                "itemsets.csv": itemsets_csv(found.frequent, found.item_labels.__getitem__),
                "rules.csv": rules_csv(rules, lambda item: item_label(found.domain, item)),
                "itemsets.svg": itemsets_chart(found).svg(),
                "rules.svg": rules_chart(found.domain, rules).svg(),
            }
        )


class ClassTask(LearningTask):
    """A predictor of a class, for the initiator alone: the one of `LEARNERS` of its kind."""

    predictors: ClassVar[str] = "features"
    """The field that names the other variables."""

    @property
    def _features(self) -> list[str]:
        features: list[str] = getattr(self, self.predictors)
        return features

    @property
    def names(self) -> tuple[str, ...]:
        """The features and the class."""
        return (*self._features, self.target)  # type: ignore[attr-defined]

    def check(self) -> None:
        """Check that each variable is named once, and options' limits. Raises OptionError."""
        _require_distinct(self.names, f"target and {self.predictors}")
        self.options()  # type: ignore[attr-defined]

    def learn(self, marginals: Marginals, _nodes: Sequence[str], watch: Progress) -> Findings:
        """Learn the model; the files that its learner keeps."""
        from pramana_core.learn.learners import LEARNERS

        task: Any = self
        learner = LEARNERS[task.kind]
        seed = getattr(task, "seed", 0)
        model = learner.learn(
            marginals, task.target, self._features, task.options(), seed=seed, on_step=watch
        )
        return _files(learner.kept(model))


class TreeTask(ClassTask, DecisionTreeTask):
    """A decision tree, for the initiator alone (Ma 7.2). A `significance` of 1 tests nothing."""

    predictors: ClassVar[str] = "attributes"

    kind: Literal["decision-tree"] = "decision-tree"
    attributes: Columns


class LinearTask(ClassTask, LinearClassifierTask):
    """A linear classifier, for the initiator alone (Ma 6)."""

    kind: Literal["linear-classifier"] = "linear-classifier"
    features: Columns


class BayesTask(ClassTask, BayesClassifierTask):
    """A Bayesian network classifier, for the initiator alone."""

    kind: Literal["bayes-classifier"] = "bayes-classifier"
    features: Columns


def _require_distinct(names: Sequence[str], where: str) -> None:
    if len(set(names)) < len(names):
        raise OptionError(f"The task's {where} name a variable twice.", where=f"task.{where}")


def _files(texts: Mapping[str, str]) -> Findings:
    return Findings(files={name: text.encode() for name, text in texts.items()})


TaskMessage = Annotated[
    ParametersTask | StructureTask | TableTask | RulesTask | TreeTask | LinearTask | BayesTask,
    Field(discriminator="kind"),
]
