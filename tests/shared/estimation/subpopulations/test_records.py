"""Subpopulations of clean records of any width, beside those of the table of all records."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.subpopulations import (
    ReportedSubpopulation,
    WeighedSubpopulation,
)
from pramana_core.marginals.counts import CUBE_CELLS, ReportedCounts
from pramana_core.plan import Block, Plan

SMALL = Domain.of(a="xy", b="xyz", c="wxyz", d="xy")
WIDE = Domain.of(**{f"v{i}": "wxyz" for i in range(30)})


def counted(domain: Domain, records: int = 500) -> tuple[ReportedCounts, Plan]:
    rng = np.random.default_rng(5)
    codes = {v.name: rng.integers(0, v.size, records).astype(np.uint8) for v in domain}
    return ReportedCounts(codes, {v.name: v.size for v in domain}), Plan.unrandomized(domain)


def test_many_columns_and_long_paths_are_no_obstacle():
    reports, plan = counted(WIDE)
    assert reports.cells > CUBE_CELLS
    within = EstimatedMarginals(reports, plan).subpopulation()
    rows = np.ones(reports.records, dtype=bool)
    for place in range(8):
        code = int(reports.column(f"v{place}")[rows][0])
        within = within.within(f"v{place}", code)
        rows &= reports.column(f"v{place}") == code
        table = within.table(["v29", "v28"])
        assert table.counts.sum() == rows.sum() > 0
    with pytest.raises(OptionError):
        within.within("v0", 1)
    with pytest.raises(OptionError):
        within.table(["v0"])


@pytest.mark.parametrize("records", [2, 400])
def test_records_and_the_table_of_their_reports_tell_the_same(records: int):
    """Records of many distinct reports are weighed; those of few are counted once."""
    rng = np.random.default_rng(3)
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.3)) for v in SMALL))
    codes = {v.name: rng.integers(0, v.size, records).astype(np.uint8) for v in SMALL}
    reports = ReportedCounts(codes, plan.reported_sizes)
    weighed = WeighedSubpopulation(plan, reports, {})
    table = ReportedSubpopulation.everyone(plan, reports)
    within = weighed.within("c", 3)
    assert isinstance(within, ReportedSubpopulation) is (records == 400)
    cut = table.within("c", 3)
    for ours, whole in (
        (weighed, table),
        (within, cut),
        (within.within("a", 0), cut.within("a", 0)),
    ):
        left = [name for name in ("d", "b", "a") if name not in ours.given]
        for asked in ([left[0], left[1]], [left[1], left[0]], left):
            made, expected = ours.table(asked), whole.table(asked)
            np.testing.assert_allclose(made.counts, expected.counts, atol=1e-9 * records)
            np.testing.assert_allclose(made.products, expected.products, atol=1e-9 * records)
            weights = [np.ones(records), np.ones(records)]
            for name, code in ours.given.items():
                row = plan.block_of(name).channel.decoder()[code][codes[name]]
                weights = [weights[0] * row, weights[1] * row**2]
            # Record by record, by its own estimator.
            counts, products = np.zeros(made.counts.shape), np.zeros(made.products.shape)
            for record in range(records):
                own = np.ones(())
                for name in asked:
                    decoder = plan.block_of(name).channel.decoder()
                    own = np.multiply.outer(own, decoder[:, codes[name][record]])
                counts += weights[0][record] * own
                products += weights[1][record] * np.outer(own, own)
            np.testing.assert_allclose(made.counts, counts, atol=1e-9 * records)
            np.testing.assert_allclose(made.products, products, atol=1e-9 * records)
