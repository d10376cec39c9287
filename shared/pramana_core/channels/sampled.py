"""Sampled blocks: each record reports one of several subsets of its variables.

The draw of the subset does not depend on the data, so a report reveals only what the subset's
channel reveals. The amplification of the whole record is therefore the largest amplification of any
choice, and each subset may use the whole privacy budget.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Len

from pramana_core.channels.base import (
    CONDITION_LIMIT,
    RESOLUTION,
    Choice,
    DecodedTransition,
    Sizes,
    Tensor,
    Transition,
    Units,
    condition_number,
    left_inverse,
    require_sizes,
)
from pramana_core.channels.symmetric import Withheld
from pramana_core.errors import ChannelError, LimitExceeded, SingularChannel

CHOICES = 1 << 16
"""The maximum number of choices of a sampled channel, such as all pairs of 362 variables. A plan
with this many choices has a few megabytes and takes a second or two to read and check.
"""

CONDITION_ENTRIES = 1 << 23
"""The maximum number of entries of a matrix that is listed for its condition number."""

APPLIED_ENTRIES = 1 << 28
"""The maximum number of entries of a tensor over all reports (two gigabytes)."""


_RESTRICTED = 64
"""The maximum number of restrictions of a channel that are cached."""


@dataclass(frozen=True)
class _Part:
    """The choices of one set of variables; a report does not show which of them was used."""

    choices: tuple[Choice, ...]

    @cached_property
    def _mixture(self) -> tuple[float, float] | None:
        """(a, b) if the choices together act as a I + b 11', which is faster than each in turn."""
        shares = [choice.channel.mixture for choice in self.choices]
        weights = [choice.weight / RESOLUTION for choice in self.choices]
        if len(shares) == 1 or None in shares:
            return None
        known = np.array(weights) @ np.array(shares)
        return float(known[0]), float(known[1])

    def act(self, turn: str, tensor: Tensor) -> Tensor:
        """Return P' x ("apply") or P x ("apply_adjoint") on axis 0; P is the sum over choices."""
        if self._mixture is not None:
            a, b = self._mixture
            mixed: Tensor = a * tensor + b * tensor.sum(axis=0)
            return mixed
        made = np.zeros(1)
        for choice in self.choices:
            made = made + getattr(choice.channel, turn)(tensor, 0) * (choice.weight / RESOLUTION)
        return made


