"""A job at the miner: how far it is, how it ended, and what it made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Self, TypeVar

from pramana.client.asking import Served, warnings_in
from pramana.client.line import MinerConnection, job_path, model_path
from pramana.frames.sentences import joined
from pramana.frames.tables import shown
from pramana_core.errors import JobCancelled, NotReady, OptionError, PramanaError
from pramana_core.wire.learning.jobs import Job as JobMessage
from pramana_core.wire.learning.jobs import JobState
from pramana_core.wire.learning.models import ModelMessage
from pramana_core.wire.problems import error_of

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

        It asks as often as the miner says. In a terminal and in a notebook, a bar shows after two
        seconds how far the job is and how long it may still take. Interrupting this does not cancel
        the job.

        Args:
            timeout: the most seconds to wait; None for as long as it takes.

        Returns:
            itself.

        Raises:
            NotReady: it is not finished in time; it goes on at the miner.
            OptionError: a timeout that is no number of seconds.
            Unreachable, NotFound: the miner does not answer, or has the job no more.
        """
        with self._pauses(timeout) as pauses:
            for pause in pauses:
                self._line.sleep(pause)
                self.refresh()
        return self

    def cancel(self) -> Self:
        """Ask the miner to stop the job; one that is finished stays as it is. Returns itself."""
        path = job_path(self.id)
        self._message = self._line.ask(JobMessage, "DELETE", path)
        return self

    @contextmanager
    def _pauses(self, timeout: float | None) -> Iterator[Iterator[float]]:
        """Open the bar of a job that is waited for; yield the seconds to rest before each question.

        Whoever waits rests and asks, each in its own way. Raises what `wait` does.
        """
        from pramana_core.terminal import progress_bar

        _require_seconds(timeout)
        began = self._line.clock()
        with progress_bar(self.kind, clock=self._line.clock) as bar:

            def pauses() -> Iterator[float]:
                while self._message.state in UNFINISHED:
                    bar(self._message.progress, 1.0, self._message.seconds_left)
                    yield self._rest(began, timeout)

            yield pauses()

    def _rest(self, began: float, timeout: float | None) -> float:
        if timeout is None:
            return self._pause
        left = timeout - (self._line.clock() - began)
        if left <= 0:
            raise NotReady(
                f"Job {self.id} is not finished after {timeout:g} seconds: it is"
                f" {self._message.state}, {self._message.progress:.0%} done; it goes on, and"
                " wait() waits further.",
                where="timeout",
            )
        return min(self._pause, left)

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


def _require_seconds(timeout: object) -> None:
    known = timeout is None or (isinstance(timeout, int | float) and timeout >= 0)
    if not known:
        raise OptionError(
            f"timeout must be a number of seconds, or None to wait for ever, not {shown(timeout)}.",
            where="timeout",
        )
