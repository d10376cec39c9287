"""The reports behind a marginal table, with one axis of reports for each block in the table.

Every operation works along the axes of the count tensor; none iterates over records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pramana_core.channels import CONDITION_LIMIT, Transition, along_axis
from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, EstimationError, LimitExceeded, OptionError
from pramana_core.marginals.counts import ReportTables, Tensor
from pramana_core.marginals.tables import Moments
from pramana_core.plan import Plan

_FEW = 1 << 13
"""The maximum number of entries of a listed matrix of the probabilities of reports given cells."""

_TOGETHER = 64
"""The maximum number of joint categories for which neighbouring channels become one matrix."""


@dataclass(frozen=True)
class Stratum:
    """Reported counts of records randomized by the same channels, with one axis per channel.

    `groups` lists, for each channel, the axes of the true table (of shape `shape`) that it
    randomizes; by default one axis for each channel. Axes in no group are not reported.
    """

    reported: Tensor
    channels: tuple[Transition, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.reported.shape != tuple(c.shape[1] for c in self.channels):
            raise OptionError(
                f"Reported counts of shape {self.reported.shape} do not fit channels that report"
                f" {[c.shape[1] for c in self.channels]} categories."
            )
        if bool(self.groups) != bool(self.shape):
            raise OptionError("A stratum needs both its groups and the true table's shape.")
        cells = [math.prod(self.shape[axis] for axis in group) for group in self.groups]
        if self.groups and cells != [c.shape[0] for c in self.channels]:
            raise OptionError(
                f"Groups of {cells} true cells do not fit channels that randomize"
                f" {[c.shape[0] for c in self.channels]} categories."
            )
        if not self.groups:
            alone = tuple((axis,) for axis in range(len(self.channels)))
            object.__setattr__(self, "groups", alone)
            object.__setattr__(self, "shape", tuple(c.shape[0] for c in self.channels))

    @cached_property
    def records(self) -> float:
        """The number of records in the stratum."""
        return float(self.reported.sum())

    @cached_property
    def column(self) -> Tensor:
        """The reported counts as one column, (reports, 1)."""
        return self.reported.reshape(-1, 1)

    @property
    def solvable(self) -> bool:
        """Whether all variables are reported through channels with an inverse."""
        return not self._absent and all(
            c.shape[0] <= c.shape[1] and c.condition_number <= CONDITION_LIMIT
            for c in self.channels
        )

    @property
    def square(self) -> bool:
        """Whether every channel has as many reports as true categories."""
        return all(channel.shape[0] == channel.shape[1] for channel in self.channels)

    def expected(self, true: Tensor) -> Tensor:
        """Return the expected reports, (reports, sets), of true tables (cells..., sets)."""
        if self._small is not None:
            product: Tensor = self._small @ true.reshape(-1, true.shape[-1])
            return product
        return self._along_axes(true)

    def _along_axes(self, true: Tensor) -> Tensor:
        reported = true.sum(axis=self._absent) if self._absent else true
        arranged = reported.transpose([*self._order, len(self._order)])
        return self._turned(arranged.reshape(-1, true.shape[-1]), adjoint=False)

    def adjoint(self, function: Tensor) -> Tensor:
        """Return the expectation, per true cell, of functions of the report (reports, sets).

        Axes of the true table that are not reported have length 1.
        """
        if self._small is not None:
            product: Tensor = self._small.T @ function
            return product.reshape(*self.shape, -1)
        return self._spread(self._turned(function, adjoint=True))

    def moment(self) -> Tensor:
        """Return the moment estimate of the true counts, in the true table's shape (Ma 2.4.1)."""
        estimate = self.reported.astype(np.float64)
        for axis, channel in enumerate(self.channels):
            estimate = channel.solve(estimate, axis)
        return self._spread(estimate[..., None])[..., 0]

    def estimator_variance(self, true: Tensor, gone: Sequence[int]) -> Tensor:
        """Return the variance, per record, of the moment estimate of a margin.

        The margin sums over the axes `gone`. `true` is the records' distribution, as a true table.
        """
        second = self.expected(true[..., None]).reshape(self.reported.shape)
        for axis, (channel, group) in enumerate(zip(self.channels, self.groups, strict=True)):
            sizes = [self.shape[part] for part in group]
            summed = [place for place, part in enumerate(group) if part in gone]
            second = second_moment(channel, second, axis, sizes, summed)
        left = [part for group in self.groups for part in group if part not in gone]
        split = second.reshape([self.shape[part] for part in left])
        variance: Tensor = split.transpose(np.argsort(left)) - np.square(true.sum(axis=tuple(gone)))
        return variance

    @cached_property
    def _absent(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in self._reported_axes)

    @cached_property
    def _order(self) -> list[int]:
        left = [axis for axis in range(len(self.shape)) if axis not in self._absent]
        return [left.index(axis) for axis in self._reported_axes]

    def listed(self) -> Tensor:
        """Return the probability of each report (rows) given each true cell (columns)."""
        return self._along_axes(np.eye(math.prod(self.shape)).reshape(*self.shape, -1))

    @cached_property
    def _small(self) -> Tensor | None:
        few = math.prod(self.shape) * self.reported.size <= _FEW
        return self.listed() if few else None

    def _turned(self, tensor: Tensor, *, adjoint: bool) -> Tensor:
        """Return P' x, or P x, for the columns of x (cells or reports in channel order, sets)."""
        before, sets = 1, tensor.shape[-1]
        for part in self._parts:
            size, made = part.shape[::-1] if adjoint else part.shape
            split = tensor.reshape(before, size, -1)
            if isinstance(part, Transition):
                tensor = part.apply_adjoint(split, 1) if adjoint else part.apply(split, 1)
            elif split.shape[2] == 1:
                tensor = split[..., 0] @ (part.T if adjoint else part)
            else:
                tensor = (part if adjoint else part.T) @ split
            before *= made
        return tensor.reshape(-1, sets)

    @cached_property
    def _parts(self) -> list[Transition | Tensor]:
        """The channels in order, with neighbours of few categories joined into one matrix P."""
        parts: list[Transition | Tensor] = []
        for channel in self.channels:
            if max(channel.shape) > _TOGETHER:
                parts.append(channel)
                continue
            matrix, last = channel.matrix(), parts[-1] if parts else channel
            joined = [a * b for a, b in zip(last.shape, matrix.shape, strict=True)]
            if isinstance(last, Transition) or max(joined) > _TOGETHER:
                parts.append(matrix)
            else:
                parts[-1] = np.asarray(np.kron(last, matrix), dtype=np.float64)
        return parts

    def _spread(self, cells: Tensor) -> Tensor:
        split = cells.reshape(*(self.shape[axis] for axis in self._reported_axes), cells.shape[-1])
        return split.transpose(self._back)[self._widened]

    @cached_property
    def _reported_axes(self) -> list[int]:
        return [axis for group in self.groups for axis in group]

    @cached_property
    def _back(self) -> list[int]:
        return [*np.argsort(self._reported_axes), len(self._reported_axes)]

    @cached_property
    def _widened(self) -> tuple[slice | None, ...]:
        return tuple(
            None if axis in self._absent else slice(None) for axis in range(len(self.shape))
        )


