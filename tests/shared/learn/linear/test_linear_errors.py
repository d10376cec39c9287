"""Errors of a linear classifier's weights: by hand on true records, by repetition on reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from shared.learn.linear import errors
from shared.learn.linear.fitting import learn_linear
from shared.learn.linear.model import LinearClassifier
from shared.learn.linear.options import LinearOptions
from tests.shared.learn.linear.linear_cases import (
    DOMAIN,
    Columns,
    exact,
    joint,
    marginals,
    matrix,
    plan,
    records,
    reports,
)

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
    share = (model.predict(columns) == columns["class"]).mean()
    assert model.accuracy is not None
    assert model.accuracy.se == pytest.approx(np.sqrt(share * (1 - share) / len(x)))
    assert model.accuracy.se_records == pytest.approx(0, abs=1e-9)


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


@pytest.mark.calibration
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", ["se", "se_records"])
def test_intervals_cover(loss: str, which: str, assert_distribution: Callable[..., None]) -> None:
    """95 % intervals cover 95 times of 100; with halved errors they do not.

    Each comparison fails a correct program with probability 1e-6. Against the population new
    records are drawn each time; given the records one set of them is reported again and again.
    """
    runs, used, options = 400, plan(DOMAIN, NOISE), LinearOptions(loss, counts="raw")
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
        covered += np.abs(off) <= Z95
        halved += np.abs(off) <= Z95 / 2
        centred += off / runs
    for number in range(5):
        assert_distribution([covered[number], runs - covered[number]], [0.95 * runs, 0.05 * runs])
        with pytest.raises(AssertionError):
            assert_distribution([halved[number], runs - halved[number]], [0.95 * runs, 0.05 * runs])
    # Raw counts leave no bias that matters: the mean of 400 such numbers has deviation 1 / 20.
    assert np.abs(centred).max() < 0.3


def test_the_accuracy_has_the_error_of_its_counts() -> None:
    """For a fixed plane the estimated accuracy is unbiased and has the error that is stated."""
    used, fixed = plan(DOMAIN, NOISE), records(23, 3_000)
    model = learn_linear(exact(fixed, DOMAIN), "class", options=LinearOptions("least-squares"))
    cells = np.indices((3, 2, 4)).reshape(3, -1)
    predicted = model.predict(dict(zip(DOMAIN.names[:3], cells, strict=True)))
    true = (model.predict(fixed) == fixed["class"]).mean()
    rng, off = np.random.default_rng(6), []
    for _ in range(300):
        table = marginals(reports(fixed, used, rng), used).marginal(DOMAIN.names)
        found = errors.accuracy_of(table, predicted)
        assert found.se_records is not None
        assert found.se is not None
        assert found.se > found.se_records
        off.append((found.estimate - true) / found.se_records)
    # Normal with deviation 1: the mean is within 5 / sqrt(300), the variance within 5 of its own
    # deviations sqrt(2 / 300), but for one seed in 10^5.
    assert abs(np.mean(off)) < 5 / np.sqrt(300)
    assert abs(np.var(off) - 1) < 5 * np.sqrt(2 / 300)
    assert abs(np.var(2 * np.array(off)) - 1) > 5 * np.sqrt(2 / 300)


def test_too_many_cells_for_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = records(24, 500)
    whole = learn_linear(exact(columns, DOMAIN), "class")
    monkeypatch.setattr(errors, "SCORE_NUMBERS", 100)
    without = learn_linear(exact(columns, DOMAIN), "class")
    assert (estimates(without) == estimates(whole)).all()
    assert without.planes[0].weights[0].se is None
    assert without.planes[0].weights[0].interval is None
    assert any("errors" in note for note in without.notes)
    assert replace(without, planes=whole.planes, notes=()) == whole
