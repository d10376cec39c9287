"""Each record's part in its own masked value: the weight of the true one, and the noise on it.

The noise spreads over the directions that it may have. A record that decides some of those that the
noise is orthogonal to has less noise than others, which the weight alone does not show.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.errors import MaskingError
from pramana_core.mask.core.cautions import Caution, Gravity
from pramana_core.mask.core.inputs import Limits
from pramana_core.mixed import Floats, leverages
from pramana_core.ties import descending, first_largest_of_rows

EXPOSED = 0.25
"""Records of which more than this is told are named: their masked and true values, both less what S
tells, then correlate by more than a half."""


HEAVY = (((4 - 3 * EXPOSED) * EXPOSED) ** 0.5 - EXPOSED) / (2 * (1 - EXPOSED))
"""A leverage w larger than this names a record alone, under the noise 1 - w that it leaves. Records
of less weight are named because other columns, such as X, took the noise."""

_ALONE = (
    ("stands nearly alone in S", "stand nearly alone in S"),
    ", merge rare categories or lower max_leverage",
)
_SPARED = (("has little noise", "have little noise"), " or cut outlying numbers off")


@dataclass(frozen=True, eq=False)
class Influence:
    """Each record's part in its own masked values; it stays with the owner.

    `weights` are the moves of masked values per unit of true ones; `noises` the deviations of the
    noise, in those of what S leaves of the column: n x q each.
    """

    weights: Floats = field(repr=False)
    noises: Floats = field(repr=False)

    @cached_property
    def _told(self) -> Floats:
        own = self.weights**2
        found: Floats = own / np.maximum(own + self.noises**2, np.finfo(float).tiny)
        return found

    @cached_property
    def columns(self) -> npt.NDArray[np.intp]:
        """The place of the column of X of which most is told, for each record: n numbers."""
        return first_largest_of_rows(self._told)

    @property
    def told(self) -> Floats:
        """The share of what S leaves of a record that its masked value reveals: n numbers, 0 to 1.

        w^2 / (w^2 + s^2), of weight w and noise s: the R^2 of whoever knows all other records and
        E(X|S).
        """
        return self._of(self._told)

    @property
    def own(self) -> Floats:
        """The weights in the columns of which most is told: n numbers."""
        return self._of(self.weights)

    @property
    def noise(self) -> Floats:
        """The noise in the columns of which most is told: n numbers."""
        return self._of(self.noises)

    @property
    def exposed(self) -> npt.NDArray[np.bool_]:
        """Which records are to be named: n truth values."""
        found: npt.NDArray[np.bool_] = self.told > EXPOSED
        return found

    @property
    def stated(self) -> float:
        """The largest weight, in any column, of the records that are not named."""
        return float(np.max(self.weights[~self.exposed], initial=0.0))

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """The records by what is told of them, most first."""
        return np.array(descending(self.told, scale=1.0), dtype=np.intp)

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """Sentences on the records to be named: those of much weight, and those of little noise."""
        much = self.exposed & (self.own > HEAVY)
        little = self.exposed & ~much
        return tuple(
            Caution(self._said(named, why), Gravity.GRAVE)
            for named, why in ((much, _ALONE), (little, _SPARED))
            if named.any()
        )

    def _said(self, named: npt.NDArray[np.bool_], why: tuple[tuple[str, str], str]) -> str:
        """Say of records what of their masked values is their own, and under how much noise."""
        count, (stands, instead) = int(np.count_nonzero(named)), why
        own, noise = float(self.own[named].max()), float(self.noise[named].min())
        if count == 1:
            return (
                f"1 record {stands[0]}: its masked value moves by {own:.0%} of a change of its true"
                f" one, under {noise:.0%} of the usual noise. Leave it out"
                f"{instead}."
            )
        return (
            f"{count:,} records {stands[1]}: their masked values move by as much as {own:.0%} of a"
            f" change of their true ones, under as little as {noise:.0%} of the usual noise. Leave"
            f" them out{instead}."
        )

    def _of(self, values: Floats) -> Floats:
        found: Floats = np.take_along_axis(values, self.columns[:, None], axis=1)[:, 0]
        return found


def influence_of(weights: Floats, basis: Floats | None = None, *, columns: int = 1) -> Influence:
    """Return each record's part in its own Y, a prediction and noise on it; weights are n x q or n.

    Noise orthogonal to a basis of k columns has n / (n - k) times 1 - h of the variance of what S
    leaves, for a record of leverage h.
    """
    own = np.repeat(weights[:, None], columns, axis=1) if weights.ndim == 1 else weights
    noise = np.ones(len(own))
    if basis is not None:
        free = np.maximum(1 - leverages(basis), 0.0)
        noise = np.sqrt(free * len(basis) / max(1, len(basis) - basis.shape[1]))
    return Influence(own, np.repeat(noise[:, None], own.shape[1], axis=1))


def hidden(influence: Influence, limits: Limits) -> Influence:
    """Return an influence that tells no more of a record than `max_told`. Raises MaskingError."""
    most = limits.max_told
    over = 0 if most is None else int(np.count_nonzero(influence.told > most))
    if over:
        records = "1 record" if over == 1 else f"{over:,} records"
        raise MaskingError(
            f"Of {records} the masked values would tell {influence.told.max():.2g} of what S leaves"
            f" unknown, more than max_told, {most:g}.",
            where="max_told",
            remedy="Merge rare categories, cut outlying numbers off, leave those records out or"
            " mask more of their kind.",
        )
    return influence
