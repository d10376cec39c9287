"""What a channel tells of the truth, by its structure: no measure asks for a matrix.

A mixture answers in closed form, a grouped or sampled channel asks its parts, and only a channel
without structure walks the columns of P.

Throughout, a prior is an array of shape (size,) that sums to 1, or None for the uniform one. Only
reports that can occur under the prior count. An array over the truths may have shape (1,) where all
its entries are equal, so that 10^12 cells cost nothing.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import cast

import numpy as np
import numpy.typing as npt

from pramana_core.channels import (
    LISTED_ENTRIES,
    RESOLUTION,
    Choice,
    Coordinated,
    Grouped,
    Product,
    Sampled,
    Transition,
    require_prior,
)
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.marginals.counts import Tensor


@dataclass(frozen=True)
class PlausibleTruths:
    """How many truths stay plausible after a report, and how evenly (Ma 3.1.3).

    `fewest` is the smallest number over the reports; `least` and `most` are the smallest and the
    largest divergence, in bits, of a report's posterior from the uniform distribution over the
    truths it leaves plausible.
    """

    fewest: int
    least: float
    most: float

    @staticmethod
    def of_sums(count: npt.NDArray[np.int64], mass: Tensor, logs: Tensor) -> PlausibleTruths:
        """Return the extremes over reports from sums over the truths each leaves plausible.

        Per report: their number, and the sums of w and of w log2 w, w proportional to the
        posterior. The divergence from the uniform is log2 count + logs / mass - log2 mass. A
        report that leaves none counts as 0 truths and no divergence.
        """
        some = (count > 0) & (mass > 0)
        safe = np.where(some, mass, 1.0)
        bits = np.log2(np.where(some, count, 1)) + logs / safe - np.log2(safe)
        bits = np.where(some, np.maximum(bits, 0.0), 0.0)
        return PlausibleTruths(
            int(np.where(some, count, 0).min()), float(bits.min()), float(bits.max())
        )

    @staticmethod
    def over(parts: list[PlausibleTruths]) -> PlausibleTruths:
        """Return the extremes over several sets of reports."""
        return PlausibleTruths(
            min(p.fewest for p in parts), min(p.least for p in parts), max(p.most for p in parts)
        )


class ChannelStructure(ABC):
    """A channel as seen by someone who knows the prior and sees the report."""

    @property
    @abstractmethod
    def size(self) -> int:
        """K, the number of true categories."""

    @property
    @abstractmethod
    def gamma(self) -> float:
        """The largest ratio of two entries of a column of P."""

    @abstractmethod
    def information(self, prior: Tensor | None) -> float:
        """Return the mutual information of truth and report, in bits."""

    @abstractmethod
    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return each truth's smallest and largest posterior over the reports."""

    @abstractmethod
    def bayes_mass(self, weights: Tensor | None) -> float:
        """Return the sum over reports m of max_k weights[k] P[k, m]; weights need not sum to 1."""

    @abstractmethod
    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        """Return how many truths have a posterior above `threshold`, and how evenly."""


def checked_prior(prior: npt.ArrayLike | None, size: int) -> Tensor | None:
    """Return a prior as an array of shape (size,) that sums to 1, or None for the uniform one.

    Raises:
        OptionError: not `size` finite nonnegative numbers that sum to 1 within 1e-9.
    """
    if prior is None:
        return None
    weights = require_prior(cast("Sequence[float]", prior), size)
    exact: Tensor = weights / weights.sum()
    return exact


def entropy(probabilities: Tensor) -> float:
    """Return -sum p log2 p in bits over all entries; 0 log 0 is 0."""
    return -float(log2_terms(probabilities).sum())


def log2_terms(values: Tensor) -> Tensor:
    """Return v log2 v for each entry; 0 log 0 is 0."""
    logs = np.log2(values, out=np.zeros(np.shape(values)), where=np.asarray(values) > 0)
    terms: Tensor = np.asarray(values * logs, dtype=np.float64)
    return terms


