"""How a plan's blocks make up a marginal table: one axis of reports per block that it touches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.channels import LISTED_ENTRIES, Transition, along_axis
from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, EstimationError, LimitExceeded
from pramana_core.estimation.core.strata import Stratum, second_moment
from pramana_core.marginals.counts import ReportTables, Tensor
from pramana_core.marginals.tabulated_counts import refuse_noise
from pramana_core.plan import Plan

Moments = tuple[Tensor, Tensor, Tensor]

AxisMoments = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
"""The means of W, W^2 and W^3 over all reports; of W^2 and W^3 for a record that has the cell."""

DECODER_CELLS = 4096
"""Up to this many cells of a joint block (other than symmetric) its inverse is listed."""


_LARGE, _AT_ONCE = 1 << 16, 64
"""In tensors above this size short axes go together, as one of up to so many cells or reports."""


@dataclass(frozen=True)
class Axis:
    """One block's part in a marginal: the channel to invert and the variables to keep.

    If the block's channel is not lumpable for the variables asked, `variables` are all of the
    block's and those not asked are summed out after inversion.
    """

    variables: tuple[Variable, ...]
    asked: tuple[str, ...]
    channel: Transition

    @property
    def kept(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.name in self.asked)

    @cached_property
    def decoder(self) -> Tensor:
        """The estimator of each kept cell (rows) as a function of the report (columns).

        Raises LimitExceeded, before anything is made, above `DECODER_CELLS`.
        """
        if self.channel.shape[0] > DECODER_CELLS:
            raise LimitExceeded(
                f"The joint block over {[v.name for v in self.variables]} has"
                f" {self.channel.shape[0]} cells; the errors of some of its variables are computed"
                f" up to {DECODER_CELLS}.",
                remedy="Randomize fewer variables together, or by a symmetric channel.",
            )
        return self._summed(self.channel.decoder(), [v.name for v in self.kept])

    def _summed(self, decoder: Tensor, left: Sequence[str]) -> Tensor:
        shape = tuple(v.size for v in self.variables)
        gone = tuple(i for i, v in enumerate(self.variables) if v.name not in left)
        summed: Tensor = decoder.reshape(*shape, -1).sum(axis=gone, keepdims=True)
        return summed.reshape(-1, decoder.shape[1])

    def estimate(self, tensor: Tensor, axis: int) -> Tensor:
        return self.sum_unasked(self.channel.solve(tensor, axis), axis)

    def sum_unasked(self, tensor: Tensor, axis: int) -> Tensor:
        if len(self.kept) == len(self.variables):
            return tensor
        shape = tensor.shape
        split = tensor.reshape(*shape[:axis], *(v.size for v in self.variables), *shape[axis + 1 :])
        gone = tuple(axis + i for i, v in enumerate(self.variables) if v.name not in self.asked)
        summed: Tensor = split.sum(axis=gone)
        return summed.reshape(*shape[:axis], -1, *shape[axis + 1 :])

    def estimator(self, weights: Tensor, axis: int) -> Tensor:
        """Turn weights of the kept cells into the function of the report that estimates them."""
        if len(self.kept) == len(self.variables):
            return self.channel.solve_adjoint(weights, axis)
        return along_axis(self.decoder.T, weights, axis)

    def power(self, tensor: Tensor, axis: int, power: int) -> Tensor:
        """Turn sums over this axis's reports into sums of the estimators to a power."""
        if len(self.kept) == len(self.variables):
            return self.channel.solve_power(tensor, axis, power)
        return along_axis(self.decoder**power, tensor, axis)

    def third_moments(self, reports: Tensor) -> AxisMoments:
        """Return the moments of each kept cell's estimator if the variables were independent.

        Third moments of the reports themselves are too noisy to be of use (see `Tilt`).

        Args:
            reports: the counts of this axis's reports, which say how frequent categories are.
        """
        law = self._independent(reports)
        true, reported = self.channel.shape
        if true * reported <= LISTED_ENTRIES:
            expected = self.channel.apply(law, 0)
        else:
            expected = reports / reports.sum()
        first, second, third = (self.power(expected, 0, power) for power in (1, 2, 3))
        return first, second, third, self._own_moment(2, law), self._own_moment(3, law)

    def _independent(self, reports: Tensor) -> Tensor:
        """Return the law of independent variables that have the distributions estimated."""
        sizes = [v.size for v in self.variables]
        cells = np.maximum(self.channel.solve(reports, 0), 0.0).reshape(sizes)
        law = np.ones(())
        for place in range(len(sizes)):
            alone = cells.sum(axis=tuple(i for i in range(len(sizes)) if i != place))
            law = np.multiply.outer(law, alone)
        possible = self.channel.can_occur()
        law = law.ravel() * possible
        whole: Tensor = law / law.sum() if law.sum() > 0 else possible / possible.sum()
        return whole

    def _own_moment(self, power: int, law: Tensor) -> Tensor:
        """Return the mean of each kept cell's estimator to a power for a record that has it."""
        if len(self.kept) == len(self.variables):
            return self.channel.own_moment(power)
        whole = np.arange(len(law)).reshape([v.size for v in self.variables])
        kept = [i for i, v in enumerate(self.variables) if v.name in self.asked]
        rows = np.moveaxis(whole, kept, range(len(kept))).reshape(len(self.decoder), -1)
        matrix, own = self.channel.matrix(), np.empty(len(rows))
        for cell, parts in enumerate(rows):
            shares = law[parts] if law[parts].any() else np.ones(len(parts))
            own[cell] = shares @ (matrix[parts] @ self.decoder[cell] ** power) / shares.sum()
        return own

    def moments(self, tensors: Moments, axis: int, summed: frozenset[str]) -> Moments:
        """Turn sums over this axis's reports into sums of W^2, W V and V^2 per kept cell."""
        names = [v.name for v in self.kept]
        if not summed.intersection(names):
            ww, wv, vv = (self.power(tensor, axis, 2) for tensor in tensors)
            return ww, wv, vv
        ww, wv, vv = tensors
        if summed.issuperset(names) and self.channel.normalized:
            # The estimator of the whole axis is 1 for every report.
            return self.power(ww, axis, 2), self.estimate(wv, axis), vv.sum(axis, keepdims=True)
        if (mixture := self.channel.inverse_mixture) is not None:
            return self._mixture_moments(tensors, axis, summed, mixture)
        decoder = self.decoder
        rest = [name for name in names if name not in summed]
        margin = self._summed(self.channel.decoder(), rest)
        cells = np.arange(len(decoder)).reshape([v.size for v in self.kept])
        lead = tuple(slice(None) if n in rest else slice(0, 1) for n in names)
        of_cell = np.broadcast_to(
            np.arange(len(margin)).reshape(cells[lead].shape), cells.shape
        ).ravel()
        return (
            along_axis(np.square(decoder), ww, axis),
            along_axis(decoder * margin[of_cell], wv, axis),
            self._margin_moment(vv, axis, summed),
        )

    def _margin_moment(self, tensor: Tensor, axis: int, summed: frozenset[str]) -> Tensor:
        gone = [
            place
            for place, v in enumerate(self.variables)
            if v.name in summed or v.name not in self.asked
        ]
        return second_moment(self.channel, tensor, axis, [v.size for v in self.variables], gone)

    def _mixture_moments(
        self, tensors: Moments, axis: int, summed: frozenset[str], mixture: tuple[float, float]
    ) -> Moments:
        """Sum W = a [y = c] + b times V = a [y in m] + b s without listing them.

        c is the cell, m its margin of s cells, y the report: P^-1 is a I + b 11'.
        """
        a, b = mixture
        sizes = [v.size for v in self.kept]
        gone = tuple(axis + i for i, v in enumerate(self.kept) if v.name in summed)
        s = math.prod(v.size for v in self.kept if v.name in summed)
        ww, wv, vv = tensors
        split = wv.reshape(*wv.shape[:axis], *sizes, *wv.shape[axis + 1 :])
        margin = np.broadcast_to(split.sum(axis=gone, keepdims=True), split.shape)
        everything = wv.sum(axis=axis, keepdims=True)
        cross = a * (a + b * s) * wv + a * b * margin.reshape(wv.shape) + b * b * s * everything
        return self.power(ww, axis, 2), cross, self._margin_moment(vv, axis, summed)


