"""The weight of naive Bayes' evidence: below 1 where attributes are redundant, 1 elsewhere."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from pramana.setups import SeededOwner
from pramana_core.channels import RESOLUTION, Choice, Mixture, Sampled
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.exchange import write_bayes_classifier_text
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.bayes_classifier.redundancy import learn_redundancy
from pramana_core.learn.common.options import BayesClassifierOptions
from pramana_core.plan import Block, Plan
from tests.shared.learn.bayes_classifier.bayes_cases import counted, drawn

NAMES = ("x1", "x2", "x3", "x4")
WORLD = Domain.of(**{name: ["no", "yes"] for name in (*NAMES, "kind")})
TABLE = np.array([[0.7, 0.3], [0.3, 0.7]])


def _records(repeated: bool, records: int, seed: int):
    """Return records; of `repeated` attributes all are the same, each 70 % the class."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, records)
    right = rng.random((4, records)) < 0.7
    columns = {
        name: np.where(right[0 if repeated else i], kind, 1 - kind).astype(np.uint8)
        for i, name in enumerate(NAMES)
    }
    return columns | {"kind": kind.astype(np.uint8)}


def _reported(columns, seed: int) -> EstimatedMarginals:
    """Return the marginals of records that report one pair each, by a channel of gamma 19."""
    pairs = list(itertools.combinations(range(5), 2))
    channel = Mixture.from_gamma(4, 19.0)
    choices = tuple(Choice(pair, RESOLUTION // len(pairs), channel) for pair in pairs)
    plan = Plan((Block(tuple(WORLD), Sampled((2,) * 5, choices)),))
    owner = SeededOwner.of("evidence", seed, len(columns["kind"]))
    return EstimatedMarginals(owner.report(plan, columns, 0), plan, estimator="pooled")


def _weight(marginals, linked=frozenset()) -> float:
    tables = dict.fromkeys(NAMES, TABLE)
    return learn_redundancy(marginals, np.full(2, 0.5), tables, linked).weight(NAMES)


@pytest.mark.slow
def test_four_copies_count_as_one():
    """The variance of a sum of four copies is four times that of four independent attributes."""
    found = [_weight(_reported(_records(True, 40_000, s), s)) for s in range(4)]
    assert np.mean(found) == pytest.approx(0.25, abs=0.03)


@pytest.mark.slow
def test_independent_attributes_count_whole():
    found = [_weight(_reported(_records(False, 40_000, s), s)) for s in range(4)]
    assert min(found) > 0.85


def test_a_weighted_posterior_is_tempered():
    model = learn_bayes_classifier(counted(drawn(3000)), "kind")
    columns = drawn(50, seed=4)
    prior = model.prior.probability
    wanted = prior * (model.probabilities(columns) / prior) ** 0.5
    wanted /= wanted.sum(axis=1, keepdims=True)
    half = replace(model, weight=0.5)
    assert half.probabilities(columns) == pytest.approx(wanted, abs=1e-12)
    assert "weighted by 0.50" in write_bayes_classifier_text(half)


NULL = Domain.of(**{f"x{i}": "stuv" for i in range(8)}, kind=["no", "yes"])


def _meaningless(records: int, seed: int) -> dict[str, np.ndarray]:
    """Return records of which 30 % have the second class, whatever their attributes."""
    rng = np.random.default_rng(seed)
    columns = {f"x{i}": rng.integers(0, 4, records).astype(np.uint8) for i in range(8)}
    return columns | {"kind": (rng.random(records) < 0.3).astype(np.uint8)}


def test_evidence_that_is_noise_decides_nothing():
    """Naive Bayes, the control, loses what noise says; `auto` says what the majority is.

    Over 8 draws of reports the standard error of the mean loss of `auto` is about .3 %.
    """
    channel = Mixture.from_gamma(8, 5.0)
    choices = tuple(Choice((i, 8), RESOLUTION // 8, channel) for i in range(8))
    plan = Plan((Block(tuple(NULL), Sampled(NULL.shape, choices)),))
    test = _meaningless(2_000, 99)
    losses: dict[str, list[float]] = {"auto": [], "naive-bayes": []}
    for seed in range(8):
        owner = SeededOwner.of("noise", seed, 6_000)
        reported = owner.report(plan, _meaningless(6_000, seed), 0)
        marginals = EstimatedMarginals(reported, plan, estimator="pooled")
        for name, lost in losses.items():
            options = BayesClassifierOptions(model=name)
            model = learn_bayes_classifier(marginals, "kind", None, options)
            wrong = model.predict(test) != test["kind"]
            lost.append(float(wrong.mean() - test["kind"].mean()))
    assert np.mean(losses["auto"]) < 0.01
    assert np.mean(losses["naive-bayes"]) > 0.02
