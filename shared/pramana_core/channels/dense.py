"""Matrices listed row by row, and groups of categories with a matrix for each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Annotated

import numpy as np
from annotated_types import Len

from pramana_core.channels.base import (
    RESOLUTION,
    Code,
    ComposedTransition,
    ListedTransition,
    Probability,
    Tensor,
    Transition,
    Units,
    UnitTransition,
    condition_number,
    lump,
)
from pramana_core.channels.symmetric import Identity, Symmetric
from pramana_core.domain import CATEGORIES
from pramana_core.errors import ChannelError

_ROW_SUM_TOLERANCE = 1e-9

_Few = Len(2, CATEGORIES)


@dataclass(frozen=True)
class Dense(ListedTransition, UnitTransition):
    """Any K x L channel, listed row by row as integers that are divided by 2^32.

    Args:
        rows: K rows of L integers; each row sums to 2^32.

    Raises:
        ChannelError: rows differ in length, or there are fewer than two rows or columns.
        ChannelError: an entry is negative, or a row does not sum to `RESOLUTION`.

    Examples:
        >>> import pramana as pm
        >>> pm.Dense.from_probabilities([[0.75, 0.25], [0.5, 0.5]]).matrix().tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """

    family = "dense"
    rows: Annotated[tuple[Annotated[tuple[Probability, ...], _Few], ...], _Few]

    def __post_init__(self) -> None:
        if not _is_lists(self.rows):
            raise ChannelError(f"rows must be a list of rows of whole numbers, not {self.rows!r}.")
        _require_rectangular(self.rows)
        for index, row in enumerate(self.rows):
            if min(row) < 0 or sum(row) != RESOLUTION:
                raise ChannelError(
                    f"Row {index} of the transition matrix, divided by 2^32, is not a probability"
                    f" distribution: its sum is {sum(row)} and its smallest entry {min(row)}.",
                    where=f"row {index}",
                )

    @classmethod
    def from_probabilities(cls, rows: Sequence[Sequence[float]]) -> Dense:
        """Build the channel from probabilities; each row becomes multiples of 2^-32 that sum to 1.

        Raises:
            ChannelError: a probability is negative, or a row does not sum to 1 within 1e-9.
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

        Each category is reported as the next with probability `p1`, as the one after with `p2`.
        """
        keep = 1 - p1 - p2
        return cls.from_probabilities([[keep, p1, p2], [p2, keep, p1], [p1, p2, keep]])

    @classmethod
    def from_units(cls, units: Units) -> Dense:
        """Build the channel from a K x L matrix of integers that are divided by `RESOLUTION`."""
        return cls(tuple(tuple(int(u) for u in row) for row in units))

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


def _is_lists(given: object) -> bool:
    return isinstance(given, Sequence) and all(
        isinstance(row, Sequence) and all(issubclass(kind, Real) for kind in set(map(type, row)))
        for row in given
    )


def _require_rectangular(rows: Sequence[Sequence[float]]) -> None:
    lengths = {len(row) for row in rows}
    if len(rows) < 2 or len(lengths) != 1 or min(lengths) < 2:
        raise ChannelError(
            "A transition matrix needs two or more rows of equal length, which is at least two;"
            f" this one has {len(rows)} rows of lengths {sorted(lengths)}."
        )


def _quantize_row(row: Sequence[float], index: int) -> tuple[int, ...]:
    """Round probabilities times 2^32 by the largest-remainder method, so that the sum is exact."""
    values = np.asarray(row, dtype=np.float64)
    total = float(values.sum())
    if not np.all(np.isfinite(values)) or values.min() < 0:
        raise ChannelError(
            f"Row {index} of the transition matrix has a probability of {float(values.min()):.6g}.",
            where=f"row {index}",
            remedy="Give probabilities between 0 and 1.",
        )
    if abs(total - 1) > _ROW_SUM_TOLERANCE:
        raise ChannelError(
            f"Row {index} of the transition matrix sums to {total:.9g}, not 1; a row lists the"
            " probabilities of all reports for one true category.",
            where=f"row {index}",
        )
    scaled = values / total * RESOLUTION
    if bool(np.any((values > 0) & (scaled < 0.5))):
        raise ChannelError(
            f"Row {index} of the transition matrix has a probability below 2^-33, which cannot be"
            " published as a multiple of 2^-32.",
            where=f"row {index}",
            remedy="Set it to 0 or raise it.",
        )
    units = np.floor(scaled).astype(np.int64)
    units[(values > 0) & (units == 0)] = 1
    missing = RESOLUTION - int(units.sum())
    if missing > 0:
        units[np.argsort(units - scaled, kind="stable")[:missing]] += 1
    else:
        units[int(np.argmax(units))] += missing
    return tuple(int(u) for u in units)


@dataclass(frozen=True)
class Grouped(ComposedTransition, UnitTransition):
    """Categories in groups; a category is replaced only by a category of its own group (Ma 2.2).

    P is block diagonal: `channels[g]` acts on the categories `groups[g]`, in that order. The group
    is reported truthfully. A group with one category has the channel None.

    Args:
        groups: the codes of each group's categories.
        channels: the channel of each group.

    Raises:
        ChannelError: the groups overlap, miss a category, or do not fit their channels.

    Examples:
        >>> import pramana as pm
        >>> pm.Grouped.from_probability([[0, 2], [1, 3]], 0.1).matrix().round(2).tolist()[0]
        [0.9, 0.0, 0.1, 0.0]
    """

    family = "grouped"
    groups: tuple[tuple[Code, ...], ...]
    channels: tuple[UnitTransition | None, ...]

    def __post_init__(self) -> None:
        if not _is_lists(self.groups) or not isinstance(self.channels, Sequence):
            raise ChannelError("groups must be a list of lists of codes, and channels a list.")
        members = [code for group in self.groups for code in group]
        seen = Counter(members)
        wrong = [code for code in range(len(members)) if seen[code] != 1]
        if wrong or len(members) < 2:
            raise ChannelError(
                "Groups must contain each of two or more categories exactly once"
                + (f"; check code {wrong[0]!r}." if wrong else "."),
            )
        if len(self.groups) != len(self.channels):
            raise ChannelError(
                f"There are {len(self.groups)} groups and {len(self.channels)} channels; each group"
                " needs one channel, or None."
            )
        for index, (group, channel) in enumerate(zip(self.groups, self.channels, strict=True)):
            _require_simple(channel)
            size = 1 if channel is None else channel.shape[0]
            if len(group) != size or (channel is not None and channel.shape != (size, size)):
                raise ChannelError(
                    f"Group {index} has {len(group)} categories, but its channel has another size.",
                    where=f"group {index}",
                )

    @classmethod
    def alike(
        cls, groups: Sequence[Sequence[int]], make: Callable[[int], UnitTransition]
    ) -> Grouped:
        """Build groups with `make(size)` as the channel of each group of two or more categories."""
        given: object = groups
        listed = isinstance(given, Sequence) and all(isinstance(g, Sequence) for g in given)
        if not listed or not all(isinstance(code, Integral) for g in groups for code in g):
            raise ChannelError(
                f"groups must be lists of codes, such as [[0, 2], [1, 3]], not {groups!r}."
            )
        return cls(
            tuple(tuple(group) for group in groups),
            tuple(make(len(group)) if len(group) > 1 else None for group in groups),
        )

    @classmethod
    def from_probability(cls, groups: Sequence[Sequence[int]], p: float) -> Grouped:
        """Build groups with Ma's multi-category randomization: replace with probability `p`."""
        return cls.alike(groups, lambda size: Symmetric.from_probability(size, p))

    @property
    def _parts(self) -> Sequence[tuple[tuple[int, ...], UnitTransition]]:
        pairs = zip(self.groups, self.channels, strict=True)
        return [(group, channel) for group, channel in pairs if channel is not None]

    def units(self) -> Units:
        full = np.eye(self.shape[0], dtype=np.int64) * RESOLUTION
        for group, channel in self._parts:
            full[np.ix_(group, group)] = channel.units()
        return full

    def _act(self, turn: str, tensor: Tensor, axis: int) -> Tensor:
        source = np.moveaxis(tensor, axis, 0)
        result = source.astype(np.float64)
        for group, channel in self._parts:
            result[list(group)] = getattr(channel, turn)(source[list(group)], 0)
        return np.moveaxis(result, 0, axis)

    @property
    def condition_number(self) -> float:
        if all(channel.mixture for _, channel in self._parts):
            # Normal blocks: each symmetric channel contributes one singular value besides 1.
            return max((channel.condition_number for _, channel in self._parts), default=1.0)
        return self._listed_condition_number

    @cached_property
    def _listed_condition_number(self) -> float:
        return condition_number(self.matrix())

    @property
    def is_identity(self) -> bool:
        return all(channel.is_identity for _, channel in self._parts)

    @property
    def deterministic(self) -> bool:
        return all(channel.deterministic for _, channel in self._parts)

    @property
    def shape(self) -> tuple[int, int]:
        size = sum(len(group) for group in self.groups)
        return size, size

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition | None:
        if all(kept):
            return self
        self._require_listable()
        lumped = lump(self.units(), sizes, kept)
        return None if lumped is None else Dense.from_units(lumped)

    def describe(self) -> str:
        return f"grouped in {len(self.groups)}"


PARTS = (Identity, Symmetric, Dense, Grouped)
"""The families that a part of a grouped channel may have."""


def _require_simple(channel: UnitTransition | None) -> None:
    """Check that a part has one of the families in `PARTS`. Raises ChannelError."""
    if channel is not None and type(channel) not in PARTS:
        raise ChannelError(
            f"A part of a channel cannot be of type {type(channel).__name__}.",
            remedy="Use a symmetric channel, a matrix, or a grouped channel.",
        )
