"""Discretization against the schemes taken literally, and what its figures depend on."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pramana_core.channels import Identity
from pramana_core.discretize import Discretization, equal_frequency, equal_width, given_cuts, mgas
from pramana_core.discretize.grid import Cluster
from pramana_core.discretize.mgas import agglomerate
from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, OptionError
from pramana_core.plan import Block, Plan
from pramana_core.wire.channels import PlanMessage


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
        assert found.counts == tuple(map(len, wanted))
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
    found = mgas(values, minimum_count=3, granularity=2, grid=1)
    assert (found.counts, found.cuts, found.representatives) == (counts, cuts, means)


def test_nothing_finer_than_the_grid_is_told():
    """Moving every value inside its grid cell changes no figure; moving it further does."""
    rng = np.random.default_rng(7)
    points = rng.integers(-400, 400, size=3_000)
    jitter = rng.uniform(-0.499, 0.499, size=points.size)
    made = [
        [
            mgas(v, minimum_count=100, granularity=3, grid=0.1),
            equal_frequency(v, 9, minimum_count=100, grid=0.1),
        ]
        for v in (points * 0.1, (points + jitter) * 0.1, (points + 40 * jitter) * 0.1)
    ]
    assert made[0] == made[1]
    assert made[0][0] != made[2][0]
    assert made[0][1] != made[2][1]


def _finest_denominator(found, step, records):
    """The largest denominator by which a representative is a fraction of the grid's step."""
    fractions = (Fraction(mean) / Fraction(step) for mean in found.representatives)
    return max(f.limit_denominator(records).denominator for f in fractions)


def test_no_representative_tells_how_many_records_it_stands_for():
    """A mean written finer than the grid is a fraction over the group's count, or a divisor."""
    rng = np.random.default_rng(12)
    values = rng.lognormal(3.5, 0.6, size=2_000)
    fine = 0
    for step in (5 / 64, 0.1, 1.0):
        for found in (
            mgas(values, minimum_count=50, granularity=5, grid=step),
            equal_frequency(values, 6, minimum_count=50, grid=step),
        ):
            assert found.size > 3
            assert _finest_denominator(found, step, values.size) == 1
            # The negative control: means of the same groups to nine digits past the step.
            points = np.floor(values / step + 0.5)
            means = [points[found.codes(values) == g].mean() * step for g in range(found.size)]
            exact = dataclasses.replace(found, representatives=tuple(np.round(means, 11)))
            fine += _finest_denominator(exact, step, values.size) > 50
            assert found.representatives == pytest.approx(means, abs=step / 2 + 1e-9)
    assert fine == 6


@pytest.mark.parametrize("step", [0.1, 0.3, 1.0, 7.0, 1 / 3, 1e-7, 1e6, 1e-90, 1e90])
def test_cells_end_where_the_cuts_are_written(step):
    """Values on the lines between cells are counted as their codes say."""
    rng = np.random.default_rng(8)
    values = rng.integers(-60, 60, size=800) * (step / 2)
    found = mgas(values, minimum_count=20, granularity=5 * step, grid=step)
    assert found.size > 2
    assert np.bincount(found.codes(values), minlength=found.size).tolist() == list(found.counts)
    halves = np.array(found.cuts) / (step / 2)
    assert np.abs(halves - np.round(halves)).max() < 1e-6
    if 1e-9 < step < 1e9:
        assert max(len(repr(cut)) for cut in found.cuts) <= 18


def test_a_discretization_replaces_by_order_and_by_means():
    found = Discretization((1.0, 2.5), (0.0, 2.0, 9.0), (1, 2, 3), "by hand")
    values = [-5, 0.999, 1.0, 2.4, 2.5, 1e300]
    assert found.codes(values).tolist() == [0, 0, 1, 1, 2, 2]
    assert found.codes(values).dtype == np.uint8
    assert found.labels == ("<1", "1-2.5", ">=2.5")
    assert found.variable("x") == Variable("x", found.labels, (0.0, 2.0, 9.0))
    many = tuple(float(i) for i in range(256))
    wide = Discretization(many, (-1.0, *(m + 0.5 for m in many)), (0,) * 257, "by hand")
    assert wide.codes([300.0]).dtype == np.uint16
    alone = Discretization((), (3.0,), (4,), "by hand")
    assert (alone.labels, alone.codes([1, 2]).tolist()) == (("all",), [0, 0])
    with pytest.raises(DomainError):
        alone.variable("x")


def test_equal_width_looks_at_the_range_only():
    rng = np.random.default_rng(4)
    values = rng.normal(50, 30, size=1_000)
    found = equal_width(values, 5, 0, 100)
    assert found.cuts == (20.0, 40.0, 60.0, 80.0)
    assert found.representatives == (10.0, 30.0, 50.0, 70.0, 90.0)
    bins = [-np.inf, *found.cuts, np.inf]
    binned = pd.cut(pd.Series(values), bins, right=False).value_counts(sort=False)
    assert found.counts == tuple(binned)
    other = equal_width(values + 1_000, 5, 0, 100)
    assert (other.cuts, other.representatives) == (found.cuts, found.representatives)
    assert other.counts == (0, 0, 0, 0, 1_000)


