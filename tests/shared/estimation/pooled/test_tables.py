"""Pooled tables: exact where reports are as expected, unbiased, consistent, of known error."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pramana_core.channels import RESOLUTION, Choice, Mixture, Product, Sampled, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import EstimationError, LimitExceeded, OptionError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.pooled_readings import Decoder, Readings
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from pramana_core.progress import no_cancel
from tests.lengths import repetitions

RUNS, EVEN = repetitions(100, 200), repetitions(60, 200)
"""Sets of reports behind each rate of errors, and behind each distribution of p-values."""

SIZES = (3, 2, 4)
NAMES = ("a", "b", "c")


def domain_of(sizes=SIZES, names=NAMES):
    return Domain(
        tuple(
            Variable(name, tuple(str(code) for code in range(size)))
            for name, size in zip(names, sizes, strict=True)
        )
    )


def sampled(sets, gamma, sizes=SIZES):
    """Return a channel that chooses among some sets with the same chance."""
    weight = RESOLUTION // len(sets)
    return Sampled(
        sizes,
        tuple(
            Choice(axes, weight, Symmetric.from_gamma(math.prod(sizes[a] for a in axes), gamma))
            for axes in sets
        ),
    )


def plan_of(sets, gamma=19.0, sizes=SIZES, names=NAMES):
    return Plan((Block(tuple(domain_of(sizes, names)), sampled(sets, gamma, sizes)),))


PAIRS = tuple(itertools.combinations(range(3), 2))


def joint(seed=3, strength=0.6, sizes=SIZES):
    """A distribution with all interactions of two variables, and none of three."""
    rng = np.random.default_rng(seed)
    height = np.zeros(sizes)
    for axes in itertools.combinations(range(len(sizes)), 2):
        part = rng.normal(scale=strength, size=[sizes[a] for a in axes])
        height += part.reshape([s if a in axes else 1 for a, s in enumerate(sizes)])
    theta = np.exp(height)
    return theta / theta.sum()


def margin(theta, axes):
    return theta.sum(axis=tuple(a for a in range(theta.ndim) if a not in axes))


class ExpectedReports:
    """Counts as often as they are expected, whole numbers or not."""

    def __init__(self, names, law):
        self.records, self._law, self._names = law.sum(), law, list(names)

    @classmethod
    def of(cls, plan, theta, records):
        (block,) = plan.blocks
        law = block.channel.apply(theta.reshape(-1, 1), 0).reshape(block.reported_shape)
        return cls(block.names, law * records)

    def counted(self, asked, _tick):
        """Counts by set of variables: one set's are what larger ones leave of its table."""
        found = {}
        for size in range(len(asked.names), 0, -1):
            for axes in itertools.combinations(range(len(asked.names)), size):
                table = self.table([asked.names[axis] for axis in axes])
                held = table[tuple(slice(0, asked.sizes[axis]) for axis in axes)].astype(np.int64)
                for larger, counts in found.items():
                    if set(axes) < set(larger):
                        gone = tuple(p for p, axis in enumerate(larger) if axis not in axes)
                        held = held - counts.sum(axis=gone)
                found[axes] = held
        return found

    def table(self, names):
        gone = tuple(i for i, name in enumerate(self._names) if name not in names)
        left = [name for name in self._names if name in names]
        return np.transpose(self._law.sum(axis=gone), [left.index(name) for name in names])


def reported(plan, theta, records, rng):
    """Draw records' true cells and their reports, each by its probability."""
    (block,) = plan.blocks
    law = np.maximum(block.channel.apply(theta.reshape(-1, 1), 0).ravel(), 0)
    cells = rng.choice(law.size, size=records, p=law / law.sum())
    codes = np.unravel_index(cells, block.reported_shape)
    return ReportedCounts(
        {name: code.astype(np.uint8) for name, code in zip(block.names, codes, strict=True)},
        plan.reported_sizes,
    )


