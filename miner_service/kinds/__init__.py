"""The kinds of jobs and of models: one entry each, and nothing else in the service names them.

Each checks what a job asks and may cost, and hands it to a learner of `pramana_core.learn`; jobs
are run by `miner_service.jobs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from miner_service.kinds.bayes import BAYES
from miner_service.kinds.common.base import (
    Content,
    JobKind,
    ModelJobKind,
    ModelKind,
    ModelView,
    TableJobKind,
)
from miner_service.kinds.itemsets import RULES
from miner_service.kinds.linear import LINEAR
from miner_service.kinds.networks import PARAMETERS, STRUCTURE
from miner_service.kinds.regression import REGRESSION
from miner_service.kinds.sharing import SHARING
from miner_service.kinds.tables import TABLE
from miner_service.kinds.trees import TREE
from pramana_core.wire.learning.jobs import JobSpec

AnyJobKind = JobKind[Any] | TableJobKind[Any] | ModelJobKind[Any]

JOB_KINDS: Mapping[type, AnyJobKind] = {
    kind.spec: kind
    for kind in (PARAMETERS, STRUCTURE, TABLE, RULES, TREE, LINEAR, BAYES, REGRESSION, SHARING)
}
"""The kinds of jobs by the class of their specification."""

MODEL_KINDS: Mapping[str, ModelKind[Any]] = {
    kind.model.name: kind.model for kind in JOB_KINDS.values()
}
"""The kinds of models by their name."""


def kind_of(spec: JobSpec) -> AnyJobKind:
    """Return the kind of a job."""
    return JOB_KINDS[type(spec)]


__all__ = [
    "JOB_KINDS",
    "MODEL_KINDS",
    "Content",
    "JobKind",
    "ModelJobKind",
    "ModelKind",
    "ModelView",
    "TableJobKind",
    "kind_of",
]
