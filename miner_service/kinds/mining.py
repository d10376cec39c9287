"""Jobs of any kind: what one needs of the releases, and what it makes of them.

`prepare` decides from the metadata alone whether a job can run; it is asked when the job is created
and again when it runs. `learn` does the work. What differs by kind is in `miner_service.kinds`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from miner_service.alignment.align import Aligner, require_aligned
from miner_service.alignment.joining import LoadColumns, PlannedRelease, marginals_of
from miner_service.kinds import Content, kind_of
from miner_service.kinds.affordability import RecordLayout
from miner_service.settings import Limits
from shared.domain import Domain, Variable
from shared.errors import Conflict, OptionError, VariablesMissing
from shared.marginals.lack_of_fit import LackOfFit, warnings_of
from shared.plan import Block, Plan
from shared.progress import Progress, Repeating
from shared.wire.learning.jobs import JobSpec
from shared.wire.learning.models import LackOfFitMessage
from shared.wire.releases import Alignment


@dataclass(frozen=True)
class PreparedJob:
    """A job that can run: its variables, the blocks it needs, and from which releases."""

    variables: tuple[str, ...]
    releases: tuple[PlannedRelease, ...]
    blocks: tuple[tuple[PlannedRelease, tuple[Block, ...]], ...]
    alignment: Alignment


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


@dataclass(frozen=True)
class Learned:
    """What a job makes: what its model's message says, of how many records, and how they fit."""

    records: int
    content: Content
    lack_of_fit: tuple[LackOfFitMessage, ...] = ()


def default_key(spec: JobSpec, alignment: Alignment) -> str:
    """Return the key of a job that names none: equal for equal work on equal data."""
    work = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    content = f"{work}\n{alignment.digest}"
    return "job-" + hashlib.sha256(content.encode()).hexdigest()[:16]


def prepare(
    spec: JobSpec,
    releases: Sequence[PlannedRelease],
    alignment: Alignment,
    limits: Limits,
    aligner: Aligner,
) -> PreparedJob:
    """Check that a job can run on these releases.

    Raises:
        StructureError, OptionError: the specification is wrong in itself, or its estimator cannot
            serve records reported differently.
        RecordsDoNotAlign: the owners' records may not be joined as the job asks.
        VariablesMissing: a variable is not reported, or withheld from every report.
        Conflict: two owners report the same variable (with records `any`: of the same record).
        UnknownCategory: the job names a category that does not exist.
        LimitExceeded: the job would be too large.
    """
    kind = kind_of(spec)
    kind.check(spec)
    require_aligned(alignment, spec.records)
    reported = _reported(releases)
    variables = kind.variables(spec, reported)
    _require_reported(variables, reported)
    blocks = tuple(
        (release, needed)
        for release in releases
        if (needed := tuple(b for b in release.plan.blocks if set(variables) & set(b.names)))
    )
    if spec.records == "any":
        groups = _groups(blocks, aligner)
        _require_combinable(spec, variables, groups)
        layout = RecordLayout(tuple(group.plan for group in groups))
    else:
        _require_one_source(blocks)
        layout = RecordLayout((_together(blocks),))
    kind.require_affordable(spec, variables, layout, limits)
    return PreparedJob(variables, tuple(releases), blocks, alignment)


def learn(
    spec: JobSpec, prepared: PreparedJob, aligner: Aligner, load: LoadColumns, on_step: Progress
) -> Learned:
    """Estimate the counts that a job needs and learn its model from them.

    Work amid a step repeats what `on_step` was told last, so that it can be stopped there too.

    Raises:
        EstimationError, SingularChannel, LimitExceeded: the data cannot support the estimate.
    """
    steps = Repeating(on_step)
    marginals = marginals_of(
        spec, prepared.releases, prepared.blocks, aligner, load, prepared.variables, steps.again
    )
    content = kind_of(spec).learn(spec, marginals, steps)
    return Learned(marginals.records, content, _fitting(marginals.lack_of_fit))


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
            f"No sealed release in use reports {missing}.",
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


def _require_combinable(spec: JobSpec, variables: Sequence[str], groups: Sequence[Group]) -> None:
    """Check that records reported differently can be explained together."""
    if spec.estimator == "log-linear":
        raise OptionError(
            "A log-linear model needs records that are all reported in the same way.",
            where="estimator",
            remedy='Use the estimator "ml" or "pooled" with records "any".',
        )
    for group in groups:
        _require_each_once(group)
    if spec.estimator == "moment":
        _require_all_reported(variables, groups)


def _require_each_once(group: Group) -> None:
    twice = {name: owners for name in group.names if len(owners := group.owners(name)) > 1}
    if twice:
        raise Conflict(
            f"{group.records} records have a variable from more than one owner: "
            + "; ".join(f"{name} ({', '.join(found)})" for name, found in sorted(twice.items()))
            + ".",
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


def _require_one_source(blocks: Sequence[tuple[PlannedRelease, tuple[Block, ...]]]) -> None:
    """Check that each variable of the blocks needed is reported by one owner."""
    owners: dict[str, list[str]] = {}
    for release, needed in blocks:
        for name in (n for block in needed for n in block.names):
            owners.setdefault(name, []).append(release.source.owner)
    twice = {name: found for name, found in sorted(owners.items()) if len(found) > 1}
    if twice:
        raise Conflict(
            "More than one owner reports "
            + "; ".join(f"{name} ({', '.join(found)})" for name, found in twice.items())
            + ".",
            where=", ".join(twice),
            remedy="Each variable of a job must come from one owner; rename one of them, or ask"
            ' for `"records": "any"` if the owners know different people.',
        )
