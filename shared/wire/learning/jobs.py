"""Jobs: what is asked of the miner, one specification per kind, and how far it is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, TypeAdapter

from shared.wire.base import Message, Name
from shared.wire.learning.counting import ContingencyTableSpec
from shared.wire.learning.learners import (
    AssociationRulesSpec,
    BayesClassifierSpec,
    DecisionTreeSpec,
    LinearClassifierSpec,
)
from shared.wire.learning.networks import BayesNetParametersSpec, BayesNetStructureSpec
from shared.wire.learning.regression import RegressionSpec
from shared.wire.learning.sharing import ModelSharingSpec
from shared.wire.problems import ProblemDetail


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


class Job(Message):
    """A job's state; `progress` runs from 0 to 1.

    `inconsistent` maps each of its releases that is inconsistent with its plan, by id, to the
    p-value; an owner sees its own there.
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
