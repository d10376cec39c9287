"""Estimates of a table from the reports of sets of variables.

Records whose reports estimate the table by the same function form one reading (Ma 2.4.1). Weights
do not depend on the reports, so the pooled estimate is unbiased.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from pramana_core.channels import (
    CONDITION_LIMIT,
    Choice,
    Sampled,
    SubsetSelection,
    Transition,
)
from pramana_core.channels.base import condition_number, left_inverse
from pramana_core.domain import Domain
from pramana_core.errors import SingularChannel
from pramana_core.estimation.axes import axes_of, observed
from pramana_core.marginals.counts import ReportTables, Tensor
from pramana_core.marginals.passes import CountedRecords, SetCounts, SetPass
from pramana_core.plan import Block, Plan
from pramana_core.progress import Tick


def product(factors: Sequence[Tensor]) -> Tensor:
    """Return the Kronecker product of vectors or matrices; the last one's index varies fastest."""
    first, *others = factors
    for other in others:
        if first.ndim == 1:
            first = np.multiply.outer(first, other).ravel()
        else:
            rows, columns = len(first) * len(other), first.shape[1] * other.shape[1]
            first = (first[:, None, :, None] * other[None, :, None, :]).reshape(rows, columns)
    return first


LISTED_CELLS = 1 << 12
"""Maximum number of cells of a set with a listed channel that is read as a set, not by variable."""
COUNTED_CELLS = 1 << 16
"""The maximum number of cells of any set that is read as a set."""


@dataclass(frozen=True, eq=False)
class Decoder:
    """The estimator of a table's cells from a report.

    `precision` is 1 / (the variance of one record's estimate, summed over the `cells`). The
    distribution of reports is given either by `mixture`, (a, b) for a I + b 11', or by `listed`, a
    pair of the distribution and its estimator. If neither is set, the counts of a reading are
    already estimates. `noise` is `Transition.estimate_noise`, or None if it is unknown.
    """

    precision: float
    cells: int
    mixture: tuple[float, float] | None = None
    listed: tuple[Tensor | None, Tensor] | None = None
    noise: tuple[float, float] | None = None

    @property
    def law(self) -> Tensor | None:
        """The probability of each report (columns) given each cell (rows), or None if unlisted."""
        if self.listed is not None:
            return self.listed[0]
        a, b = self.mixture or (1.0, 0.0)
        return a * np.eye(self.cells) + b

    @property
    def estimator(self) -> Tensor:
        """The function of the report (columns) that estimates each cell (rows)."""
        if self.listed is not None:
            return self.listed[1]
        a, b = self.mixture or (1.0, 0.0)
        return (np.eye(self.cells) - b) / a

    def estimated(self, counts: Tensor) -> Tensor:
        """Return the estimated counts of the cells."""
        if self.mixture is not None:
            a, b = self.mixture
            return np.asarray((counts - b * counts.sum()) / a, dtype=np.float64)
        if self.listed is None:
            return counts
        return np.asarray(self.estimator @ counts, dtype=np.float64)

    @classmethod
    def mixing(cls, a: float, b: float, cells: int) -> Decoder:
        """Return the decoder of reports with the distribution a I + b 11'."""
        spread = ((1 - b) ** 2 + (cells - 1) * b**2) / a**2 - 1 / cells
        return cls(1 / max(spread, 1e-12), cells, mixture=(a, b), noise=(1 / a, b / a**2))

    @classmethod
    def estimating(cls, c: float, d: float, cells: int) -> Decoder:
        """Return the decoder of counts that are already estimates, with their `noise` (c, d)."""
        spread = c + (cells - 1) * d + (1 - c) / cells - 1 / cells
        return cls(1 / max(spread, 1e-12), cells, noise=(c, d))

    @classmethod
    def of(cls, law: Tensor | None, estimator: Tensor) -> Decoder:
        """Return a listed decoder with its precision."""
        cells, reports = estimator.shape
        share = np.full(reports, 1 / reports) if law is None else law.mean(axis=0)
        spread = float((np.square(estimator) @ share).sum()) - 1 / cells
        return cls(1 / max(spread, 1e-12), cells, listed=(law, estimator))