def along_axes(
    turn: Callable[[Axis, Tensor, int], Tensor], axes: Sequence[Axis], tensor: Tensor
) -> Tensor:
    """Return what `Axis.estimate` or `Axis.estimator` makes of a tensor along all axes.

    Args:
        turn: which of the two.
        axes: the parts of a table.
        tensor: a first axis of its own, then one for each part.
    """
    place = 1
    for part in _together(axes, tensor):
        if len(part) == 1:
            tensor = turn(part[0], tensor, place)
        else:
            shape = tensor.shape
            own = zip(part, shape[place : place + len(part)], strict=True)
            matrices = [turn(axis, np.eye(size), 0) for axis, size in own]
            matrix: Tensor = np.ones((1, 1))
            for one in matrices:
                matrix = np.asarray(np.kron(matrix, one), dtype=np.float64)
            before = math.prod(shape[:place])
            split = tensor.reshape(before, matrix.shape[1], -1)
            made = [len(m) for m in matrices]
            turned = split[..., 0] @ matrix.T if split.shape[2] == 1 else matrix @ split
            tensor = turned.reshape(*shape[:place], *made, *shape[place + len(part) :])
        place += len(part)
    return tensor


def _together(axes: Sequence[Axis], tensor: Tensor) -> list[list[Axis]]:
    """Return which neighbouring axes are taken at once: one product of matrices for a handful."""
    if tensor.size <= _LARGE:
        return [[axis] for axis in axes]
    parts: list[list[Axis]] = []
    width = math.inf
    for axis in axes:
        own = max(axis.channel.shape)
        width *= own
        if width > _AT_ONCE:
            parts.append([])
            width = own
        parts[-1].append(axis)
    return parts


