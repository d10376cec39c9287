"""Errors of a linear classifier's weights: by hand on true records, by repetition on reports."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pramana_core.learn.common.options import LinearOptions
from pramana_core.learn.linear import solving
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import LinearClassifier
from tests.shared.learn.cases import exact, marginals, plan_of, reports
from tests.shared.learn.linear.linear_cases import DOMAIN, Columns, joint, matrix, records

Z95 = 1.959963984540054
NOISE = {"colour": 0.2, "member": 0.1, "size": 0.2, "class": 0.1}
LOSSES = ["least-squares", "logistic"]


def rows(columns: Columns) -> np.ndarray:
    x = matrix(columns)
    return np.column_stack([np.ones(len(x)), x])


def estimates(model: LinearClassifier) -> np.ndarray:
    return np.array([w.estimate for w in model.planes[0].weights])


def errors_of(model: LinearClassifier, which: str) -> np.ndarray:
    return np.array([getattr(w, which) for w in model.planes[0].weights], dtype=float)


@pytest.mark.parametrize("loss", LOSSES)
def test_true_records_have_the_sandwich_error_of_their_rows(loss: str) -> None:
    """White's HC0, row by row; and no error given the records."""
    columns = records(21, 1_000)
    model = learn_linear(exact(columns, DOMAIN), "class", options=LinearOptions(loss))
    x, y, w = rows(columns), columns["class"].astype(float), estimates(model)
    if loss == "least-squares":
        residual, curvature = 2 * y - 1 - x @ w, np.ones(len(x))
    else:
        p = 1 / (1 + np.exp(-(x @ w)))
        residual, curvature = y - p, p * (1 - p)
    bread = np.linalg.inv(sum(c * np.outer(r, r) for c, r in zip(curvature, x, strict=True)))
    meat = sum(e**2 * np.outer(r, r) for e, r in zip(residual, x, strict=True))
    by_hand = np.sqrt(np.diag(bread @ meat @ bread))
    assert errors_of(model, "se") == pytest.approx(by_hand, rel=1e-9)
    assert errors_of(model, "se_records") == pytest.approx(np.zeros(5), abs=1e-7)


def of_the_population(loss: str) -> np.ndarray:
    """Return the weights that infinitely many records have, from one million weighted cells."""
    share = joint() * 1e6
    cells = np.indices(share.shape).reshape(4, -1)
    x = rows(dict(zip(DOMAIN.names, cells, strict=True)))
    weight, y = share.ravel(), cells[3].astype(float)
    if loss == "least-squares":
        root = np.sqrt(weight)
        solved: np.ndarray = np.linalg.lstsq(x * root[:, None], (2 * y - 1) * root, rcond=None)[0]
        return solved
    # Iteratively reweighted least squares.
    w = np.zeros(5)
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ w)))
        v = weight * p * (1 - p)
        w = w + np.linalg.solve((x.T * v) @ x, x.T @ (weight * (y - p)))
    return w


RUNS = int(os.environ.get("PRAMANA_LINEAR_RUNS", "100"))
"""Sets of records and reports of each setting; `make campaign` draws 1,000."""


@pytest.mark.calibration
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", ["se", "se_records"])
def test_intervals_cover(
    loss: str,
    which: str,
    assert_distribution: Callable[..., None],
) -> None:
    """95 % intervals cover 95 times of 100; with halved errors they do not.

    Each comparison fails a correct program with probability 1e-6. Against the population new
    records are drawn each time; given the records one set of them is reported again and again.
    """
    runs, used, options = RUNS, plan_of(DOMAIN, NOISE), LinearOptions(loss)
    fixed = records(22, 6_000)
    truth = of_the_population(loss)
    if which == "se_records":
        truth = estimates(learn_linear(exact(fixed, DOMAIN), "class", options=options))
    rng = np.random.default_rng(5)
    covered, halved, centred = np.zeros(5), np.zeros(5), np.zeros(5)
    for run in range(runs):
        drawn = fixed if which == "se_records" else records(1_000 + run, 6_000)
        model = learn_linear(marginals(reports(drawn, used, rng), used), "class", options=options)
        off = (estimates(model) - truth) / errors_of(model, which)
        for count, narrowed in ((covered, 1.0), (halved, 0.5)):
            count += np.abs(off) <= narrowed * Z95
        centred += off / runs
    for number in range(5):
        assert_distribution([covered[number], runs - covered[number]], [0.95 * runs, 0.05 * runs])
        with pytest.raises(AssertionError):
            assert_distribution([halved[number], runs - halved[number]], [0.95 * runs, 0.05 * runs])
    # No bias that matters is left: the mean of such numbers has deviation 1 / sqrt(runs).
    assert np.abs(centred).max() < max(0.3, 5 / math.sqrt(runs))


def test_too_many_cells_for_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = records(24, 500)
    whole = learn_linear(exact(columns, DOMAIN), "class")
    monkeypatch.setattr(solving, "SCORE_NUMBERS", 100)
    without = learn_linear(exact(columns, DOMAIN), "class")
    assert (estimates(without) == estimates(whole)).all()
    assert without.planes[0].weights[0].se is None
    assert without.planes[0].weights[0].interval is None
    assert any("errors" in note for note in without.notes)
    assert replace(without, planes=whole.planes, notes=()) == whole