@dataclass(frozen=True, eq=False)
class Reading:
    """Records that report a table in one way, with the count of each report.

    `alone` identifies, for each single variable of the table, the way in which they report it.
    """

    counts: Tensor
    decoder: Decoder
    alone: tuple[object, ...]

    @functools.cached_property
    def records(self) -> float:
        """The number of these records."""
        return float(self.counts.sum())

    def expected(self, law: Tensor) -> Tensor:
        """Return the probability of each report for a distribution over the table's cells."""
        if self.decoder.mixture is not None:
            a, b = self.decoder.mixture
            return np.maximum(a * law + b, 0.0)
        if self.decoder.law is not None:
            found: Tensor = np.maximum(law @ self.decoder.law, 0.0)
            return found
        # Other variables affect the law, so the observed counts plus one of each report replace it.
        return (self.counts + 1) / (self.records + len(self.counts))

    def spread(self, law: Tensor) -> Tensor:
        """Return the covariance of one record's estimate, cells x cells."""
        if self.decoder.mixture is not None:
            # The constant in the estimator is the same for all reports and does not matter.
            expected = self.expected(law)
            a, _ = self.decoder.mixture
            return np.asarray((np.diag(expected) - np.outer(expected, expected)) / a**2)
        if self.decoder.noise is not None:
            c, d = self.decoder.noise
            cells = self.decoder.cells
            both = law[:, None] + law - 1 / cells
            spread = (1 - c) / cells * both - d / cells - np.outer(law, law)
            spread[np.diag_indices(cells)] += c * law + d
            return np.asarray(spread, dtype=np.float64)
        weights = self.decoder.estimator
        mean = law if self.decoder.law is not None else weights @ self.expected(law)
        found: Tensor = (weights * self.expected(law)) @ weights.T - np.outer(mean, mean)
        return found


