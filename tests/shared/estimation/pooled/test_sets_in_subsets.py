"""Sampled sets that report subsets of their cells: exact, unbiased, of known error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana_core.channels import (
    RESOLUTION,
    SUBSETS,
    Choice,
    Coordinated,
    Sampled,
    SubsetSelection,
    Symmetric,
    set_channel,
)
from pramana_core.design.families import sampled as sampled_sets
from pramana_core.design.requirements import Requirements
from pramana_core.domain import Domain
from pramana_core.errors import ChannelError, PlanError
from pramana_core.estimation import pooled_laws as laws
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.pooled_readings import Decoder, Reading, Readings
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.passes import grouped
from pramana_core.plan import Block, Plan
from pramana_core.privacy.accuracy import largest_proportion_se
from pramana_core.progress import no_cancel
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from tests.lengths import repetitions

SIZES = (6, 2, 8)
GAMMA = 3.0
SETS = ((0, 1), (0, 2), (1, 2), (1,))
RUNS = repetitions(60, 300)


def sampled(gamma=GAMMA):
    weight = RESOLUTION // len(SETS)
    cells = [math.prod(SIZES[a] for a in axes) for axes in SETS]
    return Sampled(
        SIZES,
        tuple(
            Choice(axes, weight, set_channel(size, gamma, subsets=True))
            for axes, size in zip(SETS, cells, strict=True)
        ),
    )


CHANNEL = sampled()
DOMAIN = Domain.of(**{n: list(map(str, range(s))) for n, s in zip("abc", SIZES, strict=True)})
PLAN = Plan((Block(tuple(DOMAIN), CHANNEL),))
THETA = np.random.default_rng(5).dirichlet(np.full(math.prod(SIZES), 0.3)).reshape(SIZES)


def margin(axes):
    return THETA.sum(axis=tuple(a for a in range(3) if a not in axes))


class ExpectedSets:
    """Counts by set as often as they are expected."""

    records = 1.0

    def __init__(self, plan):
        self._channel = plan.blocks[0].channel

    def counted(self, _query, _tick):
        found = {}
        for choice in self._channel.choices:
            sizes = [SIZES[axis] for axis in choice.axes]
            law = choice.channel.apply(margin(choice.axes).ravel(), 0) * choice.weight / RESOLUTION
            tags = choice.channel.tags
            key = (3, *choice.axes) if tags else choice.axes
            found[key] = found.get(key, 0) + law.reshape((tags, *sizes) if tags else sizes)
        return found


def reported(rng, records):
    true = np.unravel_index(rng.choice(THETA.size, records, p=THETA.ravel()), SIZES)
    made = [np.full(records, size) for size in SIZES]
    chosen = rng.integers(0, len(SETS), records)
    for place, choice in enumerate(CHANNEL.choices):
        rows, sizes = np.flatnonzero(chosen == place), [SIZES[a] for a in choice.axes]
        ends = choice.channel.matrix().cumsum(axis=1)
        cells = np.ravel_multi_index([true[a][rows] for a in choice.axes], sizes)
        words = rng.random(len(rows)) * (1 - 1e-12)
        codes = [ends[c].searchsorted(w, side="right") for c, w in zip(cells, words, strict=True)]
        tags, cells = np.divmod(codes, choice.channel.shape[0])
        for axis, own in zip(choice.axes, np.unravel_index(cells, sizes), strict=True):
            made[axis][rows] = own
        if choice.channel.tags:
            made[choice.axes[0]][rows] += (tags + 1) * (sizes[0] + 1)
    columns = {n: c.astype(np.uint16) for n, c in zip("abc", made, strict=True)}
    return ReportedCounts(columns, PLAN.reported_sizes)


def designed(owners):
    """The plan of owners together, whose subsets are theirs alone."""
    needs = Requirements(
        DOMAIN, GAMMA, (), tuple((own, tuple(own)) for own in owners), subsets=True
    )
    sets = [tuple("abc"[axis] for axis in axes) for axes in (*SETS, (0,), (2,))]
    study = StudyPlan.of(sampled_sets(sets)(needs), needs.owners)
    assert {part.channel.tags for one in study.sets for part in one.parts} == {0, SUBSETS}
    return study.together


@pytest.mark.parametrize("asked", ["a", "b", "c", "ab", "ba", "ca", "cb"])
@pytest.mark.parametrize("owners", [("abc",), ("ab", "c")], ids=len)
def test_expected_reports_give_the_truth(asked, owners):
    """Of two owners the variable a is also reported by symmetric channels, with c."""
    plan = PLAN if len(owners) == 1 else designed(owners)
    readings = Readings([(ExpectedSets(plan), plan)], DOMAIN, no_cancel).of(tuple(asked))
    axes = ["abc".index(name) for name in asked]
    wanted = margin(axes).transpose(np.argsort(np.argsort(axes)))
    np.testing.assert_allclose(readings.shares, wanted.ravel(), atol=1e-12)


def test_each_report_is_counted_with_its_set_and_subset():
    reports = reported(np.random.default_rng(1), 500)
    columns = [reports.column(name) for name in "abc"]
    one_by_one = {}
    for record in zip(*columns, strict=True):
        told = [axis for axis, code in enumerate(record) if code != SIZES[axis]]
        own = [int(record[axis]) for axis in told]
        tag, own[0] = divmod(own[0], SIZES[told[0]] + 1)
        key = (3, *told, tag - 1, *own) if tag else (*told, *own)
        one_by_one[key] = one_by_one.get(key, 0) + 1
    found = grouped(columns, SIZES, at_once=70)
    assert {axes for axes in found if len(axes) == 3} == {(3, 0, 1), (3, 0, 2), (3, 1, 2)}
    counted = {
        (*axes, *map(int, cell)): int(counts[cell])
        for axes, counts in found.items()
        for cell in zip(*np.nonzero(counts), strict=True)
    }
    assert counted == one_by_one


def test_codes_that_no_record_can_report_are_not_counted():
    columns = [np.array([7 * 64 + 6, 7 * 65, 3, 3, 8]), np.array([1, 1, 1, 3, 4])]
    assert {axes: counts.sum() for axes, counts in grouped(columns, (6, 2)).items()} == {(0, 1): 1}


@pytest.mark.parametrize("kept", [(True, True), (True, False), (False, True)])
def test_the_stated_variance_is_that_of_the_listed_channel(kept):
    channel, sizes = SubsetSelection.from_gamma(48, GAMMA), (6, 8)
    law = np.random.default_rng(2).dirichlet(np.full(48, 0.5))
    gone = tuple(axis for axis in (0, 1) if not kept[axis])
    weights = channel.decoder().reshape(*sizes, -1).sum(axis=gone)
    weights = weights.reshape(-1, channel.shape[1])
    mean = weights @ (law @ channel.matrix())
    exact = np.square(weights) @ (law @ channel.matrix()) - np.square(mean)
    stated = Decoder.estimating(*channel.margin_noise(sizes, kept), len(mean))
    spread = Reading(np.ones(len(mean)), stated, ()).spread(mean)
    np.testing.assert_allclose(np.diag(spread), exact, rtol=0.03)
    assert stated.precision == pytest.approx(Decoder.of(None, weights).precision, rel=0.02)
    np.testing.assert_allclose(spread.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["a", "c"])
def test_the_error_of_a_plan_is_that_of_the_worst_truth(name):
    channel = SubsetSelection.from_gamma(48, GAMMA)
    pair = (DOMAIN["a"], DOMAIN["c"])
    sets = (Choice((0, 1), RESOLUTION // 2, channel),)
    stated = largest_proportion_se(Block(pair, Sampled((6, 8), sets)), name, 1000)
    gone = 1 if name == "a" else 0
    weights = channel.decoder().reshape(6, 8, -1).sum(axis=gone)
    moments = np.square(weights) @ channel.matrix().T
    cells = np.indices((6, 8))[1 - gone].ravel()
    shares = np.linspace(0, 1, 1001)
    worst = max(
        (shares * row[cells == j].mean() + (1 - shares) * row[cells != j].mean() - shares**2).max()
        for j, row in enumerate(moments)
    )
    # Half of the records report.
    assert stated == pytest.approx(math.sqrt(worst / 500), rel=0.02)


def test_margins_of_a_pair_vary_together_as_their_cells_do(monkeypatch):
    monkeypatch.setattr(laws, "SEPARATED_CELLS", 0)
    pair = laws.Laws([(ExpectedSets(PLAN), PLAN)], DOMAIN).separate(("a", "c"))
    law = margin((0, 2))
    (reading,) = pair.pooled.readings
    spread = reading.spread(law.ravel()).reshape(*law.shape, *law.shape).sum(axis=(1, 2))
    one, other = (side.per_record[key] for side, key in zip(pair.sides, reading.alone, strict=True))
    both = pair._noise(law)[2]
    np.testing.assert_allclose(both, one * other * reading.records * spread, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [0, 10**9], ids=["separate", "listed"])
def test_estimates_differ_from_the_truth_by_their_errors(monkeypatch, cells):
    monkeypatch.setattr(laws, "SEPARATED_CELLS", cells)
    rng, squares = np.random.default_rng(11), {"a": [], "ac": [], "bc": []}
    for _ in range(RUNS):
        marginals = EstimatedMarginals(reported(rng, 4000), PLAN, estimator="pooled")
        for names, found in squares.items():
            table = marginals.marginal(tuple(names)).unshrunk
            error = table.counts / 4000 - margin(["abc".index(n) for n in names])
            found.append(np.square(error * 4000 / table.standard_error(population=True)).mean())
    for names, found in squares.items():
        spread = 4.5 * np.std(found) / math.sqrt(RUNS)
        assert abs(np.mean(found) - 1) < spread + 0.06, names
        # The control: errors a third smaller would be seen.
        assert abs(1.8 * np.mean(found) - 1) > 1.8 * spread + 0.06, names


def test_subsets_of_a_set_are_reported_by_one_channel_and_at_one_owner():
    one, other = (SubsetSelection.from_gamma(6, g) for g in (1.5, 1.4))
    with pytest.raises(ChannelError) as refused:
        Sampled((6,), (Choice((0,), 1, one), Choice((0,), 1, other)))
    assert refused.value.where == "choice 1"
    with pytest.raises(ChannelError):
        Sampled((2, 2), (Choice((0, 1), 1, one),))
    owners = tuple((name, (DOMAIN[name],)) for name in "ab")
    parts = StudyPart(0, (0,), one), StudyPart(1, (0,), Symmetric.from_gamma(2, 2))
    alone = StudyPlan(owners, (StudySet(1, parts[:1]), StudySet(1, parts[1:])))
    assert isinstance(alone.block("a").channel, Coordinated)
    with pytest.raises(PlanError) as at:
        StudyPlan(owners, (StudySet(1, parts),))
    assert at.value.where == "set 0"