def axes_of(plan: Plan, asked: Sequence[str]) -> list[Axis]:
    """Return the axes of a table over `asked`, in the plan's order of blocks."""
    axes = []
    for block in plan.blocks:
        names = tuple(name for name in block.names if name in asked)
        if not names:
            continue
        channel = block.restrict(names)
        kept = tuple(v for v in block.variables if v.name in names)
        if channel is None:
            axes.append(Axis(block.variables, names, block.channel))
        else:
            axes.append(Axis(kept, names, channel))
    return axes


def observed(reports: ReportTables, axes: Sequence[Axis], *, noise_counted: bool = False) -> Tensor:
    """Return the reported counts over some axes, an axis for each.

    Args:
        reports: where they are counted.
        axes: the parts of the table.
        noise_counted: whether the caller takes account of what was added to the counts.

    Raises:
        EstimationError: noise was added, and the caller takes no account of it.
    """
    if not noise_counted:
        refuse_noise(reports)
    names = [v.name for axis in axes for v in axis.variables]
    shape = [axis.channel.shape[1] for axis in axes]
    return reports.table(names).reshape(shape).astype(np.float64)


def joined(domains: Sequence[Domain]) -> Domain:
    """Return the variables of several sources, each once, as the first lists it.

    Raises:
        DomainError: a variable has other categories in another source.
    """
    found: dict[str, Variable] = {}
    for domain in domains:
        for variable in domain:
            known = found.setdefault(variable.name, variable)
            if known.categories != variable.categories:
                raise DomainError(
                    f"Variable {variable.name!r} has other categories in another stratum, or in"
                    " another order.",
                    where=variable.name,
                    remedy="Let all owners list the same categories in one order.",
                )
    return Domain(tuple(found.values()))


def require_reported(
    sources: Sequence[tuple[ReportTables, Plan]], variables: Sequence[str]
) -> None:
    """Check that every source reports some variables. Raises EstimationError."""
    for _, plan in sources:
        if missing := [name for name in variables if name not in plan.domain]:
            raise EstimationError(
                f"A stratum does not report {missing}; its moments say nothing of them.",
                where=", ".join(missing),
                remedy="Use the estimator 'ml' or 'pooled', which explain all reports together.",
            )


def table_of(sources: Sequence[tuple[ReportTables, Plan]], asked: Sequence[str]) -> Domain:
    """Return the variables of a true table over some: those, then what joint blocks bring in.

    Raises UnknownVariable where no source has one of them.
    """
    parts = [axes_of(plan, asked) for _, plan in sources]
    found = {v.name: v for axes in parts for axis in axes for v in axis.variables}
    return Domain(tuple(found.values())).project(
        [*asked, *(name for name in found if name not in asked)]
    )


def strata_of(
    sources: Sequence[tuple[ReportTables, Plan]], asked: Sequence[str], limit: int
) -> tuple[Stratum, ...]:
    """Return the strata that report any of some variables, on one true table.

    The table's axes are the variables asked, in their order, then what joint blocks bring in
    besides.

    Raises:
        UnknownVariable: no source has one of them.
        LimitExceeded: the true table has more than `limit` cells.
    """
    domain = table_of(sources, asked)
    if domain.size > limit:
        raise LimitExceeded(
            f"The table over {list(domain.names)} has {domain.size} cells; at most {limit} are"
            " allowed.",
            remedy="Allow fewer parents, or give the variables fewer categories.",
        )
    parts = [(reports, axes_of(plan, asked)) for reports, plan in sources]
    return tuple(
        Stratum(
            observed(reports, axes),
            tuple(axis.channel for axis in axes),
            tuple(tuple(domain.axis(v.name) for v in axis.variables) for axis in axes),
            domain.shape,
        )
        for reports, axes in parts
        if axes
    )


def sum_unasked(tensor: Tensor, axes: Sequence[Axis]) -> Tensor:
    """Sum out the variables that only a non-lumpable joint block brought in."""
    for axis, part in enumerate(axes):
        tensor = part.sum_unasked(tensor, axis)
    return tensor


def arrange(
    tensor: Tensor,
    axes: Sequence[Axis],
    domain: Domain,
    summed: frozenset[str] = frozenset(),
) -> Tensor:
    """Split the blocks' axes into their variables' and put these in the domain's order."""
    kept = [v for axis in axes for v in axis.kept]
    split = tensor.reshape([1 if v.name in summed else v.size for v in kept])
    order = [v.name for v in kept]
    return np.transpose(split, [order.index(name) for name in domain.names])


def named(axes: Sequence[Axis]) -> list[str]:
    """Return the names of the blocks' variables, in their order."""
    return [v.name for axis in axes for v in axis.variables]


def arranged(theta: Tensor, axes: Sequence[Axis], groups: Sequence[Sequence[int]]) -> Tensor:
    """Put a table of the blocks' cells into axes of another order: see `Stratum.groups`."""
    order = [axis for group in groups for axis in group]
    split = theta.reshape([v.size for axis in axes for v in axis.variables])
    return split.transpose(np.argsort(order))
