"""The statistical promise of the main job, on the real sampler and learner in one process.

Every repetition draws records from the network of Ma's experiment 1, randomizes them with fresh
keys by the owner's own code, and learns as the miner does. False-alarm rates are stated; each test
has a negative control.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.site.planning import planned
from owner_agent.site.site import site_from
from owner_agent.state.keys import Secrets
from pramana import setups
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, learn_parameters
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan

pytestmark = pytest.mark.calibration

REPETITIONS = int(os.environ.get("PRAMANA_REPETITIONS", "200"))
"""200 always; `make campaign` takes 2,000."""

FALSE_ALARM = 1e-6

LINKAGE = hashlib.sha256(b"linkage").digest()

PUBLISHED = {
    "A": "0.70", "T": "0.50 0.77", "L": "0.49 0.57 0.64 0.55 0.93 0.45",
    "B": "0.77 0.41 0.71 0.73 0.11 0.65", "E": "0.20 0.90 2.7 1.2 2.6 2.34",
    "D": "2.2 1.3 3.3 0.77 1.7 5.65", "X": "0.80 1.1", "C": "2.0 1.6 2.6 2.1",
    "F": "0.73 1.1", "G": "0.30 0.29",
}  # fmt: skip
"""Ma Table 5.2: standard deviations over five runs, x 10^-2; of two values only the first."""


def site_plan(owner: str, folder) -> Plan:
    variables = []
    for node in setups.OWNERS[owner]:
        variable = {
            "name": node,
            "categories": list(setups.DOMAIN[node].categories),
            "sensitive": node in setups.CHANNELS,
        }
        if node in setups.CHANNELS:
            variable["channel"] = setups.CHANNELS[node]
        variables.append(variable)
    content = {"owner": owner, "table": "t.csv", "record_id": "id", "variables": variables}
    return planned(site_from(content, folder)).plan


def one_run(seed: int, plans: dict[str, Plan], keys: np.ndarray) -> LearnedBayesNet:
    codes = setups.network().sample(len(keys), np.random.default_rng([seed, 7]))
    reported = {}
    for owner, plan in plans.items():
        secrets = Secrets(draw=hashlib.sha256(f"{owner} {seed}".encode()).digest(), linkage=LINKAGE)
        true = {name: codes[name].astype(np.uint8) for name in plan.domain.names}
        reported |= randomize(plan, secrets, "calibration", keys, true).columns
    whole = Plan.combine(plans.values())
    counts = ReportedCounts(reported, whole.reported_sizes)
    return learn_parameters(EstimatedMarginals(counts, whole), setups.STRUCTURE)


@dataclass(frozen=True)
class Runs:
    """Arrays of shape (repetitions, parameters); of a row's values the last is left out."""

    nodes: np.ndarray
    truth: np.ndarray
    estimate: np.ndarray
    se: np.ndarray
    se_records: np.ndarray
    low: np.ndarray
    high: np.ndarray


def free(table: np.ndarray) -> np.ndarray:
    """A row's values sum to 1: leave the last out so that none is counted twice."""
    return table[..., :-1].ravel()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("calibration")
    plans = {owner: site_plan(owner, folder) for owner in setups.OWNERS}
    network = setups.network()
    # Draws are fresh by their own keys; who the records are is the same in every repetition.
    secrets, ids = Secrets(draw=LINKAGE[::-1], linkage=LINKAGE), map(str, range(setups.RECORDS))
    keys = pseudonyms(secrets, "calibration", ids)
    learned = [one_run(seed, plans, keys) for seed in range(REPETITIONS)]

    def stack(what: str) -> np.ndarray:
        return np.array(
            [np.concatenate([free(getattr(f, what)) for f in run.families]) for run in learned]
        )

    sizes = [(f.node, free(f.estimate).size) for f in learned[0].families]
    return Runs(
        nodes=np.array([node for node, size in sizes for _ in range(size)]),
        truth=np.concatenate([free(network.tables[node]) for node, _ in sizes]),
        estimate=stack("estimate"),
        se=stack("se"),
        se_records=stack("se_records"),
        low=stack("low"),
        high=stack("high"),
    )


def coverage_limits(covered: np.ndarray) -> tuple[float, float]:
    """An interval for the mean coverage; repetitions are independent, parameters are not."""
    per_run = covered.mean(axis=1)
    half = stats.norm.isf(FALSE_ALARM / 2) * per_run.std(ddof=1) / np.sqrt(len(per_run))
    return per_run.mean() - half, per_run.mean() + half


def test_intervals_cover_at_their_rate(runs: Runs):
    covered = (runs.low <= runs.truth) & (runs.truth <= runs.high)
    low, high = coverage_limits(covered)
    assert low <= 0.95 <= high
    assert 0.93 <= covered.mean() <= 0.97
    print(f"\ncoverage {covered.mean():.4f} over {covered.shape[0]} repetitions")


def test_narrower_intervals_would_be_found_out(runs: Runs):
    """The negative control: standard errors a tenth too small."""
    half = 0.9 * stats.norm.isf(0.025) * runs.se
    low, high = coverage_limits(np.abs(runs.estimate - runs.truth) <= half)
    assert not low <= 0.95 <= high


def published_statistic(runs: Runs, factor: float = 1.0) -> tuple[float, int]:
    """Sum 4 (published / ours)^2 over Table 5.2: chi-square with 4 degrees a parameter.

    Ours is the error given the records: the table's five runs shared one sample (S, which is not
    randomized, deviates by 0.00).
    """
    total, degrees = 0.0, 0
    for node, row in PUBLISHED.items():
        published = np.array([float(p) for p in row.split()]) / 100
        columns = setups.DOMAIN[node].size
        ours = runs.se_records[:, runs.nodes == node].mean(axis=0)
        # The table lists the node's value slowest; `free` leaves the last value out.
        ours = ours.reshape(-1, columns - 1).T.ravel()
        known = published[: ours.size]
        total += float((4 * np.square(known / (factor * ours))).sum())
        degrees += 4 * ours.size
    return total, degrees


def test_deviations_are_those_published(runs: Runs):
    """Ma Table 5.2 is what five runs of this system could have shown, no better and no worse."""
    statistic, degrees = published_statistic(runs)
    low, high = stats.chi2.ppf([0.0005, 0.9995], degrees)
    print(f"\n4 sum (published / ours)^2 = {statistic:.0f}; between {low:.0f} and {high:.0f}")
    assert low <= statistic <= high


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_other_deviations_would_be_found_out(runs: Runs, factor: float):
    """The negative control: errors 30 % smaller or larger than ours do not fit the table."""
    statistic, degrees = published_statistic(runs, factor)
    low, high = stats.chi2.ppf([0.0005, 0.9995], degrees)
    assert not low <= statistic <= high
