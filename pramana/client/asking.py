"""From an estimator to the miner's job and back: its options are the job's, under the same names.

The messages take names, limits and defaults from the same option classes as the estimators; what is
called differently on the wire stands here, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from pramana.estimators.base import Estimator
from pramana.estimators.saved import plain
from pramana.estimators.tree import DecisionTree
from pramana.frames.tables import shown
from shared.errors import OptionError
from shared.wire.learning.counting import CountsSpec
from shared.wire.learning.jobs import JobSpec

_JOB: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)

_CLASSES: Mapping[str, type[Estimator]] = {"decision-tree": DecisionTree}

_ON_THE_WIRE: Mapping[str, Mapping[str, str]] = {"decision-tree": {"features": "attributes"}}
"""By kind of job, what options are called there, where they are not called the same."""


def job_of(learner: Estimator, counts: Mapping[str, Any]) -> JobSpec:
    """Return the job that learns at the miner what `fit` would learn here.

    Args:
        learner: the estimator; whether it is fitted does not matter.
        counts: `records`, `estimator` and `order` (see `Study.run`).

    Raises:
        OptionError: an option that the miner would not take.
    """
    options = {name: plain(value) for name, value in learner.get_params().items()}
    names = _ON_THE_WIRE.get(learner.kind, {})
    asked = {names.get(name, name): value for name, value in options.items()}
    return spec_of({"kind": learner.kind, **asked, **counts}, names)


def learner_of(spec: CountsSpec) -> Estimator:
    """Return the estimator that a job was asked for with."""
    told = spec.model_dump(exclude={"kind", *CountsSpec.model_fields})
    kind = _CLASSES[spec.model_dump()["kind"]]
    own = {wire: name for name, wire in _ON_THE_WIRE.get(kind.kind, {}).items()}
    return kind(**{own.get(name, name): value for name, value in told.items()})


def spec_of(asked: Mapping[str, Any], names: Mapping[str, str] | None = None) -> JobSpec:
    """Return the message of a job.

    Args:
        asked: its fields.
        names: what options are called on the wire, by their own names.

    Raises:
        OptionError: a field that the miner would not take.
    """
    try:
        return _JOB.validate_python(asked)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        # The first step names the kind of job.
        steps = [str(step) for step in fault["loc"][1:]] or ["kind"]
        own = {wire: name for name, wire in (names or {}).items()}
        where = own.get(steps[0], steps[0])
        wanted = re.sub(r"^(Input|Value|Tuple|List|Dictionary|String) should ", "", fault["msg"])
        given = fault["input"]
        raise OptionError(
            f"{where} must {_small(wanted)}, not {shown(given)}.", where=where
        ) from None


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]
