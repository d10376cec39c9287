"""The influence of records on their own masked values: the weight of the true value, and the noise.

Noise must be orthogonal to some directions. A record that dominates such a direction has less noise
than other records, and its weight alone does not show that.
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
"""Records that reveal a larger share are reported. Minus the prediction from S, their masked and
true values have a correlation of more than a half."""


HEAVY = (((4 - 3 * EXPOSED) * EXPOSED) ** 0.5 - EXPOSED) / (2 * (1 - EXPOSED))
"""A record with a larger weight w is exposed by its weight alone, as its noise is 1 - w. With a
lower weight, a record is exposed if other columns, such as X, reduce its noise."""

_ALONE = (
    ("stands nearly alone in S", "stand nearly alone in S"),
    ", merge rare categories or lower max_leverage",
)
_SPARED = (("has little noise", "have little noise"), " or cut outlying numbers off")


@dataclass(frozen=True, eq=False)
class Influence:
    """The influence of each record on its own masked values; it stays with the owner.

    `weights`, n x q, says by how much a masked value changes per unit of the true value. `noises`,
    n x q, has the standard deviation of the noise, in standard deviations of the residuals given S.
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
        """The index of the column of X that each record's masked values reveal most."""
        return first_largest_of_rows(self._revealed)

    @property
    def told(self) -> Floats:
        """The share of a record's variance given S that its masked value reveals, n numbers.

        It is w^2 / (w^2 + s^2), with weight w and noise s. This is the R^2 reached by a reader
        who knows all other records and E(X|S).
        """
        return self._of(self._revealed)

    @property
    def own(self) -> Floats:
        """The weight of each record in its most revealed column, n numbers."""
        return self._of(self.weights)

    @property
    def noise(self) -> Floats:
        """The noise of each record in its most revealed column, n numbers."""
        return self._of(self.noises)

    @property
    def exposed(self) -> npt.NDArray[np.bool_]:
        """Whether each record must be reported to the custodian, n truth values."""
        found: npt.NDArray[np.bool_] = self.told > EXPOSED
        return found

    @property
    def stated(self) -> float:
        """The largest weight, in any column, among the records that need not be reported."""
        return float(np.max(self.weights[~self.exposed], initial=0.0))

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """The indices of the records, those that reveal most first."""
        return np.array(descending(self.told, scale=1.0), dtype=np.intp)

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """Cautions about records to report, because of a large weight or little noise."""
        much = self.exposed & (self.own > HEAVY)
        little = self.exposed & ~much
        return tuple(
            Caution(self._sentence(named, why), Gravity.GRAVE)
            for named, why in ((much, _ALONE), (little, _SPARED))
            if named.any()
        )

    def _sentence(self, named: npt.NDArray[np.bool_], why: tuple[tuple[str, str], str]) -> str:
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
    """Return the influence of each record on its own Y, which is a prediction plus noise.

    `weights` are n x q or n numbers. If the noise is orthogonal to a basis of k columns, a record
    of leverage h has n / (n - k) (1 - h) of the residual variance given S.
    """
    own = np.repeat(weights[:, None], columns, axis=1) if weights.ndim == 1 else weights
    noise = np.ones(len(own))
    if basis is not None:
        free = np.maximum(1 - leverages(basis), 0.0)
        noise = np.sqrt(free * len(basis) / max(1, len(basis) - basis.shape[1]))
    return Influence(own, np.repeat(noise[:, None], own.shape[1], axis=1))


def hidden(influence: Influence, limits: Limits) -> Influence:
    """Return the influence, if no record reveals more than `max_told`. Raises MaskingError."""
    most = limits.max_told
    over = 0 if most is None else int(np.count_nonzero(influence.told > most))
    if over:
        records = "1 record" if over == 1 else f"{over:,} records"
        raise MaskingError(
            f"The masked values of {records} would reveal up to a share"
            f" {influence.told.max():.2g} of the variance that S does not explain; max_told"
            f" allows {most:g}.",
            where="max_told",
            remedy="Merge rare categories, cut outlying numbers off, remove those records or"
            " mask more records like them.",
        )
    return influence
