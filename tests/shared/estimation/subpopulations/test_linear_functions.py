"""Errors of linear functions of tables, and posterior counts, record by record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from pramana_core.channels import CutAndPaste, Dense, Identity, Withheld
from pramana_core.errors import EstimationError, OptionError, SingularChannel, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.plan import Block, Plan
from tests.shared.estimation.recordwise import FLIP, PLANS, A, B, C, Records, records_of, reports_of

ASKED = [["a"], ["b"], ["b", "a"], ["c", "b"], ["c", "a", "b"]]


def close(got, wanted) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-7)


def truthful(plan: Plan, records: int, seed: int) -> Records:
    """Records whose truth is nearly uniform, reported by the plan's channels."""
    rng = np.random.default_rng(seed)
    reports = reports_of(plan)
    possible = np.array([chance for _, chance in reports]).sum(axis=1)
    drawn = rng.choice(len(reports), size=records, p=possible / possible.sum())
    return records_of(plan, [reports[i][0] for i in drawn])


def weights_over(shape: Sequence[int], seed: int) -> np.ndarray:
    """Two cells, a margin, all cells, none, and two functions of no special form."""
    rng = np.random.default_rng(seed)
    found = np.zeros((7, *shape))
    found[(0, *(0 for _ in shape))] = found[(1, *(s - 1 for s in shape))] = 1
    found[2, 0], found[3] = 1, 1
    found[5:] = rng.normal(size=(2, *shape))
    return found


def covariances(functions: np.ndarray, counts: np.ndarray, weights: np.ndarray):
    """Of each record's (records, cells) estimators of all cells: given the records, and not."""
    flat = weights.reshape(len(weights), -1)
    values = functions @ flat.T
    products = values.T @ values
    given = products - np.einsum("qc,rc,c->qr", flat, flat, counts)
    return given, products - np.outer(flat @ counts, flat @ counts) / len(functions)


# Covariances --------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ASKED, ids="".join)
@pytest.mark.parametrize("name", PLANS)
def test_covariances_are_sums_over_single_records(name: str, names: list[str]):
    made = Records.random(PLANS[name], 90, seed=1)
    table = made.marginals().marginal(names)
    functions = made.estimators(names).reshape(90, -1)
    weights = weights_over(table.counts.shape, 1)
    close(table.counts.ravel(), functions.sum(axis=0))
    given, population = covariances(functions, functions.sum(axis=0), weights)
    close(table.covariance_of(weights, population=False), given)
    close(table.covariance_of(weights, population=True), population)
    values = functions @ weights.reshape(7, -1).T
    close(table.products(weights), values.T @ values)
    for which, whole in ((False, given), (True, population)):
        by_cell = table.covariance_with_cells(weights, population=which)
        assert by_cell.shape == weights.shape
        close(by_cell.reshape(7, -1) @ weights.reshape(7, -1).T, whole)


STRATA = {
    "one plan": ("not-lumpable", "not-lumpable"),
    "other plans": ("independent", "mixture", "wide", "sampled"),
}


# Posterior counts ---------------------------------------------------------------------------------


def brought_in(plan: Plan, names: Sequence[str]) -> list[str]:
    """The variables asked, then those of joint blocks whose channel is not lumpable for them."""
    more = [
        name
        for block in plan.blocks
        if set(block.names).intersection(names)
        and block.restrict([n for n in block.names if n in names]) is None
        for name in block.names
    ]
    return [*names, *(name for name in more if name not in names)]


def assert_valid(posterior: np.ndarray, records: int) -> None:
    assert posterior.min() >= 0
    assert posterior.sum() == pytest.approx(records, rel=1e-9)


@pytest.mark.parametrize("names", ASKED, ids="".join)
@pytest.mark.parametrize("name", PLANS)
def test_posterior_counts_are_sums_over_single_records(name: str, names: list[str]):
    # Of an exact one-hot variable most sets of items are no report at all.
    made = (truthful if name == "one-hot-exact" else Records.random)(PLANS[name], 120, seed=10)
    every = brought_in(made.plan, names)
    prior = np.maximum(made.estimators(every).sum(axis=0), 0)
    over = tuple(range(len(names), len(every)))
    expected = made.marginals().expected(names)
    close(expected, made.posterior(every, prior).sum(axis=over))
    assert_valid(expected, 120)


