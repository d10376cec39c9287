"""What owners can agree to learn: the `task` of a session file, a class for each kind.

Options have the names that they have in the learners. A session has not all of them, and without a
`max_length` itemsets may be of any length.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shared.wire.base import MAX_VARIABLES, Label, Message

Labels = Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]
Parents = dict[Label, Annotated[list[Label], Field(max_length=64)]]

Seed = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(gt=0, le=1)]
InnerShare = Annotated[float, Field(gt=0, lt=1)]


class ParametersTask(Message):
    """The parameters of a network of known structure (Ma 5.2.1)."""

    kind: Literal["parameters"] = "parameters"
    structure: Annotated[Parents, Field(min_length=1, max_length=MAX_VARIABLES)]
    method: Literal["ml", "map"] = "ml"
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


class StructureTask(Message):
    """The structure along one order of all variables, and then its parameters (Ma 5.2.2)."""

    kind: Literal["structure"] = "structure"
    order: Labels
    max_parents: Annotated[int, Field(ge=1, le=16)] = 3
    score: Literal["likelihood", "bic", "bayesian", "bdeu"] = "likelihood"
    draws: Annotated[int, Field(ge=0, le=10_000)] = 200
    seed: Seed = 0
    method: Literal["ml", "map"] = "ml"
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


class TableTask(Message):
    """A contingency table, for the initiator alone."""

    kind: Literal["contingency-table"] = "contingency-table"
    variables: Annotated[list[Label], Field(min_length=1, max_length=32)]


class RulesTask(Message):
    """Frequent itemsets and the rules between their parts, for the initiator alone (Ma 7.1).

    Items are the categories of the variables: all, those that `items` names (of the variables it
    names), or the one category `present`, of the variables that have it.
    """

    kind: Literal["association-rules"] = "association-rules"
    variables: Annotated[list[Label], Field(min_length=1, max_length=64)]
    items: Annotated[dict[Label, Labels] | None, Field(min_length=1)] = None
    present: Label | None = None
    minimum_support: Share
    minimum_confidence: Annotated[float, Field(ge=0, le=1)] = 0.8
    max_length: Annotated[int | None, Field(ge=1)] = None
    decisions: Literal["point", "controlled"] = "point"
    confidence: InnerShare = 0.95
    false_discovery: InnerShare = 0.05
    against: Literal["records", "population"] = "records"
    consistent: bool = False


class TreeTask(Message):
    """A decision tree, for the initiator alone (Ma 7.2). A `significance` of 1 tests nothing."""

    kind: Literal["decision-tree"] = "decision-tree"
    target: Label
    attributes: Annotated[list[Label], Field(min_length=1, max_length=64)]
    criterion: Literal["gain", "gain-ratio"] = "gain"
    max_depth: Annotated[int | None, Field(ge=1)] = None
    significance: Share = 0.05
    least_records: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 10.0
    prune: bool = True


class LinearTask(Message):
    """A linear classifier, for the initiator alone (Ma 6)."""

    kind: Literal["linear-classifier"] = "linear-classifier"
    target: Label
    features: Annotated[list[Label], Field(min_length=1, max_length=64)]
    loss: Literal["perceptron", "least-squares", "logistic"] = "logistic"
    l2: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    encoding: Literal["indicator", "ordinal"] = "indicator"
    seed: Seed = 0


TaskMessage = Annotated[
    ParametersTask | StructureTask | TableTask | RulesTask | TreeTask | LinearTask,
    Field(discriminator="kind"),
]
