"""A job at the miner: its specification, progress, result and model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, get_args

from pydantic import RootModel, TypeAdapter, ValidationError

from pramana.client.line import MinerConnection, job_path, model_path
from pramana.estimators.base import Estimator, estimators
from pramana.estimators.saved import LearnedFrom
from pramana.frames.sentences import joined, one_sentence
from pramana.frames.tables import shown
from pramana_core.errors import JobCancelled, NotReady, OptionError, PramanaError
from pramana_core.learn.common.worth import Worth
from pramana_core.marginals.tables import column_of
from pramana_core.wire.base import Message
from pramana_core.wire.jobs import ContingencyTableSpec, CountsSpec, JobSpec, JobState
from pramana_core.wire.jobs import Job as JobMessage
from pramana_core.wire.models import ContingencyTableMessage, ModelMessage
from pramana_core.wire.services import error_of

if TYPE_CHECKING:
    import pandas as pd

_JOB: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)

_VERB = re.compile(r"^(Input|Value|Tuple|List|Dictionary|String) should ")


_MISPLACED = {"missing": "must be given", "extra_forbidden": "is not an option of this kind of job"}


def kinds() -> dict[str, type[Message]]:
    """Return the message class for each kind of job."""
    tagged = (get_args(one) for one in get_args(get_args(JobSpec)[0]))
    return {tag.tag: message for message, tag in tagged}


def job_of(learner: Estimator, counts: Mapping[str, Any]) -> JobSpec:
    if not learner.job_kinds:
        known = ", ".join(sorted(found.__name__ for found in estimators()))
        raise OptionError(
            f"learner must be an estimator that miners support, not a {type(learner).__name__};"
            f" miners support {known}.",
            where="learner",
        )
    return spec_of({**learner.job_options(), **counts}, learner.job_names)


def learner_of(spec: JobSpec) -> Estimator:
    """Return the unfitted estimator that corresponds to a job."""
    values = {
        name: getattr(spec, name)
        for name in type(spec).model_fields
        if name != "kind" and name not in CountsSpec.model_fields
    }
    for found in estimators():
        if spec.kind in found.job_kinds:
            return found.from_job(values)
    raise OptionError(f"No estimator corresponds to jobs of the kind {spec.kind!r}.", where="job")


def spec_of(fields: Mapping[str, Any], renamed: Mapping[str, str] | None = None) -> JobSpec:
    """Return a job's message, built from its fields. Raises OptionError."""
    try:
        spec = _JOB.validate_python(fields)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        # The first step names the kind of job.
        field = str(fault["loc"][1]) if len(fault["loc"]) > 1 else "kind"
        where = next((own for own, wire in (renamed or {}).items() if wire == field), field)
        if fault["type"] in _MISPLACED:
            raise OptionError(f"{where} {_MISPLACED[fault['type']]}.", where=where) from None
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


EstimatorT = TypeVar("EstimatorT", bound=Estimator)


class Served(RootModel[ModelMessage]):
    """A model of any kind, as the miner sends it."""


def fitted(learner: EstimatorT, model: ModelMessage, source: LearnedFrom) -> EstimatorT:
    """Return an estimator with the options of `learner`, fitted by the miner."""
    made = type(learner)(**learner.get_params())
    return made.restore(made.document_of(model), source)


def table_frame(model: ContingencyTableMessage) -> pd.DataFrame:
    """Return a contingency table in the form of `EstimatedCounts.table`, one row per cell."""
    import pandas as pd

    if model.levels:
        return pd.DataFrame([row.model_dump() for row in model.levels])
    columns: dict[str, Any] = {
        column_of(variable.name): pd.Categorical(
            [cell.values[variable.name] for cell in model.cells], categories=variable.categories
        )
        for variable in model.variables
    }
    columns["count"] = [cell.count for cell in model.cells]
    columns["low"], columns["high"] = zip(*(cell.interval for cell in model.cells), strict=True)
    for name in ("se_records", "se_population"):
        columns[name] = [getattr(cell, name) for cell in model.cells]
    if cast(ContingencyTableSpec, model.spec).models:
        columns["filled_in"] = bool(model.filled_in)
    return pd.DataFrame(columns)


def warnings_in(model: ModelMessage) -> tuple[str, ...]:
    """Return warnings about a model's releases and about the fit of its counts."""
    strange = [
        f"Release {release} does not fit its plan (p = {p:.2g}); ask the owner what changed."
        for release, p in model.inconsistent.items()
    ]
    warnings = [*(test.warning for test in model.lack_of_fit), model.filled_in_told]
    return (*strange, *filter(None, warnings))


ModelT = TypeVar("ModelT")

UNFINISHED = ("queued", "running")

PAUSE = 1.0
"""Seconds between requests about an unfinished job, unless the miner asks for another interval."""