@dataclass(frozen=True, eq=False)
class PooledReadings:
    """Readings of one table, pooled by inverse variance; `shares` is its unbiased estimate."""

    readings: tuple[Reading, ...]
    weights: Tensor
    shares: Tensor

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> PooledReadings:
        """Pool readings of at least one record."""
        precise = np.array([r.records * r.decoder.precision for r in readings])
        weights = precise / precise.sum()
        parts = [
            w * r.decoder.estimated(r.counts) / r.records
            for w, r in zip(weights, readings, strict=True)
        ]
        return cls(tuple(readings), weights, np.sum(parts, axis=0))

    @property
    def records(self) -> float:
        """The number of records."""
        return sum(reading.records for reading in self.readings)

    def covariance(self, law: Tensor) -> Tensor:
        """Return the covariance of `shares`, for the population, at a distribution."""
        parts = [
            w * w / r.records * r.spread(law)
            for w, r in zip(self.weights, self.readings, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    def per_record(self) -> dict[object, float]:
        """Return one record's weight in `shares`, by how it reports the table's only variable."""
        return {
            r.alone[0]: float(w / r.records)
            for w, r in zip(self.weights, self.readings, strict=True)
        }


class Readings:
    """The readings of any small table from the reports of some sources."""

    def __init__(self, sources: Sequence[tuple[ReportTables, Plan]], domain: Domain, tick: Tick):
        self._domain = domain
        self._sources = [_Source(*source, number, tick) for number, source in enumerate(sources)]

    def of(self, names: Sequence[str]) -> PooledReadings | None:
        """Return the pooled readings of the table over `names`, with its cells in C order, or None.

        None means that no record's reports distinguish all cells of the table.
        """
        found = [reading for source in self._sources for reading in source.readings(names)]
        readings = [reading for reading in found if reading.records > 0]
        return PooledReadings.of(readings) if readings else None

    def together(self, most: int) -> list[tuple[str, ...]]:
        """Return the sets of up to `most` variables that sampled blocks report together."""
        found = {
            tuple(sorted(names, key=self._domain.axis))
            for source in self._sources
            for names in source.together(most)
        }
        return sorted(found, key=lambda names: [self._domain.axis(name) for name in names])


class _Source:
    def __init__(self, reports: ReportTables, plan: Plan, number: int, tick: Tick):
        self._reports, self._plan, self._number, self._tick = reports, plan, number, tick
        self._blocks = {name: block for block in plan.blocks for name in block.names}
        self._sampled: dict[str, _SampledBlock | None] = {}

    def readings(self, names: Sequence[str]) -> list[Reading]:
        if any(name not in self._blocks for name in names):
            return []
        block = self._blocks[names[0]]
        if all(self._blocks[name] is block for name in names):
            sampled = self._sets(block)
            if sampled is not None:
                return sampled.readings(names)
        return self._by_axes(names)

    def together(self, most: int) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        for block in self._plan.blocks:
            sampled = self._sets(block)
            if sampled is not None:
                found += sampled.together(most)
        return found

    def _sets(self, block: Block) -> _SampledBlock | None:
        if block.names[0] not in self._sampled:
            made, channel = None, block.channel
            if isinstance(channel, Sampled) and _read_by_sets(channel):
                made = _SampledBlock(self._reports, block, channel, self._tick)
            self._sampled[block.names[0]] = made
        return self._sampled[block.names[0]]

    def _by_axes(self, names: Sequence[str]) -> list[Reading]:
        axes = axes_of(self._plan, names)
        try:
            estimator = product([axis.decoder for axis in axes])
        except SingularChannel:
            return []
        whole = all(len(axis.kept) == len(axis.variables) for axis in axes)
        law = product([axis.channel.matrix() for axis in axes]) if whole else None
        kept = [v for axis in axes for v in axis.kept]
        cells = np.arange(math.prod(v.size for v in kept)).reshape([v.size for v in kept])
        own = [v.name for v in kept]
        order = np.transpose(cells, [own.index(name) for name in names]).ravel()
        counts = observed(self._reports, axes).ravel()
        decoder = Decoder.of(None if law is None else law[order], estimator[order])
        return [Reading(counts, decoder, tuple((self._number, name) for name in names))]


class _SampledBlock:
    """The records of a sampled block by the set that they report."""

    def __init__(self, reports: ReportTables, block: Block, channel: Sampled, tick: Tick):
        self._reports, self._block, self._channel, self._tick = reports, block, channel, tick
        kept: dict[Transition, Transition] = {}
        self._choices: dict[tuple[int, ...], list[Choice]] = {}
        self._holding: list[set[tuple[int, ...]]] = [set() for _ in channel.sizes]
        for choice in channel.choices:
            same = kept.setdefault(choice.channel, choice.channel)
            one = Choice(choice.axes, choice.weight, same)
            # `SetPass` counts a tagged set with an additional column.
            counted = (len(channel.sizes), *choice.axes) if same.tags else choice.axes
            self._choices.setdefault(counted, []).append(one)
            for axis in choice.axes:
                self._holding[axis].add(counted)
        self._places = {name: place for place, name in enumerate(block.names)}
        self._known: dict[object, tuple[object, Decoder | None, bool]] = {}
        self._decoders: dict[object, tuple[object, Decoder | None]] = {}
        self._estimates: dict[tuple[int, ...], Tensor] = {}

    def together(self, most: int) -> list[tuple[str, ...]]:
        names = self._block.names
        found = {
            part
            for choices in self._choices.values()
            for size in range(2, min(most, len(choices[0].axes)) + 1)
            for part in itertools.combinations(choices[0].axes, size)
        }
        return [tuple(names[axis] for axis in part) for part in found]

    @functools.cached_property
    def _counts(self) -> SetCounts:
        counted = cast("CountedRecords", self._reports).counted
        return counted(SetPass(self._block.names, self._channel.sizes), self._tick)

    def readings(self, names: Sequence[str]) -> list[Reading]:
        chosen = tuple(self._places[name] for name in names)
        found: dict[tuple[object, ...], tuple[Decoder, Tensor]] = {}
        for axes in sorted(set.intersection(*(self._holding[axis] for axis in chosen))):
            key, decoder, summed = self._decoder(axes, chosen)
            counts = self._counted(axes)
            if counts is None or decoder is None:
                continue
            if summed:
                own = self._choices[axes][0].axes
                gone = tuple(place for place, axis in enumerate(own) if axis not in chosen)
                counts = counts.sum(axis=gone)
                if decoder.mixture is None and decoder.listed is None:
                    counts = counts.transpose([sorted(chosen).index(axis) for axis in chosen])
            alone = tuple(self._decoder(axes, (axis,))[0] for axis in chosen)
            known = found.get((key, *alone))
            flat = counts.ravel()
            total = flat if known is None else known[1] + flat
            found[key, *alone] = (decoder, total)
        return [Reading(counts, dec, key[1:]) for key, (dec, counts) in found.items()]

    def _counted(self, counted: tuple[int, ...]) -> Tensor | None:
        """Return the counts of a set's reports; for a tagged set, the estimates of its cells."""
        counts = self._counts.get(counted)
        choice = self._choices[counted][0]
        if counts is None or not choice.channel.tags:
            return None if counts is None else counts.astype(np.float64)
        if counted not in self._estimates:
            sizes = [self._channel.sizes[axis] for axis in choice.axes]
            made = choice.channel.solve(counts.ravel().astype(np.float64), 0)
            self._estimates[counted] = made.reshape(sizes)
        return self._estimates[counted]

    def _estimating(
        self, choice: Choice, wanted: tuple[int, ...]
    ) -> tuple[object, Decoder | None, bool]:
        sizes = tuple(self._channel.sizes[axis] for axis in choice.axes)
        kept = tuple(axis in wanted for axis in choice.axes)
        key = (id(self), id(choice.channel), sizes, kept)
        if key not in self._known:
            channel = cast("SubsetSelection", choice.channel)
            cells = math.prod(size for size, keep in zip(sizes, kept, strict=True) if keep)
            try:
                decoder = Decoder.estimating(*channel.margin_noise(sizes, kept), cells)
            except SingularChannel:
                decoder = None
            self._known[key] = (key, decoder, True)
        return self._known[key]

    def _decoder(
        self, axes: tuple[int, ...], chosen: tuple[int, ...]
    ) -> tuple[object, Decoder | None, bool]:
        choices = self._choices[axes]
        if choices[0].channel.tags:
            return self._estimating(choices[0], chosen)
        sizes = tuple(self._channel.sizes[axis] for axis in axes)
        inside = tuple(axis in chosen for axis in axes)
        order = tuple(sorted(chosen).index(axis) for axis in chosen)
        total = sum(choice.weight for choice in choices)
        parts = tuple((choice.weight / total, id(choice.channel)) for choice in choices)
        quick = (parts, sizes, inside, order)
        if quick not in self._known:
            left = [choice.channel.restrict(sizes, inside) for choice in choices]
            channels = [channel for channel in left if channel is not None]
            summed = len(channels) == len(choices)
            if not summed:
                channels, inside_sizes = [choice.channel for choice in choices], sizes
            else:
                inside_sizes = tuple(s for s, keep in zip(sizes, inside, strict=True) if keep)
            shares = [choice.weight / total for choice in choices]
            mixed = tuple(zip(shares, channels, strict=True))
            key = (mixed, inside_sizes, () if summed else inside, order)
            if key not in self._decoders:
                wanted = inside if not summed else (True,) * len(inside_sizes)
                # Hashing the key's channels takes long, so a short key replaces it.
                short = (id(self), len(self._decoders))
                self._decoders[key] = (short, _decoder(mixed, inside_sizes, wanted, order))
            self._known[quick] = (*self._decoders[key], summed)
        return self._known[quick]


def _decoder(
    mixed: Sequence[tuple[float, Transition]],
    sizes: tuple[int, ...],
    kept: tuple[bool, ...],
    order: tuple[int, ...],
) -> Decoder | None:
    shares = [channel.mixture for _, channel in mixed]
    if all(kept) and None not in shares and list(order) == sorted(order):
        a, b = np.array([share for share, _ in mixed]) @ np.array(shares)
        if not a * CONDITION_LIMIT > 1:
            return None
        return Decoder.mixing(float(a), float(b), math.prod(sizes))
    law: Tensor = np.sum([share * channel.matrix() for share, channel in mixed], axis=0)
    try:
        if len(mixed) == 1:
            estimator = mixed[0][1].decoder()
        elif condition_number(law) > CONDITION_LIMIT:
            return None
        else:
            estimator = left_inverse(law)
    except SingularChannel:
        return None
    gone = tuple(place for place, keep in enumerate(kept) if not keep)
    left = [size for size, keep in zip(sizes, kept, strict=True) if keep]
    estimator = estimator.reshape(*sizes, -1).sum(axis=gone).reshape(*left, -1)
    estimator = estimator.transpose(*order, len(left)).reshape(-1, law.shape[1])
    if gone:
        return Decoder.of(None, estimator)
    turned = law.reshape(*left, -1).transpose(*order, len(left)).reshape(law.shape)
    return Decoder.of(turned, estimator)


def _read_by_sets(channel: Sampled) -> bool:
    """Return whether every set of the channel is small enough to be counted and decoded."""
    for choice in channel.choices:
        listed = choice.channel.mixture is None and not choice.channel.tags
        most = LISTED_CELLS if listed else COUNTED_CELLS
        if math.prod(channel.sizes[axis] for axis in choice.axes) > most:
            return False
    return True


@dataclass(frozen=True, eq=False)
class Single:
    """One variable's pooled readings, its positive distribution, and functions of mean 0.

    The functions are an orthonormal basis, categories x (categories - 1).
    """

    pooled: PooledReadings
    law: Tensor
    functions: Tensor

    @functools.cached_property
    def noise(self) -> Tensor:
        """The covariance of the estimated shares."""
        return self.pooled.covariance(self.law)

    @functools.cached_property
    def per_record(self) -> dict[object, float]:
        return self.pooled.per_record()
