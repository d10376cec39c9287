"""Jobs of any kind: what one needs of the releases, and what it makes of them.

`prepare` decides from the metadata alone whether a job can run; it is asked when the job is created
and again when it runs. `learn` does the work. Both go by the kind of release that the job uses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from miner_service.alignment.align import Aligner, LoadColumns
from miner_service.kinds import kind_of
from miner_service.kinds.common.costs import Cost, Less, Work, what_fits
from miner_service.mining import counts, models, tables
from miner_service.mining.prepared import Held, Learned, PreparedJob
from miner_service.settings import Limits
from pramana_core.errors import LimitExceeded
from pramana_core.progress import Progress
from pramana_core.wire.learning.jobs import JobSpec
from pramana_core.wire.releases import Alignment
from pramana_core.wire.releases.base import KNOWLEDGE, MASKED, RANDOMIZED, ReleaseKindName


@dataclass(frozen=True)
class Mining:
    """How jobs use the releases of a kind.

    Attributes:
        prepare: checks that a job can run; raises as `prepare` below.
        learn: does the work; raises as `learn` below.
        work: says how much work a job that can run is.
        less: says how to ask for less.
        settled: puts what was left out into the specification of a job that can run.
    """

    prepare: Callable[[Any, Any, Sequence[Held], Alignment, Limits, Aligner], PreparedJob]
    learn: Callable[[Any, Any, Any, Aligner, LoadColumns, Progress], Learned]
    work: Callable[[Any, Any, Any], Work]
    less: Callable[[Any, Any, Any], Iterable[Less[Any]]]
    settled: Callable[[Any, Any], Any] = lambda spec, _prepared: spec


MINING: Mapping[ReleaseKindName, Mining] = {
    RANDOMIZED: Mining(counts.prepare, counts.learn, counts.work, counts.less, counts.settled),
    MASKED: Mining(tables.prepare, tables.learn, tables.work, tables.less),
    KNOWLEDGE: Mining(models.prepare, models.learn, models.work, models.less),
}
"""How jobs use releases, by the kind of these."""


def releases_used(spec: JobSpec) -> ReleaseKindName:
    """Return the kind of release that a job uses; it ignores all others."""
    return kind_of(spec).release_kind


def default_key(spec: JobSpec, alignment: Alignment) -> str:
    """Return the key of a job that names none: equal for equal work on equal data."""
    work = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    content = f"{work}\n{alignment.digest}"
    return "job-" + hashlib.sha256(content.encode()).hexdigest()[:16]


def prepare(
    spec: JobSpec,
    held: Sequence[Held],
    alignment: Alignment,
    limits: Limits,
    aligner: Aligner,
) -> PreparedJob:
    """Check that a job can run on these releases, all of the kind that it uses.

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
    return MINING[kind.release_kind].prepare(spec, kind, held, alignment, limits, aligner)


def settled(spec: JobSpec, prepared: PreparedJob) -> JobSpec:
    """Return the specification of a job that can run, with what was left to its records."""
    made: JobSpec = MINING[kind_of(spec).release_kind].settled(spec, prepared)
    return made


def learn(
    spec: JobSpec, prepared: PreparedJob, aligner: Aligner, load: LoadColumns, on_step: Progress
) -> Learned:
    """Do the work of a job.

    Raises:
        EstimationError, SingularChannel, TableError, LimitExceeded: the data cannot support it.
    """
    kind = kind_of(spec)
    return MINING[kind.release_kind].learn(spec, kind, prepared, aligner, load, on_step)


def predict(spec: JobSpec, prepared: PreparedJob) -> Cost:
    """Return what a job that can run will take on the machine that its rates were measured on."""
    kind = kind_of(spec)
    return MINING[kind.release_kind].work(spec, kind, prepared).cost()


def require_predicted(
    spec: JobSpec, prepared: PreparedJob, limits: Limits, correction: float = 1.0
) -> Cost:
    """Return what a job will take, if that is allowed.

    Args:
        spec: the job.
        prepared: what it would run on.
        limits: the seconds and bytes allowed.
        correction: how many times as long the jobs of this kind take here as they would there
            (see `predict`).

    Raises:
        LimitExceeded: it would take too long, or too much memory; it says what would fit.
    """

    def cost_of(asked: JobSpec) -> Cost:
        return predict(asked, prepared).corrected(correction)

    def fits(asked: JobSpec) -> bool:
        return cost_of(asked).within(limits.job_seconds, limits.job_bytes)

    cost = cost_of(spec)
    if cost.within(limits.job_seconds, limits.job_bytes):
        return cost
    kind = kind_of(spec)
    found = what_fits(MINING[kind.release_kind].less(spec, kind, prepared), fits)
    allowed = Cost(limits.job_seconds, limits.job_bytes)
    raise LimitExceeded(
        f"The job would take {cost}; {allowed} are allowed.",
        where="spec",
        remedy=f"What would fit: {'; or '.join(found)}."
        if found
        else "No job like it would fit: leave something out that it counts, or ask whoever runs"
        " the miner to allow more.",
    )
