"""Each record's part in its own masked value: the weight of the true value, and the noise on it.

Noise must be orthogonal to some directions. A record that dominates such a direction has less noise
than others, which its weight alone does not show.
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
"""Records that reveal a larger share are reported: their masked and true values, both minus the
prediction from S, then correlate by more than a half."""


HEAVY = (((4 - 3 * EXPOSED) * EXPOSED) ** 0.5 - EXPOSED) / (2 * (1 - EXPOSED))
"""Above this leverage w, a record is exposed by its weight alone, with the noise 1 - w that it
leaves. Records of less weight are exposed because other columns, such as X, take noise away."""

_ALONE = (
    ("stands nearly alone in S", "stand nearly alone in S"),
    ", merge rare categories or lower max_leverage",
)
_SPARED = (("has little noise", "have little noise"), " or cut outlying numbers off")


@dataclass(frozen=True, eq=False)
class Influence:
    """Each record's part in its own masked values; it stays with the owner.

    `weights` are the moves of masked values per unit of true ones; `noises` the standard deviations
    of the noise, in standard deviations of the residuals given S: n x q each.
    """

    weights: Floats = field(repr=False)
    noises: Floats = field(repr=False)

    @cached_property
    def _revealed(self) -> Floats:
        own = self.weights**2
        found: Floats = own / np.maximum(own + self.noises**2, np.finfo(float).tiny)
        return found

    @cached_property
    def columns(self) -> npt.NDArray[np.intp]:
        """The index of the most revealed column of X for each record: n numbers."""
        return first_largest_of_rows(self._revealed)

    @property
    def told(self) -> Floats:
        """The share of a record's variance given S that its masked value reveals: n numbers.

        w^2 / (w^2 + s^2), with weight w and noise s: the R^2 of a reader who knows all other
        records and E(X|S).
        """
        return self._of(self._revealed)

    @property
    def own(self) -> Floats:
        """The weights in the most revealed columns: n numbers."""
        return self._of(self.weights)

    @property
    def noise(self) -> Floats:
        """The noise in the most revealed columns: n numbers."""
        return self._of(self.noises)

    @property
    def exposed(self) -> npt.NDArray[np.bool_]:
        """A mask of the records to report: n truth values."""
        found: npt.NDArray[np.bool_] = self.told > EXPOSED
        return found

    @property
    def stated(self) -> float:
        """The largest weight, in any column, of the records that are not reported."""
        return float(np.max(self.weights[~self.exposed], initial=0.0))

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """The indices of the records, the most revealed first."""
        return np.array(descending(self.told, scale=1.0), dtype=np.intp)

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """Sentences on the records to report: those of large weight, and those of little noise."""
        much = self.exposed & (self.own > HEAVY)
        little = self.exposed & ~much
        return tuple(
            Caution(self._sentence(named, why), Gravity.GRAVE)
            for named, why in ((much, _ALONE), (little, _SPARED))
            if named.any()
        )

    def _sentence(self, named: npt.NDArray[np.bool_], why: tuple[tuple[str, str], str]) -> str:
        """Return a sentence on records: the weight of their own values, and their noise."""
        count, (stands, instead) = int(np.count_nonzero(named)), why
        own, noise = float(self.own[named].max()), float(self.noise[named].min())
        if count == 1:
            return (
                f"1 record {stands[0]}: its masked value moves by {own:.0%} of a change in its true"
                f" value, with {noise:.0%} of the usual noise. Remove the record"
                f"{instead}."
            )
        return (
            f"{count:,} records {stands[1]}: their masked values move by as much as {own:.0%} of a"
            f" change in their true values, with as little as {noise:.0%} of the usual noise."
            f" Remove the records{instead}."
        )

    def _of(self, values: Floats) -> Floats:
        found: Floats = np.take_along_axis(values, self.columns[:, None], axis=1)[:, 0]
        return found


def influence_of(weights: Floats, basis: Floats | None = None, *, columns: int = 1) -> Influence:
    """Return each record's part in its own Y, a prediction plus noise; weights are n x q or n.

    Noise orthogonal to a basis of k columns has, for a record of leverage h, n / (n - k) times 1 -
    h of the residual variance given S.
    """
    own = np.repeat(weights[:, None], columns, axis=1) if weights.ndim == 1 else weights
    noise = np.ones(len(own))
    if basis is not None:
        free = np.maximum(1 - leverages(basis), 0.0)
        noise = np.sqrt(free * len(basis) / max(1, len(basis) - basis.shape[1]))
    return Influence(own, np.repeat(noise[:, None], own.shape[1], axis=1))


def hidden(influence: Influence, limits: Limits) -> Influence:
    """Return the influence if no record reveals more than `max_told`. Raises MaskingError."""
    most = limits.max_told
    over = 0 if most is None else int(np.count_nonzero(influence.told > most))
    if over:
        records = "1 record" if over == 1 else f"{over:,} records"
        raise MaskingError(
            f"The masked values of {records} would reveal up to {influence.told.max():.2g} of the"
            f" variance that S leaves; max_told allows {most:g}.",
            where="max_told",
            remedy="Merge rare categories, cut outlying numbers off, remove those records or"
            " mask more records like them.",
        )
    return influence