def merged(strata: Sequence[Stratum]) -> tuple[Stratum, ...]:
    """Return the strata of a true table after adding the counts of strata with equal channels."""
    first: dict[tuple[object, ...], Stratum] = {}
    for stratum in strata:
        layout = (stratum.channels, stratum.groups)
        known = first.get(layout)
        total = stratum.reported if known is None else known.reported + stratum.reported
        first[layout] = replace(stratum, reported=total)
    return tuple(first.values())


def moment(strata: Sequence[Stratum]) -> Tensor:
    """Return the moment estimate of the true counts (Ma 2.4.1, theorem 2), unbiased and raw.

    Estimates of all channels are added. Raises SingularChannel, EstimationError without strata.
    """
    if not strata:
        raise EstimationError("There are no reported counts to estimate from.")
    return np.asarray(sum(stratum.moment() for stratum in strata), dtype=np.float64)


def second_moment(
    channel: Transition, reports: Tensor, axis: int, sizes: Sequence[int], summed: Sequence[int]
) -> Tensor:
    """Return, on one axis, the sums over reports of the squared estimators of a margin's cells.

    Each report's square is weighted by its count in `reports`. `sizes` are the numbers of
    categories of the variables that the channel randomizes, and `summed` has the indices of the
    variables summed over.
    """
    if not summed:
        return channel.solve_square(reports, axis)
    if (mixture := channel.inverse_mixture) is not None:
        # The estimator of a margin of s cells is a [report in it] + b s (P^-1 = a I + b 11').
        a, b = mixture
        s = math.prod(sizes[place] for place in summed)
        split = reports.reshape(*reports.shape[:axis], *sizes, *reports.shape[axis + 1 :])
        margin = split.sum(axis=tuple(axis + place for place in summed))
        margin = margin.reshape(*reports.shape[:axis], -1, *reports.shape[axis + 1 :])
        everything = reports.sum(axis=axis, keepdims=True)
        moment: Tensor = a * (a + 2 * b * s) * margin + (b * s) ** 2 * everything
        return moment
    decoder = listed_decoder(channel).reshape(*sizes, -1)
    weights: Tensor = decoder.sum(axis=tuple(summed)).reshape(-1, decoder.shape[-1])
    return along_axis(np.square(weights), reports, axis)


