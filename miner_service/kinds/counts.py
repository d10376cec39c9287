"""Kinds of jobs on randomized records: they learn from counts estimated under their plans."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from miner_service.alignment.align import Aligner, require_aligned
from miner_service.alignment.joining import PlannedRelease, RecordAccess, marginals_of
from miner_service.kinds.base import (
    Content,
    Held,
    JobKind,
    JobResult,
    PreparedJob,
    require_one_owner,
    said_of_copies,
)
from miner_service.kinds.counting import Extent, RecordLayout, estimated
from miner_service.settings import Limits
from pramana_core.alike import did_you_mean
from pramana_core.domain import Domain, Variable
from pramana_core.errors import Conflict, LimitExceeded, OptionError, VariablesMissing
from pramana_core.estimation.pooled_laws import LEAST_ORDER, default_order
from pramana_core.marginals.counts import Marginals
from pramana_core.marginals.score_interval import LackOfFit, warnings_of
from pramana_core.plan import Block, Plan
from pramana_core.progress import Progress, Repeating
from pramana_core.wire.jobs import CountsSpec
from pramana_core.wire.models import LackOfFitMessage, ModelHead
from pramana_core.wire.release_kinds import RANDOMIZED
from pramana_core.wire.releases import Alignment

SpecT = TypeVar("SpecT", bound=CountsSpec)
MessageT = TypeVar("MessageT", bound=ModelHead)


@dataclass(frozen=True)
class CountsJob(PreparedJob):
    """A job that can run: what it counts, the blocks it needs of the releases, and its order."""

    extent: Extent
    planned: tuple[PlannedRelease, ...]
    blocks: tuple[tuple[PlannedRelease, tuple[Block, ...]], ...]
    order: int | None


@dataclass(frozen=True)
class Group:
    """Records that the same releases have: how many, and the blocks they are reported by."""

    records: int
    blocks: tuple[tuple[PlannedRelease, tuple[Block, ...]], ...]

    def owners(self, name: str) -> list[str]:
        """Return the owners whose releases have a variable."""
        return [r.source.owner for r, blocks in self.blocks if any(name in b.names for b in blocks)]

    @property
    def names(self) -> list[str]:
        """The variables of the blocks, each as often as an owner has it."""
        return [name for _, blocks in self.blocks for block in blocks for name in block.names]

    @property
    def plan(self) -> Plan:
        """The plan of the records' reports. Raises PlanError if a variable is there twice."""
        return _together(self.blocks)

    @property
    def silent(self) -> set[str]:
        """The variables that are withheld from every report."""
        held = [block for _, blocks in self.blocks for block in blocks]
        return {n for b in held if b.channel.withheld for n in b.names}


class CountsKind(JobKind[SpecT, CountsJob, MessageT]):
    """A kind of job that learns from counts, estimated from randomized records.

    Attributes:
        settles_order: whether an order that is left out follows the records, and not the table.
    """

    release_kind = RANDOMIZED
    settles_order: ClassVar[bool] = True

    @abstractmethod
    def variables(self, spec: SpecT, reported: Domain) -> tuple[str, ...]:
        """Return the variables it counts, given all that are reported; may raise."""

    @abstractmethod
    def require_affordable(self, spec: SpecT, extent: Extent, limits: Limits) -> None:
        """Raise LimitExceeded if what is asked of these variables is too much."""

    @abstractmethod
    def learn(self, spec: SpecT, marginals: Marginals, on_step: Progress) -> Content:
        """Learn from marginals over the variables, in their order."""

    def prepare(
        self,
        spec: SpecT,
        held: Sequence[Held],
        alignment: Alignment,
        limits: Limits,
        aligner: Aligner,
    ) -> CountsJob:
        """Check that a job can run on releases that hold plans."""
        self.check(spec)
        require_aligned(alignment, spec.records)
        releases = [PlannedRelease(source, plan) for source, plan in held]
        reported = _reported(releases)
        variables = self.variables(spec, reported)
        _require_reported(variables, reported)
        blocks = tuple(
            (release, needed)
            for release in releases
            if (needed := tuple(b for b in release.plan.blocks if set(variables) & set(b.names)))
        )
        if spec.records == "any":
            groups = _groups(blocks, aligner)
            records = sum(group.records for group in groups)
            _require_combinable(spec, variables, groups, alignment)
            layout = RecordLayout(tuple(group.plan for group in groups))
        else:
            _require_one_source(blocks, alignment)
            records = alignment.in_all or 0
            layout = RecordLayout((_together(blocks),))
        extent = Extent(variables, layout, records)
        order = self._affordable_order(spec, extent, limits)
        sources = tuple(release.source for release in releases)
        return CountsJob(sources, alignment, extent, tuple(releases), blocks, order)

    def settled(self, spec: SpecT, prepared: CountsJob) -> SpecT:
        """Return a specification that can run, with the order that it is learned with."""
        return spec.model_copy(update={"order": prepared.order})

    def _affordable_order(self, spec: SpecT, extent: Extent, limits: Limits) -> int | None:
        """Return the order given, or the highest default one that can be afforded."""
        order = spec.order if spec.models else spec.interacting
        if order is None and estimated(spec).settles_order and self.settles_order:
            for order in range(default_order(extent.layout.plans), LEAST_ORDER, -1):
                higher = spec.model_copy(update={"order": order})
                with suppress(LimitExceeded):
                    self.require_affordable(higher, extent, limits)
                    return order
            order = LEAST_ORDER
        spec = spec.model_copy(update={"order": order})
        self.require_affordable(spec, extent, limits)
        return order

    def learned(
        self,
        spec: SpecT,
        prepared: CountsJob,
        access: RecordAccess,
        on_step: Progress,
    ) -> JobResult:
        """Estimate the counts that a job needs and learn its model from them.

        Work amid a step repeats what `on_step` was told last, so that it can be stopped there too.
        """
        steps = Repeating(on_step)
        marginals = marginals_of(
            spec,
            prepared.planned,
            prepared.blocks,
            access,
            prepared.extent.variables,
            steps.again,
        )
        content = self.learn(spec, marginals, steps)
        fitting = _fitting(marginals.lack_of_fit)
        return JobResult(marginals.records, content, fitting, marginals.filled_in)


