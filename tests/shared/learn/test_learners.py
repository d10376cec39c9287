"""Every learner of a class: what all of them refuse, write, read and predict alike."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, InputError, OptionError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.learners import LEARNERS, ClassLearner, read_predictor
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

DOMAIN = Domain(
    (
        Variable("age & <height>", ("<30", "30-45", ">=45"), (21.5, 38.1, 60.0)),
        Variable("sex", ("f", "m")),
        Variable("zone", ("a", "b", "c", "d")),
        Variable("y", ("no", "yes, <often>", "ü")),
    )
)
FEATURES = DOMAIN.names[:-1]


def drawn(records: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {v.name: rng.integers(0, v.size, records).astype(np.uint8) for v in DOMAIN}
    lean = np.stack([columns[FEATURES[0]], 2 * columns["sex"], (columns["zone"] > 1) * 3])
    columns["y"] = (lean + 1.5 * rng.gumbel(size=lean.shape)).argmax(axis=0).astype(np.uint8)
    return columns


def reported(p: float, records: int = 4000) -> EstimatedMarginals:
    """Return what is estimated of records, as if they had been reported as they are."""
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in DOMAIN))
    return EstimatedMarginals(ReportedCounts(drawn(records), plan.reported_sizes), plan)


@pytest.fixture(scope="module", params=LEARNERS)
def learner(request: pytest.FixtureRequest) -> ClassLearner[Any, Any]:
    return LEARNERS[request.param]


@pytest.fixture(scope="module")
def model(learner: ClassLearner[Any, Any]) -> Any:
    return learner.learn(reported(0.1), "y", None, learner.options())


@pytest.mark.parametrize(
    ("target", "features", "error"),
    [
        ("y", [], OptionError),
        ("y", ["sex", "sex"], OptionError),
        ("y", ["sex", "y"], OptionError),
        ("y", ["sex", "nothing"], UnknownVariable),
        ("nothing", None, UnknownVariable),
    ],
)
def test_features_that_cannot_be_are_refused(learner, target, features, error) -> None:
    with pytest.raises(error):
        learner.learn(reported(0.0, 50), target, features, learner.options())


def test_learning_reports_its_steps_and_can_be_stopped(learner) -> None:
    steps: list[tuple[int, int]] = []
    learner.learn(
        reported(0.0, 500), "y", None, learner.options(), on_step=lambda *s: steps.append(s)
    )
    done = [step for step, _ in steps]
    assert done == sorted(done)
    assert len({whole for _, whole in steps}) == 1
    assert done[0] == 0 < done[-1] <= steps[-1][1]

    def stop(done: int, _all: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.learn(reported(0.0, 500), "y", None, learner.options(), on_step=stop)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (dict.fromkeys(DOMAIN.names), UnknownVariable),
        ({"sex": np.zeros(3, dtype=np.uint8)}, DomainError),
        ({"sex": np.full(5, 3, dtype=np.uint8)}, DomainError),
        ({"zone": np.full(5, -1)}, DomainError),
        ({"sex": np.zeros(5)}, DomainError),
        ({"sex": np.zeros((5, 1), dtype=np.uint8)}, DomainError),
    ],
)
def test_codes_that_do_not_fit_are_refused(model, change, error) -> None:
    codes = {name: np.zeros(5, dtype=np.uint8) for name in FEATURES} | change
    for ask in (model.predict, model.probabilities):
        with pytest.raises(error):
            ask({name: column for name, column in codes.items() if column is not None})


def test_the_class_is_the_most_probable_and_better_than_guessing(model) -> None:
    columns = drawn(2000, seed=1)
    shares, chosen = model.probabilities(columns), model.predict(columns)
    assert shares.shape == (2000, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == chosen).all()
    most = np.bincount(columns["y"]).max() / 2000
    assert np.mean(chosen == columns["y"]) > most + 0.05


def test_a_document_loses_nothing(learner, model) -> None:
    text, columns = learner.write(model), drawn(500, seed=7)
    for again in (learner.read(text), read_predictor(text)):
        assert learner.write(again) == text
        assert (again.probabilities(columns) == model.probabilities(columns)).all()
    assert json.loads(text)["kind"] == learner.kind


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"kind": "bayes-net"}, InputError),
        ({"target": None}, InputError),
        ({"extra": 1}, InputError),
        ({"records": "SECRET"}, InputError),
        ({"options": {"nothing": 1}}, InputError),
        ({"inputs": []}, DomainError),
    ],
)
def test_what_is_no_document_is_refused_without_a_word_of_it(learner, model, change, error) -> None:
    text = json.dumps(learner.document(model) | change)
    with pytest.raises(error) as caught:
        learner.read(text)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["", "[" * 100_000, "[]", "3", "{}", '{"kind": "bayes-net"}', '{"kind": ["decision-tree"]}']
    + [json.dumps({"kind": kind}) for kind in LEARNERS],
)
def test_what_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_predictor(text)
    assert caught.value.remedy