DECODER_CELLS = 4096
"""The maximum number of cells of an asymmetric joint block whose inverse is listed."""


def listed_decoder(channel: Transition) -> Tensor:
    """Return the decoder of a channel. Raises LimitExceeded above `DECODER_CELLS`."""
    if channel.shape[0] > DECODER_CELLS:
        raise LimitExceeded(
            f"Errors for part of the variables of a joint block of {channel.shape[0]} cells cannot"
            f" be computed; the limit is {DECODER_CELLS} cells.",
            remedy="Randomize fewer variables together, or use a symmetric channel.",
        )
    return channel.decoder()


@dataclass(frozen=True)
class Axis:
    """One block's part of a marginal: the channel to invert and the variables to keep."""

    variables: tuple[Variable, ...]
    wanted: tuple[str, ...]
    channel: Transition

    @property
    def kept(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.name in self.wanted)

    @cached_property
    def decoder(self) -> Tensor:
        """The estimator of each kept cell (rows) by report (columns). Raises LimitExceeded."""
        return self._summed(listed_decoder(self.channel), [v.name for v in self.kept])

    def _summed(self, decoder: Tensor, left: Sequence[str]) -> Tensor:
        shape = tuple(v.size for v in self.variables)
        gone = tuple(i for i, v in enumerate(self.variables) if v.name not in left)
        summed: Tensor = decoder.reshape(*shape, -1).sum(axis=gone, keepdims=True)
        return summed.reshape(-1, decoder.shape[1])

    def estimate(self, tensor: Tensor, axis: int) -> Tensor:
        return self.sum_others(self.channel.solve(tensor, axis), axis)

    def sum_others(self, tensor: Tensor, axis: int) -> Tensor:
        if len(self.kept) == len(self.variables):
            return tensor
        shape = tensor.shape
        split = tensor.reshape(*shape[:axis], *(v.size for v in self.variables), *shape[axis + 1 :])
        gone = tuple(axis + i for i, v in enumerate(self.variables) if v.name not in self.wanted)
        summed: Tensor = split.sum(axis=gone)
        return summed.reshape(*shape[:axis], -1, *shape[axis + 1 :])

    def estimator(self, weights: Tensor, axis: int) -> Tensor:
        """Return the function of the report that estimates a weighted sum of the kept cells."""
        if len(self.kept) == len(self.variables):
            return self.channel.solve_adjoint(weights, axis)
        return along_axis(self.decoder.T, weights, axis)

    def square(self, tensor: Tensor, axis: int, summed: frozenset[str] = frozenset()) -> Tensor:
        """Return `second_moment` for this axis's kept cells, summed over the variables `summed`."""
        gone = [
            place
            for place, v in enumerate(self.variables)
            if v.name in summed or v.name not in self.wanted
        ]
        return second_moment(self.channel, tensor, axis, [v.size for v in self.variables], gone)

    def moments(self, tensors: Moments, axis: int, summed: frozenset[str]) -> Moments:
        """Return the sums of W^2, W V and V^2 per kept cell; see `MarginalTable.second_moments`."""
        names = [v.name for v in self.kept]
        if not summed.intersection(names):
            ww, wv, vv = (self.square(tensor, axis) for tensor in tensors)
            return ww, wv, vv
        ww, wv, vv = tensors
        if summed.issuperset(names) and self.channel.normalized:
            # The estimators of the whole axis sum to 1 for every report.
            return self.square(ww, axis), self.estimate(wv, axis), vv.sum(axis, keepdims=True)
        if (mixture := self.channel.inverse_mixture) is not None:
            return self._mixture_moments(tensors, axis, summed, mixture)
        decoder = self.decoder
        rest = [name for name in names if name not in summed]
        margin = self._summed(listed_decoder(self.channel), rest)
        cells = np.arange(len(decoder)).reshape([v.size for v in self.kept])
        lead = tuple(slice(None) if n in rest else slice(0, 1) for n in names)
        of_cell = np.broadcast_to(
            np.arange(len(margin)).reshape(cells[lead].shape), cells.shape
        ).ravel()
        return (
            along_axis(np.square(decoder), ww, axis),
            along_axis(decoder * margin[of_cell], wv, axis),
            self.square(vv, axis, summed),
        )

    def _mixture_moments(
        self, tensors: Moments, axis: int, summed: frozenset[str], mixture: tuple[float, float]
    ) -> Moments:
        a, b = mixture
        sizes = [v.size for v in self.kept]
        gone = tuple(axis + i for i, v in enumerate(self.kept) if v.name in summed)
        s = math.prod(v.size for v in self.kept if v.name in summed)
        ww, wv, vv = tensors
        split = wv.reshape(*wv.shape[:axis], *sizes, *wv.shape[axis + 1 :])
        margin = np.broadcast_to(split.sum(axis=gone, keepdims=True), split.shape)
        everything = wv.sum(axis=axis, keepdims=True)
        cross = a * (a + b * s) * wv + a * b * margin.reshape(wv.shape) + b * b * s * everything
        return self.square(ww, axis), cross, self.square(vv, axis, summed)


