"""Any matrix, given row by row, and Ma's small asymmetric schemes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Len

from pramana_core.channels.base import (
    CATEGORIES,
    RESOLUTION,
    ListedTransition,
    Probability,
    Tensor,
    Transition,
    Units,
    UnitTransition,
    lump,
)
from pramana_core.errors import ChannelError, NotStochastic, OptionError

_ROW_SUM_TOLERANCE = 1e-9

_Few = Len(2, CATEGORIES)

_PRODUCT_DIGITS = 12
"""Products of matrices are exact to so many digits on every processor."""


@dataclass(frozen=True)
class Dense(ListedTransition, UnitTransition):
    """Any K x L channel, given row by row as integers over 2^32.

    Args:
        rows: K rows of L integers, each of which sums to 2^32.

    Raises:
        ChannelError: rows of different lengths, or fewer than two categories on a side.
        NotStochastic: a negative entry, or a row that does not sum to `RESOLUTION`.

    Examples:
        >>> import pramana as pm
        >>> pm.Dense.from_probabilities([[0.75, 0.25], [0.5, 0.5]]).matrix().tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """

    family = "dense"
    rows: Annotated[tuple[Annotated[tuple[Probability, ...], _Few], ...], _Few]

    def __post_init__(self) -> None:
        _require_rectangular(self.rows)
        for index, row in enumerate(self.rows):
            if min(row) < 0 or sum(row) != RESOLUTION:
                raise NotStochastic(
                    f"Row {index} of the transition matrix is not a probability distribution over"
                    f" 2^32: its sum is {sum(row)} and its smallest entry {min(row)}.",
                    where=f"row {index}",
                )

    @classmethod
    def from_probabilities(cls, rows: Sequence[Sequence[float]]) -> Dense:
        """Build from probabilities, rounding each row to multiples of 2^-32 that sum to 1.

        Raises:
            NotStochastic: a negative probability, or a row whose sum is not 1 within 1e-9.
            ChannelError: the rows are not a matrix, or a positive probability is below 2^-33.
        """
        _require_rectangular(rows)
        return cls(tuple(_quantize_row(row, index) for index, row in enumerate(rows)))

    @classmethod
    def binary(cls, p1: float, p2: float) -> Dense:
        """Build Ma's binary randomization (figure 2.1a).

        `p1` is the probability that the first category is reported as the second and `p2` that
        the second is reported as the first.
        """
        return cls.from_probabilities([[1 - p1, p1], [p2, 1 - p2]])

    @classmethod
    def ternary(cls, p1: float, p2: float) -> Dense:
        """Build Ma's ternary symmetric randomization (figure 2.1b).

        Each category moves to the next with probability `p1` and to the one after with `p2`.
        """
        keep = 1 - p1 - p2
        return cls.from_probabilities([[keep, p1, p2], [p2, keep, p1], [p1, p2, keep]])

    @classmethod
    def from_units(cls, units: Units) -> Dense:
        """Build from a matrix of integers over `RESOLUTION`."""
        return cls(tuple(tuple(int(u) for u in row) for row in units))

    @classmethod
    def invariant(cls, channel: Transition, prior: Sequence[float]) -> Dense:
        """Build a channel that leaves a prior as it is: reports are distributed like the truth.

        The channel is applied, and each report replaced by a truth drawn from its posterior under
        the prior: R[k, l] = sum_m P[k, m] prior_l P[l, m] / (P' prior)_m. Then prior R = prior, up
        to the rounding to 2^-32. The prior is published by the matrix, so it must be one that may
        be known, not the table's own counts.

        Args:
            channel: any K x L channel.
            prior: a probability for each of the K categories.

        Raises:
            OptionError: the prior is not a distribution over the K categories.
        """
        weights = require_prior(prior, channel.shape[0])
        matrix = channel.matrix()
        reported = weights @ matrix
        back = np.divide(
            (weights[:, None] * matrix).T,
            reported[:, None],
            out=np.zeros(matrix.T.shape),
            where=reported[:, None] > 0,
        )
        # A report that the prior makes impossible is left as it is: the truth behind it is, too.
        for index in np.flatnonzero(reported == 0):
            back[index, np.argmax(matrix[:, index])] = 1.0
        return cls.from_probabilities(np.round(matrix @ back, _PRODUCT_DIGITS).tolist())

    @cached_property
    def _units(self) -> Units:
        return np.array(self.rows, dtype=np.int64)

    @cached_property
    def _matrix(self) -> Tensor:
        return self._units / RESOLUTION

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows[0])

    def units(self) -> Units:
        return self._units.copy()

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition | None:
        if all(kept):
            return self
        lumped = lump(self._units, sizes, kept)
        return None if lumped is None else Dense.from_units(lumped)

    def describe(self) -> str:
        return f"matrix {self.shape[0]} x {self.shape[1]}"


def require_prior(prior: Sequence[float], size: int) -> Tensor:
    """Return a prior as an array. Raises OptionError unless it is a distribution over `size`."""
    weights = np.asarray(prior, dtype=np.float64)
    total = float(weights.sum())
    if (
        weights.shape != (size,)
        or not np.all(np.isfinite(weights))
        or weights.min() < 0
        or abs(total - 1) > _ROW_SUM_TOLERANCE
    ):
        raise OptionError(
            f"A prior has a probability for each of the {size} categories, none negative, that sum"
            f" to 1; this one has {weights.size} that sum to {total:.9g}.",
            where="prior",
        )
    return weights


def _require_rectangular(rows: Sequence[Sequence[float]]) -> None:
    lengths = {len(row) for row in rows}
    if len(rows) < 2 or len(lengths) != 1 or min(lengths) < 2:
        raise ChannelError(
            f"A transition matrix has two or more rows of one length of two or more; this one has"
            f" {len(rows)} rows of lengths {sorted(lengths)}."
        )


def _quantize_row(row: Sequence[float], index: int) -> tuple[int, ...]:
    """Round a row to integers over 2^32 with the largest-remainder method (sum kept exactly)."""
    values = np.asarray(row, dtype=np.float64)
    total = float(values.sum())
    if not np.all(np.isfinite(values)) or values.min() < 0:
        raise NotStochastic(
            f"Row {index} of the transition matrix has a probability of {float(values.min()):.6g}.",
            where=f"row {index}",
            remedy="Probabilities lie between 0 and 1.",
        )
    if abs(total - 1) > _ROW_SUM_TOLERANCE:
        raise NotStochastic(
            f"Row {index} of the transition matrix sums to {total:.9g}, not 1; a row lists the"
            " probabilities of all reports of one true category.",
            where=f"row {index}",
        )
    scaled = values / total * RESOLUTION
    if bool(np.any((values > 0) & (scaled < 0.5))):
        raise ChannelError(
            f"Row {index} of the transition matrix has a probability below 2^-33, which cannot be"
            " published.",
            where=f"row {index}",
            remedy="Make it 0 or larger.",
        )
    units = np.floor(scaled).astype(np.int64)
    units[(values > 0) & (units == 0)] = 1
    missing = RESOLUTION - int(units.sum())
    if missing > 0:
        units[np.argsort(units - scaled, kind="stable")[:missing]] += 1
    else:
        units[int(np.argmax(units))] += missing
    return tuple(int(u) for u in units)
