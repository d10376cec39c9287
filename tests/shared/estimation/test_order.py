"""What is reported together is estimated together, and what is filled in is marked."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage.laws import columns, domain_of, parity, sampled, sampled_pairs
from benchmarks.coverage.setting import records_of, reports_of
from pramana_core.channels import CutAndPaste, Identity
from pramana_core.domain import Domain, Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.loglinear import MOST_ORDER, default_order, fitting_order
from pramana_core.plan import Block, Plan

DOMAIN = domain_of(2, 2, 2, 2, 2)
LAW = parity(DOMAIN)
TRIPLE = ["a", "b", "c"]
PLAN = sampled(DOMAIN, [(0, 1, 2), (2, 3), (3, 4)], 100.0)
RECORDS = 60_000


def read(plan: Plan = PLAN, **options) -> EstimatedMarginals:
    rng = np.random.default_rng(29)
    reports = reports_of(plan, records_of(plan, LAW, RECORDS, rng), rng)
    return EstimatedMarginals(reports, plan, **options)


@pytest.mark.parametrize("estimator", ["pooled", "log-linear"])
def test_a_parity_of_three_that_are_reported_together_is_seen(estimator):
    even = 0.95 * RECORDS / 4
    table = read(estimator=estimator).marginal(TRIPLE)
    # Of a normal deviate 4.9 errors are exceeded once in a million times.
    off = (table.counts[0, 0, 0] - even) / table.standard_error(population=True)[0, 0, 0]
    assert abs(off) < 4.9
    assert not table.filled_in
    # By pairs alone the three look independent, and so the table is marked.
    by_pairs = read(estimator=estimator, order=2).marginal(TRIPLE)
    assert by_pairs.counts[0, 0, 0] < 0.6 * even
    assert by_pairs.filled_in


@pytest.mark.parametrize("estimator", ["pooled", "log-linear"])
def test_tables_made_of_smaller_ones_are_listed_once(estimator):
    marginals = read(estimator=estimator)
    for names in (TRIPLE, ["c", "d"], ["a"], ["e", "a"], ["a", "e"], ["d", "e", "c"]):
        marginals.marginal(names)
    assert marginals.filled_in == (("a", "e"), ("c", "d", "e"))
    assert read().filled_in == ()


def test_supports_of_items_reported_together_are_those_of_their_table():
    marginals = read(estimator="pooled")
    items = [(name, code) for name in "abcde" for code in (0, 1)]
    itemsets = np.array([[0, 2, 4], [0, 2, 6]])
    supports = marginals.supports(items)
    told, filled = supports.counts(itemsets).counts
    table = marginals.marginal(TRIPLE)
    assert told == table.counts[0, 0, 0]
    assert filled < 0.6 * told
    rules = supports.rules(itemsets, np.array([[True, True, False]] * 2))
    assert rules.counts[0, 0] == pytest.approx(told)
    by_pairs = read(estimator="pooled", order=2).supports(items).counts(itemsets).counts
    assert by_pairs[0] < 0.6 * told
    assert by_pairs[1] == pytest.approx(filled)


def test_the_default_is_the_largest_set_that_records_report():
    public = Block((Variable("town", ("x", "y")),), Identity(2))
    assert default_order([PLAN]) == 3
    assert default_order([sampled_pairs(DOMAIN, 9.0)]) == 2
    assert default_order([sampled(DOMAIN, [(0,), (1,)], 9.0)]) == 2
    assert default_order([Plan((*PLAN.blocks, public))]) == 4
    assert default_order([sampled_pairs(DOMAIN, 9.0), PLAN]) == 3
    assert default_order([columns(DOMAIN, 0.2)]) == 5
    wide = Plan.unrandomized(domain_of(2, 2, 2, 2, 2, 2))
    more = Plan((*wide.blocks, *(Block((Variable(n, ("x", "y")),), Identity(2)) for n in "uvwxyz")))
    assert default_order([more]) == MOST_ORDER


def test_cut_and_paste_tells_no_more_variables_together_than_it_keeps():
    channel = CutAndPaste.from_probability((2,) * 5, 2, 0.2)
    plan = Plan((Block(DOMAIN.variables, channel),))
    assert default_order([plan]) == 2
    assert plan.reports_together(["a", "e"])
    assert not plan.reports_together(TRIPLE)
    public = Block((Variable("town", ("x", "y")),), Identity(2))
    assert default_order([Plan((*plan.blocks, public))]) == 3


def test_by_default_a_large_table_is_fitted_by_itself_and_pairs_at_once():
    wide = Domain.of(**dict.fromkeys("abcdefghij", ("no", "yes")))
    rng = np.random.default_rng(30)
    law = np.full(wide.shape, 1 / wide.size)
    reports = reports_of(columns(wide, 0.1), records_of(columns(wide, 0.1), law, 500, rng), rng)
    marginals = EstimatedMarginals(reports, columns(wide, 0.1), estimator="log-linear")
    pair, triple = (marginals.marginal(names) for names in (["a", "b"], TRIPLE))
    assert (pair.model.names, pair.model.order) == (wide.names, 2)
    assert (triple.model.names, triple.model.order) == (tuple(TRIPLE), 3)
    assert not triple.filled_in
    # A small model has all interactions at once, and so has one with an order.
    for order in (None, 3):
        same = read(columns(DOMAIN, 0.1), estimator="log-linear", order=order)
        assert same.marginal(["a", "b"]).model is same.marginal(TRIPLE).model


def test_itemsets_that_are_made_of_pairs_are_named():
    marginals = read(estimator="pooled")
    items = [(name, code) for name in "abcde" for code in (0, 1)]
    marginals.supports(items).counts(np.array([[0, 2, 4], [0, 2, 6]]))
    # a, b and c are reported together, a, b and d are not.
    assert ("a", "b", "d") in marginals.filled_in
    assert ("a", "b", "c") not in marginals.filled_in


def test_a_model_takes_the_highest_order_that_can_be_fitted():
    assert fitting_order(4, (2, 2, 2, 2), 16) == 4
    assert fitting_order(8, (3,) * 8, 4**8) == 2
    assert fitting_order(1, (3,), 3) == 1