@pytest.mark.parametrize("name", ["independent", "mixture", "wide", "one-hot", "cut-and-paste"])
def test_the_most_likely_table_is_its_own_posterior(name: str):
    """EM stands still there: to a hundredth of the standard errors, as its tolerance promises."""
    made = Records.random(PLANS[name], 250, seed=13)
    marginals = made.marginals(estimator="ml")
    for names in ASKED:
        table = marginals.marginal(names)
        expected = marginals.expected(names)
        close(expected, made.posterior(names, table.counts))
        assert_valid(expected, 250)
        error = np.sqrt(table.variance(population=True))
        assert (np.abs(expected - table.counts) <= 0.01 * error + 0.01).all()


def test_a_models_posterior_follows_the_reports():
    """A model without interactions is the prior; the reports have one, and so has the posterior."""
    rng = np.random.default_rng(14)
    one = rng.integers(0, 2, 2000)
    other = np.where(rng.random(2000) < 0.8, one, 1 - one)
    plan = Plan((Block((A,), FLIP), Block((C,), Identity(2))))
    made = Records(plan, {"a": one.astype(np.uint8), "c": other.astype(np.uint8)})
    marginals = made.marginals(estimator="pooled", order=1)
    prior = marginals.marginal(["c", "a"]).counts
    expected = marginals.expected(["c", "a"])
    assert_valid(expected, 2000)
    close(expected, made.posterior(["c", "a"], prior))


@pytest.mark.parametrize("plans", STRATA.values(), ids=STRATA.keys())
def test_every_stratum_has_its_own_posterior(plans):
    sources = [Records.random(PLANS[n], 60 + i, seed=20 + i) for i, n in enumerate(plans)]
    marginals = EstimatedMarginals.of([(s.counts(), s.plan) for s in sources], estimator="sum")
    for names in ASKED:
        wanted = np.zeros([marginals.domain[name].size for name in names])
        for made in sources:
            every = brought_in(made.plan, names)
            prior = np.maximum(made.estimators(every).sum(axis=0), 0)
            posterior = made.posterior(every, prior)
            wanted += posterior.sum(axis=tuple(range(len(names), len(every))))
        close(marginals.expected(names), wanted)
        assert_valid(marginals.expected(names), marginals.records)


SELDOM = {
    # One report of 101 is possible only of a truth whose estimate is negative.
    "impossible under the prior": (
        Plan((Block((A,), Dense.from_probabilities([[0.5, 0.5, 0], [0, 0.5, 0.5]])),)),
        [(0,), *[(2,)] * 100],
    ),
    # Reports without any item: every estimate is negative.
    "nothing but negative": (
        Plan((Block((A, B), CutAndPaste.from_probability((2, 3), 2, 0.2)),)),
        [(0, 0)] * 5,
    ),
}


@pytest.mark.parametrize(("plan", "reports"), SELDOM.values(), ids=SELDOM.keys())
def test_no_record_is_lost_where_estimates_are_negative(plan: Plan, reports):
    made = records_of(plan, reports)
    marginals = made.marginals()
    assert marginals.marginal(["a"]).counts.min() < 0
    assert_valid(marginals.expected(["a"]), len(reports))


def test_expectations_that_cannot_be_asked():
    made = Records.random(PLANS["independent"], 50, seed=18)
    for marginals in (
        made.marginals(),
        made.marginals(estimator="ml"),
        EstimatedMarginals.of([(made.counts(), made.plan)] * 2),
    ):
        with pytest.raises(UnknownVariable):
            marginals.expected(["a", "z"])
        for names in ([], ["a", "a"]):
            with pytest.raises(OptionError):
                marginals.expected(names)
    withheld = Records.random(Plan((Block((A,), Withheld(2)), Block((C,), FLIP))), 50, seed=19)
    with pytest.raises(SingularChannel):
        withheld.marginals().expected(["a"])
    with pytest.raises(EstimationError):
        withheld.marginals(estimator="ml").expected(["a", "c"])
    part = Records.random(Plan((Block((C,), FLIP),)), 20, seed=20)
    with pytest.raises(EstimationError):
        EstimatedMarginals.of([(s.counts(), s.plan) for s in (withheld, part)]).expected(["a"])
