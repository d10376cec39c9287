"""No record moves by more of its own secret than is stated, unless it is named.

Tables of twenty shapes: each secret is moved by a standard deviation of what S leaves, the table is
masked again from the start, and the record's expectation is looked at. Weights are those of the
bandwidth, penalty and lines or curves chosen; where a step changes the choice, which moves all
records, a smaller one is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shared.mask import nmegadp
from shared.mask.core.masked import Masked

MOVED = int(os.environ.get("PRAMANA_MOVED_RECORDS", "2"))
"""Records of each table that are moved; `make campaign` moves 20."""

SHAPES = int(os.environ.get("PRAMANA_MASK_SHAPES", "5"))
"""Tables that are masked; `make campaign` masks all."""

STEPS = (1.0, -1.0, 0.1, -0.1, 1e-3)
"""By which secrets are moved, in standard deviations of what S leaves."""

SLACK = 0.05
"""Weights in the regression on E(X|S) are of first order; a large step may differ so much."""

Table = tuple[Any, np.ndarray]


def spread(kind: str, p: int, records: int, rng: np.random.Generator) -> np.ndarray:
    """S of p columns."""
    shape = (records, p)
    if kind == "normal":
        return rng.normal(size=shape)
    if kind == "skewed":
        return rng.lognormal(sigma=0.7, size=shape)
    if kind == "long":
        return np.clip(rng.standard_t(3, size=shape), -7, 7)
    return rng.integers(0, 6, size=shape).astype(float)


RELATIONS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
    lambda s: 2 * np.exp(-2 * (s[:, 0] - 1.2) ** 2) + 2 * np.exp(-2 * (s[:, 0] + 1.2) ** 2),
    lambda s: np.cos(2 * s[:, 0]) + 0.3 * s[:, -1] ** 2,
    lambda s: s.sum(axis=1),
    lambda s: np.abs(s[:, 0]) * (1 + s[:, -1]),
    lambda s: np.zeros(len(s)),
)


def table(number: int) -> Table:
    """One of twenty: four kinds of S by five relations, 1 to 3 columns, 120 to 300 records."""
    rng = np.random.default_rng(number)
    records = 120 + 20 * (number % 10)
    s = spread(("normal", "skewed", "long", "steps")[number % 4], 1 + number % 3, records, rng)
    x = RELATIONS[number % 5](s) + rng.normal(size=records) * (0.3 + 0.3 * np.abs(s[:, 0]))
    if number % 3 == 2:
        frame = pd.DataFrame(s).add_prefix("s")
        frame["kind"] = rng.choice(list("aaaaabbc"), records)
        return frame, x
    return s, x


def masked(told: Any, hidden: np.ndarray) -> Masked:
    return nmegadp(told, hidden, np.random.default_rng(1), max_leverage=0.95)


def chosen(found: Masked) -> list[Any]:
    names = ("bandwidth", "penalty", "eigenvectors", "iterations", "squares")
    return [found.details[name] for name in names]


@pytest.mark.calibration
@pytest.mark.parametrize("number", range(SHAPES))
def test_no_record_moves_by_more_than_is_stated_unless_it_is_named(number: int):
    told, hidden = table(number)
    first = masked(told, hidden)
    influence, expected = first.influence, first.expectation
    assert influence is not None
    assert expected is not None
    size = float((hidden - expected[:, 0]).std())
    for record in np.argsort(-influence.weights[:, 0], kind="stable")[:MOVED]:
        for step in STEPS:
            moved = hidden.copy()
            moved[record] += step * size
            again = masked(told, moved)
            if chosen(again) == chosen(first):
                break
        else:
            pytest.fail("every step of this record changes what is chosen for all")
        assert again.expectation is not None
        share = float(again.expectation[record, 0] - expected[record, 0]) / (step * size)
        assert share <= influence.weights[record, 0] + SLACK
        assert influence.exposed[record] or share <= influence.stated + SLACK
