"""What is reported together is estimated together, and what is filled in is marked."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage.setting import (
    columns,
    domain_of,
    parity,
    records_of,
    reports_of,
    sampled,
    sampled_pairs,
)
from pramana_core.channels import CutAndPaste, Identity
from pramana_core.domain import Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.pooled_laws import MOST_ORDER, default_order
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


def test_a_parity_of_three_that_are_reported_together_is_seen():
    even = 0.95 * RECORDS / 4
    table = read(estimator="pooled").marginal(TRIPLE)
    # Of a normal deviate 4.9 errors are exceeded once in a million times.
    off = (table.counts[0, 0, 0] - even) / table.standard_error(population=True)[0, 0, 0]
    assert abs(off) < 4.9
    assert not table.filled_in
    # By pairs alone the three look independent, and so the table is marked.
    by_pairs = read(estimator="pooled", order=2).marginal(TRIPLE)
    assert by_pairs.counts[0, 0, 0] < 0.6 * even
    assert by_pairs.filled_in


def test_tables_made_of_smaller_ones_are_listed_once():
    marginals = read(estimator="pooled")
    for names in (TRIPLE, ["c", "d"], ["a"], ["e", "a"], ["a", "e"], ["d", "e", "c"]):
        marginals.marginal(names)
    assert marginals.filled_in == (("a", "e"), ("c", "d", "e"))
    assert read().filled_in == ()


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
