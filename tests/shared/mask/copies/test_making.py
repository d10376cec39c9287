"""Copies are draws of their own, and all of the same method with the same options."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.errors import OptionError
from pramana_core.mask.copies.combining import MOST_COPIES, masked_copies
from pramana_core.mask.methods.gadp import egadp


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    s = rng.standard_normal((60, 2))
    return s, s @ [[1.0], [0.5]] + rng.standard_normal((60, 1))


def test_copies_go_on_where_the_one_before_ended(table):
    found = masked_copies(egadp, *table, np.random.default_rng(1), 3)
    assert len(found) == 3
    rng = np.random.default_rng(1)
    for one in found:
        assert np.array_equal(one.matrix, egadp(*table, rng).matrix)
    assert not np.allclose(found[0].matrix, found[1].matrix)


def test_copies_of_exact_moments_agree_in_them(table):
    s, _ = table
    found = masked_copies(egadp, *table, np.random.default_rng(1), 2)
    first, second = (np.cov(np.column_stack([s, one.matrix]).T) for one in found)
    assert first == pytest.approx(second, rel=1e-9, abs=1e-9)


def test_options_reach_the_method(table):
    with pytest.raises(Exception, match="max_leverage"):
        masked_copies(egadp, *table, np.random.default_rng(1), 2, max_leverage=7)


@pytest.mark.parametrize("m", [0, MOST_COPIES + 1])
def test_the_number_of_copies_is_bounded(table, m):
    with pytest.raises(OptionError, match="number of copies"):
        masked_copies(egadp, *table, np.random.default_rng(1), m)