class Job(Generic[ModelT]):
    """A job at the miner, as `Study.run`, `Study.table` and `Study.job` return it.

    The job runs whether or not you wait for it; `Study.job(id)` finds it again later. `status`,
    `progress`, `error` and the printed form show the miner's last answer; `refresh()` and `wait()`
    update them.
    """

    def __init__(
        self, line: MinerConnection, message: JobMessage, read: Callable[[ModelMessage], ModelT]
    ):
        self._line = line
        self._message = message
        self._read = read
        self._pause = PAUSE
        self._served: ModelMessage | None = None
        self._made: ModelT | None = None

    @property
    def id(self) -> str:
        """The job's id, for `Study.job`."""
        return self._message.id

    @property
    def kind(self) -> str:
        """The kind of job, such as `decision-tree`."""
        return self._message.spec.kind

    @property
    def status(self) -> JobState:
        """The miner's last answer: `queued`, `running`, `succeeded`, `failed` or `cancelled`."""
        return self._message.state

    @property
    def progress(self) -> float:
        """The finished share of the work, from 0 to 1, according to the miner's last answer."""
        return self._message.progress

    @property
    def error(self) -> PramanaError | None:
        """The error of a failed job, of the class that `fit` would raise; else None."""
        problem = self._message.problem
        if problem is None:
            return None
        error = error_of(problem)
        error.message, error.remedy = joined(str(error)), None
        return error

    @property
    def model(self) -> ModelT:
        """The model, fetched at first use: a fitted estimator, or the frame of a table.

        Raises NotReady, JobCancelled, or the error of the failed job.
        """
        if self._made is None:
            self._made = self._read(self._model_message())
        return self._made

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about releases and the fit of counts, to read before relying on the model.

        Raises the errors of `model`.
        """
        return warnings_in(self._model_message())

    @property
    def worth(self) -> Worth | None:
        """The assessment of the model: a verdict with its evidence; None if the miner has none.

        Raises the errors of `model`.
        """
        found = self._model_message().worth
        return None if found is None else found.to_worth()

    def as_dict(self) -> dict[str, Any]:
        """Return the miner's last answer as JSON."""
        return self._message.model_dump(mode="json")

    def refresh(self) -> Self:
        """Fetch the job's progress from the miner, unless the job is finished."""
        if self._message.state in UNFINISHED:
            self._message, pause = self._line.look(JobMessage, job_path(self.id))
            self._pause = pause or PAUSE
        return self

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until the job is finished, with or without success, and return the job.

        A terminal shows a progress bar. An interrupt (Ctrl-C) ends the wait but not the job.

        Args:
            timeout: the longest wait in seconds; None waits without limit.

        Raises NotReady, OptionError, Unreachable, NotFound.
        """
        from pramana_core.terminal import progress_bar

        given: object = timeout
        if given is not None and not (isinstance(given, int | float) and given >= 0):
            raise OptionError(
                f"timeout must be a number of seconds, not {timeout!r}.", where="timeout"
            )
        ends = math.inf if timeout is None else self._line.clock() + timeout
        with progress_bar(self.kind, clock=self._line.clock) as bar:
            while self._message.state in UNFINISHED:
                bar(self._message.progress, 1.0)
                rest = ends - self._line.clock()
                if rest <= 0:
                    raise NotReady(
                        f"Job {self.id} is not finished after {timeout:g} seconds: it is"
                        f" {self._message.state}, {self._message.progress:.0%} done; the job"
                        " continues, and wait() waits for it.",
                        where="timeout",
                    )
                self._line.sleep(min(self._pause, rest))
                self.refresh()
        return self

    def cancel(self) -> Self:
        """Stop the job, unless it is finished, and return the job."""
        path = job_path(self.id)
        self._message = self._line.ask(JobMessage, "DELETE", path)
        return self

    def _model_message(self) -> ModelMessage:
        if self._served is None:
            path = model_path(self._require_model())
            self._served = self._line.ask(Served, "GET", path).root
        return self._served

    def _require_model(self) -> str:
        self.refresh()
        message = self._message
        if message.model is not None:
            return message.model
        error = self.error
        if error is not None:
            raise error
        if message.state == "cancelled":
            raise JobCancelled(f"Job {self.id} was cancelled and has no model.", where=self.id)
        raise NotReady(
            f"Job {self.id} is {message.state}, {message.progress:.0%} done, and has no model yet;"
            " wait() waits for it.",
            where=self.id,
        )

    def __repr__(self) -> str:
        message = self._message
        words = f"Job({self.id}, {self.kind} in {message.study}: {message.state}"
        if message.state in UNFINISHED:
            return f"{words}, {message.progress:.0%})"
        return f"{words}: {message.problem.detail})" if message.problem else f"{words})"
