"""What a split's table says, leaves' probabilities and pruning, against other ways to get them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import TreeOptions
from pramana_core.learn.tree.evidence import information_gain, valid_counts, weigh
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.node import Node, Split, class_counts
from pramana_core.learn.tree.pruning import pruned, worth
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

TABLES = {
    "two by two": [[30.0, 12.0], [11.0, 47.0]],
    "wide": [[5.0, 9.0, 20.0, 14.0], [8.0, 8.0, 11.0, 40.0]],
    "tall": [[50.0, 31.0], [40.0, 44.0], [10.0, 15.0], [31.0, 22.0]],
    "with a zero": [[30.0, 0.0, 7.0], [11.0, 9.0, 8.0]],
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
@pytest.mark.parametrize("others", [0, 500])
def test_the_test_of_exact_counts_is_the_g_test(table, others):
    counts = np.array(table)
    found = weigh(counts, np.zeros((counts.size, counts.size)), int(counts.sum()) + others)
    g = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
    bits = 2 * counts.sum() * math.log(2)
    assert found.p_value == pytest.approx(g.pvalue, rel=1e-9)
    assert found.degrees == g.dof
    assert found.gain * bits == pytest.approx(g.statistic, rel=1e-9)
    assert (found.chance * bits, found.noise) == (pytest.approx(g.dof), 0)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_gain_is_that_of_the_distribution(table):
    counts = np.array(table)
    shares = counts / counts.sum()
    product = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    divergence = stats.entropy(shares.ravel(), product.ravel(), base=2)
    assert information_gain(counts) == pytest.approx(divergence)


def test_a_category_without_records_takes_no_part():
    table = np.array(TABLES["tall"])
    empty = np.insert(table, 2, 0.0, axis=0)
    found = weigh(empty, np.zeros((10, 10)), 243)
    known, whole = vars(found), vars(weigh(table, np.zeros((8, 8)), 243))
    assert known.pop("interval") == pytest.approx(whole.pop("interval"))
    assert known == pytest.approx(whole)


def randomized_pair(p: float, records: int = 400) -> tuple[np.ndarray, np.ndarray, Plan]:
    """Expected reports of independent attribute and class, and the covariance by enumeration.

    The covariance given the records: sum over records of that of the estimate of one report.
    """
    domain = Domain.of(a="123", y="np")
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in domain))
    matrix = np.kron(*(block.channel.matrix() for block in plan.blocks))
    truth = records * np.outer([0.5, 0.3, 0.2], [0.7, 0.3]).ravel()
    inverse = np.linalg.inv(matrix)
    covariance = np.zeros((6, 6))
    for cell, reported in itertools.product(range(6), repeat=2):
        error = inverse[reported] - np.eye(6)[cell]
        covariance += truth[cell] * matrix[cell, reported] * np.outer(error, error)
    return truth.reshape(3, 2), covariance, plan


@pytest.mark.calibration
def test_chance_is_the_mean_gain_of_independent_reports():
    """The mean of 600 gains is within 5 standard errors of it; the clean expectation is not."""
    truth, covariance, plan = randomized_pair(0.2, 5000)
    said = weigh(truth, covariance, 5000)
    rng = np.random.default_rng(7)
    shares = (truth / 5000).ravel()
    matrix = np.kron(*(block.channel.matrix() for block in plan.blocks))
    seen = rng.multinomial(5000, shares @ matrix, size=600) @ np.linalg.inv(matrix)
    gains = np.array([information_gain(valid_counts(t.reshape(3, 2))) for t in seen])
    error = gains.std() / math.sqrt(len(gains))
    assert abs(gains.mean() - said.chance) < 5 * error
    clean = weigh(truth, np.zeros((6, 6)), 5000).chance
    assert abs(gains.mean() - clean) > 15 * error


def test_categories_left_out_take_their_records_from_the_margins():
    """Without the third row the second class is no longer there beyond the noise of its count."""
    table = np.array([[25.0, 11.0], [62.0, -12.0], [20.0, 40.0]])
    noise = np.diag([90.0, 90.0, 90.0, 90.0, 900.0, 40.0])
    found = weigh(table, noise, 400)
    assert (found.p_value, found.information, found.statistic) == (1.0, 0.0, 0.0)
    assert found.interval == (0.0, math.inf)


@pytest.mark.calibration
@pytest.mark.parametrize("lean", [0.0, 0.05, 0.12])
def test_intervals_of_the_information_cover(assert_distribution, lean: float):
    """95 of 100 hold that of the population; of intervals with halved sides too few do."""
    records, runs = 3_000, 400
    _, _, plan = randomized_pair(0.15, records)
    shares = np.outer([0.5, 0.3, 0.2], [0.6, 0.4]) + lean * np.array([[1, -1], [-1, 1], [0, 0]])
    matrix = np.kron(*(block.channel.matrix() for block in plan.blocks))
    inverse, law = np.linalg.inv(matrix), shares.ravel() @ matrix
    truth = information_gain(shares)
    rng = np.random.default_rng(8)
    covered = halved = 0
    for _ in range(runs):
        seen = rng.multinomial(records, law)
        counts = seen @ inverse
        covariance = inverse.T @ np.diag(seen) @ inverse - np.diag(counts)
        found = weigh(counts.reshape(3, 2), covariance, records)
        low, high = found.interval
        covered += low <= truth <= high
        middle = found.information
        halved += (low + middle) / 2 <= truth <= (high + middle) / 2
    if lean:
        assert_distribution([covered, runs - covered], [0.95 * runs, 0.05 * runs])
        with pytest.raises(AssertionError):
            assert_distribution([halved, runs - halved], [0.95 * runs, 0.05 * runs])
    else:
        # At no information the lower end cannot miss.
        assert covered >= 0.94 * runs


# Leaves.


def test_noisy_probabilities_are_the_posterior_mean():
    """Two classes: integrate over the children's distance and over each one's true share.

    The distance is half-Cauchy, the shares are normal about the parent's and seen with an error.
    """
    counts, parent, usual = np.array([[40.0, 60.0], [150.0, 50.0], [7.0, 3.0]]), (0.7, 0.3), 0.1
    covariance = np.array([[90.0, -30.0], [-30.0, 50.0]])
    found = class_counts(counts, np.stack([covariance] * 3), 1000, parent, usual)
    shares = counts[:, 0] / counts.sum(axis=1)
    slopes = np.stack([1 - shares, -shares], axis=1) / counts.sum(axis=1)[:, None]
    errors = np.sqrt([slope @ covariance @ slope for slope in slopes])

    def posterior(distance: float, wanted: int | None = None) -> float:
        # Two shares differ together, so a distance of t is one of t / sqrt 2 in each; and two of
        # three children are independent, for together they are their parent.
        seen = stats.norm.pdf(shares, 0.7, np.sqrt(distance**2 / 2 + errors**2))
        value = float(np.prod(seen)) ** (2 / 3) / (1 + (distance / usual) ** 2)
        if wanted is None:
            return value
        precision = np.array([2 / distance**2, 1 / errors[wanted] ** 2])
        return value * float(precision @ [0.7, shares[wanted]] / precision.sum())

    mass, _ = integrate.quad(posterior, 0.005, 1.4, limit=200)
    for child in range(3):
        mean, _ = integrate.quad(posterior, 0.005, 1.4, args=(child,), limit=200)
        assert found[child].probabilities[0] == pytest.approx(mean / mass, abs=2e-3)
    own = class_counts(counts, np.stack([covariance] * 3), 1000, parent, None)
    assert own[0].probabilities == pytest.approx((0.4, 0.6))
    # The noisier takes more of its parent's: it has fewer records.
    taken = [(found[k].probabilities[0] - shares[k]) / (0.7 - shares[k]) for k in range(2)]
    assert 0 < taken[1] < taken[0] < 1


def test_effective_records_of_a_randomized_class():
    """Only the class is randomized: the variance of a count has a closed form (Ma 2.4.1)."""
    p, records = 0.2, 2000
    domain = Domain.of(a="xy", y="np")
    a, y = domain
    plan = Plan(
        (
            Block((a,), Symmetric.from_probability(2, 0)),
            Block((y,), Symmetric.from_probability(2, p)),
        )
    )
    columns = {
        "a": np.arange(records, dtype=np.uint8) % 2,
        "y": (np.arange(records) % 4 == 0).astype(np.uint8),
    }
    seen = ReportedCounts(columns, {"a": 2, "y": 2})
    tree = learn_tree(
        EstimatedMarginals(seen, plan), "y", None, TreeOptions(significance=None, prune=False)
    )
    variance = p * (1 - p) / (1 - 2 * p) ** 2
    for node, size in zip(tree.root, (records, records / 2, records / 2), strict=True):
        assert node.classes.effective == pytest.approx(size / (1 + 2 * variance), rel=1e-6)


# Pruning.


def leaf(*counts: float) -> Node:
    noise = np.zeros((1, len(counts), len(counts)))
    (known,) = class_counts(np.array([counts]), noise, 10_000)
    return Node(known)


def node_of(*children: Node, tried: int = 2, name: str = "a", noise: float = 1.0) -> Node:
    """A split of the children's counts, with its chance multiplied by `noise`."""
    table = np.array([child.classes.counts for child in children])
    found = weigh(table, np.zeros((table.size, table.size)), 10_000)
    split = Split(
        attribute=name,
        gain=found.gain,
        excess=found.information,
        low=0.0,
        high=1.0,
        chance=found.chance * noise,
        statistic=found.statistic,
        degrees=found.degrees,
        tried=tried,
        p_value=0.5,
    )
    return Node(leaf(*table.sum(axis=0)).classes, split, children)