def require_belief(probability: float, where: str) -> None:
    """Raise OptionError unless a probability is strictly between 0 and 1."""
    if not 0 < probability < 1:
        raise OptionError(
            f"A {where.replace('_', ' ')} of {probability} is not between 0 and 1.",
            where=where,
            remedy="Give a probability above 0 and below 1.",
        )


_CHUNK_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class ColumnsStructure(ChannelStructure):
    """Any channel, by the columns of its K x L matrix.

    Every method raises LimitExceeded above `LISTED_ENTRIES` entries, before anything is made;
    only gamma does not where the family knows its own.
    """

    shape: tuple[int, int]
    matrix: Callable[[], Tensor]
    known_gamma: float | None = None

    @property
    def size(self) -> int:
        return self.shape[0]

    @cached_property
    def gamma(self) -> float:
        if self.known_gamma is not None:
            return self.known_gamma
        worst = 1.0
        for part in self._columns():
            seen = part[:, part.max(axis=0) > 0]
            high, low = seen.max(axis=0), seen.min(axis=0)
            if np.any(low == 0):
                return math.inf
            worst = max(worst, float((high / low).max(initial=1.0)))
        return worst

    def information(self, prior: Tensor | None) -> float:
        given = self._explicit(prior)
        known = sum(float(given @ log2_terms(part).sum(axis=1)) for part in self._columns())
        return sum(entropy(given @ part) for part in self._columns()) + known

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        low, high = np.ones(self.size), np.zeros(self.size)
        for posterior in self._posteriors(self._explicit(prior)):
            low = np.minimum(low, posterior.min(axis=1, initial=1.0))
            high = np.maximum(high, posterior.max(axis=1, initial=0.0))
        return low, high

    def bayes_mass(self, weights: Tensor | None) -> float:
        given = self._explicit(weights)[:, None]
        return sum(float((given * part).max(axis=0).sum()) for part in self._columns())

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        parts = [
            _plausible(posterior, threshold)
            for posterior in self._posteriors(self._explicit(prior))
            if posterior.size
        ]
        return PlausibleTruths.over(parts)

    def _explicit(self, prior: Tensor | None) -> Tensor:
        self._require_listable()
        return np.full(self.size, 1 / self.size) if prior is None else prior

    def _columns(self) -> Iterator[Tensor]:
        self._require_listable()
        matrix = self.matrix()
        width = max(1, _CHUNK_CELLS // len(matrix))
        for start in range(0, matrix.shape[1], width):
            yield matrix[:, start : start + width]

    def _posteriors(self, prior: Tensor) -> Iterator[Tensor]:
        """Yield the posteriors given each report that can occur: truths by reports."""
        for part in self._columns():
            joint = prior[:, None] * part
            total = joint.sum(axis=0)
            yield joint[:, total > 0] / total[total > 0]

    def _require_listable(self) -> None:
        true, reported = self.shape
        if true * reported > LISTED_ENTRIES:
            raise LimitExceeded(
                f"What a {true} x {reported} channel without closed form reveals would need its"
                f" whole matrix; at most {LISTED_ENTRIES} entries are listed.",
                where="channel",
                remedy="Use a symmetric, mixture or grouped channel, randomize fewer variables"
                " together, or ask with the uniform prior.",
            )


def _plausible(posterior: Tensor, threshold: float) -> PlausibleTruths:
    kept = np.where(posterior > threshold, posterior, 0.0)
    count = np.count_nonzero(kept, axis=0)
    return PlausibleTruths.of_sums(count, kept.sum(axis=0), log2_terms(kept).sum(axis=0))


def _revealed() -> ColumnsStructure:
    """Return that of one category alone: once the group is known nothing is left to hide."""
    return ColumnsStructure((1, 1), lambda: np.ones((1, 1)))


@dataclass(frozen=True, eq=False)
class GroupedStructure(ChannelStructure):
    """A block-diagonal channel: the report tells the group, and a part hides within it.

    `members[g]` are the categories of group g in the order its part takes them.
    """

    members: tuple[npt.NDArray[np.intp], ...]
    parts: tuple[ChannelStructure, ...]

    @cached_property
    def size(self) -> int:
        return sum(len(codes) for codes in self.members)

    @cached_property
    def gamma(self) -> float:
        return self.parts[0].gamma if len(self.parts) == 1 else math.inf

    def information(self, prior: Tensor | None) -> float:
        shares, within = self._divide(prior)
        inside = sum(
            share * part.information(p)
            for share, part, p in zip(shares, self.parts, within, strict=True)
            if share > 0
        )
        return entropy(np.array(shares)) + inside

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        shares, within = self._divide(prior)
        low, high = np.zeros(self.size), np.zeros(self.size)
        alone = np.count_nonzero(shares) == 1
        for share, codes, part, p in zip(shares, self.members, self.parts, within, strict=True):
            if share > 0:
                least, high[codes] = part.extremes(p)
                if alone:
                    # Otherwise the report of another group rules these categories out.
                    low[codes] = least
        return low, high

    def bayes_mass(self, weights: Tensor | None) -> float:
        given = np.full(self.size, 1 / self.size) if weights is None else weights
        pairs = zip(self.members, self.parts, strict=True)
        return sum(part.bayes_mass(given[codes]) for codes, part in pairs)

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        shares, within = self._divide(prior)
        parts = zip(shares, self.parts, within, strict=True)
        return PlausibleTruths.over([part.plausible(p, threshold) for s, part, p in parts if s > 0])

    def _divide(self, prior: Tensor | None) -> tuple[list[float], list[Tensor | None]]:
        """Return the probability of each group and the prior within each."""
        if prior is None:
            return [len(c) / self.size for c in self.members], [None] * len(self.members)
        shares = [float(prior[codes].sum()) for codes in self.members]
        pairs = zip(self.members, shares, strict=True)
        return shares, [prior[codes] / share if share else None for codes, share in pairs]


@dataclass(frozen=True)
class MixtureStructure(ChannelStructure):
    """P = (keep - off) I + off 11' over `cells` categories: all is known from two numbers.

    Identity, Symmetric and FRAPP's gamma-diagonal matrix have this form. So has, for what it
    reveals, a variable that is withheld: keep = off.
    """

    cells: int
    keep: Fraction
    off: Fraction

    @property
    def size(self) -> int:
        return self.cells

    @property
    def gamma(self) -> float:
        low, high = sorted((self.keep, self.off))
        return float(high / low) if low else math.inf

    @property
    def _spread(self) -> float:
        return float(self.keep - self.off)

    @property
    def _row_entropy(self) -> float:
        terms = log2_terms(np.array([float(self.keep), float(self.off)]))
        return -float(terms[0] + (self.cells - 1) * terms[1])

    def information(self, prior: Tensor | None) -> float:
        if prior is None:
            return math.log2(self.cells) - self._row_entropy
        return entropy(self._reports(prior)) - self._row_entropy

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        keep, off = float(self.keep), float(self.off)
        if prior is None:
            return np.array([min(keep, off)]), np.array([max(keep, off)])
        reports = self._reports(prior)
        occurs = reports > 0
        own = np.divide(keep * prior, reports, out=np.zeros_like(prior), where=occurs)
        if off == 0:
            elsewhere = occurs.sum() - occurs > 0
            return np.where(elsewhere, 0.0, own), own
        # The report of another category says the more about k the rarer that report is.
        rarest = off * prior / _best_other(np.where(occurs, reports, np.inf), np.minimum)
        largest = _best_other(np.where(occurs, reports, 0.0), np.maximum)
        commonest = np.divide(
            off * prior, largest, out=np.full_like(prior, np.inf), where=largest > 0
        )
        return np.minimum(np.where(occurs, own, np.inf), commonest), np.maximum(own, rarest)

    def bayes_mass(self, weights: Tensor | None) -> float:
        keep, off = float(self.keep), float(self.off)
        if weights is None:
            return max(keep, off)
        return float(np.maximum(keep * weights, off * _best_other(weights, np.maximum)).sum())

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        if prior is None:
            return self._plausible_uniformly(threshold)
        reports = self._reports(prior)
        occurs = reports > 0
        p, total = prior[occurs], reports[occurs]
        keep, off = float(self.keep), float(self.off)
        ordered = np.sort(prior)
        # Of the other categories those above this prior stay plausible: a tail of the sorted ones.
        cut = threshold * total / off if off else np.full_like(p, np.inf)
        first = np.searchsorted(ordered, cut, side="right")
        count = len(ordered) - first - (p > cut)
        mass = off * (_tail(ordered)[first] - np.where(p > cut, p, 0.0))
        logs = _tail(log2_terms(off * ordered))[first]
        logs = logs - np.where(p > cut, log2_terms(off * p), 0.0)
        own = keep * p
        stays = own > threshold * total
        return PlausibleTruths.of_sums(
            count + stays,
            np.where(count > 0, mass, 0.0) + np.where(stays, own, 0.0),
            np.where(count > 0, logs, 0.0) + np.where(stays, log2_terms(own), 0.0),
        )

    def _plausible_uniformly(self, threshold: float) -> PlausibleTruths:
        posterior = np.array([float(self.keep), float(self.off)])
        stays = posterior > threshold
        times = np.where(stays, [1, self.cells - 1], 0)
        count = int(times[0]) + int(times[1])
        return PlausibleTruths.of_sums(
            np.array([count]),
            np.array([float(times @ posterior)]),
            np.array([float(times @ log2_terms(posterior))]),
        )

    def _reports(self, prior: Tensor) -> Tensor:
        """Return the probability of each report."""
        reports: Tensor = np.maximum(float(self.off) + self._spread * prior, 0.0)
        return reports


def _best_other(values: Tensor, best: np.ufunc) -> Tensor:
    """Return for each entry the best (np.minimum or np.maximum) of all the other entries."""
    first = int(np.argmin(values) if best is np.minimum else np.argmax(values))
    others = np.delete(values, first)
    result = np.full(values.shape, values[first])
    result[first] = best.reduce(others)
    return result


def _tail(ordered: Tensor) -> Tensor:
    """Return the sums from each entry to the last, and a 0 behind them."""
    return np.append(np.cumsum(ordered[::-1])[::-1], 0.0)


_CELLS = 1 << 1000
"""With more cells than this, a share of one is too small for a float."""


@dataclass(frozen=True, eq=False)
class SampledSet:
    """What one set of axes reports: the axes, ascending, their probability and structure.

    No axes: nothing is reported.
    """

    axes: tuple[int, ...]
    weight: float
    structure: ChannelStructure


@dataclass(frozen=True, eq=False)
class SampledStructure(ChannelStructure):
    """A draw that does not look at the data picks the axes that are reported; the rest is withheld.

    The report tells which axes it is about; `choices` have different ones. It changes the belief in
    a cell only through the cell's part: the posterior is the prior within the part times the
    part's posterior.

    `listed` answers where a question has no answer by parts.
    """

    sizes: tuple[int, ...]
    choices: tuple[SampledSet, ...]
    listed: ChannelStructure

    @cached_property
    def size(self) -> int:
        return math.prod(self.sizes)

    @cached_property
    def gamma(self) -> float:
        # Thousands of choices share a structure.
        return max(s.gamma for s in {id(c.structure): c.structure for c in self.choices}.values())

    def information(self, prior: Tensor | None) -> float:
        self._require_cells()
        return sum(
            c.weight * c.structure.information(self._marginal(prior, c)) for c in self.choices
        )

    def extremes(self, prior: Tensor | None) -> tuple[Tensor, Tensor]:
        self._require_cells()
        parts = [(choice, *self._of_part(prior, choice)) for choice in self.choices]
        if all(low.size == high.size == 1 for _, low, high in parts):
            least, most = (min(low[0] for _, low, _ in parts), max(high[0] for *_, high in parts))
            return np.array([least]), np.array([most])
        self._require_listable()
        low, high = np.ones(self.sizes), np.zeros(self.sizes)
        for choice, own, largest in parts:
            low = np.minimum(low, self._spread(own, choice))
            high = np.maximum(high, self._spread(largest, choice))
        given = 1.0 if prior is None else prior
        return low.ravel() * given, high.ravel() * given

    def bayes_mass(self, weights: Tensor | None) -> float:
        self._require_cells()
        if weights is None:
            # The best guess names any one of the cells that share the part guessed.
            return sum(
                c.weight * c.structure.bayes_mass(None) * c.structure.size / self.size
                for c in self.choices
            )
        return sum(
            c.weight * c.structure.bayes_mass(self._marginal(weights, c, best=True))
            for c in self.choices
        )

    def plausible(self, prior: Tensor | None, threshold: float) -> PlausibleTruths:
        self._require_cells()
        if prior is not None:
            return self.listed.plausible(prior, threshold)
        found = []
        for choice in self.choices:
            cells = self.size // choice.structure.size
            # Beyond this many cells no share of the uniform prior is above the threshold.
            above = (
                0.0 if threshold == 0 else math.inf if cells > 1 / threshold else threshold * cells
            )
            part = choice.structure.plausible(None, above)
            found.append(PlausibleTruths(part.fewest * cells, part.least, part.most))
        return PlausibleTruths.over(found)

    def _of_part(self, given: Tensor | None, choice: SampledSet) -> tuple[Tensor, Tensor]:
        """Return the extremes of the posterior of a part, over the prior of the part.

        With the uniform prior each of the cells that share a part has an equal share of it.
        """
        marginal = self._marginal(given, choice)
        low, high = choice.structure.extremes(marginal)
        if marginal is None:
            cells = self.size // choice.structure.size
            return low / cells, high / cells
        occurs = np.where(marginal > 0, marginal, 1.0)
        return low / occurs, high / occurs

    def _marginal(
        self, given: Tensor | None, choice: SampledSet, *, best: bool = False
    ) -> Tensor | None:
        """Return the sum (or the largest) over the axes a choice withholds, flat."""
        if given is None:
            return None
        gone = tuple(a for a in range(len(self.sizes)) if a not in choice.axes)
        cells = given.reshape(self.sizes)
        left = cells.max(axis=gone) if best else cells.sum(axis=gone)
        return np.ravel(left)

    def _spread(self, values: Tensor, choice: SampledSet) -> Tensor:
        """Return values over a choice's part as a tensor that broadcasts over all cells."""
        if values.size == 1:
            return values
        return values.reshape([s if a in choice.axes else 1 for a, s in enumerate(self.sizes)])

    def _require_cells(self) -> None:
        if self.size > _CELLS:
            raise LimitExceeded(
                f"A record of {len(self.sizes)} variables has too many cells for a belief in each.",
                where="channel",
                remedy="Ask for gamma and the bounds that follow from it, or for fewer variables.",
            )

    def _require_listable(self) -> None:
        if self.size > LISTED_ENTRIES:
            raise LimitExceeded(
                f"A posterior for each of {self.size} cells is too much to list; at most"
                f" {LISTED_ENTRIES} are.",
                where="channel",
                remedy="Report the chosen parts by symmetric channels, or ask for each part alone.",
            )


@singledispatch
def structure_of(channel: Transition) -> ChannelStructure:
    """Return the structure through which a channel's measures are computed."""
    if channel.exact_mixture is not None:
        # A matrix drawn per record (RAN-GD) is a Symmetric too: whoever does not see the draw is
        # left with the expected matrix.
        return MixtureStructure(channel.shape[0], *channel.exact_mixture)
    return ColumnsStructure(channel.shape, channel.matrix, channel.amplification)


@structure_of.register
def _(channel: Grouped) -> ChannelStructure:
    return GroupedStructure(
        tuple(np.array(group, dtype=np.intp) for group in channel.groups),
        tuple(_revealed() if part is None else structure_of(part) for part in channel.channels),
    )


@structure_of.register
def _(channel: Product) -> ChannelStructure:
    # Independent draws: each can be at its worst together with the others (Ma 7.1.3).
    gamma = math.prod(structure_of(c).gamma for c in channel.channels)
    return ColumnsStructure(channel.shape, channel.matrix, gamma)


@structure_of.register
def _(channel: Sampled) -> ChannelStructure:
    by_axes: dict[tuple[int, ...], list[Choice]] = {}
    for choice in channel.choices:
        by_axes.setdefault(choice.axes, []).append(choice)
    return _sampled(channel, by_axes.values(), ColumnsStructure(channel.shape, channel.matrix))


@structure_of.register
def _(channel: Coordinated) -> ChannelStructure:
    # Whoever knows the coin knows the choice, so that no other channel of the same axes hides it.
    alike: dict[tuple[tuple[int, ...], Transition], list[Choice]] = {}
    for choice in channel.choices:
        alike.setdefault((choice.axes, choice.channel), []).append(choice)
    silent = int(channel.silent > 0)
    shape = channel.shape[0], silent + sum(c.channel.shape[1] for c in channel.choices)
    listed = ColumnsStructure(shape, lambda: _with_choice(channel))
    return _sampled(channel, alike.values(), listed)


def _with_choice(channel: Sampled) -> Tensor:
    """Return the matrix of a sampled channel whose choice is known beside the report."""
    cells = np.array(np.unravel_index(np.arange(channel.shape[0]), channel.sizes))
    columns = [np.full((cells.shape[1], 1), channel.silent / RESOLUTION)] if channel.silent else []
    for choice in channel.choices:
        sizes = tuple(channel.sizes[axis] for axis in choice.axes)
        part = np.ravel_multi_index(tuple(cells[list(choice.axes)]), sizes)
        columns.append(choice.channel.matrix()[part] * (choice.weight / RESOLUTION))
    return np.concatenate(columns, axis=1)


def _sampled(
    channel: Sampled, groups: Iterable[Sequence[Choice]], listed: ChannelStructure
) -> ChannelStructure:
    """Return the structure of choices in groups that a report tells apart."""
    # Thousands of subsets share a channel or two, of which one structure each is enough.
    made: dict[Transition, ChannelStructure] = {}
    parts = [
        SampledSet(group[0].axes, sum(c.weight for c in group) / RESOLUTION, _together(group, made))
        for group in groups
    ]
    if channel.silent:
        parts.append(SampledSet((), channel.silent / RESOLUTION, _revealed()))
    return SampledStructure(channel.sizes, tuple(parts), listed)


def _together(
    choices: Sequence[Choice], made: dict[Transition, ChannelStructure]
) -> ChannelStructure:
    """Return the structure of choices of the same axes. A list of one channel is that channel's."""
    for choice in choices:
        if choice.channel not in made:
            made[choice.channel] = structure_of(choice.channel)
    if len({choice.channel for choice in choices}) == 1:
        return made[choices[0].channel]
    total = sum(c.weight for c in choices)
    mixtures = [(Fraction(c.weight, total), made[c.channel]) for c in choices]
    known = [(share, m) for share, m in mixtures if isinstance(m, MixtureStructure)]
    if len(known) < len(mixtures):
        return ColumnsStructure(choices[0].channel.shape, lambda: _blend(choices, total))
    keep = sum((share * m.keep for share, m in known), Fraction(0))
    off = sum((share * m.off for share, m in known), Fraction(0))
    return MixtureStructure(known[0][1].cells, keep, off)


def _blend(choices: Sequence[Choice], total: int) -> Tensor:
    """Return the matrix of choices of which a report does not tell which was made."""
    return np.asarray(sum(c.channel.matrix() * (c.weight / total) for c in choices))
