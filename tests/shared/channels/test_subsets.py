"""Subset selection over published subsets, beside the theory of all subsets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pramana_core.channels import RESOLUTION, SubsetSelection, Symmetric
from pramana_core.channels.subsets import subset_error


@pytest.mark.parametrize("gamma", [3.0, 5.0, 10.0, 19.0, 87.0, 300.0, 1000.0])
@pytest.mark.parametrize("size", [2, 3, 5, 8, 12, 24, 40, 64, 256, 1024, 10_000])
def test_errors_are_within_five_percent_of_subset_selection(size: int, gamma: float):
    channel = SubsetSelection.from_gamma(size, gamma)
    chosen = channel.chosen if isinstance(channel, SubsetSelection) else 1
    # Ye and Barg's estimator, for a record whose categories are all as likely.
    hit = gamma * chosen / (gamma * chosen + size - chosen)
    other = hit * (chosen - 1) / (size - 1) + (1 - hit) * chosen / (size - 1)
    share = chosen / size
    theory = share * (1 - share) / (hit - other) ** 2 + 1 / size**2
    assert channel.uniform_mean_square <= 1.05 * theory
    assert chosen in {1, size - 1} or min(
        subset_error(size, chosen - 1, gamma), subset_error(size, chosen + 1, gamma)
    ) >= subset_error(size, chosen, gamma)


@pytest.mark.parametrize(("size", "gamma"), [(8, 2.0), (64, 5.0), (256, 19.0), (1000, 1.5)])
def test_gamma_is_exact_and_never_above_what_was_wanted(size: int, gamma: float):
    channel = SubsetSelection.from_gamma(size, gamma)
    matrix = channel.matrix()
    assert channel.exact_amplification <= Fraction(gamma)
    assert float(channel.exact_amplification) == pytest.approx(gamma, rel=1e-8)
    assert channel.amplification == pytest.approx((matrix.max(0) / matrix.min(0)).max(), rel=1e-12)
    more = SubsetSelection(size, channel.chosen, channel.inside_units + 1)
    assert more.exact_amplification > Fraction(gamma)


def test_a_subset_of_one_is_the_symmetric_channel():
    assert SubsetSelection.from_gamma(6, 19.0) == Symmetric.from_gamma(6, 19.0)


def test_a_subset_that_always_holds_the_truth_rules_categories_out():
    channel = SubsetSelection(9, 3, RESOLUTION)
    assert channel.exact_amplification is None
    assert channel.amplification == np.inf
