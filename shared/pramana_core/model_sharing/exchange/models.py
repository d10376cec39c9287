"""Global models of every kind as JSON: plain data, written without loss and read back equal.

A tree is here the list of its nodes, each parent before its children, so that it comes back as it
was; of a forest, paths would be many times as long. What an owner releases is `TreeDocument`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from pramana_core.channels import CATEGORIES, VARIABLES
from pramana_core.errors import InputError, ModelError
from pramana_core.learn.common.documents import faults
from pramana_core.model_sharing.combination.votes import VoteOptions, VotesModel, Weights
from pramana_core.model_sharing.exchange.documents import (
    Nodes,
    require_length,
    tree_nodes,
    tree_of_nodes,
)
from pramana_core.model_sharing.exchange.schemas import (
    ConditionDocument,
    Count,
    Number,
    SchemaDocument,
    codes_of,
    condition_json,
    condition_of,
    schema_json,
)
from pramana_core.model_sharing.global_models.model import (
    ForestModel,
    GlobalModel,
    RuleModel,
    TreeModel,
)
from pramana_core.model_sharing.global_models.naive_bayes import Density, NaiveBayesModel
from pramana_core.model_sharing.tree import SharedTree

MOST_TREES = 1_000

_Counts = Annotated[tuple[Count, ...], Field(strict=False, max_length=CATEGORIES)]
_Numbers = Annotated[tuple[Number, ...], Field(strict=False, max_length=CATEGORIES)]
_Trees = Annotated[tuple[Nodes, ...], Field(strict=False, min_length=1, max_length=MOST_TREES)]


class _Model(SchemaDocument):
    def trees_of(self, listed: tuple[Nodes, ...]) -> tuple[SharedTree, ...]:
        """Return trees of the model's schema. Raises as `tree_of_nodes`."""
        schema = self.tree_schema()
        codes = codes_of(schema)
        return tuple(
            tree_of_nodes(schema, codes, nodes, f"trees/{place}")
            for place, nodes in enumerate(listed)
        )


class _Tree(_Model):
    kind: Literal["tree"]
    nodes: Nodes

    def to_model(self) -> GlobalModel:
        return TreeModel(self.trees_of((self.nodes,))[0])


class _Forest(_Model):
    kind: Literal["forest"]
    trees: _Trees

    def to_model(self) -> GlobalModel:
        return ForestModel(self.trees_of(self.trees))


class _Votes(_Model):
    kind: Literal["votes"]
    weights: Weights
    smoothing: Number
    trees: _Trees

    def to_model(self) -> GlobalModel:
        return VotesModel(self.trees_of(self.trees), VoteOptions(self.weights, self.smoothing))


class _Rule(_Model):
    kind: Literal["conjunctive"]
    conditions: Annotated[tuple[ConditionDocument, ...], Field(strict=False, max_length=VARIABLES)]
    covered: _Counts
    others: _Counts

    def to_model(self) -> GlobalModel:
        schema = self.tree_schema()
        codes = codes_of(schema)
        conditions = tuple(
            (asked.attribute, condition_of(schema, codes, asked, "The rule", "conditions"))
            for asked in self.conditions
        )
        return RuleModel(schema, conditions, self.covered, self.others)


class _NaiveBayes(_Model):
    kind: Literal["naive-bayes"]
    prior: _Numbers
    densities: Annotated[tuple[Density, ...], Field(strict=False, max_length=VARIABLES)]

    def to_model(self) -> GlobalModel:
        return NaiveBayesModel(self.tree_schema(), self.prior, self.densities)


_Document = Annotated[_Tree | _Forest | _Votes | _Rule | _NaiveBayes, Field(discriminator="kind")]


def model_json(model: GlobalModel) -> dict[str, Any]:
    """Return a global model as what JSON can say. Raises ModelError if its kind is not known."""
    head = {"kind": model.kind, **schema_json(model.schema)}
    if isinstance(model, TreeModel):
        return {**head, "nodes": tree_nodes(model.tree)}
    if isinstance(model, ForestModel):
        return {**head, "trees": [tree_nodes(tree) for tree in model.trees]}
    if isinstance(model, VotesModel):
        told = {"weights": model.options.weights, "smoothing": float(model.options.smoothing)}
        return {**head, **told, "trees": [tree_nodes(tree) for tree in model.trees]}
    if isinstance(model, RuleModel):
        asked = [condition_json(model.schema[name], c) for name, c in model.conditions]
        return {**head, "conditions": asked, "covered": model.covered, "others": model.others}
    if isinstance(model, NaiveBayesModel):
        return {**head, "prior": model.prior, "densities": list(map(asdict, model.densities))}
    raise ModelError(f"There is no JSON of models of kind {model.kind!r}.", where="kind")


def write_model_json(model: GlobalModel) -> str:
    """Return a global model as JSON text; every number is written so that none is lost."""
    # Without line breaks: a forest has a hundred thousand nodes.
    return json.dumps(model_json(model), ensure_ascii=False, allow_nan=False) + "\n"


def read_model_json(text: str) -> GlobalModel:
    """Read a global model from the text of `write_model_json`; it is the same.

    Raises:
        InputError: the text is no such document.
        LimitExceeded: it is too long, or a tree too deep.
        DomainError, ModelError, OptionError: it is one, but the parts do not belong together.
    """
    require_length(text)
    try:
        return _READER.validate_json(text).to_model()
    except ValidationError as error:
        raise InputError(
            f"The text is not a global model in JSON: {faults(error)}.",
            remedy="Give the JSON of a model as `write_model_json` or the miner gives it.",
        ) from None


_READER: TypeAdapter[_Tree | _Forest | _Votes | _Rule | _NaiveBayes] = TypeAdapter(_Document)
