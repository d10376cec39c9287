"""The base class of jobs on randomized records, which learn from estimated counts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from miner_service.alignment.align import Aligner, require_aligned
from miner_service.alignment.joining import PlannedRelease, RecordAccess, marginals_of
from miner_service.kinds.base import (
    Content,
    JobKind,
    JobResult,
    PreparedJob,
    ReleaseContent,
    require_one_owner,
)
from miner_service.kinds.bounds import Extent, RecordLayout, weighs_reports
from miner_service.settings import Limits
from pramana_core.alike import did_you_mean, first_few
from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded, OptionError, VariablesMissing
from pramana_core.estimation.estimated import choose_estimator
from pramana_core.estimation.pooled_laws import LEAST_ORDER, default_order
from pramana_core.learn.common.worth import Worth
from pramana_core.marginals.counts import Marginals
from pramana_core.marginals.lack_of_fit import warnings_of
from pramana_core.plan import Block, Plan
from pramana_core.progress import Progress, Repeating, part_of
from pramana_core.wire.jobs import CountsSpec
from pramana_core.wire.models import LackOfFitMessage, ModelHead, WorthMessage
from pramana_core.wire.release_kinds import RANDOMIZED
from pramana_core.wire.releases import Alignment

SpecT = TypeVar("SpecT", bound=CountsSpec)
MessageT = TypeVar("MessageT", bound=ModelHead)

_LEARNING = 50
"""Percentage of a job's progress at which the model is learned and its assessment begins."""

NeededBlocks = tuple[tuple[PlannedRelease, tuple[Block, ...]], ...]
"""The releases that a job needs, each with the needed blocks of its plan."""


@dataclass(frozen=True)
class CountsJob(PreparedJob):
    """A counts job that can run: its specification, variables, records and needed blocks."""

    extent: Extent
    planned: tuple[PlannedRelease, ...]
    blocks: NeededBlocks
    settled: CountsSpec

    @property
    def columns(self) -> int:
        return len(self.extent.variables)