class TestWhatIsTold:
    SETS = (*PAIRS, (0, 1, 2), (1,))

    def test_expected_reports_give_the_truth(self):
        plan, theta = plan_of(self.SETS), joint()
        # Counts of sets are whole numbers of records; so many make the rounding small.
        reports = ExpectedReports.of(plan, theta, 10**15)
        readings = Readings([(reports, plan)], plan.domain, no_cancel)
        for size in (1, 2, 3):
            for axes in itertools.combinations(range(3), size):
                told = readings.of([NAMES[a] for a in axes])
                assert told.shares == pytest.approx(margin(theta, axes).ravel(), abs=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("asked", [("a",), ("b", "a"), ("c", "b")])
    def test_unbiased_and_of_the_covariance_said_by_enumeration(self, asked):
        # Two records, with all their possible reports; which sets they report is given.
        sizes = (3, 2, 2)
        theta = joint(seed=9, sizes=sizes)
        domain = domain_of(sizes)
        plan = Plan(
            (Block(tuple(domain), sampled(((0, 1), (0, 1, 2), (1, 2), (0, 1, 2)), 6.0, sizes)),)
        )
        channel = plan.blocks[0].channel
        by_set = [
            (
                choice.axes,
                choice.channel.apply(margin(theta, choice.axes).ravel()[:, None], 0)[:, 0],
            )
            for choice in channel.choices
        ]
        true = margin(theta, sorted(domain.axis(name) for name in asked))
        if [domain.axis(name) for name in asked] != sorted(domain.axis(name) for name in asked):
            true = true.T
        for first, second in ((0, 1), (1, 1), (1, 2), (0, 3)):
            mean, square, said, weight = 0.0, 0.0, None, 0.0
            if not any(set(asked) <= {NAMES[a] for a in by_set[s][0]} for s in (first, second)):
                continue
            for one, two in itertools.product(
                range(by_set[first][1].size), range(by_set[second][1].size)
            ):
                chance = by_set[first][1][one] * by_set[second][1][two]
                columns = {
                    n: np.full(2, s, dtype=np.uint8) for n, s in zip(NAMES, sizes, strict=True)
                }
                for row, (place, cell) in enumerate(((first, one), (second, two))):
                    axes = by_set[place][0]
                    codes = np.unravel_index(cell, [sizes[a] for a in axes])
                    for axis, code in zip(axes, codes, strict=True):
                        columns[NAMES[axis]][row] = code
                reports = ReportedCounts(columns, plan.reported_sizes)
                told = Readings([(reports, plan)], domain, no_cancel).of(asked)
                mean = mean + chance * told.shares
                square = square + chance * np.outer(told.shares, told.shares)
                said = told.covariance(true.ravel())
                weight += chance
            assert weight == pytest.approx(1, abs=1e-12)
            assert mean == pytest.approx(true.ravel(), abs=1e-12)
            assert square - np.outer(mean, mean) == pytest.approx(said, abs=1e-12)

    def test_several_blocks_are_read_together(self):
        domain = domain_of()
        first = Block(domain.project(["a", "b"]).variables, sampled(((0, 1), (0,)), 19.0, (3, 2)))
        second = Block(domain.project(["c"]).variables, Symmetric.from_gamma(4, 19.0))
        plan, theta = Plan((first, second)), joint()
        law = first.channel.apply(theta.reshape(6, 4), 0)
        law = second.channel.apply(law, 1).reshape(4, 3, 4)
        counts = np.round(law * 10**15).astype(np.int64)
        reports = ExpectedReports(NAMES, counts)
        readings = Readings([(reports, plan)], domain, no_cancel)
        for axes in PAIRS:
            told = readings.of([NAMES[a] for a in axes])
            assert told.shares == pytest.approx(margin(theta, axes).ravel(), abs=1e-9)


@pytest.mark.parametrize("channel", [Symmetric.from_gamma(7, 9.0), Mixture.from_gamma(7, 30.0)])
def test_a_mixture_is_decoded_without_a_list(channel):
    found = Decoder.mixing(*channel.mixture, 7)
    listed = Decoder.of(channel.matrix(), channel.decoder())
    np.testing.assert_allclose(found.estimator, listed.estimator, atol=1e-9)
    counts = np.arange(7.0)
    np.testing.assert_allclose(found.estimated(counts), listed.estimated(counts), atol=1e-9)
    assert found.precision == pytest.approx(listed.precision)


class TestTables:
    @pytest.fixture(scope="class")
    @classmethod
    def marginals(cls):
        plan = plan_of(PAIRS)
        reports = reported(plan, joint(), 20_000, np.random.default_rng(11))
        return EstimatedMarginals(reports, plan, estimator="pooled")

    def test_all_margins_agree_and_nothing_is_negative(self, marginals):
        alone = {name: marginals.marginal([name]).counts for name in NAMES}
        for pair in itertools.permutations(NAMES, 2):
            table = marginals.marginal(pair).counts
            assert table.min() > 0
            assert table.sum() == pytest.approx(20_000)
            assert table.sum(axis=1) == pytest.approx(alone[pair[0]], rel=1e-6)
        whole = marginals.marginal(NAMES).counts
        assert whole.min() > 0
        for place, pair in enumerate(PAIRS):
            table = marginals.marginal([NAMES[a] for a in pair]).counts
            assert whole.sum(axis=2 - place) == pytest.approx(table, rel=1e-5)

    def test_before_shrinkage_it_is_the_estimate_by_moments(self):
        # One set alone: there is nothing to pool, and the table is that of the moments.
        plan = plan_of(((0, 1),), sizes=(3, 2), names=("a", "b"))
        theta = joint(sizes=(3, 2))
        reports = reported(plan, theta, 50_000, np.random.default_rng(2))
        # RESOLUTION // 1 leaves no record silent.
        pooled = EstimatedMarginals(reports, plan, estimator="pooled").unbiased(["a", "b"])
        plain = EstimatedMarginals(reports, plan).marginal(["a", "b"])
        assert pooled.counts == pytest.approx(plain.counts, abs=1e-6)
        assert pooled.covariance(population=True) == pytest.approx(
            plain.covariance(population=True), rel=0.05, abs=50
        )

    def test_products_of_owners_channels_are_read(self):
        sizes = (3, 2, 4)
        parts = tuple(Symmetric.from_gamma(size, 4.0) for size in (3, 2))
        choices = (
            Choice((0, 1), RESOLUTION // 2, Product((1, 1), parts)),
            Choice((2,), RESOLUTION // 2, Symmetric.from_gamma(4, 19.0)),
        )
        plan, theta = Plan((Block(tuple(domain_of()), Sampled(sizes, choices)),)), joint()
        reports = ExpectedReports.of(plan, theta, 10**15)
        found = EstimatedMarginals(reports, plan, estimator="pooled")
        for asked in ((0, 1), (2,)):
            table = found.unbiased([NAMES[a] for a in asked])
            assert table.counts / 10**15 == pytest.approx(margin(theta, asked), abs=1e-7)
        # No record reports both: independence is all that can be said, and nothing is unbiased.
        assert found.unbiased(["a", "c"]) is None
        apart = np.outer(margin(theta, (0,)), margin(theta, (2,)))
        table = found.marginal(["a", "c"])
        assert not table.reported
        assert table.counts / 10**15 == pytest.approx(apart, abs=1e-7)

    def test_variables_never_reported_together_are_tied_by_a_third(self):
        # A star around b: a and c are independent given b, as far as anything is told.
        plan, theta = plan_of(((0, 1), (1, 2))), joint(seed=1)
        found = EstimatedMarginals(
            ExpectedReports.of(plan, theta, 10**15), plan, estimator="pooled"
        )
        table = found.marginal(["c", "a"])
        through = np.einsum(
            "ib,bk->ki", margin(theta, (0, 1)), margin(theta, (1, 2)) / margin(theta, (1,))[:, None]
        )
        assert not table.reported
        assert table.counts / 10**15 == pytest.approx(through, abs=1e-7)
        assert np.abs(through - np.outer(margin(theta, (2,)), margin(theta, (0,)))).max() > 0.003

    def test_unknown_and_too_large_tables_are_refused(self):
        plan = plan_of(((0, 1),))
        reports = reported(plan, joint(), 100, np.random.default_rng(1))
        found = EstimatedMarginals(reports, plan, estimator="pooled")
        with pytest.raises(EstimationError):
            found.marginal(["c"])
        with pytest.raises(OptionError):
            EstimatedMarginals(reports, plan, estimator="pooled", order=0)
        sizes, names = (20,) * 3, NAMES
        plan = plan_of(PAIRS, sizes=sizes, names=names)
        columns = {name: np.zeros(10, dtype=np.uint8) for name in names}
        found = EstimatedMarginals(
            ReportedCounts(columns, plan.reported_sizes), plan, estimator="pooled"
        )
        with pytest.raises(LimitExceeded):
            found.marginal(names)


class TestErrors:
    RECORDS = 4000

    @pytest.fixture(scope="class")
    @classmethod
    def repeated(cls):
        plan, theta = plan_of(PAIRS), joint(seed=1)
        found = []
        for run in range(RUNS):
            reports = reported(plan, theta, cls.RECORDS, np.random.default_rng([21, run]))
            found.append(EstimatedMarginals(reports, plan, estimator="pooled"))
        return theta, found

    @pytest.mark.slow
    @pytest.mark.parametrize("asked", [(0,), (0, 2), (0, 1, 2)])
    def test_standard_errors_before_shrinkage_are_those_observed(self, repeated, asked):
        _, found = repeated
        names = [NAMES[a] for a in asked]
        tables = [marginals.marginal(names).unshrunk for marginals in found]
        observed = np.var([table.counts for table in tables], axis=0)
        said = np.mean([table.variance(population=True) for table in tables], axis=0)
        ratio = observed / said
        # Each is a chi-square over its degrees if what is said is right; 1e-4 in all.
        freedom = RUNS - 1
        low, high = stats.chi2.ppf([5e-5 / ratio.size, 1 - 5e-5 / ratio.size], freedom) / freedom
        slack = 0.05 if len(asked) < 3 else 0.25
        assert (ratio > low - slack).all()
        assert (ratio < high + slack).all()
        # Errors half as large would be found out.
        assert (4 * ratio > high + slack).all()


class TestIndependence:
    def null(self, strength=0.0):
        """a and b independent given c; both depend on c."""
        rng = np.random.default_rng(7)
        c = np.array([0.4, 0.3, 0.2, 0.1])
        a = rng.dirichlet(np.ones(3) * 3, size=4)
        b = rng.dirichlet(np.ones(2) * 3, size=4)
        theta = np.einsum("k,ki,kj->ijk", c, a, b)
        sign = np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]])
        theta = theta * (1 + strength * sign[:, :, None])
        return theta / theta.sum()

    @pytest.mark.slow
    def test_half_a_chi_square_where_it_holds_and_far_above_where_not(self):
        plan = plan_of(PAIRS, gamma=19.0)
        ratios = {}
        for strength in (0.0, 0.4):
            theta = self.null(strength)
            ratios[strength] = np.array(
                [
                    EstimatedMarginals(
                        reported(plan, theta, 20_000, np.random.default_rng([33, run])),
                        plan,
                        estimator="pooled",
                    )
                    .independence(["a"], ["b"], ["c"])
                    .ratio
                    for run in range(EVEN if strength == 0 else 10)
                ]
            )
        # (3 - 1)(2 - 1) degrees of freedom; false alarms 1e-4.
        assert stats.kstest(2 * ratios[0.0], stats.chi2(2).cdf).pvalue > 1e-4
        assert stats.kstest(ratios[0.0], stats.chi2(2).cdf).pvalue < 1e-4
        assert ratios[0.4].mean() > 5 * ratios[0.0].mean()

    def test_without_records_of_both_there_is_no_evidence(self):
        plan = plan_of(((0, 2), (1,)))
        reports = reported(plan, joint(), 1000, np.random.default_rng(3))
        found = EstimatedMarginals(reports, plan, estimator="pooled")
        evidence = found.independence(["a"], ["b"], [])
        assert (evidence.ratio, evidence.degrees_of_freedom) == (0.0, 0)
        assert found.independence(["a"], ["c"], ["b"]).degrees_of_freedom == 6


