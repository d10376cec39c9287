"""Maximum likelihood, free and under models: against plain EM and other optimizers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax, xlogy

from pramana_core.channels import Dense, Identity, Symmetric
from pramana_core.errors import EstimationError, NotConverged
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.likelihood import (
    FactoredModel,
    climb,
    likelihood,
    maximize,
    saturated,
    start,
)
from tests.shared.estimation.core.strata_cases import SHAPE, listed, stratum_of


def test_the_start_is_the_maximum_where_moments_are_a_distribution():
    true = np.random.default_rng(3).dirichlet(np.ones(12)).reshape(SHAPE)
    stratum = stratum_of("each-alone")
    expected = stratum.expected(true[..., None] * 500).reshape(stratum.reported.shape)
    exact = Stratum(expected, stratum.channels, stratum.groups, SHAPE)
    table, sure = start([exact])
    assert sure
    np.testing.assert_allclose(table, true, atol=1e-12)
    assert likelihood([exact], table[..., None])[0][0] == pytest.approx(
        saturated([exact]), abs=1e-9
    )
    for strata in ([exact, stratum_of("jointly")], [stratum_of("jointly", seed=4)], [stratum]):
        table, sure = start(strata)
        assert not sure
        assert table.min() > 0
        assert table.sum() == pytest.approx(1)
    np.testing.assert_allclose(start([exact, stratum_of("one-absent")])[0], 1 / 12)


STRATA = {
    "one": ["each-alone"],
    "withheld": ["each-alone", "one-withheld"],
    "absent": ["another-order", "one-absent", "two-absent"],
    "joint": ["jointly", "jointly-apart", "backwards"],
}


APART = FactoredModel(SHAPE, (((0,), ()), ((1,), ()), ((2,), ())))
CHAIN = FactoredModel(SHAPE, (((1,), ()), ((0,), (1,)), ((2,), (1,))))
COLLIDER = FactoredModel(SHAPE, (((0,), ()), ((2,), ()), ((1,), (0, 2))))


@pytest.mark.parametrize("model", [FactoredModel(SHAPE), CHAIN], ids=["free", "chain"])
def test_many_sets_of_reports_are_maximized_as_each_alone(model: FactoredModel):
    stratum = stratum_of("jointly")
    rng = np.random.default_rng(5)
    sets = np.stack([rng.permutation(stratum.column[:, 0]) for _ in range(5)], axis=-1)
    begin = model.fit(start([stratum])[0][..., None])[..., 0]
    together = climb([stratum], model, begin, reports=[sets], tolerance=1e-9, quiet=1e-9)
    assert together.probabilities.shape == (*SHAPE, 5)
    for column in range(5):
        reported = sets[:, column].reshape(stratum.reported.shape)
        alone = Stratum(reported, stratum.channels, stratum.groups, SHAPE)
        single = maximize([alone], model, tolerance=1e-9)
        assert float(together.log_likelihood[column]) == pytest.approx(
            float(single.log_likelihood[0]), abs=1e-3
        )


def distribution(model: FactoredModel, parameters: np.ndarray) -> np.ndarray:
    """The product of conditional distributions that are softmax functions of parameters."""
    joint, used = np.ones(SHAPE), 0
    for own, given in model.every:
        axes = [*given, *own]
        shape = [SHAPE[axis] for axis in given] + [math.prod(SHAPE[axis] for axis in own)]
        size = math.prod(shape)
        table = softmax(parameters[used : used + size].reshape(shape), axis=-1)
        used += size
        split = table.reshape([SHAPE[axis] for axis in axes]).transpose(np.argsort(axes))
        joint = joint * np.expand_dims(split, [a for a in range(3) if a not in axes])
    return joint


MODELS = {
    "apart": APART,
    "chain": CHAIN,
    "collider": COLLIDER,
    "two together": FactoredModel(SHAPE, (((0, 2), ()), ((1,), (0,)))),
    "the rest free": FactoredModel(SHAPE, (((0,), ()), ((2,), ()))),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "layout"),
    [*((model, "joint") for model in MODELS), *(("collider", s) for s in STRATA if s != "joint")],
)
def test_the_maximum_under_a_model(model: str, layout: str):
    """Against an optimizer over the conditional distributions."""
    model = MODELS[model]
    strata = [stratum_of(name, seed + 6) for seed, name in enumerate(STRATA[layout])]
    found = maximize(strata, model, tolerance=1e-6)
    parts = [(listed(stratum), stratum.reported.ravel()) for stratum in strata]

    def loss(parameters: np.ndarray) -> float:
        table = distribution(model, parameters).ravel()
        return -sum(float(xlogy(counts, dense.T @ table).sum()) for dense, counts in parts)

    number = sum(math.prod(SHAPE[a] for a in (*own, *given)) for own, given in model.every)
    begins = np.random.default_rng(0).normal(size=(2, number))
    best = max(-minimize(loss, b, method="BFGS", options={"gtol": 1e-4}).fun for b in begins)
    assert float(found.log_likelihood[0]) == pytest.approx(best, abs=1e-3)
    np.testing.assert_allclose(model.fit(found.probabilities), found.probabilities, atol=1e-12)


def test_a_fit_is_the_product_of_conditional_shares():
    """Whatever the order of the factors: a parent may come after others that it does not know."""
    counts = np.random.default_rng(3).random((2, 3, 2, 2, 1))
    factors = (((0,), ()), ((1,), ()), ((2,), ()), ((3,), (0, 2)))
    a, b, c = (counts.sum(axis=tuple({0, 1, 2, 3} - {k}), keepdims=True) for k in range(3))
    family = counts.sum(axis=1, keepdims=True)
    wanted = a * b * c * family / family.sum(axis=3, keepdims=True) / counts.sum() ** 3
    for order in itertools.permutations(factors):
        fitted = FactoredModel((2, 3, 2, 2), order).fit(counts)
        np.testing.assert_allclose(fitted, wanted, rtol=1e-12)


def test_reports_that_nothing_makes_are_refused():
    never = Dense.from_probabilities([[1.0, 0.0], [1.0, 0.0]])
    stratum = Stratum(np.array([3.0, 1.0]), (never,))
    with pytest.raises(EstimationError):
        likelihood([stratum], np.full((2, 1), 0.5))
    # A report of probability zero that was not made does no harm.
    fine = Stratum(np.array([3.0, 0.0]), (never,))
    assert likelihood([fine], np.full((2, 1), 0.5))[0][0] == 0


def test_what_cannot_be_estimated_is_refused():
    channel = Symmetric.from_probability(2, 0.5)
    assert maximize([Stratum(np.ones(2), (channel,))]).gap <= 1e-4
    with pytest.raises(EstimationError):
        maximize([Stratum(np.zeros(2), (Identity(2),))])
    never = Dense.from_probabilities([[0.5, 0.5, 0], [0.25, 0.75, 0]])
    with pytest.raises(EstimationError):
        maximize([Stratum(np.array([1.0, 1.0, 1.0]), (never,))])
    hard = Stratum(np.array([3.0, 90.0, 4.0]), (Symmetric.from_probability(3, 0.5),))
    with pytest.raises(NotConverged):
        maximize([hard], tolerance=0.0, max_steps=1)


def test_a_model_ends_at_its_maximum_where_a_hidden_variable_is_behind_all():
    """Independence given one variable does not hold, and cells are at the edge."""
    rng = np.random.default_rng(4)
    shape = (3, 3, 2, 3)
    parts = [rng.dirichlet(np.full(size, 0.4), size=3) for size in shape]
    truth = np.einsum("ha,hb,hc,hd->abcd", *parts) / 3
    channels = tuple(Symmetric.from_gamma(size, 9.0) for size in shape)
    law = Stratum(truth, channels).expected(truth[..., None])[:, 0]
    reported = rng.multinomial(200_000, law / law.sum()).reshape(shape).astype(float)
    model = FactoredModel(shape, (((2,), ()), ((0,), (2,)), ((1, 3), (2,))))
    strata = [Stratum(reported, channels)]
    found = maximize(strata, model, tolerance=1e-4)
    begin = model.fit(start(strata)[0][..., None])[..., 0]
    alone = climb(strata, model, begin, tolerance=-1.0, steps=6_000)
    assert found.log_likelihood[0] == pytest.approx(alone.log_likelihood[0], abs=1e-3)
    np.testing.assert_allclose(found.table, alone.table, atol=1e-3)
    np.testing.assert_allclose(model.fit(found.probabilities), found.probabilities, atol=1e-12)
