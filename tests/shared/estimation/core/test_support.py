"""The free maximum by EM: against a general optimizer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from pramana_core.channels import Dense, Grouped, Identity, Symmetric, Transition, Withheld
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.likelihood import maximize
from tests.shared.estimation.core.strata_cases import RECTANGULAR, listed

ALIKE = Dense.from_probabilities([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.375, 0.375, 0.25]])
"""Its last row is the mean of the others: the reports tell of no more than two of three truths."""

SWAPS = Grouped(((0, 3), (1, 2)), (Dense.binary(0.4, 0.3), Dense.binary(0.35, 0.45)))

CASES: dict[str, tuple[Transition, ...]] = {
    "six binary, heavy": (Symmetric.from_probability(2, 0.4),) * 6,
    "four binary, heavier": (Symmetric.from_probability(2, 0.45),) * 4,
    "light": (Symmetric.from_probability(4, 0.1),) * 3,
    "many categories": (Symmetric.from_probability(8, 0.8), Symmetric.from_probability(7, 0.8)),
    "lopsided": (
        Dense.binary(0.1, 0.6),
        Dense.binary(0.3, 0.4),
        Symmetric.from_probability(5, 0.6),
    ),
    "more reports than truths": (RECTANGULAR, RECTANGULAR, RECTANGULAR),
    "few cells": (RECTANGULAR,),
    "grouped": (SWAPS, Symmetric.from_probability(4, 0.6)),
    "partly clean": (Identity(3), Symmetric.from_probability(2, 0.4), Dense.binary(0.4, 0.4)),
    "not unique": (ALIKE, Symmetric.from_probability(4, 0.5), Withheld(3)),
}


def drawn(channels: tuple[Transition, ...], records: int, seed: int = 1, even: float = 0.3):
    """Reports of a table drawn with some cells almost empty."""
    rng = np.random.default_rng(seed)
    shape = tuple(channel.shape[0] for channel in channels)
    theta = rng.dirichlet(np.full(math.prod(shape), even)).reshape(shape)
    blank = Stratum(np.zeros([channel.shape[1] for channel in channels]), channels)
    law = blank.expected(theta[..., None])[:, 0]
    counts = rng.multinomial(records, law / law.sum()).reshape(blank.reported.shape)
    return Stratum(counts.astype(float), channels)


def most_by_slsqp(strata: list[Stratum]) -> float:
    """The log-likelihood at the best that a general optimizer finds on the simplex."""
    dense = np.hstack([listed(stratum) for stratum in strata])
    counts = np.concatenate([stratum.column[:, 0] for stratum in strata])
    dense, counts = dense[:, counts > 0], counts[counts > 0]
    cells, records = len(dense), counts.sum()

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        expected = np.maximum(dense.T @ theta, 1e-300)
        return -float(counts @ np.log(expected)) / records, -dense @ (counts / expected) / records

    found = minimize(
        loss,
        np.full(cells, 1 / cells),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * cells,
        constraints={"type": "eq", "fun": lambda t: t.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    theta = np.maximum(found.x, 0)
    return -records * loss(theta / theta.sum())[0]


@pytest.mark.slow
@pytest.mark.parametrize("records", [300, 10_000])
@pytest.mark.parametrize("name", CASES)
def test_no_more_is_found_by_a_general_optimizer(name: str, records: int):
    stratum = drawn(CASES[name], records)
    found = maximize([stratum])
    value, best = float(found.log_likelihood[0]), most_by_slsqp([stratum])
    assert found.gap <= 1e-4
    assert best <= value + found.gap + 1e-9 * records
    assert best == pytest.approx(value, abs=0.01)
    assert found.probabilities.min() >= 0
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-12)