class TestLackOfFit:
    SETS = (*PAIRS, (0, 1, 2))

    def fits_of(self, theta, runs, sets):
        found = []
        for run in range(runs):
            reports = reported(plan_of(sets), theta, 20_000, np.random.default_rng([44, run]))
            marginals = EstimatedMarginals(reports, plan_of(sets), estimator="pooled", order=2)
            marginals.marginal(["c", "a", "b"])
            found += marginals.lack_of_fit
        return found

    @pytest.mark.slow
    def test_p_values_are_even_where_it_fits_and_small_where_not(self):
        holds = [test.p_value for test in self.fits_of(joint(), EVEN, self.SETS)]
        assert len(holds) == EVEN
        # False alarms 1e-4.
        assert stats.kstest(holds, "uniform").pvalue > 1e-4
        theta = joint()
        sign = np.einsum("i,j,k->ijk", [1, -1, 0], [1, -1], [1, -1, 1, -1])
        theta = theta * (1 + 0.7 * sign)
        broken = self.fits_of(theta / theta.sum(), 10, self.SETS)
        assert np.mean([test.p_value < 0.01 for test in broken]) > 0.8
        assert broken[0].variables == NAMES
        assert broken[0].degrees_of_freedom == 6

    def test_what_no_record_reports_together_is_said_to_be_untested(self):
        (test,) = self.fits_of(joint(), 1, PAIRS)
        assert test.p_value is None
        assert "No block reports 3" in test.reason
