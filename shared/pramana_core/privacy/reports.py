"""What a report reveals of the truth, by the structure of its channel.

gamma bounds what is learned whatever the prior. Under equal priors the reports of a channel fall
into kinds that reveal as much: `report_kinds` lists them without the channel's matrix. A mixture
has one kind, a grouped or sampled channel those of its parts, and only a channel without structure
has one for each column of P.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

import numpy as np

from pramana_core.channels import (
    LISTED_ENTRIES,
    RESOLUTION,
    Choice,
    Coordinated,
    Grouped,
    Product,
    Sampled,
    Transition,
)
from pramana_core.errors import LimitExceeded
from pramana_core.marginals.counts import Tensor

_CELLS = 1 << 1000
"""With more truths than this, a share of one is too small for a float."""


@dataclass(frozen=True)
class _Blend:
    """Channels of one set of variables where a report does not show which was used."""

    choices: tuple[Choice, ...]
    amplification = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.choices[0].channel.shape

    @property
    def _shares(self) -> list[tuple[Fraction, Transition]]:
        total = sum(choice.weight for choice in self.choices)
        return [(Fraction(choice.weight, total), choice.channel) for choice in self.choices]

    @property
    def exact_mixture(self) -> tuple[Fraction, Fraction] | None:
        known = [(s, m) for s, c in self._shares if (m := c.exact_mixture) is not None]
        if len(known) < len(self.choices):
            return None
        keep, off = (sum((s * m[i] for s, m in known), Fraction(0)) for i in (0, 1))
        return keep, off

    def matrix(self) -> Tensor:
        return np.asarray(sum(float(s) * c.matrix() for s, c in self._shares))


_Part = Transition | _Blend


def _parts(channel: Sampled) -> list[tuple[int, _Part]]:
    """Return the weight of 2^32 and the channel of each part that a report distinguishes.

    Choices of the same variables are one part, except in a coordinated channel, whose coin shows
    the choice.
    """
    groups: dict[object, list[Choice]] = {}
    for choice in channel.choices:
        key = (choice.axes, choice.channel if isinstance(channel, Coordinated) else None)
        groups.setdefault(key, []).append(choice)
    return [
        (
            sum(c.weight for c in group),
            group[0].channel if _one_channel(group) else _Blend((*group,)),
        )
        for group in groups.values()
    ]


def _one_channel(choices: Sequence[Choice]) -> bool:
    return all(choice.channel == choices[0].channel for choice in choices[1:])


@singledispatch
def gamma(channel: _Part) -> float:
    """Return the smallest gamma for which the channel is amplifying (Ma 3.1.2).

    That is the largest ratio of two entries of a column of P: how much likelier a report is under
    one truth than under another. Infinite where a report rules a truth out, and never below 1.

    Raises:
        LimitExceeded: a channel without closed form over too many categories.
    """
    if channel.exact_mixture is not None:
        # A matrix drawn per record (RAN-GD) is a mixture too: whoever does not see the draw is
        # left with the expected matrix.
        low, high = sorted(channel.exact_mixture)
        return float(high / low) if low else math.inf
    if channel.amplification is not None:
        return channel.amplification
    matrix = _listed(channel)
    seen = matrix[:, matrix.max(axis=0) > 0]
    high, low = seen.max(axis=0), seen.min(axis=0)
    return math.inf if np.any(low == 0) else float((high / low).max(initial=1.0))


@gamma.register
def _(channel: Grouped) -> float:
    (part, *others) = channel.channels
    if others:
        return math.inf
    return 1.0 if part is None else gamma(part)


@gamma.register
def _(channel: Product) -> float:
    # Independent draws: each can be at its worst together with the others (Ma 7.1.3).
    return math.prod(map(gamma, channel.channels))


@gamma.register
def _(channel: Sampled) -> float:
    # Thousands of choices share a channel or two.
    return max(map(gamma, {part for _, part in _parts(channel)}))


@singledispatch
def gamma_within_groups(channel: Transition) -> float:
    """Return gamma for someone who already knows the group of the category.

    A grouped channel reports the group truthfully, so its gamma is infinite; Ma 3.1.2 quotes the
    amplification within the groups, which bounds what is learned beyond the group. For any other
    channel this is `gamma`.

    Raises:
        LimitExceeded: a channel without closed form over too many categories.
    """
    return gamma(channel)


@gamma_within_groups.register
def _(channel: Grouped) -> float:
    return max(gamma_within_groups(p) if p is not None else 1.0 for p in channel.channels)


@gamma_within_groups.register
def _(channel: Sampled) -> float:
    return max(map(gamma_within_groups, {choice.channel for choice in channel.choices}))


@dataclass(frozen=True, eq=False)
class ReportKind:
    """Reports that reveal as much: their probability, and the posteriors that one of them leaves.

    `times[i]` truths have the posterior `posteriors[i]`; all others are ruled out.
    """

    share: float
    posteriors: Tensor
    times: tuple[int, ...]

    def within(self, share: float, cells: int = 1) -> ReportKind:
        """Return the kind in a larger channel: rarer, and of `cells` truths in place of each."""
        times = tuple(cells * times for times in self.times)
        return ReportKind(self.share * share, self.posteriors / cells, times)


@singledispatch
def report_kinds(channel: _Part) -> tuple[ReportKind, ...]:
    """Return the kinds of reports under equal priors; only reports that can occur count.

    Raises:
        LimitExceeded: a channel without closed form over too many categories.
    """
    size = channel.shape[0]
    if channel.exact_mixture is not None:
        posteriors = np.array([float(value) for value in channel.exact_mixture])
        return (ReportKind(1.0, posteriors, (1, size - 1)),)
    matrix = _listed(channel)
    totals = matrix.sum(axis=0)
    ones = (1,) * size
    return tuple(
        ReportKind(float(total) / size, column / total, ones)
        for column, total in zip(matrix.T, totals, strict=True)
        if total > 0
    )


@report_kinds.register
def _(channel: Grouped) -> tuple[ReportKind, ...]:
    alone = (ReportKind(1.0, np.ones(1), (1,)),)
    return tuple(
        kind.within(len(members) / channel.shape[0])
        for members, part in zip(channel.groups, channel.channels, strict=True)
        for kind in (alone if part is None else report_kinds(part))
    )


@report_kinds.register
def _(channel: Sampled) -> tuple[ReportKind, ...]:
    size = math.prod(channel.sizes)
    if size > _CELLS:
        raise LimitExceeded(
            f"A record of {len(channel.sizes)} variables has too many cells for a belief in each.",
            where="channel",
            remedy="Ask for gamma and the bounds that follow from it, or for fewer variables.",
        )
    parts = _parts(channel)
    known = {part: report_kinds(part) for part in {part for _, part in parts}}
    found = [
        kind.within(weight / RESOLUTION, size // part.shape[0])
        for weight, part in parts
        for kind in known[part]
    ]
    if channel.silent:
        found.append(ReportKind(channel.silent / RESOLUTION, np.array([1 / size]), (size,)))
    return tuple(found)


def posteriors_given(channel: Transition) -> Iterator[Tensor]:
    """Yield the posteriors of all truths, in code order, given each report under equal priors.

    Raises:
        LimitExceeded: too many truths and reports.
    """
    matrices = (
        [_listed(channel)]
        if not isinstance(channel, Coordinated)
        else [_spread(channel, choice) for choice in channel.choices]
    )
    for matrix in matrices:
        yield from (column / column.sum() for column in matrix.T if column.sum() > 0)
    if isinstance(channel, Coordinated) and channel.silent:
        yield np.full(channel.shape[0], 1 / channel.shape[0])


def _spread(channel: Sampled, choice: Choice) -> Tensor:
    """Return the matrix of a choice, a row for each truth of all variables."""
    _require_listable(channel)
    cells = np.array(np.unravel_index(np.arange(channel.shape[0]), channel.sizes))
    sizes = tuple(channel.sizes[axis] for axis in choice.axes)
    part = np.ravel_multi_index(tuple(cells[list(choice.axes)]), sizes)
    matrix: Tensor = choice.channel.matrix()[part]
    return matrix


def _listed(channel: _Part) -> Tensor:
    _require_listable(channel)
    matrix: Tensor = channel.matrix()
    return matrix


def _require_listable(channel: _Part) -> None:
    true, reported = channel.shape
    if true * reported > LISTED_ENTRIES:
        raise LimitExceeded(
            f"What a {true} x {reported} channel without closed form reveals would need its whole"
            f" matrix; at most {LISTED_ENTRIES} entries are listed.",
            where="channel",
            remedy="Use a symmetric, mixture or grouped channel, or randomize fewer variables"
            " together.",
        )
