"""What owners can agree to learn: the ``task`` of a session file, a class for each kind.

Options, limits and defaults of a learner are those of the miner's jobs. Without `max_length`
itemsets may have any length.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

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

MAX_COLUMNS = 64
"""The most variables that an owner learns from for itself."""


Labels = Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]


Columns = Annotated[list[Label], Field(min_length=1, max_length=MAX_COLUMNS)]


Parents = dict[Label, Annotated[list[Label], Field(max_length=64)]]


class ParametersTask(WithParameters):
    """The parameters of a network of known structure (Ma 5.2.1)."""

    kind: Literal["parameters"] = "parameters"
    structure: Annotated[Parents, Field(min_length=1, max_length=MAX_VARIABLES)]
    method: Method = ParameterOptions.method
    alpha: Positive = ParameterOptions.alpha


class StructureTask(WithParameters):
    """The structure along one order of all variables, and then its parameters (Ma 5.2.2)."""

    kind: Literal["structure"] = "structure"
    order: Labels
    max_parents: MaxParents = Search.max_parents
    score: ScoreName = Scoring.name
    draws: Draws = DRAWS
    seed: Seed = 0
    method: Method = ParameterOptions.method
    alpha: Positive = ParameterOptions.alpha


class TableTask(Message):
    """A contingency table, for the initiator alone."""

    kind: Literal["contingency-table"] = "contingency-table"
    variables: Annotated[list[Label], Field(min_length=1, max_length=32)]


class RulesTask(AssociationRulesTask):
    """Frequent itemsets and the rules between their parts, for the initiator alone (Ma 7.1).

    Items are the categories of the variables: all, those that `items` names (of the variables it
    names), or the one category `present`, of the variables that have it.
    """

    kind: Literal["association-rules"] = "association-rules"
    variables: Columns


class TreeTask(DecisionTreeTask):
    """A decision tree, for the initiator alone (Ma 7.2). A `significance` of 1 tests nothing."""

    kind: Literal["decision-tree"] = "decision-tree"
    attributes: Columns


class LinearTask(LinearClassifierTask):
    """A linear classifier, for the initiator alone (Ma 6)."""

    kind: Literal["linear-classifier"] = "linear-classifier"
    features: Columns


class BayesTask(BayesClassifierTask):
    """A Bayesian network classifier, for the initiator alone."""

    kind: Literal["bayes-classifier"] = "bayes-classifier"
    features: Columns


TaskMessage = Annotated[
    ParametersTask | StructureTask | TableTask | RulesTask | TreeTask | LinearTask | BayesTask,
    Field(discriminator="kind"),
]
