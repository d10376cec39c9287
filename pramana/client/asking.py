"""From an estimator to the miner's job and back: its options are the job's, under the same names.

The messages take names, limits and defaults from the same option classes as the estimators; what is
called or arranged differently on the wire, each estimator says itself (`Estimator.asked`).

Also here:

* Models as the miner answers them, as what a person has here: fitted estimators and frames.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from pydantic import RootModel, TypeAdapter, ValidationError

from pramana.estimators.base import Estimator, estimators
from pramana.estimators.saved import LearnedFrom
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import shown
from pramana_core.errors import OptionError
from pramana_core.estimation.table_estimates import column_of
from pramana_core.wire.base import Message
from pramana_core.wire.learning.jobs import ContingencyTableSpec, CountsSpec, JobCreate, JobSpec
from pramana_core.wire.learning.models import ContingencyTableMessage, ModelMessage

if TYPE_CHECKING:
    import pandas as pd


_JOB: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)

_VERB = re.compile(r"^(Input|Value|Tuple|List|Dictionary|String) should ")


def kinds() -> dict[str, type[Message]]:
    """Return the messages of all kinds of jobs, by their names."""
    tagged = (get_args(one) for one in get_args(get_args(JobSpec)[0]))
    return {tag.tag: message for message, tag in tagged}


def job_of(learner: Estimator, counts: Mapping[str, Any]) -> JobSpec:
    """Return the job that learns at the miner what `fit` would learn here.

    Args:
        learner: the estimator; whether it is fitted does not matter.
        counts: `records`, and for learners of counts `estimator` and `order` (see `Study.run`).

    Raises:
        OptionError: an option that the miner would not take.
        StructureError: the structure is not one.
    """
    if not learner.job_kinds:
        known = ", ".join(sorted(found.__name__ for found in estimators()))
        raise OptionError(
            f"learner must be one that miners know, not a {type(learner).__name__}; they know"
            f" {known}.",
            where="learner",
        )
    return spec_of({**learner.job_options(), **counts}, learner.job_names)


def learner_of(spec: JobSpec) -> Estimator:
    """Return an estimator that would ask for a job."""
    told = {
        name: getattr(spec, name)
        for name in type(spec).model_fields
        if name != "kind" and name not in CountsSpec.model_fields
    }
    for found in estimators():
        if spec.kind in found.job_kinds:
            return found.from_job(told)
    raise OptionError(f"There is no estimator for jobs of the kind {spec.kind!r}.", where="job")


def spec_of(asked: Mapping[str, Any], renamed: Mapping[str, str] | None = None) -> JobSpec:
    """Return the message of a job.

    Args:
        asked: its fields.
        renamed: what options are called there, where they are not called the same.

    Raises:
        OptionError: a field that the miner would not take.
    """
    try:
        spec = _JOB.validate_python(asked)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        # The first step names the kind of job.
        field = str(fault["loc"][1]) if len(fault["loc"]) > 1 else "kind"
        where = next((own for own, wire in (renamed or {}).items() if wire == field), field)
        wanted = _VERB.sub("", fault["msg"])
        raise OptionError(
            f"{where} must {wanted[:1].lower()}{wanted[1:]}, not {shown(fault['input'])}.",
            where=where,
        ) from None
    options = getattr(spec, "options", None)
    if options is not None:
        with one_sentence():
            options()
    return spec


def written(spec: JobSpec) -> bytes:
    """Return what is sent for a job."""
    return JobCreate(spec=spec).model_dump_json().encode()


# Models as the miner answers them, as what a person has here: fitted estimators and frames.

EstimatorT = TypeVar("EstimatorT", bound=Estimator)

_ERRORS = ("se_records", "se_population")


class Served(RootModel[ModelMessage]):
    """A model of any kind, as the miner answers it."""


def fitted(learner: EstimatorT, model: ModelMessage, source: LearnedFrom) -> EstimatorT:
    """Return an estimator like the one that asked, with what the miner learned.

    Raises:
        InputError: the miner's document is no such model.
    """
    made = type(learner)(**learner.get_params())
    return made.restore(made.document_of(model), source)


def table_frame(model: ContingencyTableMessage) -> pd.DataFrame:
    """Return a contingency table as `EstimatedCounts.table` does, a row per cell."""
    import pandas as pd

    columns: dict[str, Any] = {
        column_of(variable.name): pd.Categorical(
            [cell.values[variable.name] for cell in model.cells], categories=variable.categories
        )
        for variable in model.variables
    }
    columns["count"] = [cell.count for cell in model.cells]
    columns |= {
        end: [cell.interval[place] for cell in model.cells]
        for place, end in enumerate(("low", "high"))
    }
    columns |= {name: [getattr(cell, name) for cell in model.cells] for name in _ERRORS}
    if cast(ContingencyTableSpec, model.spec).models:
        columns["filled_in"] = bool(model.filled_in)
    return pd.DataFrame(columns)


def warnings_in(model: ModelMessage) -> tuple[str, ...]:
    """Return what must be known before a model is trusted: of releases, and of how counts fit."""
    strange = [
        f"Release {release} does not fit its plan (p = {p:.2g}); ask its owner what was changed."
        for release, p in model.inconsistent.items()
    ]
    told = [*(test.warning for test in model.lack_of_fit), model.filled_in_told]
    return (*strange, *filter(None, told))
