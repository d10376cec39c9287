"""Tables of a log-linear model: their intervals, and what is said where the model does not hold."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import RESOLUTION, Choice, Sampled, StructuralZeros, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.estimation import profile
from pramana_core.estimation import tables_modelled as modelled
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.score_interval import LackOfFit, warnings_of
from pramana_core.plan import Block, Plan

DOMAIN = Domain.of(a="xy", b="pqr", c="uv")
COLUMNS = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.1 * v.size)) for v in DOMAIN))


def pairs() -> Plan:
    sizes = [(axes, DOMAIN.shape[axes[0]] * DOMAIN.shape[axes[1]]) for axes in ((0, 1), (1, 2))]
    choices = (
        Choice(axes, RESOLUTION // 2, Symmetric.from_gamma(size, 9.0)) for axes, size in sizes
    )
    return Plan((Block(DOMAIN.variables, Sampled(DOMAIN.shape, tuple(choices))),))


def law(three: float) -> np.ndarray:
    """Pairs interact, and all three as strongly as said."""
    a, b, c = np.indices(DOMAIN.shape)
    theta = np.exp(0.5 * (a == c) + 0.4 * (a * b == 1) + three * np.where((a + b + c) % 2, 1, -1))
    return theta / theta.sum()


def read(plan: Plan, theta: np.ndarray, records: int, **options) -> EstimatedMarginals:
    rng = np.random.default_rng(7)
    laws = theta.reshape([len(b.channel.matrix()) for b in plan.blocks])
    for axis, block in enumerate(plan.blocks):
        laws = block.channel.apply(laws, axis)
    drawn = rng.choice(laws.size, records, p=laws.ravel() / laws.sum())
    codes = np.unravel_index(drawn, tuple(plan.reported_sizes.values()))
    columns = {n: c.astype(np.uint8) for n, c in zip(plan.reported_sizes, codes, strict=True)}
    counts = ReportedCounts(columns, plan.reported_sizes)
    return EstimatedMarginals(counts, plan, estimator="log-linear", **options)


def test_intervals_are_of_the_counts_in_their_order_and_hold_them():
    marginals = read(COLUMNS, law(0.0), 2000)
    table = marginals.marginal(["c", "a"])
    low, high = table.interval(population=True)
    assert low.shape == high.shape == (2, 2)
    assert np.all((low >= 0) & (low < table.counts) & (table.counts < high) & (high <= 2000))
    swapped = marginals.marginal(["a", "c"]).interval(population=False)
    np.testing.assert_allclose(swapped[0].T, low)
    np.testing.assert_allclose(swapped[1].T, high)
    wider = table.interval(0.99, population=True)
    assert np.all((wider[0] < low) & (high < wider[1]))
    with pytest.raises(OptionError, match="level of an interval must be between 0 and 1, not 95"):
        table.interval(95, population=True)


@pytest.mark.parametrize("cost", [1 << 29, 0])
def test_a_few_cells_at_once_have_the_intervals_of_all(cost: int, monkeypatch: pytest.MonkeyPatch):
    """Also where the number of all cells decides how they are worked out."""
    monkeypatch.setattr(profile, "PROFILE_COST", cost)
    marginals = read(COLUMNS, law(0.0), 300)
    table = marginals.marginal(["c", "b", "a"])
    whole = [table.interval(population=True), table.ratio_interval(["b"])]
    monkeypatch.setattr(modelled, "_AT_ONCE", 5 * 12)
    few = [table.interval(population=True), table.ratio_interval(["b"])]
    np.testing.assert_allclose(few, whole, rtol=1e-6)
    assert np.ptp(np.array(whole[1]), axis=2).min() > 0


def test_a_cell_that_cannot_occur_has_none():
    first, second = Domain.of(a="xy", c="uv")
    zeros = StructuralZeros(4, (3,), Symmetric.from_gamma(3, 7.0))
    table = read(
        Plan((Block((first, second), zeros),)), np.array([0.5, 0.3, 0.2, 0.0]), 500
    ).marginal(["a", "c"])
    low, high = table.interval(population=True)
    assert (low[1, 1], table.counts[1, 1], high[1, 1]) == (0.0, 0.0, 0.0)
    assert np.all(low.ravel()[:3] < high.ravel()[:3])


def test_a_cell_that_shrinkage_moved_is_held_all_the_same():
    """Of few records the interval is the reports', whatever the priors made of the count."""
    table = read(COLUMNS, law(0.0), 60).marginal(["a", "b", "c"])
    low, high = table.interval(population=True)
    assert np.all((low <= table.counts) & (table.counts <= high))
    assert np.all(high - low < 60)


def test_a_networks_parameters_have_the_intervals_of_their_shares():
    marginals = read(COLUMNS, law(0.0), 500)
    learned = learn_parameters(marginals, Structure.of({"a": (), "c": ("a",)}))
    root, family = learned.families
    table = marginals.marginal(["a", "c"])
    low, high = table.ratio_interval(["c"])
    np.testing.assert_array_equal(family.low, low)
    np.testing.assert_array_equal(family.high, high)
    # Without parents a share of the margin is one of all records.
    alone = [end / 500 for end in marginals.marginal(["a"]).interval(population=True)]
    np.testing.assert_allclose([root.low, root.high], alone)
    # Of two categories the one's interval is the other's, turned over.
    np.testing.assert_allclose(low[:, 0], 1 - high[:, 1], atol=2e-3)


def test_the_fit_is_told_with_the_table():
    for three, fits in ((0.0, True), (0.6, False)):
        marginals = read(COLUMNS, law(three), 5000, order=2)
        assert marginals.lack_of_fit == ()
        table = marginals.marginal(["a", "b"])
        (test,) = marginals.lack_of_fit
        assert test == table.lack_of_fit
        assert (test.variables, test.order, test.reason) == (("a", "b", "c"), 2, "")
        assert test.p_value is not None
        assert (test.p_value > 0.01) == fits
        assert (test.warning == "") == fits
        assert table.frame().attrs["lack_of_fit"] == test.as_dict()
        if not fits:
            assert "a, b, c do not fit a log-linear model with interactions of at most 2" in (
                test.warning
            )
            assert "Raise the order to 3" in test.warning


def test_what_cannot_be_tested_says_why():
    for plan, order, why in (
        (pairs(), 2, "tell nothing of interactions of 3 variables"),
        (COLUMNS, 3, "has all interactions"),
    ):
        marginals = read(plan, law(0.0), 2000, order=order)
        table = marginals.marginal(["a", "b", "c"])
        assert table.lack_of_fit.p_value is None
        assert why in table.lack_of_fit.reason
        assert table.lack_of_fit.warning == ""


def test_tables_too_large_together_have_models_of_their_own(monkeypatch):
    monkeypatch.setattr(modelled, "affordable", lambda *_: False)
    marginals = read(COLUMNS, law(0.0), 2000)
    for names in (["a", "b"], ["b", "a"], ["c"]):
        marginals.marginal(names)
    assert [set(test.variables) for test in marginals.lack_of_fit] == [{"a", "b"}, {"c"}]


def test_of_many_models_a_p_value_must_be_smaller_to_warn():
    one = LackOfFit(("a", "b", "c"), 2, 5.0, 1.0, 0.008)
    other = LackOfFit(("a", "b", "d"), 2, 1.0, 1.0, 0.4)
    silent = LackOfFit.untested(("a",), 1, "nothing to test")
    assert len(warnings_of([one])) == len(warnings_of([one, silent])) == 1
    assert warnings_of([one, other]) == []
    assert warnings_of([]) == []