def test_a_splits_worth_is_its_bayesian_information_criterion():
    node = node_of(leaf(60, 40), leaf(20, 80), leaf(50, 50), tried=4)
    both = [child.classes.counts for child in node.children]

    def likelihood(rows: list[tuple[float, ...]]) -> float:
        return sum(stats.multinomial.logpmf(r, sum(r), np.array(r) / sum(r)) for r in rows)

    def constant(rows: list[tuple[float, ...]]) -> float:
        return sum(stats.multinomial.logpmf(r, sum(r), [0.5, 0.5]) for r in rows) + sum(
            map(sum, rows)
        ) * math.log(2)

    # The multinomial coefficients are not part of the likelihood of records.
    gained = likelihood(both) - constant(both)
    whole = [node.classes.counts]
    gained -= likelihood(whole) - constant(whole)
    assert node.split is not None
    wanted = gained - (2 / 2) * math.log(300) - math.log(4)
    assert worth(node, node.split) == pytest.approx(wanted)
    noisy = node_of(*node.children, tried=4, noise=3.0)
    assert noisy.split is not None
    assert worth(noisy, noisy.split) == pytest.approx(
        gained / 3 - (2 / 2) * math.log(300) - math.log(4)
    )


def test_pruning_takes_back_what_is_worth_nothing_and_keeps_what_leads_to_more():
    idle = node_of(leaf(50, 52), leaf(48, 50))
    assert pruned(idle) == Node(idle.classes)
    telling = node_of(leaf(90, 10), leaf(10, 90))
    assert pruned(telling) == telling
    # The first question tells nothing by itself; both that follow it tell all.
    crossed = node_of(
        node_of(leaf(100, 0), leaf(0, 100), name="b"), node_of(leaf(0, 100), leaf(100, 0), name="b")
    )
    assert crossed.split is not None
    assert worth(crossed, crossed.split) < 0
    assert pruned(crossed) == crossed
    # The branch that is worth nothing goes, the other stays.
    mixed = node_of(leaf(300, 10), node_of(leaf(10, 31), leaf(12, 30), name="b"))
    left, right = pruned(mixed).children
    assert (left.split, right.split, right.children) == (None, None, ())
