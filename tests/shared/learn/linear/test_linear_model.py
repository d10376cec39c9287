"""Linear classifiers as values: predictions, JSON, pictures."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pramana_core.domain import Domain, Variable
from pramana_core.errors import (
    DomainError,
    UnknownCategory,
    UnknownVariable,
)
from pramana_core.learn.common.options import LinearOptions
from pramana_core.learn.learners import LINEAR
from pramana_core.learn.linear.columns import Column
from pramana_core.learn.linear.drawing import weights_chart
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import LinearClassifier, Plane, Weight
from tests.shared.learn.cases import exact, marginals, plan_of, reports
from tests.shared.learn.linear.linear_cases import DOMAIN, domain, records
from tests.shared.pictures.reading import marks, texts

INPUTS = Domain((Variable("a", ("n", "y")), Variable("b", ("x", "y", "z"), (0.0, 0.5, 2.0))))
COLUMNS = (Column("a", "a=y", (0.0, 1.0), 0.4), Column("b", "b", (0.0, 0.5, 2.0), 0.7))


def plane(positive: str, *numbers: float) -> Plane:
    names = ("(intercept)", "a=y", "b")
    return Plane(positive, tuple(map(Weight, names, numbers)))


def classifier(loss: str = "logistic") -> LinearClassifier:
    return LinearClassifier(
        INPUTS,
        Variable("t", ("no", "yes")),
        COLUMNS,
        (plane("yes", -1.0, 2.0, -0.5),),
        LinearOptions(loss),  # type: ignore[arg-type]
        "cells",
        100,
    )


CODES = {"a": np.array([0, 1, 1], dtype="u1"), "b": np.array([2, 1, 2], dtype="u1")}


def test_scores_by_hand() -> None:
    model = classifier()
    assert model.scores(CODES).ravel() == pytest.approx([-2.0, 0.75, 0.0])
    # A record on the plane is not on its positive side.
    assert model.predict(CODES).tolist() == [0, 1, 0]
    found = model.probabilities(CODES)
    assert found is not None
    assert found[:, 1] == pytest.approx(1 / (1 + np.exp([2.0, -0.75, 0.0])))
    assert found.sum(axis=1) == pytest.approx(np.ones(3))
    assert classifier("perceptron").probabilities(CODES) is None


def test_several_planes_choose_the_highest_score() -> None:
    planes = (plane("v", 0.0, 0.0, 1.0), plane("u", 1.0, 0.0, 0.0), plane("w", 0.0, 0.9, 0.0))
    model = replace(classifier(), target=Variable("t", ("u", "v", "w")), planes=planes)
    # Scores of u, v, w: (1, 2, 0), (1, 0.5, 0.9), (1, 2, 0.9).
    assert model.predict(CODES).tolist() == [1, 0, 1]
    found = model.probabilities(CODES)
    assert found is not None
    each = 1 / (1 + np.exp(-np.array([1.0, 2.0, 0.0])))
    assert found[0] == pytest.approx(each / each.sum())


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"planes": ()}, DomainError),
        ({"planes": (plane("yes", 0.0, 0.0, 0.0),) * 2}, DomainError),
        ({"planes": (plane("yes", 0.0, 1e308, 1e308),)}, DomainError),
        ({"target": Variable("a", ("no", "yes"))}, DomainError),
        ({"target": Variable("t", ("no", "yes", "maybe"))}, DomainError),
        ({"inputs": Domain(()), "columns": ()}, DomainError),
        ({"columns": COLUMNS[::-1]}, DomainError),
        ({"columns": (COLUMNS[0], *COLUMNS)}, DomainError),
        ({"planes": (plane("maybe", 0.0, 0.0, 0.0),)}, UnknownCategory),
        ({"planes": (plane("yes", 0.0, 0.0),)}, DomainError),
        ({"columns": (COLUMNS[0], Column("b", "b", (0.0, 1.0)))}, DomainError),
        ({"columns": (COLUMNS[0], Column("c", "b", (0.0, 1.0)))}, UnknownVariable),
    ],
)
def test_parts_that_do_not_fit(change: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        replace(classifier(), **change)  # type: ignore[arg-type]


def test_a_class_without_a_plane_is_never_predicted() -> None:
    two = (plane("no", 1.0, -2.0, 0.5), plane("yes", -1.0, 2.0, -0.5))
    target = Variable("t", ("none", "no", "yes"))
    model = replace(classifier(), target=target, planes=two)
    # Equal scores go to the plane that comes first.
    assert model.predict(CODES).tolist() == [1, 2, 1]
    found = model.probabilities(CODES)
    assert found is not None
    assert found[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert LINEAR.read(LINEAR.write(model)) == model


def learned() -> list[LinearClassifier]:
    used = plan_of(domain(3), {"colour": 0.3, "class": 0.2})
    reported = marginals(reports(records(31, 4_000, 3), used, np.random.default_rng(1)), used)
    models = [
        learn_linear(reported, "class", options=LinearOptions(loss), seed=5)
        for loss in ("logistic", "least-squares", "perceptron")
    ]
    numeric = LinearOptions(encoding="ordinal", numeric={"size": (1, 2, 3, 5)}, l2=0.1)
    return [*models, learn_linear(exact(records(32, 500), DOMAIN), "class", options=numeric)]


def test_json_comes_back_equal() -> None:
    for model in [*learned(), classifier()]:
        text = LINEAR.write(model)
        assert LINEAR.read(text) == model
        assert json.loads(text) == LINEAR.document(model)
        assert json.loads(text)["kind"] == "linear-classifier"


@pytest.mark.slow
def test_the_picture_has_a_bar_and_an_interval_for_each_weight() -> None:
    for model in learned():
        picture = weights_chart(model).svg()
        assert texts(picture).count(model.columns[0].name) == len(model.planes)
        for place, plane in enumerate(model.planes):
            drawn = marks(picture, place)
            bars = [mark for mark in drawn if not mark.places]
            whiskers = [mark.places for mark in drawn if mark.places]
            pairs = list(zip(plane.weights[1:], model.columns, strict=True))
            # A bar is as long as the weight times the deviation, from 0 on.
            for bar, (weight, column) in zip(bars, pairs, strict=True):
                ends = sorted([0.0, weight.estimate * column.deviation])
                assert [min(bar.line), max(bar.line)] == pytest.approx(ends, abs=1e-4)
            wanted = [
                pytest.approx([end * column.deviation for end in weight.interval], abs=1e-4)
                for weight, column in pairs
                if weight.interval is not None
            ]
            assert whiskers == wanted
