"""The log-linear estimator against iterative proportional fitting, enumeration and its own rate."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from pramana_core.channels import (
    RESOLUTION,
    Choice,
    Identity,
    Sampled,
    StructuralZeros,
    Symmetric,
)
from pramana_core.domain import Domain
from pramana_core.errors import EstimationError, LimitExceeded, OptionError, SingularChannel
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.loglinear import (
    LogLinearFit,
    Penalized,
    design,
    fit,
    information,
    parameters,
)
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from tests.shared.estimation.core.strata_cases import drawn

SHAPE = (3, 2, 4)
PAIRS = list(itertools.combinations(range(3), 2))


def sampled_pairs(gamma: float) -> Sampled:
    cells = [math.prod(SHAPE[a] for a in axes) for axes in PAIRS]
    return Sampled(
        SHAPE,
        tuple(
            Choice(axes, RESOLUTION // 3, Symmetric.from_gamma(size, gamma))
            for axes, size in zip(PAIRS, cells, strict=True)
        ),
    )


def pairwise_truth(seed: int, strength: float) -> np.ndarray:
    """A distribution with pair effects, by explicit loops: none between variables 0 and 1."""
    rng = np.random.default_rng(seed)
    single = [rng.normal(size=s) * strength for s in SHAPE]
    pair = {p: rng.normal(size=[SHAPE[a] for a in p]) * strength for p in PAIRS[1:]}
    height = np.zeros(SHAPE)
    for cell in np.ndindex(*SHAPE):
        height[cell] = sum(single[a][c] for a, c in enumerate(cell))
        height[cell] += sum(f[tuple(cell[a] for a in p)] for p, f in pair.items())
    theta = np.exp(height)
    return theta / theta.sum()


def margins(theta: np.ndarray) -> list[np.ndarray]:
    return [theta.sum(axis=tuple(a for a in range(3) if a not in p)) for p in PAIRS]


def entropy_maximizer(theta: np.ndarray) -> np.ndarray:
    """Iterative proportional fitting of all pair margins: the distribution of largest entropy."""
    made = np.full(SHAPE, 1 / theta.size)
    for _ in range(3000):
        for p, wanted in zip(PAIRS, margins(theta), strict=True):
            gone = tuple(a for a in range(3) if a not in p)
            made = made * (wanted / made.sum(axis=gone)).reshape(
                [SHAPE[a] if a in p else 1 for a in range(3)]
            )
    return made


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_design_spans_each_effect_once(order: int):
    made = design(SHAPE, order)
    assert made.matrix.shape == (24, parameters(SHAPE, order))
    assert np.linalg.matrix_rank(np.column_stack([np.ones(24), made.matrix])) == (
        1 + parameters(SHAPE, order)
    )
    np.testing.assert_allclose(made.matrix.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose((made.matrix**2).mean(axis=0), 1, atol=1e-12)
    assert [t.axes for t in made.terms] == [
        axes for k in range(1, order + 1) for axes in itertools.combinations(range(3), k)
    ]
    # All effects of order 3 span everything that sums to nothing.
    assert parameters(SHAPE, 3) == 23


def test_from_exact_reports_of_pairs_comes_the_distribution_of_largest_entropy():
    """Truth with an interaction of three: pairs cannot tell it, and it is not invented."""
    theta = np.random.default_rng(4).dirichlet(np.full(24, 3.0)).reshape(SHAPE)
    channel = sampled_pairs(9.0)
    reports = 1e13 * channel.apply(theta.ravel(), 0)
    found = fit([Stratum(reports, (channel,))], SHAPE)
    np.testing.assert_allclose(found.probabilities, entropy_maximizer(theta), atol=1e-5)
    assert np.abs(found.probabilities - theta).max() > 1e-3
    for got, wanted in zip(margins(found.probabilities), margins(theta), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_with_all_interactions_it_is_the_observed_distribution():
    """Nothing randomized and all effects free: the fit is the table itself."""
    counts = np.random.default_rng(1).multinomial(10**9, np.full(24, 1 / 24)).reshape(SHAPE)
    counts = counts * (1 + np.arange(24).reshape(SHAPE))
    channels = tuple(Identity(s) for s in SHAPE)
    found = fit([Stratum(counts.astype(float), channels)], SHAPE, order=3)
    np.testing.assert_allclose(found.probabilities, counts / counts.sum(), rtol=1e-4)


def test_strata_with_different_channels_are_fitted_together():
    theta = pairwise_truth(2, 0.4)
    first, second = sampled_pairs(9.0), sampled_pairs(3.0)
    strata = [
        Stratum(1e12 * first.apply(theta.ravel(), 0), (first,)),
        Stratum(1e11 * second.apply(theta.ravel(), 0), (second,)),
    ]
    np.testing.assert_allclose(fit(strata, SHAPE).probabilities, theta, atol=1e-5)


def negative_posterior(values: np.ndarray, stratum: Stratum, found: LogLinearFit) -> float:
    """Minus the log-posterior written out with the listed matrix."""
    made = found.design
    height = made.matrix @ values
    theta = np.exp(height - height.max())
    theta /= theta.sum()
    law = stratum.channels[0].matrix().T @ theta
    seen = stratum.reported > 0
    penalty = sum((values[t.columns] ** 2).sum() / found.variances[t.axes] for t in made.terms)
    return float(penalty / 2 - stratum.reported[seen] @ np.log(law[seen]))


def test_the_fit_maximizes_the_posterior_at_the_variances_found():
    stratum = drawn(pairwise_truth(3, 0.5), (sampled_pairs(9.0),), 3000, 11)
    found = fit([stratum], SHAPE)
    values = np.linalg.lstsq(
        np.column_stack([np.ones(24), found.design.matrix]),
        np.log(found.probabilities.ravel()),
        rcond=None,
    )[0][1:]
    best = optimize.minimize(negative_posterior, values, args=(stratum, found), method="BFGS")
    assert negative_posterior(values, stratum, found) - best.fun < 1e-3


def test_interactions_that_are_not_there_are_removed_and_others_kept():
    agree = np.fromfunction(lambda i, j, k: 1.0 * (i == k) + 1.0 * (j == k), SHAPE)
    theta = np.exp(agree) / np.exp(agree).sum()
    kept, removed = 0, 0
    for seed in range(20):
        found = fit([drawn(theta, (sampled_pairs(9.0),), 20_000, seed)], SHAPE)
        removed += found.variances[0, 1] < 1e-3
        kept += found.variances[0, 2] > 1e-2 and found.variances[1, 2] > 1e-2
    assert kept == 20
    assert removed >= 10


def test_the_information_is_the_covariance_of_the_score():
    """Enumerate the reports: the covariance of d log q / d parameters, times N."""
    theta = pairwise_truth(6, 0.4)
    channel = sampled_pairs(9.0)
    made = design(SHAPE, 2)
    height = np.log(theta.ravel())

    def law(shift: np.ndarray) -> np.ndarray:
        raised = np.exp(height + made.matrix @ shift)
        return channel.matrix().T @ (raised / raised.sum())

    count = made.matrix.shape[1]
    step = 1e-5
    moves = np.eye(count) * step
    slopes = np.array([(law(m) - law(-m)) / (2 * step) for m in moves]).T
    q = law(np.zeros(count))
    seen = q > 0
    expected = 500 * sum(np.outer(s, s) / p for s, p in zip(slopes[seen], q[seen], strict=True))
    sensitivity = theta.reshape(-1, 1) * (made.matrix - theta.ravel() @ made.matrix)
    stratum = Stratum(np.zeros(channel.shape[1]), (channel,))
    got = information([stratum], sensitivity, theta.ravel(), [500])
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-4)


@pytest.mark.calibration
@pytest.mark.parametrize(
    ("strength", "control"),
    [
        (0.7, 0.6),
        *(pytest.param(*case, marks=pytest.mark.campaign) for case in ((0.1, 0.4), (0.4, 0.65))),
    ],
)
def test_intervals_cover_at_least_at_their_rate(strength: float, control: float):
    """95 % intervals of all cells, 100 repetitions: not below 95 % by more than 1.5 points.

    The variances of the interactions are estimated too, so the rate is not exact: weak interactions
    (0.1) are covered too often, strong ones nearly at the rate. Repetitions are independent, cells
    of one are not: the limit is on the mean coverage per repetition, false alarm 1e-6. The control
    shrinks the errors by a quarter and more.
    """
    theta = pairwise_truth(0, strength)
    channel = sampled_pairs(9.0)
    covered = []
    for seed in range(100):
        found = fit([drawn(theta, (channel,), 20_000, 1000 + seed)], SHAPE)
        slopes = found.sensitivity()
        error = np.sqrt(np.diag(slopes @ found.covariance @ slopes.T))
        off = np.abs(found.probabilities.ravel() - theta.ravel())
        covered.append([float((off <= 1.96 * s * error).mean()) for s in (1.0, control)])
    mean, spread = np.mean(covered, axis=0), np.std(covered, axis=0, ddof=1)
    short = (0.935 - mean) / spread * math.sqrt(len(covered))
    assert (short < stats.norm.isf(1e-6)).tolist() == [True, False], mean


BITS = (2, 2, 2)
BIT_PAIRS = Sampled(
    BITS,
    tuple(Choice(axes, RESOLUTION // 3, Symmetric.from_gamma(4, 9.0)) for axes in PAIRS),
)


def one_interaction(errors: float, records: int) -> tuple[np.ndarray, np.ndarray]:
    """Return three bits that interact in one pair only, as strongly as `errors` standard errors.

    Also the weights of that pair's log odds ratio over log cells, by hand.
    """
    sign = np.array([[1, -1], [-1, 1]])[:, :, None] * np.ones(2)
    made = design(BITS, 2)
    flat = np.full(8, 1 / 8)
    empty = Stratum(np.zeros(BIT_PAIRS.shape[1]), (BIT_PAIRS,))
    slopes = flat[:, None] * (made.matrix - flat @ made.matrix)
    held = information([empty], slopes, flat, [records])
    (place,) = (t.columns.start for t in made.terms if t.axes == (0, 1))
    size = errors * math.sqrt(np.linalg.inv(held)[place, place])
    theta = np.exp(size * sign)
    return theta / theta.sum(), sign.ravel() / 2


@pytest.mark.calibration
@pytest.mark.parametrize(
    "errors", [2.5, *(pytest.param(e, marks=pytest.mark.campaign) for e in (0.0, 2.0, 4.0))]
)
def test_the_odds_ratio_of_an_interaction_just_told_is_covered(errors):
    """Where shrinkage moves the estimate most: 200 repetitions, at least 90 %, false alarm 1e-6.

    Without the bias in the errors this was 83 to 88 %. The control has 0.6 of the errors.
    """
    theta, contrast = one_interaction(errors, 20_000)
    truth = contrast @ np.log(theta.ravel())
    held = np.zeros(2)
    for seed in range(200):
        found = fit([drawn(theta, (BIT_PAIRS,), 20_000, seed)], BITS)
        cells = found.probabilities.ravel()
        slopes = contrast @ (found.sensitivity() / cells[:, None])
        error = np.array([1.0, 0.6]) * math.sqrt(slopes @ found.covariance @ slopes)
        held += abs(contrast @ np.log(cells) - truth) <= 1.96 * error
    least = stats.binom.isf(1 - 1e-6, 200, 0.95)
    assert (held[0] >= least, errors == 2.5 and held[1] >= least) == (True, False), held


def test_impossible_cells_stay_empty():
    theta = np.array([[0.4, 0.0, 0.1], [0.2, 0.3, 0.0]])
    channel = StructuralZeros(6, (1, 5), Symmetric.from_gamma(4, 7.0))
    reports = 1e10 * channel.apply(theta.ravel(), 0)
    found = fit([Stratum(reports, (channel,))], (2, 3), possible=theta > 0)
    np.testing.assert_allclose(found.probabilities, theta, atol=1e-5)
    assert (found.probabilities[theta == 0] == 0).all()


DOMAIN = Domain.of(a="xyz", b="pq", c="1234")


def marginals(block: Block, theta: np.ndarray, estimator: str, records: int = 30_000, **options):
    law = block.channel.apply(theta.ravel(), 0)
    cells = np.random.default_rng(8).choice(len(law), size=records, p=law / law.sum())
    codes = np.unravel_index(cells, block.reported_shape)
    columns = {n: c.astype(np.uint8) for n, c in zip(block.names, codes, strict=True)}
    plan = Plan((block,))
    counts = ReportedCounts(columns, plan.reported_sizes)
    return EstimatedMarginals(counts, plan, estimator=estimator, **options)  # type: ignore[arg-type]


def test_margins_of_a_sampled_block_by_every_estimator():
    theta = pairwise_truth(0, 0.4)
    block = Block(DOMAIN.variables, sampled_pairs(9.0))
    truth = {"a": (1, 2), "ab": (2,), "abc": ()}
    for estimator in ("moment", "ml", "log-linear"):
        source = marginals(block, theta, estimator)
        for names, gone in truth.items():
            if names == "abc" and estimator != "log-linear":
                error, says = {
                    "moment": (SingularChannel, "No record reports all 3"),
                    "ml": (EstimationError, "cannot tell all 24 cells apart"),
                }[estimator]
                with pytest.raises(error, match=says):
                    source.marginal(list(names))
                continue
            table = source.marginal(list(names))
            error = table.standard_error(population=True)
            z = (table.counts - 30_000 * theta.sum(axis=gone)) / error
            # The largest of at most 24 normal deviates; false alarm 1e-6 of each table.
            assert np.abs(z).max() < stats.norm.isf(0.5e-6 / z.size), (estimator, names)
            if estimator != "moment":
                assert table.counts.min() >= 0
                assert table.counts.sum() == pytest.approx(30_000)
    source = marginals(block, theta, "log-linear")
    whole = source.marginal(["c", "a"])
    np.testing.assert_allclose(whole.counts, source.marginal(["a", "c"]).counts.T)
    given = whole.standard_error(population=False)
    assert np.array_equal(given, whole.standard_error(population=True))
    np.testing.assert_allclose(
        np.sqrt(np.diag(whole.covariance(population=True))).reshape(4, 3),
        whole.standard_error(population=True),
    )


def test_what_cannot_be_fitted_is_refused():
    channel = sampled_pairs(9.0)
    nothing = Stratum(np.zeros(channel.shape[1]), (channel,))
    with pytest.raises(EstimationError, match="no records"):
        fit([nothing], SHAPE)
    impossible = np.zeros(channel.shape[1])
    impossible[0] = 1  # all three variables reported: no choice does that
    with pytest.raises(EstimationError, match="probability zero"):
        fit([Stratum(impossible, (channel,))], SHAPE)
    with pytest.raises(OptionError, match="between 1 and 3, not 4"):
        design(SHAPE, 4)
    with pytest.raises(LimitExceeded, match="too large"):
        design((10,) * 6, 2)
    theta = pairwise_truth(0, 0.4)
    with pytest.raises(OptionError, match="order"):
        marginals(Block(DOMAIN.variables, channel), theta, "log-linear", order=0)


@pytest.mark.parametrize("most", [1, 2, 5, 500])
def test_it_ends_however_few_turns_the_variances_take(most):
    channel, theta = sampled_pairs(9.0), pairwise_truth(0, 0.4)
    stratum = drawn(theta, (channel,), 2000, 1)
    found = fit([stratum], SHAPE, max_steps=most)
    # The effects are the likeliest at the variances taken: no step promises more than rounding.
    widths = [
        v
        for t, v in zip(found.design.terms, found.variances.values(), strict=True)
        for _ in range(t.size)
    ]
    model = Penalized([stratum], np.ones(24), found.design.matrix, 1 / np.array(widths))
    slopes = model.slopes(model.at(found.values[None]))
    step = np.linalg.solve(slopes.information[0], slopes.gradient[0])
    assert slopes.gradient[0] @ step < 1e-5


def test_effects_without_end_end_too():
    """Cells that never occur let effects grow for ever, and their variances with them."""
    theta = np.zeros((2, 2, 2, 2))
    for a, b, c in np.ndindex(2, 2, 2):
        # The last is certain given the others: either of the first two.
        theta[a, b, c, int(a or b)] = (0.05, 0.95)[a] * (0.3, 0.7)[b] * (0.5, 0.5)[c]
    sets = list(itertools.combinations(range(4), 2))
    channel = Sampled(
        (2,) * 4,
        tuple(Choice(s, RESOLUTION // len(sets), Symmetric.from_gamma(4, 19.0)) for s in sets),
    )
    law = np.maximum(channel.apply(theta.reshape(-1, 1), 0).ravel(), 0)
    for seed in range(3):
        counts = np.random.default_rng([14, seed]).multinomial(500_000, law / law.sum())
        found = fit([Stratum(counts.astype(float), (channel,))], (2,) * 4)
        assert np.abs(found.probabilities - theta).sum() < 0.05
        assert found.steps <= 500


def test_parameters_are_counted_without_listing_them():
    rng = np.random.default_rng(5)
    for _ in range(50):
        shape = rng.integers(2, 6, rng.integers(1, 7)).tolist()
        order = int(rng.integers(1, len(shape) + 1))
        listed = sum(
            math.prod(s - 1 for s in sizes)
            for k in range(1, order + 1)
            for sizes in itertools.combinations(shape, k)
        )
        assert parameters(shape, order) == listed
    assert parameters([2] * 4096, 8) == sum(math.comb(4096, k) for k in range(1, 9))


def test_the_reports_bound_a_fit_too():
    """Twelve bits sampled in pairs have 3^12 reports: too many for their derivatives."""
    sizes = (2,) * 14
    channel = Sampled(
        sizes, tuple(Choice((i,), RESOLUTION // 14, Symmetric(2, 1 << 30)) for i in range(14))
    )
    with pytest.raises(LimitExceeded, match="reports is too large"):
        fit([Stratum(np.ones(channel.shape[1]), (channel,))], sizes)


def test_impossible_cells_inside_a_choice_stay_empty():
    pair = StructuralZeros(4, (3,), Symmetric.from_gamma(3, 9.0))
    channel = Sampled(
        (2, 2, 2),
        (
            Choice((0, 1), RESOLUTION // 2, pair),
            Choice((1, 2), RESOLUTION // 2, Symmetric.from_gamma(4, 9.0)),
        ),
    )
    theta = np.full((2, 2, 2), 1 / 6)
    theta[1, 1] = 0
    theta /= theta.sum()
    domain = Domain.of(a="xy", b="xy", c="xy")
    source = marginals(Block(domain.variables, channel), theta, "log-linear", 3000)
    table = source.marginal(["a", "b"])
    assert table.counts[1, 1] == 0
    assert table.counts.min() == 0 < table.counts[0, 0]


def test_a_fixed_point_that_is_circled_is_met_all_the_same():
    """Of these reports the prior variances went in a circle."""
    shape, channel = (4, 3, 3, 2), Symmetric.from_gamma(72, 10.0)
    rng = np.random.default_rng(30)
    theta = rng.dirichlet(np.full(72, 0.1))
    law = channel.apply(theta, 0)
    stratum = Stratum(rng.multinomial(20_000, law / law.sum()).astype(float), (channel,))
    found = fit([stratum], shape, order=2)
    assert found.steps < 500
    error = np.sqrt(channel.solve_power(stratum.reported, 0, 2))
    far = (found.probabilities.ravel() * 20_000 - channel.solve(stratum.reported, 0)) / error
    assert np.abs(far).max() < 6


@pytest.mark.slow
@pytest.mark.parametrize(
    "records", [*(pytest.param(n, marks=pytest.mark.campaign) for n in (50, 100)), 200]
)
def test_small_tables_settle(records: int):
    """Five bits, each changed with probability .3: of 100 fits to 200 records 17 had no end.

    Scoring leapt from one side of the summit to the other, because expected information can be far
    below what the reports hold.
    """
    shape = (2,) * 5
    channels = (Symmetric.from_gamma(2, 7 / 3),) * 5
    made = design(shape, 2)
    empty = Stratum(np.zeros(shape), channels)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        height = made.matrix @ rng.normal(size=made.matrix.shape[1]) * rng.choice([0.1, 0.4, 1.0])
        theta = (np.exp(height) / np.exp(height).sum()).reshape(shape)
        law = empty.expected(theta[..., None])[:, 0]
        reports = rng.multinomial(records, law / law.sum()).reshape(shape).astype(float)
        assert fit([Stratum(reports, channels)], shape).steps < 500