def along_axes(
    turn: Callable[[Axis, Tensor, int], Tensor], axes: Sequence[Axis], tensor: Tensor
) -> Tensor:
    """Apply the method `turn` of each `Axis` along its axis of a tensor (q, an axis per part)."""
    for place, part in enumerate(axes, start=1):
        tensor = turn(part, tensor, place)
    return tensor


def axes_of(plan: Plan, wanted: Sequence[str]) -> list[Axis]:
    """Return the axes of a table over `wanted`, in the plan's order of blocks."""
    axes = []
    for block in plan.blocks:
        names = tuple(name for name in block.names if name in wanted)
        if not names:
            continue
        channel = block.restrict(names)
        kept = tuple(v for v in block.variables if v.name in names)
        if channel is None:
            axes.append(Axis(block.variables, names, block.channel))
        else:
            axes.append(Axis(kept, names, channel))
    return axes


def observed(reports: ReportTables, axes: Sequence[Axis]) -> Tensor:
    """Return the reported counts over some axes, with one tensor axis for each."""
    names = [v.name for axis in axes for v in axis.variables]
    shape = [axis.channel.shape[1] for axis in axes]
    return reports.table(names).reshape(shape).astype(np.float64)


def joined(domains: Sequence[Domain]) -> Domain:
    """Return the variables of several sources in order of first occurrence. Raises DomainError."""
    found: dict[str, Variable] = {}
    for domain in domains:
        for variable in domain:
            known = found.setdefault(variable.name, variable)
            if known.categories != variable.categories:
                raise DomainError(
                    f"Variable {variable.name!r} has different categories in another stratum, or a"
                    " different order of them.",
                    where=variable.name,
                    remedy="Let all owners list the same categories in the same order.",
                )
    return Domain(tuple(found.values()))


def require_reported(
    sources: Sequence[tuple[ReportTables, Plan]], variables: Sequence[str]
) -> None:
    """Check that every source reports the given variables. Raises EstimationError."""
    for _, plan in sources:
        if missing := [name for name in variables if name not in plan.domain]:
            raise EstimationError(
                f"The moment estimator needs {missing}, but a stratum does not report them.",
                where=", ".join(missing),
                remedy="Use the estimator 'ml' or 'pooled', which use all reports together.",
            )


def table_of(sources: Sequence[tuple[ReportTables, Plan]], wanted: Sequence[str]) -> Domain:
    """Return the domain of `wanted`, then of the other variables in their blocks.

    Raises UnknownVariable.
    """
    return _joint([axes_of(plan, wanted) for _, plan in sources], wanted)


def _joint(parts: Sequence[Sequence[Axis]], wanted: Sequence[str]) -> Domain:
    found = {v.name: v for axes in parts for axis in axes for v in axis.variables}
    more = [name for name in found if name not in wanted]
    return Domain(tuple(found.values())).project([*wanted, *more])


def reported_strata(
    sources: Sequence[tuple[ReportTables, Plan]], wanted: Sequence[str], limit: int
) -> tuple[Domain, list[tuple[list[Axis], Stratum]]]:
    """Return a true table over some variables, and the strata that report one or more of them.

    The table's axes are those of `table_of`. Each stratum comes with the axes of its reports.
    Raises UnknownVariable: no source has a variable. LimitExceeded: the true table has more than
    `limit` cells.
    """
    parts = [(reports, axes_of(plan, wanted)) for reports, plan in sources]
    domain = _joint([axes for _, axes in parts], wanted)
    if domain.size > limit:
        raise LimitExceeded(
            f"The table over {list(domain.names)} has {domain.size} cells; the limit is {limit}.",
            remedy="Request fewer variables at once, or give them fewer categories.",
        )
    return domain, [
        (
            axes,
            Stratum(
                observed(reports, axes),
                tuple(axis.channel for axis in axes),
                tuple(tuple(domain.axis(v.name) for v in axis.variables) for axis in axes),
                domain.shape,
            ),
        )
        for reports, axes in parts
        if axes
    ]


def strata_of(
    sources: Sequence[tuple[ReportTables, Plan]], wanted: Sequence[str], limit: int
) -> tuple[Stratum, ...]:
    """Return the strata of `reported_strata` without their axes."""
    return tuple(stratum for _, stratum in reported_strata(sources, wanted, limit)[1])


def named(axes: Sequence[Axis]) -> list[str]:
    """Return the names of the blocks' variables in order."""
    return [v.name for axis in axes for v in axis.variables]
