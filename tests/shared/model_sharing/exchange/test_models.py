"""Global models as JSON: they come back equal, and what is no model is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pramana_core.errors import InputError, LimitExceeded, ModelError, PramanaError
from pramana_core.learn.common.documents import write_json
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.exchange.documents import (
    LONGEST_TEXT,
    model_json,
    read_model_json,
)
from pramana_core.model_sharing.global_models.conjunctive import RuleModel
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.global_models.naive_bayes import (
    CategoryShares,
    NaiveBayesModel,
    Normal,
)
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split
from tests.shared.model_sharing.exchange.drawn_trees import SCHEMA

LOW, HIGH = Leaf.of((3.0, 1.0, 0.1)), Leaf(1, 5, 1)
STUMP = SharedTree(SCHEMA, Split("size", ((Interval(up_to=2.5), LOW), (Interval(2.5), HIGH))))
BY_COLOUR = SharedTree(
    SCHEMA, Split("colour", ((Values((0, 2)), STUMP.root), (Values((1,)), HIGH)))
)
THIRDS = CategoryShares(((1 / 3,) * 3, (0.5, 0.25, 0.25), (0.1, 0.2, 0.7)))
HALVES = CategoryShares(((0.5, 0.5),) * 3)
MODELS: dict[str, GlobalModel] = {
    "tree": BY_COLOUR,
    "votes": VotesModel((STUMP, BY_COLOUR)),
    "conjunctive": RuleModel(
        SCHEMA,
        (("colour", Values((0, 2))), ("age", Interval(30, 45.5))),
        (1.0, 2.0, 0.0),
        (9.0, 0.5, 0.0),
    ),
    "naive-bayes": NaiveBayesModel(
        SCHEMA,
        (0.25, 0.75, 0.0),
        (THIRDS, Normal((0.1, 2, 3), (1e-9, 1e150, 2)), Normal((1, 2, 3), (4, 5, 6)), HALVES),
    ),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_models_come_back_equal(model: GlobalModel):
    text = write_json(model_json(model))
    assert read_model_json(text) == model
    assert json.loads(text) == json.loads(json.dumps(model_json(model)))
    assert json.loads(text)["kind"] == model.kind


WRONG: dict[str, tuple[str, Callable[[dict[str, Any]], Any], type[PramanaError]]] = {
    "unknown kind": ("tree", lambda d: d.update(kind="pickle"), InputError),
    "no kind": ("tree", lambda d: d.pop("kind"), InputError),
    "unknown field": ("tree", lambda d: d.update(code=1), InputError),
    "no nodes": ("tree", lambda d: d.update(nodes=[]), InputError),
    "no trees": ("votes", lambda d: d.update(trees=[]), InputError),
    "condition twice": (
        "conjunctive",
        lambda d: d["conditions"].append(d["conditions"][0]),
        ModelError,
    ),
    "unknown attribute": (
        "conjunctive",
        lambda d: d["conditions"][0].update(attribute="price"),
        ModelError,
    ),
    "no counts": (
        "conjunctive",
        lambda d: d.update(covered=[0, 0, 0], others=[0, 0, 0]),
        ModelError,
    ),
    "short counts": ("conjunctive", lambda d: d.update(covered=[1]), ModelError),
    "prior above 1": ("naive-bayes", lambda d: d.update(prior=[1, 1, 0]), ModelError),
    "no variance": (
        "naive-bayes",
        lambda d: d["densities"][1].update(variances=[0, 1, 1]),
        ModelError,
    ),
    "density missing": ("naive-bayes", lambda d: d["densities"].pop(), ModelError),
    "other density": (
        "naive-bayes",
        lambda d: d["densities"].insert(0, d["densities"].pop(1)),
        ModelError,
    ),
}


@pytest.mark.parametrize(("kind", "wrong", "error"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_model_is_refused(kind, wrong, error):
    told = model_json(MODELS[kind])
    wrong(told)
    with pytest.raises(error):
        read_model_json(json.dumps(told))


def test_long_texts_are_refused_unread():
    with pytest.raises(LimitExceeded):
        read_model_json(" " * (LONGEST_TEXT + 1))
