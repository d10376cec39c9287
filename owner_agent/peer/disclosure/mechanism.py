"""Discrete noise for counts, drawn and accounted for by OpenDP; its variance is known exactly.

A record that changes its values leaves one cell of each table and enters another. Over k tables
that is a distance of 2 k (L1) or sqrt(2 k) (L2), for which the scale is chosen:

* discrete Laplace, P(x) proportional to exp(-|x| / b), with b = 2 k / epsilon;
* discrete Gaussian, P(x) proportional to exp(-x^2 / (2 s^2)), which is k / s^2-zCDP, with the least
  s for which that is (epsilon, delta) by the conversion of Canonne, Kamath and Steinke (2020).

OpenDP is an optional extra (`noise`), imported when the first noise is asked for. It draws from the
operating system's generator, with exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.opendp import library
from owner_agent.site.noise import GaussianNoise, LaplaceNoise

_TAIL = 40
"""So many scales from its middle the Gaussian is nothing, even beside rounding."""


@dataclass(frozen=True)
class NoiseMechanism:
    """The noise of one session: its kind, and its scale (b or s above)."""

    kind: str
    scale: float

    @property
    def variance(self) -> float:
        """The variance of the noise in one cell; its mean is 0."""
        if self.kind == "laplace":
            return 0.5 / math.sinh(0.5 / self.scale) ** 2
        values = np.arange(1, math.ceil(_TAIL * self.scale) + 2, dtype=np.float64)
        weights = np.exp(-np.square(values) / (2 * self.scale**2))
        return float(2 * (np.square(values) * weights).sum() / (1 + 2 * weights.sum()))

    def draw(self, cells: int) -> npt.NDArray[np.int64]:
        """Return independent noise for some cells. Raises NotInstalled."""
        return np.array(_measurement(self.kind, self.scale)([0] * cells), dtype=np.int64)


Draw = Callable[[NoiseMechanism, int], npt.NDArray[np.int64]]
"""Draws the noise of some cells; `NoiseMechanism.draw`, where nothing else is said."""


def mechanism_for(demand: LaplaceNoise | GaussianNoise, tables: int) -> NoiseMechanism:
    """Return the noise that some tables together need to keep to a demand. Raises NotInstalled."""
    if isinstance(demand, LaplaceNoise):
        scale = 2 * tables / demand.epsilon
        # The library rounds the loss up: the next number may be needed.
        while _measurement("laplace", scale).map(2 * tables) > demand.epsilon:
            scale = math.nextafter(scale, math.inf)
        return NoiseMechanism("laplace", scale)
    opendp = _library()
    scale = opendp.binary_search_param(
        lambda s: _approximate(s, demand.delta),
        d_in=math.sqrt(2 * tables),
        d_out=(demand.epsilon, demand.delta),
        T=float,
    )
    return NoiseMechanism("gaussian", float(scale))


def _approximate(scale: float, delta: float) -> Any:
    opendp = _library()
    curve = opendp.c.make_zCDP_to_approxDP(_measurement("gaussian", scale))
    return opendp.c.make_fix_delta(curve, delta)


def _measurement(kind: str, scale: float) -> Any:
    opendp = _library()
    counts = opendp.vector_domain(opendp.atom_domain(T=int))
    if kind == "laplace":
        return opendp.m.make_laplace(counts, opendp.l1_distance(T=int), scale=scale)
    return opendp.m.make_gaussian(counts, opendp.l2_distance(T=float), scale=scale)


def _library() -> ModuleType:
    return library("Noise on shared counts is")
