"""Estimates from masked copies, combined by Reiter's rules."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.coverage.setting import Interval, Numbers, Setting
from pramana_core.mask.catalogue import METHODS
from pramana_core.mask.copies import combine_copies
from pramana_core.mask.core.masked import Method

_SLOPES = np.array([[0.8, -0.3], [0.0, 0.5]])
"""Of X's two columns on S's two: row by column of S."""

_NOISE = np.array([[1.0, 0.6], [0.6, 1.5]])
"""The covariance of X given S."""

_MEANS = np.array([10.0, -2.0])
_BEND = np.array([-1.0, 0.5])
"""The square's coefficient in the bent law; S is then one uniform column from -2 to 2."""


def _fit(y: Numbers, *columns: Numbers) -> tuple[Numbers, Numbers]:
    """Return least squares of y on columns, the constant first, and the stated variances."""
    design = np.column_stack([np.ones(len(y)), *columns])
    inverse = np.linalg.inv(design.T @ design)
    slopes = inverse @ design.T @ y
    rest = y - design @ slopes
    return slopes, np.diag(inverse) * (rest @ rest) / (len(y) - design.shape[1])


def _mean(y: Numbers) -> tuple[Numbers, Numbers]:
    return _fit(y)


def _linear_truth() -> Numbers:
    joint = np.block([[np.eye(2), _SLOPES], [_SLOPES.T, _SLOPES.T @ _SLOPES + _NOISE]])
    s_on_y = np.linalg.solve(joint[2:, 2:], joint[2:, 0])
    return np.array(
        [_MEANS[0], *_SLOPES[:, 0], *s_on_y, joint[2, 3] / joint[2, 2], _NOISE[0, 1] / _NOISE[0, 0]]
    )


def _linear_analyses(s: Numbers, y: Numbers) -> list[tuple[Numbers, Numbers]]:
    """Return the estimates and variances of regressions of Y on S, of S on Y and of Y on Y."""
    y1, y2, s1, s2 = y[:, 0], y[:, 1], s[:, 0], s[:, 1]
    wanted = (
        (_mean(y1), [0]),
        (_fit(y1, s1, s2), [1, 2]),
        (_fit(s1, y1, y2), [1, 2]),
        (_fit(y2, y1), [1]),
        (_fit(y2, y1, s1, s2), [1]),
    )
    return [(found[0][places], found[1][places]) for found, places in wanted]


def _bent_analyses(s: Numbers, y: Numbers) -> list[tuple[Numbers, Numbers]]:
    curve = (s[:, 0], s[:, 0] ** 2)
    first, second = (_fit(y[:, k], *curve) for k in (0, 1))
    slope = _fit(y[:, 1], y[:, 0], *curve)
    return [
        _mean(y[:, 0]),
        (first[0][1:], first[1][1:]),
        (second[0][1:], second[1][1:]),
        (slope[0][1:2], slope[1][1:2]),
    ]


def _draw_linear(rng: np.random.Generator, n: int) -> tuple[Numbers, Numbers]:
    s = rng.standard_normal((n, 2))
    return s, _MEANS + s @ _SLOPES + rng.multivariate_normal([0, 0], _NOISE, n)


def _draw_bent(rng: np.random.Generator, n: int) -> tuple[Numbers, Numbers]:
    s = rng.uniform(-2, 2, (n, 1))
    curve = _MEANS + s * _SLOPES[0] + s**2 * _BEND
    return s, curve + rng.multivariate_normal([0, 0], _NOISE, n)


_BENT_TRUTH = np.array(
    [
        _MEANS[0] + _BEND[0] * 4 / 3,
        _SLOPES[0, 0],
        _BEND[0],
        _SLOPES[0, 1],
        _BEND[1],
        _NOISE[0, 1] / _NOISE[0, 0],
    ]
)

_WORDS = {
    "linear": "X linear in S, normal",
    "bent": "X a square of S with normal residuals",
}

_LAWS = {
    "linear": (_draw_linear, _linear_analyses, _linear_truth()),
    "bent": (_draw_bent, _bent_analyses, _BENT_TRUTH),
}


def masked_intervals(
    rng: np.random.Generator,
    method: Method,
    law: str,
    n: int,
    m: int,
    naive: bool = False,
) -> Interval:
    """Draw a table, mask it m times and combine; `naive` trusts one copy: a negative control."""
    draw, analyses, truth = _LAWS[law]
    s, x = draw(rng, n)
    found = [analyses(s, method(s, x, rng).matrix) for _ in range(m)]
    low, high = [], []
    for place in range(len(found[0])):
        estimates, variances = (np.array([one[place][k] for one in found]) for k in (0, 1))
        if naive:
            estimates, variances = estimates[:1], variances[:1]
        combined = combine_copies(estimates, variances, n)
        begin, end = combined.interval()
        low.append(begin)
        high.append(end)
    return Interval(truth, np.concatenate(low), np.concatenate(high))


def _setting(name: str, called: str, law: str, n: int, m: int, seed: int, short: int) -> Setting:
    copies = "1 copy" if m == 1 else f"{m} copies"
    return Setting(
        f"regressions from masked copies, {called}",
        f"N = {n:,}, {copies}, {_WORDS[law]}",
        seed,
        partial(masked_intervals, method=METHODS[name], law=law, n=n, m=m),
        short=short,
    )


SETTINGS: tuple[Setting, ...] = (
    _setting("egadp", "EGADP", "linear", 200, 1, 1600, 200),
    _setting("nmegadp", "NMEGADP", "bent", 200, 1, 1603, 40),
)