@dataclass(frozen=True)
class Sampled(DecodedTransition):
    """Reports a choice of variables, with probability `weight` / 2^32, and withholds the others.

    A variable of K categories has K + 1 reported codes; the last means "withheld". If the weights
    sum to less than 1, some records report nothing.

    The channel of a choice may be a `SubsetSelection`, with reports j K + y. The code of the
    choice's first variable is then (j + 1)(K + 1) plus that variable's category in y; the other
    variables report their categories in y.

    The product of the variables may have any size: 100 variables of ten categories have 10^100
    combinations. Methods that work by choice take time proportional to the number of choices.
    Methods that would list the product raise LimitExceeded.

    Args:
        sizes: the number of categories of each variable.
        choices: the subsets with their weights and channels.

    Raises:
        ChannelError: a choice has no variables or unsorted ones, or its channel does not fit.
        ChannelError: a weight is negative, or the weights sum to more than 1.

    Examples:
        >>> import pramana as pm
        >>> domain = pm.Domain.of(age=["child", "adult"], sex=["f", "m"])
        >>> either = {("age", "sex"): {"kind": "sampled", "size": 1, "gamma": 9}}
        >>> pm.plan(domain, either).blocks[0].channel.describe()
        'one of 2 parts sampled'
    """

    family = "sampled"
    sizes: Sizes
    # With `field()`, because the base class has an empty default, which is not valid here.
    choices: Annotated[tuple[Choice, ...], Len(1, CHOICES)] = field()

    def __post_init__(self) -> None:
        require_sizes(self.sizes)
        choices: object = self.choices
        if not isinstance(choices, Sequence) or not all(isinstance(c, Choice) for c in choices):
            raise ChannelError(f"choices must be a list of Choice, not {choices!r}.")
        if len(self.choices) > CHOICES:
            raise ChannelError(
                f"A sampled channel has at most {CHOICES} choices, not {len(self.choices)}.",
                remedy="Name fewer subsets of the variables.",
            )
        if not self.choices or not self.sizes or min(self.sizes) < 2:
            raise ChannelError("A sampled channel needs variables and at least one choice of them.")
        fitting: set[tuple[int, tuple[int, ...]]] = set()
        tagged: dict[tuple[int, ...], Transition] = {}
        for index, choice in enumerate(self.choices):
            self._require_fitting(index, choice, fitting)
            channel = choice.channel
            if channel.tags and tagged.setdefault(choice.axes, channel) != channel:
                raise ChannelError(
                    f"Choice {index} reports subsets by another channel than an earlier choice of"
                    " the same variables.",
                    where=f"choice {index}",
                    remedy="Use one subset channel for each set of variables.",
                )
        weights = [choice.weight for choice in self.choices]
        if min(weights) < 1 or sum(weights) > RESOLUTION:
            raise ChannelError(
                "The probabilities of the choices must be positive and sum to at most 1; they sum"
                f" to {sum(weights) / RESOLUTION:.9g}.",
                remedy="Give positive weights that sum to 1.",
            )

    def _require_fitting(
        self, index: int, choice: Choice, fitting: set[tuple[int, tuple[int, ...]]]
    ) -> None:
        """Check a choice. `fitting` caches the sizes of channels checked before, by identity."""
        axes = choice.axes
        inside = bool(axes) and list(axes) == sorted(set(axes)) and axes[0] >= 0
        if not inside or axes[-1] >= len(self.sizes):
            raise ChannelError(
                f"Choice {index} lists the variables {list(axes)}; it must list one or more of the"
                f" {len(self.sizes)} variables in ascending order.",
                where=f"choice {index}",
            )
        sizes = self._sizes_of(choice)
        if (id(choice.channel), sizes) in fitting:
            return
        if not choice.channel.fits_set(sizes):
            raise ChannelError(
                f"The channel of choice {index} is {choice.channel.shape[0]} x"
                f" {choice.channel.shape[1]}; its variables have {math.prod(sizes)} combinations"
                " and need the same number of reports.",
                where=f"choice {index}",
            )
        fitting.add((id(choice.channel), sizes))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Hashing thousands of choices takes milliseconds and is requested repeatedly.
        return hash(tuple(getattr(self, declared.name) for declared in fields(self)))

    def _sizes_of(self, choice: Choice) -> tuple[int, ...]:
        return tuple(self.sizes[axis] for axis in choice.axes)

    @cached_property
    def _reports(self) -> tuple[int, ...]:
        tags = [0] * len(self.sizes)
        for choice in self.choices:
            tags[choice.axes[0]] = max(tags[choice.axes[0]], choice.channel.tags)
        return tuple((tag + 1) * (size + 1) for tag, size in zip(tags, self.sizes, strict=True))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return math.prod(self.sizes), math.prod(self._reports)

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        by_axes: dict[object, list[Choice]] = {}
        for choice in self.choices:
            by_axes.setdefault((choice.axes, choice.channel.tags), []).append(choice)
        return tuple(_Part(tuple(alike)) for alike in by_axes.values())

    @cached_property
    def _holding(self) -> tuple[tuple[int, ...], ...]:
        holding: list[list[int]] = [[] for _ in self.sizes]
        for index, choice in enumerate(self.choices):
            for axis in choice.axes:
                holding[axis].append(index)
        return tuple(map(tuple, holding))

    @cached_property
    def _choices_with(self) -> tuple[frozenset[int], ...]:
        return tuple(map(frozenset, self._holding))

    def reports_together(self, axes: Collection[int]) -> bool:
        # Learners of a wide table call this for thousands of pairs.
        indices = [self._choices_with[axis] for axis in axes]
        return not indices or bool(frozenset.intersection(*indices))

    def _require_listed(self, entries: int) -> None:
        if entries > APPLIED_ENTRIES:
            raise LimitExceeded(
                f"The combinations of {len(self.sizes)} sampled variables are too many to list.",
                remedy="Request fewer variables, such as those that are reported together.",
            )

    def report_sizes(self, sizes: Sequence[int]) -> tuple[int, ...] | None:
        return self._reports if tuple(sizes) == self.sizes else None

    @cached_property
    def silent(self) -> int:
        """The probability that nothing is reported, times `RESOLUTION`."""
        return RESOLUTION - sum(choice.weight for choice in self.choices)

    def place(self, choice: Choice) -> tuple[slice | Units, ...]:
        """Return the index of a choice's reports in a tensor with one axis per variable."""
        places: list[slice | Units] = [
            slice(0, size) if axis in choice.axes else slice(size, size + 1)
            for axis, size in enumerate(self.sizes)
        ]
        if choice.channel.tags:
            # A tag is added to the code of the set's first variable, above the code of "withheld".
            size = self.sizes[choice.axes[0]]
            starts = (size + 1) * np.arange(1, choice.channel.tags + 1)
            places[choice.axes[0]] = (starts[:, None] + np.arange(size)).ravel()
        return tuple(places)

    def apply(self, tensor: Tensor, axis: int) -> Tensor:
        source = np.moveaxis(tensor, axis, 0)
        rest = source.shape[1:]
        self._require_listed(self.shape[1] * math.prod(rest))
        true = source.reshape(*self.sizes, *rest)
        reported = np.zeros((*self._reports, *rest))
        for part in self._parts:
            first = part.choices[0]
            gone = tuple(i for i in range(len(self.sizes)) if i not in first.axes)
            margin = true.sum(axis=gone).reshape(first.channel.shape[0], *rest)
            made = part.act("apply", margin)
            place = self.place(first)
            reported[place] += made.reshape(reported[place].shape)
        if self.silent:
            # On every axis, index `size` is the code of "withheld".
            reported[self.sizes] += true.sum(axis=tuple(range(len(self.sizes)))) * (
                self.silent / RESOLUTION
            )
        return np.moveaxis(reported.reshape(self.shape[1], *rest), 0, axis)

    def apply_adjoint(self, tensor: Tensor, axis: int) -> Tensor:
        source = np.moveaxis(tensor, axis, 0)
        rest = source.shape[1:]
        self._require_listed(self.shape[1] * math.prod(rest))
        reported = source.reshape(*self._reports, *rest)
        true = np.zeros((*self.sizes, *rest))
        for part in self._parts:
            first = part.choices[0]
            part_reports = reported[self.place(first)].reshape(first.channel.shape[1], *rest)
            spread = [s if i in first.axes else 1 for i, s in enumerate(self.sizes)]
            true += part.act("apply_adjoint", part_reports).reshape(*spread, *rest)
        if self.silent:
            true += reported[self.sizes] * (self.silent / RESOLUTION)
        return np.moveaxis(true.reshape(self.shape[0], *rest), 0, axis)

    @property
    def _identified(self) -> bool:
        return any(len(choice.axes) == len(self.sizes) for choice in self.choices)

    @cached_property
    def _decoder(self) -> Tensor:
        if not self._identified:
            raise SingularChannel(
                f"No record reports all {len(self.sizes)} variables, so their joint counts cannot"
                " be estimated by the moment estimator.",
                remedy="Request variables that are sampled together, or use the estimator"
                " 'pooled'.",
            )
        if self.condition_number > CONDITION_LIMIT:
            raise SingularChannel(
                f"The sampled channel over {self.sizes} is singular (condition number above"
                f" {CONDITION_LIMIT:.0e}): its reports reveal (almost) nothing about some"
                " categories.",
                remedy="Choose channels that reveal more, or use the estimator 'pooled'.",
            )
        return left_inverse(self.matrix())

    @cached_property
    def condition_number(self) -> float:
        if not self._identified:
            return math.inf
        size, reports = self.shape
        if size * reports > CONDITION_ENTRIES:
            raise LimitExceeded(
                f"The condition number of a {size:,} x {reports:,} sampled channel takes too long"
                " to compute.",
                remedy="Sample subsets of fewer variables.",
            )
        return condition_number(self.matrix())

    def restrict(self, sizes: Sequence[int], kept: Sequence[bool]) -> Transition | None:
        if all(kept):
            return self
        places = np.flatnonzero(kept).tolist()
        seen, several = set[int](), set[int]()
        for axis in places:
            several |= seen & self._choices_with[axis]
            seen |= self._choices_with[axis]
        # Each entry has its first choice, because the result keeps the order of the choices.
        found: list[tuple[int, tuple[int, ...], Transition, int]] = []
        for place, axis in enumerate(places):
            for channel, indices, weight in self._alone(axis):
                own = indices - several
                if not own:
                    continue
                if channel is None:
                    return None
                weight -= sum(self.choices[index].weight for index in indices & several)
                found.append((min(own), (place,), channel, weight))
        merged: dict[tuple[tuple[int, ...], Transition], tuple[int, int]] = {}
        made: dict[tuple[object, ...], Transition | None] = {}
        for index in sorted(several):
            choice = self.choices[index]
            channel = self._inside(choice, [bool(kept[axis]) for axis in choice.axes], made)
            if channel is None:
                return None
            axes = tuple(places.index(axis) for axis in choice.axes if kept[axis])
            first, weight = merged.get((axes, channel), (index, 0))
            merged[axes, channel] = first, weight + choice.weight
        found += [(first, axes, c, weight) for (axes, c), (first, weight) in merged.items()]
        found.sort(key=lambda one: one[0])
        left = tuple(size for size, keep in zip(sizes, kept, strict=True) if keep)
        if not found:
            return Withheld(math.prod(left))
        return self._once(Sampled(left, tuple(Choice(a, w, c) for _, a, c, w in found)))

    def _once(self, made: Sampled) -> Sampled:
        """Return the cached channel equal to `made`, which may already have its decoder."""
        if made not in self._restricted:
            if len(self._restricted) >= _RESTRICTED:
                self._restricted.pop(next(iter(self._restricted)))
            self._restricted[made] = made
        return self._restricted[made]

    @cached_property
    def _restricted(self) -> dict[Sampled, Sampled]:
        return {}

    def _alone(self, axis: int) -> list[tuple[Transition | None, frozenset[int], int]]:
        """Return the channels that report one variable, with their choices and total weight."""
        if axis not in self._known_alone:
            made: dict[tuple[object, ...], Transition | None] = {}
            merged: dict[Transition | None, list[int]] = {}
            for index in sorted(self._holding[axis]):
                choice = self.choices[index]
                channel = self._inside(choice, [a == axis for a in choice.axes], made)
                merged.setdefault(channel, []).append(index)
            self._known_alone[axis] = [
                (channel, frozenset(indices), sum(self.choices[index].weight for index in indices))
                for channel, indices in merged.items()
            ]
        return self._known_alone[axis]

    def _inside(
        self,
        choice: Choice,
        kept: Sequence[bool],
        made: dict[tuple[object, ...], Transition | None],
    ) -> Transition | None:
        sizes = self._sizes_of(choice)
        key = (id(choice.channel), sizes, *kept)
        if key not in made:
            made[key] = choice.channel.restrict(sizes, kept)
        return made[key]

    @cached_property
    def _known_alone(self) -> dict[int, list[tuple[Transition | None, frozenset[int], int]]]:
        return {}

    @cached_property
    def listed_rows(self) -> int:
        return max(choice.channel.listed_rows for choice in self.choices)

    def share_reported(self, axis: int) -> float:
        return sum(self.choices[index].weight for index in self._holding[axis]) / RESOLUTION

    def together(self, variables: int) -> int:  # noqa: ARG002 - what the choices name
        return max(len(choice.axes) for choice in self.choices)

    @property
    def truthful(self) -> float:
        weight = sum(choice.weight for choice in self.choices)
        return sum(choice.weight * choice.channel.truthful for choice in self.choices) / weight

    def describe(self) -> str:
        return f"one of {len(self.choices):,} parts sampled"
