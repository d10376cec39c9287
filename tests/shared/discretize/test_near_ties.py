"""Groups do not hang on the last digits of distances that are equal."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.discretize import mgas_joint
from pramana_core.discretize.mgas import CentredGroups

LATTICE = np.array([[x, y] for x in (0.0, 0.1, 0.2, 0.3) for y in (0.0, 0.1, 0.2, 0.3)])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_points_of_a_lattice_are_grouped_alike_however_they_are_rounded(seed: int):
    nudged = LATTICE * (1 + np.random.default_rng(seed).uniform(-1e-13, 1e-13, LATTICE.shape))
    plain, found = (
        mgas_joint(points, minimum_count=2, granularity=0.1) for points in (LATTICE, nudged)
    )
    np.testing.assert_array_equal(plain.groups, found.groups)
    np.testing.assert_array_equal(plain.assign(LATTICE + 0.05), plain.assign(nudged + 0.05))


@pytest.mark.parametrize("nudge", [1 - 1e-13, 1.0, 1 + 1e-13])
def test_a_point_between_two_centres_belongs_to_the_first(nudge: float):
    groups = CentredGroups(((1.0, 1.0), (2.0, 1.0)), (1.0, 1.0))
    assert list(groups.codes(np.array([[1.5 * nudge, 1.0], [1.6, 1.0]]))) == [0, 1]
