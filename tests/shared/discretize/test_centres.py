"""Groups of several columns, told by their centres."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pramana_core.discretize import CentredGroups, mgas_centres, mgas_joint
from pramana_core.errors import OptionError


def _clouds(sizes, seed):
    """Points around the corners of a square of side 100, in no order."""
    rng = np.random.default_rng(seed)
    corners = np.array([[0, 0], [0, 100], [100, 0], [100, 100]], dtype=float)
    points = np.concatenate(
        [corner + rng.normal(0, 2, (n, 2)) for corner, n in zip(corners, sizes, strict=True)]
    )
    return rng.permutation(points)


@pytest.mark.parametrize("size", [50, 300])
def test_clouds_far_apart_are_the_groups(size, monkeypatch):
    """A tenth of each is left over at first; together they are too few for a group of their own.

    Of the larger ones some points are grouped, and stand for all.
    """
    monkeypatch.setattr(sys.modules[mgas_centres.__module__], "JOINT_LIMIT", 400)
    points = _clouds([size] * 4, 1)
    found = mgas_centres(points, minimum_count=size * 9 // 10, granularities=(3, 3))
    assert found.counts == (size,) * 4
    own = found.codes(points)
    for group, centre in enumerate(found.centres):
        # On a grid of 3/64, a rounded mean of rounded values is that near to the mean.
        assert np.abs(points[own == group].mean(axis=0) - centre).max() <= 3 / 64


def test_without_rounding_and_giving_up_the_groups_are_those_of_the_joint_scheme():
    points = _clouds([30, 30, 30, 30], 2)
    joint = mgas_joint(points / 3, minimum_count=30, granularity=1.0)
    found = mgas_centres(points, minimum_count=30, granularities=(3, 3), grids=(1e-6, 1e-6))
    np.testing.assert_allclose(sorted(found.centres), sorted((joint.means * 3).tolist()), atol=1e-5)
    assert found.counts == tuple(joint.counts.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_group_holds_the_fewest_records_and_is_as_wide_as_asked(seed):
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.exponential(10, 700), rng.normal(0, 3, 700)])
    units = (4.0, 1.5)
    found = mgas_centres(points, minimum_count=15, granularities=units)
    own = found.codes(points)
    assert np.bincount(own, minlength=found.size).tolist() == list(found.counts)
    assert sum(found.counts) == 700
    assert min(found.counts) >= 15
    assert found.size > 5
    for group in range(found.size):
        assert np.linalg.norm(np.ptp(points[own == group], axis=0) / units) >= 1
    assert np.allclose(np.array(found.centres) % (np.array(units) / 64), 0)


@pytest.mark.slow
def test_nearest_means_alone_do_not_hold_the_fewest_records():
    """The control: what `mgas_joint` finds, assigned to the nearest mean, can have too few."""
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.exponential(10, 700), rng.normal(0, 3, 700)]) / (4, 1.5)
    joint = mgas_joint(points, minimum_count=15, granularity=1.0)
    assert np.bincount(joint.assign(points), minlength=len(joint.means)).min() < 15


def test_units_decide_what_is_near():
    groups = CentredGroups(((0.0, 0.0), (10.0, 10.0)), (1.0, 100.0))
    assert groups.codes(np.array([[4.0, 90.0], [6.0, 10.0]])).tolist() == [0, 1]
    assert groups.labels == ("(0, 0)", "(10, 10)")
    assert CentredGroups(groups.centres, (100.0, 1.0)).codes(np.array([[4.0, 90.0]])) == [1]


def test_requirements():
    points = _clouds([5, 5, 5, 5], 3)
    with pytest.raises(OptionError, match="granularities above 0"):
        mgas_centres(points, minimum_count=5, granularities=(0, 1))
    with pytest.raises(OptionError, match="20 records are too few"):
        mgas_centres(points, minimum_count=21, granularities=(1, 1))
