"""NMEGADP: what is exact to 1e-9, what a record's own value weighs, and inputs of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pramana.setups import DATASETS
from pramana_core.mask import METHODS, mask
from pramana_core.mask.core.masked import Masked

egadp, nmegadp = (METHODS[name] for name in ("egadp", "nmegadp"))

pytestmark = pytest.mark.usefixtures("three_bandwidths")

ADDITIVE = ("nmegadp", "nmegadp-copula")
SHUFFLED = ("nmegadp-shuffle", "nmegadp-copula-shuffle")


def parts(name: str, seed: int = 0, records: int = 400) -> tuple[pd.DataFrame, pd.DataFrame]:
    """S and X of a data set."""
    dataset = DATASETS[name]
    frame = dataset.make(seed, records)
    return frame[list(dataset.told)], frame[list(dataset.confidential)]


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def numbers(values: Any, records: int) -> Any:
    """S as the standardized columns that it stands for, none of them constant."""
    if values is None:
        return np.empty((records, 0))
    table = values if isinstance(values, pd.DataFrame) else pd.DataFrame(np.asarray(values))
    table = pd.get_dummies(table).to_numpy(dtype=float)
    table = table[:, np.ptp(table, axis=0) > 0]
    return (table - table.mean(axis=0)) / table.std(axis=0)


def assert_exact(masked: Masked, S: Any, X: Any) -> None:  # noqa: N803
    """e has the covariance of r and is orthogonal to S, X and E(X|S); the moments are kept."""
    x = np.asarray(X, dtype=float).reshape(len(masked.matrix), -1)
    s = numbers(S, len(x))
    assert masked.expectation is not None
    assert masked.noise is not None
    center, scale = x.mean(axis=0), x.std(axis=0)
    y, x = (masked.matrix - center) / scale, (x - center) / scale
    noise, expectation = masked.noise / scale, (masked.expectation - center) / scale
    rest = x - expectation
    n = len(x)
    assert noise.T @ noise / n == pytest.approx(rest.T @ rest / n, abs=1e-9)
    lengths = noise.std(axis=0)
    others = np.column_stack([np.ones(n), s, x, expectation])
    assert np.abs(others.T @ (noise / lengths) / n).max() < 1e-9
    assert np.abs(np.column_stack([np.ones(n), s, expectation]).T @ rest / n).max() < 1e-9
    assert y.mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert y.T @ y / n == pytest.approx(x.T @ x / n, abs=1e-9)
    assert s.T @ y / n == pytest.approx(s.T @ x / n, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("form", SHUFFLED)
def test_shuffled_columns_are_ordered_as_the_perturbed_ones(form: Any):
    told, hidden = parts("NM.01")
    masked = mask(form, told, hidden, generator())
    perturbed = mask(form.removesuffix("-shuffle"), told, hidden, generator())
    for released, like in zip(masked.matrix.T, perturbed.matrix.T, strict=True):
        assert stats.spearmanr(released, like)[0] > 0.999


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "hidden"),
    [
        (lambda s, x: s[:, 0], lambda s, x: x[:, 0]),
        (lambda s, x: None, lambda s, x: x),
        (lambda s, x: (s > 0).astype(float), lambda s, x: x),
        (
            lambda s, x: pd.DataFrame({"a": np.array(list("abc"))[np.arange(200) % 3]}),
            lambda s, x: x,
        ),
        (
            lambda s, x: pd.DataFrame(
                {"a": np.array(list("abc"))[np.arange(200) % 3], "b": s[:, 0], "c": s[:, 1] > 0}
            ),
            lambda s, x: x,
        ),
        (lambda s, x: s * [1e-9, 1e9] + [0, 1e9], lambda s, x: x * [1e-3, 1e9] + [0, 1e9]),
        (lambda s, x: np.column_stack([s, s @ [1, 2], np.ones(200)]), lambda s, x: x),
        (lambda s, x: s, lambda s, x: np.column_stack([x, x @ [1, 2]])),
        (lambda s, x: np.repeat(s[:100], 2, axis=0), lambda s, x: np.repeat(x[:100], 2, axis=0)),
        (lambda s, x: s[:20], lambda s, x: x[:20]),
    ],
    ids=["one", "none", "binary", "category", "mixed", "scales", "singular", "sum", "twins", "few"],
)
def test_inputs_of_many_kinds(told: Any, hidden: Any):
    rng = generator(3)
    s = rng.uniform(-2, 2, size=(200, 2))
    x = np.column_stack([s[:, 0] ** 2, np.abs(s[:, 1])]) + rng.normal(size=(200, 2))
    S, X = told(s, x), hidden(s, x)  # noqa: N806
    for form in (*ADDITIVE, *SHUFFLED):
        masked = mask(form, S, X, generator())
        if form in ADDITIVE:
            assert_exact(masked, S, X)
        else:
            values = np.asarray(X, dtype=float).reshape(masked.matrix.shape)
            assert np.array_equal(np.sort(masked.matrix, axis=0), np.sort(values, axis=0))


@pytest.mark.slow
def test_the_copula_form_keeps_the_marginals_of_the_residuals():
    rng = generator(8)
    s = rng.uniform(-2, 2, size=2000)
    scores = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=2000)
    x = np.column_stack([s**2, s]) + stats.gamma(2).ppf(stats.norm.cdf(scores))
    skewed = stats.skew(x - nmegadp(s, x, generator()).expectation)
    assert (skewed > 1.2).all()
    rank = {}
    for form in ADDITIVE:
        masked = mask(form, s, x, generator())
        assert masked.expectation is not None
        assert masked.noise is not None
        rest = x - masked.expectation
        distance = [
            stats.ks_2samp(*pair).statistic for pair in zip(masked.noise.T, rest.T, strict=True)
        ]
        rank[form] = stats.spearmanr(masked.noise)[0] - stats.spearmanr(rest)[0]
        if form == "nmegadp":
            # The negative control: normal noise.
            assert min(distance) > 0.08
        else:
            assert max(distance) < 0.05
            assert stats.skew(masked.noise) == pytest.approx(skewed, rel=0.35)
    assert abs(rank["nmegadp-copula"]) < 0.05
