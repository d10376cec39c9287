"""What Ma 3.1.2 compares: the errors of additive noise and of PRAM, and whom they breach."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.reproduce.data import two_triangles
from benchmarks.reproduce.experiment import Setting
from benchmarks.reproduce.ma.additive_noise import AdditiveNoise
from pramana.setups.owner import SeededOwner, numbered
from pramana_core.channels import Symmetric
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Codes, ReportedCounts, Tensor
from pramana_core.plan import Block, Plan

RECORDS = 20_000
INTERVALS = 8

RHO_1, RHO_2 = 0.10, 0.50
"""A breach: a prior of at most 10 % becomes 50 % or more, or one of 50 % at most 10 %."""


def prior() -> Tensor:
    """Return the probabilities of the intervals."""
    ends = np.linspace(0, two_triangles.SUPPORT, INTERVALS + 1)
    fine = np.array([np.linspace(a, b, 1001) for a, b in itertools.pairwise(ends.tolist())])
    mass = np.trapezoid(two_triangles.density(fine), fine, axis=1)
    value: Tensor = mass / mass.sum()
    return value


def noise_errors(setting: Setting, noise: AdditiveNoise, runs: int) -> list[float]:
    """Return by run the share of records that the distribution estimated from noise misplaces."""
    rng = setting.rng("ma-3.1.2", noise.kind, noise.scale)
    plan = Plan((Block((numbered("X", INTERVALS),), noise.channel()),))
    found = []
    for _ in range(runs):
        truth = _sample(rng)
        values = (truth + rng.random(RECORDS)) * noise.width
        reported = ReportedCounts({"X": noise.reported(values, rng)}, plan.reported_sizes)
        found.append(_misplaced(reported, plan, truth))
    return found


def pram_errors(setting: Setting, gamma: float, runs: int, key: str = "curve") -> list[float]:
    """Return the same of intervals randomized by an owner at an amplification."""
    rng = setting.rng("ma-3.1.2", "pram", gamma, key)
    plan = Plan((Block((numbered("X", INTERVALS),), Symmetric.from_gamma(INTERVALS, gamma)),))
    owner = SeededOwner.of(f"ma-3.1.2 {key} {gamma:.6g}", setting.seed, RECORDS)
    found = []
    for index in range(runs):
        truth = _sample(rng)
        found.append(_misplaced(owner.report(plan, {"X": truth}, index), plan, truth))
    return found


def _sample(rng: np.random.Generator) -> Codes:
    return rng.choice(INTERVALS, size=RECORDS, p=prior()).astype(np.uint8)


def _misplaced(reported: ReportedCounts, plan: Plan, truth: Codes) -> float:
    """Return the total variation between the most likely and the true shares."""
    estimate = EstimatedMarginals(reported, plan, estimator="ml").marginal(["X"]).counts
    exact = np.bincount(truth, minlength=INTERVALS)
    return float(np.abs(estimate - exact).sum() / (2 * len(truth)))


def gamma_of_error(curve: dict[float, list[float]], error: float) -> float:
    """Return PRAM's amplification at which its mean error is `error`, between those measured."""
    gammas = np.array(list(curve))
    # The error falls with gamma; where chance has it rise the larger one counts.
    means = np.maximum.accumulate([np.mean(e) for e in reversed(curve.values())])
    found = np.exp(np.interp(np.log(error), np.log(means), np.log(gammas[::-1])))
    return as_published(float(found))


def as_published(gamma: float) -> float:
    """Return an amplification to six digits: it names the stream of its draws, so exactly one."""
    return float(f"{gamma:.6g}")


def breached(matrix: Tensor, before: Tensor) -> tuple[float, float]:
    """Return the shares of records whose reports breach privacy upward and downward (Ma 3.1.2).

    A report does if it breaches any property "the value is in one of these neighbouring intervals".
    """
    size = len(before)
    runs = [range(a, b) for a in range(size) for b in range(a + 1, size + 1) if b - a < size]
    joint = before[:, None] * matrix
    report = joint.sum(axis=0)
    after = np.array([joint[list(r)].sum(axis=0) for r in runs]) / report
    prior_of = np.array([before[list(r)].sum() for r in runs])[:, None]
    # Sums of probabilities are compared: their rounding shall not decide.
    up = ((prior_of <= RHO_1 + 1e-12) & (after >= RHO_2 - 1e-12)).any(axis=0)
    down = ((prior_of >= RHO_2 - 1e-12) & (after <= RHO_1 + 1e-12)).any(axis=0)
    return float(report[up].sum()), float(report[down].sum())
