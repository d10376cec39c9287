"""The randomness of private trees that leave: drawn by OpenDP, exactly and from the system.

OpenDP is an optional extra (`noise`), imported when the first draw is asked for. The epsilon is
accounted for where the tree is grown (`pramana_core.model_sharing.private`).
"""

from __future__ import annotations

from typing import Any

from owner_agent.randomize.draws import library
from pramana_core.mixed.table import Floats


class TreeNoise:
    """What draws private trees, as `pramana_core.model_sharing.private.Noise`.

    Raises:
        NotInstalled: OpenDP is not installed.
    """

    def __init__(self) -> None:
        self._library = library("Private trees are")

    def laplace(self, scale: float) -> int:
        """Return a draw of the discrete Laplace distribution."""
        dp = self._library
        counts = dp.atom_domain(T=int)
        drawn: int = dp.m.make_laplace(counts, dp.absolute_distance(T=int), scale=scale)(0)
        return drawn

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return a place drawn by the exponential mechanism: the largest score with Gumbel noise.

        With noise of scale 1 / epsilon that is a place with a probability proportional to
        exp(epsilon * score), the scores beyond 0 apart.
        """
        dp = self._library
        told: Any = [float(score) for score in scores] if epsilon > 0 else [0.0] * len(scores)
        if len(told) == 1:
            return 0
        drawn: int = dp.m.make_noisy_max(
            dp.vector_domain(dp.atom_domain(T=float, nan=False)),
            dp.linf_distance(T=float),
            # Its noise is Gumbel's; under the pure measure it is exponential, another mechanism.
            dp.zero_concentrated_divergence(),
            scale=1 / epsilon if epsilon > 0 else 1.0,
        )(told)
        return int(drawn)
