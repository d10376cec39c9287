"""MGAS against the scheme taken literally, and what its figures depend on."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.reproduce.mgas import Cluster, agglomerate, mgas


def _centroid(cluster):
    return Fraction(sum(cluster), len(cluster))


def _nearest_point(cluster):
    """The whole number nearest to the mean, the upper of two."""
    mean = _centroid(cluster)
    return min(range(min(cluster), max(cluster) + 1), key=lambda p: (abs(p - mean), -p))


def literal(points, least, width, *, leftmost=True):
    """Ma's scheme word for word on whole numbers: the best of all pairs, one merge at a time."""
    clusters = [list(same) for _, same in itertools.groupby(sorted(points))]

    def done(cluster):
        return len(cluster) >= least and cluster[-1] - cluster[0] >= width

    def pairs():
        for i, j in itertools.combinations(range(len(clusters)), 2):
            if not any(map(done, clusters[i : j + 1])):
                yield _centroid(clusters[j]) - _centroid(clusters[i]), i if leftmost else -i, i, j

    while best := min(pairs(), default=None):
        _, _, i, j = best
        clusters[i] = sorted(clusters[i] + clusters.pop(j))
    finished = [c for c in clusters if done(c)]
    grown = {c[0]: list(c) for c in finished}
    for rest in (c for c in clusters if not done(c)):
        near = min(finished, key=lambda c: (abs(_centroid(c) - _centroid(rest)), c[0]))
        grown[near[0]] += rest
    return sorted(sorted(c) for c in grown.values())


def _cases():
    rng = np.random.default_rng(20060)
    for _ in range(400):
        points = np.sort(rng.integers(0, rng.integers(3, 60), size=rng.integers(4, 16)))
        least = int(rng.integers(1, 6))
        width = int(rng.integers(0, 9))
        if len(points) >= least and points[-1] - points[0] >= width:
            yield points, least, width


def test_mgas_is_the_literal_scheme():
    """Repeated numbers are weights, and whole numbers make many distances equal."""
    cases = list(_cases())
    assert len(cases) > 300
    for points, least, width in cases:
        found = mgas(points * 0.5, minimum_count=least, granularity=width * 0.5, grid=0.5)
        wanted = literal(points.tolist(), least, width)
        groups = [points[found.codes(points * 0.5) == g].tolist() for g in range(found.size)]
        assert groups == wanted
        nearest = [_nearest_point(group) / 2 for group in wanted]
        assert found.representatives == tuple(nearest)
        gaps = [(a[-1] + b[0]) / 4 for a, b in itertools.pairwise(wanted)]
        assert found.cuts == tuple(gaps)


def test_the_cases_hold_ties_that_matter():
    """The negative control: taking the rightmost of equal distances ends elsewhere at times."""
    differ = [literal(p.tolist(), k, g) != literal(p.tolist(), k, g, leftmost=False)
              for p, k, g in _cases()]  # fmt: skip
    assert sum(differ) > 20


@pytest.mark.parametrize(
    "points",
    [
        [2**i for i in range(3_000)],
        [-(2**i) for i in reversed(range(3_000))],
        [i * i for i in range(3_000)],
        list(range(3_000)),
        np.sort(np.random.default_rng(3).choice(10**6, 3_000, replace=False)).tolist(),
    ],
    ids=["doubling", "halving", "growing", "even", "random"],
)
@pytest.mark.parametrize("least", [2, 50, 10_000])
def test_no_spacing_takes_more_than_a_few_steps_for_each_point(points, least):
    steps = 0

    def finished(cluster):
        nonlocal steps
        steps += 1
        return cluster.records >= least

    merged = agglomerate([Cluster(p, p, 1, p) for p in points], finished)
    assert sum(cluster.records for cluster in merged) == len(points)
    assert steps <= 4 * len(points)


@pytest.mark.parametrize(
    ("values", "counts", "cuts", "means"),
    [
        ([0, 1, 2, 10, 13, 14, 15], (3, 4), (6.0,), (1.0, 13.0)),  # 10 is nearer to 14 than to 1
        ([0, 1, 2, 7, 12, 13, 14], (4, 3), (9.5,), (3.0, 13.0)),  # as near to both: to the left
        ([0, 4, 5, 6, 40], (5,), (), (11.0,)),  # both ends join the only finished cluster
        ([5, 6, 7, 20], (4,), (), (10.0,)),
        ([1, 5, 6, 7], (4,), (), (5.0,)),
    ],
)
def test_what_is_left_over_joins_the_nearer_group(values, counts, cuts, means):
    found = mgas(np.array(values, float), minimum_count=3, granularity=2, grid=1)
    assert tuple(np.bincount(found.codes(np.array(values)))) == counts
    assert (found.cuts, found.representatives) == (cuts, means)


def test_nothing_finer_than_the_grid_is_told():
    """Moving every value inside its grid cell changes no figure; moving it further does."""
    rng = np.random.default_rng(7)
    points = rng.integers(-400, 400, size=3_000)
    jitter = rng.uniform(-0.499, 0.499, size=points.size)
    made = [
        mgas(v, minimum_count=100, granularity=3, grid=0.1)
        for v in (points * 0.1, (points + jitter) * 0.1, (points + 40 * jitter) * 0.1)
    ]
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize("step", [0.1, 0.3, 1.0, 7.0, 1 / 3, 1e-7, 1e6, 1e-90, 1e90])
def test_cells_end_where_the_cuts_are_written(step):
    """Cuts lie on the lines between cells and are written short."""
    rng = np.random.default_rng(8)
    values = rng.integers(-60, 60, size=800) * (step / 2)
    found = mgas(values, minimum_count=20, granularity=5 * step, grid=step)
    assert found.size > 2
    halves = np.array(found.cuts) / (step / 2)
    assert np.abs(halves - np.round(halves)).max() < 1e-6
    if 1e-9 < step < 1e9:
        assert max(len(repr(cut)) for cut in found.cuts) <= 18
