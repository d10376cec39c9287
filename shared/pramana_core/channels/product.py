"""Independent channels side by side: what several owners report of one record, as one channel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le, Len

from pramana_core.channels.base import Tensor, Transition
from pramana_core.channels.parameters import VARIABLES
from pramana_core.errors import ChannelError

_NAMED = 2
"""So many channels are described one by one."""

_Width = Annotated[int, Ge(1), Le(VARIABLES)]


@dataclass(frozen=True)
class Product(Transition):
    """Consecutive variables by channels that draw independently: each acts on its own ones.

    `widths` says how many variables each channel takes, in the order of the product. Gammas of
    the channels multiply (Ma 7.1.3).

    Raises:
        ChannelError: not one width for each channel.
    """

    family = "product"
    widths: Annotated[tuple[_Width, ...], Len(1, VARIABLES)]
    channels: Annotated[tuple[Transition, ...], Len(1, VARIABLES)]

    def __post_init__(self) -> None:
        if len(self.widths) != len(self.channels) or not self.channels:
            raise ChannelError(
                f"A product of channels needs a width for each: there are {len(self.channels)}"
                f" channels and {len(self.widths)} widths."
            )

    @property
    def shape(self) -> tuple[int, int]:
        return (
            math.prod(c.shape[0] for c in self.channels),
            math.prod(c.shape[1] for c in self.channels),
        )

    def report_sizes(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        parts = self._split(sizes)
        if parts is None:
            return None
        found: list[int] = []
        for channel, part in zip(self.channels, parts, strict=True):
            reported = channel.report_sizes(part)
            if reported is None:
                return None
            found += reported
        return tuple(found)

    def _split(self, sizes: Sequence[int]) -> list[tuple[int, ...]] | None:
        """Return each channel's part of the variables' sizes; None if they do not fit."""
        if sum(self.widths) != len(sizes):
            return None
        ends = np.cumsum(self.widths)
        parts = [tuple(sizes[e - w : e]) for e, w in zip(ends, self.widths, strict=True)]
        fits = all(math.prod(p) == c.shape[0] for p, c in zip(parts, self.channels, strict=True))
        return parts if fits else None

    def _along(self, turn: str, tensor: Tensor, axis: int, given: int, power: int = 0) -> Tensor:
        """Split the axis by channels (true or reported sizes), turn each part, and join them."""
        moved = np.moveaxis(tensor, axis, 0)
        rest = moved.shape[1:]
        made = moved.reshape(*(c.shape[given] for c in self.channels), *rest)
        for place, channel in enumerate(self.channels):
            method = getattr(channel, turn)
            made = method(made, place, power) if power else method(made, place)
        return np.moveaxis(made.reshape(-1, *rest), 0, axis)

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        return self._along("apply", tensor, axis, 0)

    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return self._along("apply_adjoint", tensor, axis, 1)

    def solve(self, tensor: Tensor, axis: int) -> Tensor:
        return self._along("solve", tensor, axis, 1)

    def solve_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        return self._along("solve_adjoint", tensor, axis, 0)

    def solve_power(self, tensor: Tensor, axis: int, power: int) -> Tensor:
        return self._along("solve_power", tensor, axis, 1, power)

    def own_moment(self, power: int) -> Tensor:
        made = np.ones(1)
        for channel in self.channels:
            made = np.multiply.outer(made, channel.own_moment(power)).ravel()
        return made

    @cached_property
    def condition_number(self) -> float:
        return math.prod(c.condition_number for c in self.channels)

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition | None:
        parts = self._split(sizes)
        if parts is None:
            return None
        ends = np.cumsum(self.widths)
        widths: list[int] = []
        channels: list[Transition] = []
        for end, width, part, channel in zip(ends, self.widths, parts, self.channels, strict=True):
            inside = [bool(k) for k in kept[end - width : end]]
            if not any(inside):
                continue
            left = channel if all(inside) else channel.restrict(part, inside)
            if left is None:
                return None
            widths.append(sum(inside))
            channels.append(left)
        return channels[0] if len(channels) == 1 else Product(tuple(widths), tuple(channels))

    @property
    def is_identity(self) -> bool:
        return all(c.is_identity for c in self.channels)

    @property
    def deterministic(self) -> bool:
        return all(c.deterministic for c in self.channels)

    @property
    def normalized(self) -> bool:
        return all(c.normalized for c in self.channels)

    @property
    def listed_rows(self) -> int:
        return max(c.listed_rows for c in self.channels)

    def can_occur(self) -> npt.NDArray[np.bool_]:
        possible = np.ones(1, dtype=np.bool_)
        for channel in self.channels:
            possible = np.logical_and.outer(possible, channel.can_occur()).ravel()
        return possible

    def share_reported(self, axis: int) -> float:
        for width, channel in zip(self.widths, self.channels, strict=True):
            if axis < width:
                return channel.share_reported(axis)
            axis -= width
        raise ChannelError(f"A product over {sum(self.widths)} variables has no more of them.")

    def describe(self) -> str:
        if len(self.channels) > _NAMED:
            return f"{len(self.channels)} independent channels"
        return " x ".join(c.describe() for c in self.channels)