def _together(blocks: Sequence[tuple[PlannedRelease, tuple[Block, ...]]]) -> Plan:
    """Return the plan of records that some releases report, one coin's parts joined."""
    return Plan.combine(Plan(needed) for _, needed in blocks)


def _fitting(tests: Collection[LackOfFit]) -> tuple[LackOfFitMessage, ...]:
    """Return how the reports fit the models that counts were taken from."""
    warnings = [next(iter(warnings_of([test], of=len(tests))), "") for test in tests]
    return tuple(
        LackOfFitMessage(**test.as_dict(), warning=warning)
        for test, warning in zip(tests, warnings, strict=True)
    )


def _reported(releases: Sequence[PlannedRelease]) -> Domain:
    """Return the variables that are not withheld everywhere."""
    blocks = [block for release in releases for block in release.plan.blocks]
    found: dict[str, Variable] = {}
    for variable in (v for b in blocks if not b.channel.withheld for v in b.variables):
        # Named by two owners it stays here once; whether it may be is asked later.
        found.setdefault(variable.name, variable)
    return Domain(tuple(found.values()))


def _require_reported(variables: Collection[str], domain: Domain) -> None:
    """Check that each variable is reported: of one withheld everywhere nothing can be told."""
    missing = sorted(set(variables) - set(domain.names))
    if missing:
        reported = sorted(domain.names)
        raise VariablesMissing(
            f"No sealed release in use reports {missing}{did_you_mean(missing, reported)}.",
            where=", ".join(missing),
            remedy=f"The variables reported are {reported}.",
        )


def _groups(
    blocks: Sequence[tuple[PlannedRelease, tuple[Block, ...]]], aligner: Aligner
) -> list[Group]:
    """Return the sets of records that the same ones of the needed releases have."""
    together = aligner.together([release.source for release, _ in blocks])
    return [
        Group(records, tuple(pair for pair in blocks if pair[0].source.release in present))
        for present, records in together.items()
    ]


def _require_combinable(
    spec: CountsSpec, variables: Sequence[str], groups: Sequence[Group], alignment: Alignment
) -> None:
    """Check that records reported differently can be explained together."""
    for group in groups:
        _require_each_once(group, alignment)
    if estimated(spec).needs_all:
        _require_all_reported(variables, groups)


def _require_each_once(group: Group, alignment: Alignment) -> None:
    twice = {name: owners for name in group.names if len(owners := group.owners(name)) > 1}
    if twice:
        raise Conflict(
            f"{group.records} records have a variable from more than one owner: "
            + "; ".join(f"{name} ({', '.join(found)})" for name, found in sorted(twice.items()))
            + "."
            + said_of_copies(alignment),
            where=", ".join(sorted(twice)),
            remedy="Of one record each variable must come from one owner; rename one of them.",
        )


def _require_all_reported(variables: Sequence[str], groups: Sequence[Group]) -> None:
    for group in groups:
        absent = sorted(set(variables) - (set(group.names) - group.silent))
        if absent:
            raise OptionError(
                f"{group.records} records are reported without {absent}; their moments say nothing"
                " of what is missing.",
                where="estimator",
                remedy='Use the estimator "ml" with records "any".',
            )


def _require_one_source(
    blocks: Sequence[tuple[PlannedRelease, tuple[Block, ...]]], alignment: Alignment
) -> None:
    """Check that each variable of the blocks needed is reported by one owner."""
    require_one_owner(
        (
            (name, release.source.owner)
            for release, needed in blocks
            for block in needed
            for name in block.names
        ),
        alignment,
    )
