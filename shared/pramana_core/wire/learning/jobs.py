"""Jobs: what is asked of the miner, one specification per kind, and how far it is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter

from pramana_core.wire.base import Message, Name
from pramana_core.wire.learning.learners import (
    AssociationRulesSpec,
    BayesClassifierSpec,
    ContingencyTableSpec,
    DecisionTreeSpec,
    LinearClassifierSpec,
    ModelSharingSpec,
    RegressionSpec,
)
from pramana_core.wire.learning.networks import BayesNetParametersSpec, BayesNetStructureSpec
from pramana_core.wire.problems import ProblemDetail


def _kind_of(spec: Any) -> str | None:
    """Return the kind of a job; one that names none learns parameters."""
    if isinstance(spec, dict):
        kind = spec.get("kind", "bayes-net-parameters")
        return kind if isinstance(kind, str) else None
    return getattr(spec, "kind", None)


JobSpec = Annotated[
    Annotated[BayesNetParametersSpec, Tag("bayes-net-parameters")]
    | Annotated[BayesNetStructureSpec, Tag("bayes-net-structure")]
    | Annotated[ContingencyTableSpec, Tag("contingency-table")]
    | Annotated[AssociationRulesSpec, Tag("association-rules")]
    | Annotated[DecisionTreeSpec, Tag("decision-tree")]
    | Annotated[LinearClassifierSpec, Tag("linear-classifier")]
    | Annotated[BayesClassifierSpec, Tag("bayes-classifier")]
    | Annotated[RegressionSpec, Tag("regression")]
    | Annotated[ModelSharingSpec, Tag("model-sharing")],
    Discriminator(_kind_of),
]

_JOB_SPEC: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)


def read_job_spec(text: str) -> JobSpec:
    """Read the JSON of a job's specification. Raises ValueError."""
    return _JOB_SPEC.validate_json(text)


class JobCreate(Message):
    """A job; the same key with the same specification is the same job."""

    key: Name | None = None
    spec: JobSpec


JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class JobLine(Message):
    """A line of a job's log: which run of the job left it, and when."""

    run: int
    at: datetime
    line: str


LOG_LINES = 20
"""So many of the last lines of its log a job carries itself."""


class Job(Message):
    """A job's state; `progress` runs from 0 to 1.

    `inconsistent` maps each of its releases that is inconsistent with its plan, by id, to the
    p-value; an owner sees its own there. `started` is when its last run began; `heartbeat_age` is
    how many seconds ago that run gave its last sign of life, `seconds_left` how many it may still
    take. `runs` counts its runs, with the one that is to come; `worker` has the last. What was
    predicted is in seconds and in bytes of memory. `log` has the last lines, where one job is
    read. Owners are not told by whom a job is run, what was predicted, or what its log says.
    """

    id: str
    study: Name
    key: Name
    spec: JobSpec
    state: JobState
    progress: Annotated[float, Field(ge=0, le=1)]
    model: str | None
    problem: ProblemDetail | None
    created: datetime
    finished: datetime | None
    inconsistent: Annotated[dict[str, float], Field(default_factory=dict)]
    started: datetime | None = None
    heartbeat_age: float | None = None
    seconds_left: float | None = None
    predicted_seconds: float | None = None
    predicted_bytes: float | None = None
    worker: str | None = None
    runs: int | None = None
    log: Annotated[list[JobLine], Field(default_factory=list)]
