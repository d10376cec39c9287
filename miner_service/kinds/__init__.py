"""The kinds of jobs and of models: one class each, and nothing else in the service names them.

Each checks what a job asks and may cost, and hands it to a learner of `pramana_core.learn`; jobs
are run by `miner_service.jobs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from miner_service.kinds.base import JobKind
from miner_service.kinds.bayes import BayesClassifierKind
from miner_service.kinds.itemsets import AssociationRulesKind
from miner_service.kinds.linear import LinearClassifierKind
from miner_service.kinds.networks import ParametersKind, StructureKind
from miner_service.kinds.regression import RegressionKind
from miner_service.kinds.sharing import ModelSharingKind
from miner_service.kinds.tables import ContingencyTableKind
from miner_service.kinds.trees import DecisionTreeKind
from pramana_core.wire.learning.jobs import JobSpec

_KINDS = (
    ParametersKind(),
    StructureKind(),
    ContingencyTableKind(),
    AssociationRulesKind(),
    DecisionTreeKind(),
    LinearClassifierKind(),
    BayesClassifierKind(),
    RegressionKind(),
    ModelSharingKind(),
)

JOB_KINDS: Mapping[type, JobKind[Any, Any, Any]] = {kind.spec: kind for kind in _KINDS}
"""The kinds of jobs by the class of their specification."""

MODEL_KINDS: Mapping[str, JobKind[Any, Any, Any]] = {kind.makes: kind for kind in _KINDS}
"""A kind of job that makes them, by the name of a kind of model."""


def kind_of(spec: JobSpec) -> JobKind[Any, Any, Any]:
    """Return the kind of a job."""
    return JOB_KINDS[type(spec)]
