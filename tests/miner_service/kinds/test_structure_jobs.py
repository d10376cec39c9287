"""Jobs that learn a structure: what they find, what they refuse, how they are watched and ended."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from miner_service.kinds.bounds import RecordLayout
from pramana_core.channels import Choice, Dense, Sampled, Symmetric
from pramana_core.domain import Variable
from pramana_core.estimation.axes import strata_of
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

DENSE = Dense(
    tuple(
        tuple((1 << 32) - 3 * e if j == i else e for j in range(4))
        for i, e in enumerate((1 << 20, 1 << 21, 1 << 22, 1 << 23))
    )
)
X, Y, Z, W = (Variable(n, tuple("abcdef"[:k])) for n, k in (("x", 2), ("y", 2), ("z", 6), ("w", 5)))


@pytest.mark.parametrize("joint", [DENSE, Symmetric.from_gamma(4, 19.0)])
@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_the_bound_holds_where_owners_randomize_the_same_variables_otherwise(joint, most):
    """The tables that the likelihood really makes, of every set of variables, are within it."""
    plans = (
        Plan((Block((X, Y), joint), Block((W,), Symmetric.from_probability(5, 0.1)))),
        Plan((Block((Y, Z), Symmetric.from_gamma(12, 19.0)),)),
        Plan((Block((Z,), Symmetric.from_probability(6, 0.2)),)),
    )
    sources = [
        (ReportedCounts({n: np.zeros(3, np.uint8) for n in p.domain.names}, p.reported_sizes), p)
        for p in plans
    ]
    layout = RecordLayout(plans)
    nodes = layout.domain.names
    assert sorted(nodes) == ["w", "x", "y", "z"]
    for number in range(1, most + 1):
        for names in itertools.combinations(nodes, number):
            strata = strata_of(sources, names, 1 << 20)
            cells = max(math.prod(strata[0].shape), *(s.reported.size for s in strata))
            assert cells <= layout.cells(set(names)), names


def test_a_table_is_as_large_as_its_reports():
    half = 1 << 31
    choices = tuple(Choice((axis,), half, Symmetric.from_gamma(2, 3.0)) for axis in (0, 1))
    layout = RecordLayout((Plan((Block((X, Y), Sampled((2, 2), choices)),)),))
    assert layout.cells({"x"}) == 3, "two categories, and withheld"
