"""The kinds of jobs and models, with one class per kind. All modules here are registered.

Learners are in `pramana_core.learn`; `miner_service.jobs` runs the jobs.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from typing import Any

from miner_service.kinds.base import JobKind
from pramana_core.wire.jobs import JobSpec

_MODULES = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]

_KINDS: list[JobKind[Any, Any, Any]] = [
    one()
    for module in _MODULES
    for one in vars(module).values()
    if inspect.isclass(one) and issubclass(one, JobKind) and hasattr(one, "spec")
]

JOB_KINDS: Mapping[type, JobKind[Any, Any, Any]] = {kind.spec: kind for kind in _KINDS}
"""The kinds of jobs by the class of their specification."""

MODEL_KINDS: Mapping[str, JobKind[Any, Any, Any]] = {kind.makes: kind for kind in _KINDS}
"""The kind of job that produces each kind of model, by the model kind's name."""


def kind_of(spec: JobSpec) -> JobKind[Any, Any, Any]:
    """Return the kind of a job."""
    return JOB_KINDS[type(spec)]
