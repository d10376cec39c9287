"""A job at the miner: what an estimator asks for, how far it is, how it ended, what it made."""

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
from pramana_core.marginals.tables import column_of
from pramana_core.wire.base import Message
from pramana_core.wire.jobs import ContingencyTableSpec, CountsSpec, JobCreate, JobSpec, JobState
from pramana_core.wire.jobs import Job as JobMessage
from pramana_core.wire.models import ContingencyTableMessage, ModelMessage
from pramana_core.wire.services import error_of

if TYPE_CHECKING:
    import pandas as pd

_JOB: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)

_VERB = re.compile(r"^(Input|Value|Tuple|List|Dictionary|String) should ")


_MISPLACED = {"missing": "must be given", "extra_forbidden": "is no option of this kind of job"}


def kinds() -> dict[str, type[Message]]:
    """Return the messages of all kinds of jobs, by their names."""
    tagged = (get_args(one) for one in get_args(get_args(JobSpec)[0]))
    return {tag.tag: message for message, tag in tagged}


def job_of(learner: Estimator, counts: Mapping[str, Any]) -> JobSpec:
    """Return the job that learns at the miner what `fit` would learn here."""
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
    values = {
        name: getattr(spec, name)
        for name in type(spec).model_fields
        if name != "kind" and name not in CountsSpec.model_fields
    }
    for found in estimators():
        if spec.kind in found.job_kinds:
            return found.from_job(values)
    raise OptionError(f"There is no estimator for jobs of the kind {spec.kind!r}.", where="job")


def spec_of(asked: Mapping[str, Any], renamed: Mapping[str, str] | None = None) -> JobSpec:
    """Return the message of a job."""
    try:
        spec = _JOB.validate_python(asked)
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


def written(spec: JobSpec) -> bytes:
    """Return what is sent for a job."""
    return JobCreate(spec=spec).model_dump_json().encode()


EstimatorT = TypeVar("EstimatorT", bound=Estimator)

_ERRORS = ("se_records", "se_population")


class Served(RootModel[ModelMessage]):
    """A model of any kind, as the miner answers it."""


def fitted(learner: EstimatorT, model: ModelMessage, source: LearnedFrom) -> EstimatorT:
    """Return an estimator like the one that asked, with what the miner learned."""
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
    warnings = [*(test.warning for test in model.lack_of_fit), model.filled_in_told]
    return (*strange, *filter(None, warnings))


ModelT = TypeVar("ModelT")

UNFINISHED = ("queued", "running")

PAUSE = 1.0
"""Seconds until an unfinished job is asked for again, where the miner does not say."""


class Job(Generic[ModelT]):
    """A job at the miner. Made by `Study.run`, `Study.table` and `Study.job`.

    It runs there whether anybody waits or not; `Study.job(id)` finds it again later. `status`,
    `progress`, `error` and the printed form are how it stood when it was asked for last;
    `refresh()` and `wait()` ask.
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
        """The job's id, by which `Study.job` finds it again."""
        return self._message.id

    @property
    def kind(self) -> str:
        """What kind of job it is, such as `decision-tree`."""
        return self._message.spec.kind

    @property
    def status(self) -> JobState:
        """`queued`, `running`, `succeeded`, `failed` or `cancelled`, as the miner said last."""
        return self._message.state

    @property
    def progress(self) -> float:
        """The share of the work that is done, 0 to 1, as the miner said last."""
        return self._message.progress

    @property
    def error(self) -> PramanaError | None:
        """Why there is no model: what a failed job ended with; None of any other.

        It has the class that the same work would have raised here.
        """
        problem = self._message.problem
        if problem is None:
            return None
        error = error_of(problem)
        error.message, error.remedy = joined(str(error)), None
        return error

    @property
    def model(self) -> ModelT:
        """What the job made: a fitted estimator, or the frame of a table.

        It is fetched with its first use, and kept.

        Raises:
            NotReady: it is not finished; `wait()` first.
            JobCancelled: it was cancelled.
            PramanaError: what it failed with.
        """
        if self._made is None:
            self._made = self._read(self._model_message())
        return self._made

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be known before the model is trusted; empty where nothing speaks against it.

        Releases that do not fit their plan, and models of counts that the reports contradict.
        Raises as `model` does.
        """
        return warnings_in(self._model_message())

    def as_dict(self) -> dict[str, Any]:
        """Return what the miner last said of it, as JSON can say it: `pramana study --json`."""
        return self._message.model_dump(mode="json")

    def refresh(self) -> Self:
        """Ask the miner how far the job is; one that is finished stays as it is."""
        if self._message.state in UNFINISHED:
            self._message, pause = self._line.look(JobMessage, job_path(self.id))
            self._pause = pause or PAUSE
        return self

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until the job is finished, however it ends.

        It asks as often as the miner says. In a terminal a bar shows how far the job is.
        Interrupting this does not cancel the job.

        Args:
            timeout: the most seconds to wait; None for as long as it takes.

        Returns:
            itself.

        Raises:
            NotReady: it is not finished in time; it goes on at the miner.
            OptionError: a timeout that is no number of seconds.
            Unreachable, NotFound: the miner does not answer, or has the job no more.
        """
        from pramana_core.terminal import progress_bar

        given: object = timeout
        if given is not None and not (isinstance(given, int | float) and given >= 0):
            raise OptionError(f"timeout must be seconds, not {timeout!r}.", where="timeout")
        ends = math.inf if timeout is None else self._line.clock() + timeout
        with progress_bar(self.kind, clock=self._line.clock) as bar:
            while self._message.state in UNFINISHED:
                bar(self._message.progress, 1.0)
                left = ends - self._line.clock()
                if left <= 0:
                    raise NotReady(
                        f"Job {self.id} is not finished after {timeout:g} seconds: it is"
                        f" {self._message.state}, {self._message.progress:.0%} done; it goes on,"
                        " and wait() waits further.",
                        where="timeout",
                    )
                self._line.sleep(min(self._pause, left))
                self.refresh()
        return self

    def cancel(self) -> Self:
        """Ask the miner to stop the job; one that is finished stays as it is. Returns itself."""
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
        said = f"Job({self.id}, {self.kind} in {message.study}: {message.state}"
        if message.state in UNFINISHED:
            return f"{said}, {message.progress:.0%})"
        return f"{said}: {message.problem.detail})" if message.problem else f"{said})"