class CountsKind(JobKind[SpecT, CountsJob, MessageT]):
    """A kind of job that learns from counts, estimated from randomized records."""

    release_kind = RANDOMIZED
    settles_order: ClassVar[bool] = True

    @abstractmethod
    def variables(self, spec: SpecT, reported: Domain) -> tuple[str, ...]:
        """Return the variables to count, out of all reported ones, or raise an error."""

    @abstractmethod
    def require_affordable(self, spec: SpecT, extent: Extent, limits: Limits) -> None:
        """Check that a job on these variables is affordable. Raises LimitExceeded."""

    @abstractmethod
    def learn(self, spec: SpecT, marginals: Marginals, on_step: Progress) -> Content:
        """Learn from marginals over the variables that `variables` returned, in their order."""

    def prepare(
        self,
        spec: SpecT,
        released: Sequence[ReleaseContent],
        alignment: Alignment,
        limits: Limits,
        aligner: Aligner,
    ) -> CountsJob:
        """Check that a job can run on releases with plans."""
        self.check(spec)
        require_aligned(alignment, spec.records)
        releases = tuple(PlannedRelease(source, plan) for source, plan in released)
        reported = _reported_domain(releases)
        variables = self.variables(spec, reported)
        _require_reported(variables, reported)
        blocks = tuple(
            (release, needed)
            for release in releases
            if (needed := tuple(b for b in release.plan.blocks if set(variables) & set(b.names)))
        )
        if spec.records == "any":
            together = aligner.together([release.source for release, _ in blocks])
            groups = [
                (records, tuple(pair for pair in blocks if pair[0].source.release in present))
                for present, records in together.items()
            ]
        else:
            groups = [(alignment.in_all or 0, blocks)]
        for _, own in groups:
            require_one_owner(
                ((name, r.source.owner) for r, needed in own for b in needed for name in b.names),
                alignment,
            )
        plans = tuple(Plan.combine(Plan(needed) for _, needed in own) for _, own in groups if own)
        if spec.estimator is None:
            spec = spec.model_copy(update={"estimator": choose_estimator(plans)})
        if weighs_reports(spec):
            _require_all_reported(variables, plans)
        extent = Extent(variables, RecordLayout(plans), sum(records for records, _ in groups))
        settled = self._affordable(spec, extent, limits)
        sources = tuple(release.source for release in releases)
        return CountsJob(sources, alignment, extent, releases, blocks, settled)

    def settled(self, spec: SpecT, prepared: CountsJob) -> SpecT:
        """Return the specification of a job that can run, with its estimator and order chosen."""
        chosen = prepared.settled
        return spec.model_copy(update={"estimator": chosen.estimator, "order": chosen.order})

    def _affordable(self, spec: SpecT, extent: Extent, limits: Limits) -> SpecT:
        """Check a job's order or choose the highest affordable one; return the specification."""
        if not spec.models:
            spec = spec.model_copy(update={"order": spec.order or LEAST_ORDER})
        elif spec.order is None and self.settles_order:
            for order in range(default_order(extent.layout.plans), LEAST_ORDER, -1):
                higher = spec.model_copy(update={"order": order})
                with suppress(LimitExceeded):
                    self.require_affordable(higher, extent, limits)
                    return higher
            spec = spec.model_copy(update={"order": LEAST_ORDER})
        self.require_affordable(spec, extent, limits)
        return spec

    def learned(
        self,
        spec: SpecT,
        prepared: CountsJob,
        access: RecordAccess,
        on_step: Progress,
    ) -> JobResult:
        """Estimate the counts that a job needs, and learn its model from them."""
        steps = Repeating(on_step)
        spec = self.settled(spec, prepared)
        marginals = marginals_of(
            spec,
            prepared.planned,
            prepared.blocks,
            access,
            prepared.extent.variables,
            steps.again,
        )
        content = self.learn(spec, marginals, part_of(steps, 0, _LEARNING))
        tests = marginals.lack_of_fit
        fitting = tuple(
            LackOfFitMessage(
                **test.as_dict(), warning=next(iter(warnings_of([test], of=len(tests))), "")
            )
            for test in tests
        )
        found = self.worth(spec, marginals, content)
        steps(1, 1)
        content = {**content, "worth": WorthMessage.of(found)}
        return JobResult(marginals.records, content, fitting, marginals.filled_in)

    @abstractmethod
    def worth(self, spec: SpecT, marginals: Marginals, content: Content) -> Worth | None:
        """Return the assessment of a model with this content; None if it cannot be assessed."""


def _reported_domain(releases: Iterable[PlannedRelease]) -> Domain:
    blocks = [block for release in releases for block in release.plan.blocks]
    found: dict[str, Variable] = {}
    for variable in (v for b in blocks if not b.channel.withheld for v in b.variables):
        # A variable of two owners is listed once; `require_one_owner` checks it later.
        found.setdefault(variable.name, variable)
    return Domain(tuple(found.values()))


def _require_reported(variables: Collection[str], domain: Domain) -> None:
    missing = sorted(set(variables) - set(domain.names))
    if missing:
        reported = sorted(domain.names)
        raise VariablesMissing(
            f"No sealed release in use reports {missing}{did_you_mean(missing, reported)}.",
            where=", ".join(missing),
            remedy=f"The reported variables are {first_few(reported, 12)}.",
        )


def _require_all_reported(variables: Sequence[str], plans: Sequence[Plan]) -> None:
    """Check that every record reports all variables, because the moment estimators need them."""
    for plan in plans:
        reported = {n for b in plan.blocks if not b.channel.withheld for n in b.names}
        if absent := sorted(set(variables) - reported):
            raise OptionError(
                f"Some records lack {absent}, so the moment estimators cannot be used.",
                where="estimator",
                remedy='Use the estimator "ml" with records "any".',
            )
