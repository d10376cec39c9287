"""Groups of several columns, told by their centres."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction

import numpy as np
import pytest

from pramana_core.discretize import CentredGroups, mgas_centres
from pramana_core.discretize.centres import JointClusters
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


def literal_joint(points, least, width):
    """Ma's scheme word for word in exact numbers; a cluster is known by its first point."""
    clusters = {i: [i] for i in range(len(points))}
    exact = [[Fraction(float(x)) for x in p] for p in points]

    def mean(members):
        return [
            sum(column) / len(members) for column in zip(*(exact[m] for m in members), strict=True)
        ]

    def far(a, b):
        return sum((x - y) ** 2 for x, y in zip(mean(a), mean(b), strict=True))

    def done(members):
        spans = [max(c) - min(c) for c in zip(*(exact[m] for m in members), strict=True)]
        return len(members) >= least and sum(s * s for s in spans) >= Fraction(width) ** 2

    finished = {i: c for i, c in clusters.items() if done(c)}
    clusters = {i: c for i, c in clusters.items() if not done(c)}
    while len(clusters) > 1:
        pairs = itertools.combinations(sorted(clusters), 2)
        i, j = min(pairs, key=lambda pair: (far(clusters[pair[0]], clusters[pair[1]]), pair))
        clusters[i] += clusters.pop(j)
        if done(clusters[i]):
            finished[i] = clusters.pop(i)
    for rest in clusters.values():
        near = min(finished, key=lambda i: (far(finished[i], rest), i))
        finished[near] = finished[near] + rest
    return sorted(sorted(members) for members in finished.values())


def ordered(means, counts):
    return np.lexsort((counts, *means.round(6).T[::-1]))


def clusters(points, least, width):
    """The clusters' means and sizes, both sorted."""
    made = JointClusters(np.asarray(points) / width, least)
    means = made.means() * width
    counts = made._count[sorted(made._done)]
    order = ordered(means, counts)
    return means[order], counts[order]


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [1, 3])
def test_clusters_are_those_of_the_literal_scheme(dimensions):
    """Multiples of 2^-10, some repeated: sums are exact and equal points are at distance 0."""
    rng = np.random.default_rng(dimensions)
    sizes = set()
    for _ in range(20):
        points = rng.integers(0, 4_096, size=(12, dimensions)) / 1_024
        points = np.concatenate([points, points[rng.integers(0, 12, size=3)]])
        least, width = int(rng.integers(1, 5)), float(rng.choice([0.5, 1.0, 2.0]))
        if np.linalg.norm(np.ptp(points, axis=0)) < width:
            continue
        wanted = literal_joint(points, least, width)
        sizes.add(len(wanted))
        means = np.array([points[m].mean(axis=0) for m in wanted])
        order = ordered(means, list(map(len, wanted)))
        found, counts = clusters(points, least, width)
        assert found == pytest.approx(means[order])
        assert counts.tolist() == [len(wanted[place]) for place in order]
    assert len(sizes) > 2


@pytest.mark.parametrize("half", [0.45, 0.25])
def test_a_merged_centroid_may_come_nearer(half):
    """A is nearest to D, until B and C merge: then to them; or as near, and they come first."""
    a, d = (0.0, 0.0), (-1.0, 0.0)
    b, c = ((0.95 if half > 0.4 else 1.0, s * half) for s in (1, -1))
    points = np.array([a, b, c, d, (-2.5, 0.0), (-2.5, 0.125)])
    assert literal_joint(points, 3, 0.25) == [[0, 1, 2], [3, 4, 5]]
    means, counts = clusters(points, 3, 0.25)
    assert counts.tolist() == [3, 3]
    assert means[1] == pytest.approx(points[:3].mean(axis=0))


LATTICE = np.array([[x, y] for x in (0.0, 0.1, 0.2, 0.3) for y in (0.0, 0.1, 0.2, 0.3)])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_points_of_a_lattice_are_grouped_alike_however_they_are_rounded(seed: int):
    nudged = LATTICE * (1 + np.random.default_rng(seed).uniform(-1e-13, 1e-13, LATTICE.shape))
    plain, found = (clusters(points, 2, 0.1) for points in (LATTICE, nudged))
    np.testing.assert_allclose(plain[0], found[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("nudge", [1 - 1e-13, 1.0, 1 + 1e-13])
def test_a_point_between_two_centres_belongs_to_the_first(nudge: float):
    groups = CentredGroups(((1.0, 1.0), (2.0, 1.0)), (1.0, 1.0))
    assert list(groups.codes(np.array([[1.5 * nudge, 1.0], [1.6, 1.0]]))) == [0, 1]


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
    with pytest.raises(OptionError, match="form no group"):
        mgas_centres(points, minimum_count=5, granularities=(1e4, 1e4))
    for wrong in (points[:, 0], points * np.nan):
        with pytest.raises(OptionError) as raised:
            mgas_centres(wrong, minimum_count=5, granularities=(1, 1))
        assert raised.value.where == "points"