def test_given_cuts_are_taken_as_they_are():
    found = given_cuts([1, 30, 31, 44, 99], [30, 45, 60], [20, 40, 50, 70])
    assert (found.cuts, found.counts) == ((30.0, 45.0, 60.0), (1, 3, 0, 1))
    assert found.representatives == (20.0, 40.0, 50.0, 70.0)


@pytest.mark.parametrize(
    ("values", "groups", "counts", "cuts", "means"),
    [
        (range(1, 13), 4, (3, 3, 3, 3), (3.5, 6.5, 9.5), (2, 5, 8, 11)),
        ([1] * 10 + [2, 3, 4], 3, (10, 1, 2), (1.5, 2.5), (1, 2, 4)),
        ([1, 2, 3] + [9] * 10, 3, (2, 1, 10), (2.5, 6.0), (2, 3, 9)),
        ([1, 2], 2, (1, 1), (1.5,), (1, 2)),
    ],
)
def test_equal_frequency(values, groups, counts, cuts, means):
    found = equal_frequency(list(values), groups, minimum_count=1, grid=1)
    assert (found.counts, found.cuts) == (counts, cuts)
    assert found.representatives == means


VALUES = [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda: mgas([], minimum_count=1, granularity=1), "values"),
        (lambda: mgas([[1.0]], minimum_count=1, granularity=1), "values"),
        (lambda: mgas([1, float("nan"), float("inf")], minimum_count=1, granularity=1), "values"),
        (lambda: mgas(VALUES, minimum_count=0, granularity=1), "minimum_count"),
        (lambda: mgas(VALUES, minimum_count=5, granularity=1), "minimum_count"),
        (lambda: mgas(VALUES, minimum_count=1, granularity=-1), "granularity"),
        (lambda: mgas(VALUES, minimum_count=1, granularity=float("nan")), "granularity"),
        (lambda: mgas(VALUES, minimum_count=1, granularity=3.1), "granularity"),
        (lambda: mgas(VALUES, minimum_count=1, granularity=0), "grid"),
        (lambda: mgas(VALUES, minimum_count=1, granularity=1, grid=0), "grid"),
        (lambda: mgas(VALUES, minimum_count=1, granularity=1, grid=1e-30), "grid"),
        (lambda: mgas([1e308], minimum_count=1, granularity=0, grid=1e-99), "grid"),
        (lambda: equal_width(VALUES, 1, 0, 1), "groups"),
        (lambda: equal_width(VALUES, 2, 1, 1), "low"),
        (lambda: equal_width(VALUES, 2, 0, float("inf")), "low"),
        (lambda: equal_width(VALUES, 9, 1, 1 + 1e-15), "cuts"),
        (lambda: equal_width([], 2, 0, 1), "values"),
        (lambda: given_cuts(VALUES, [], [1]), "groups"),
        (lambda: given_cuts(VALUES, [2, 1], [0, 1, 3]), "cuts"),
        (lambda: given_cuts(VALUES, [1], [0]), "representatives"),
        (lambda: given_cuts(VALUES, [1], [1, 2]), "representatives"),
        (lambda: given_cuts(VALUES, [1], [0, float("inf")]), "representatives"),
        (lambda: equal_frequency(VALUES, 1, minimum_count=1, grid=1), "groups"),
        (lambda: equal_frequency(VALUES, 2, minimum_count=0, grid=1), "minimum_count"),
        (lambda: equal_frequency(VALUES, 2, minimum_count=3, grid=1), "minimum_count"),
        (lambda: equal_frequency(VALUES, 4, minimum_count=1, grid=2), "groups"),
        (lambda: equal_frequency([1, 1, 1, 2], 2, minimum_count=2, grid=1), "groups"),
        (lambda: Discretization((), (1.0,), (-1,), ""), "counts"),
        (lambda: Discretization((), (1.0,), (1, 1), ""), "counts"),
    ],
)
def test_what_cannot_be_is_refused(call, where):
    with pytest.raises(OptionError) as raised:
        call()
    assert raised.value.where == where


def _plan(representatives):
    variable = Variable("age", ("<30", ">=30"), representatives)
    return Plan((Block((variable,), Identity(2)),))


def test_numbers_travel_and_count():
    plan = _plan((22, 61.5))
    message = PlanMessage.model_validate_json(PlanMessage.from_plan(plan).model_dump_json())
    assert message.to_plan() == plan
    assert message.to_plan().digest == plan.digest == _plan((22.0, 61.5)).digest
    assert plan.digest != _plan(None).digest
    assert message.to_plan().domain.project(["age"])["age"].representatives == (22.0, 61.5)
    assert Domain.of(x="ab")["x"].representatives is None
