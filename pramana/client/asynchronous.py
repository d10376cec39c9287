"""The same client for programs that wait for many things at once: each method is awaited.

There is one client: what is awaited here runs in a thread, and only the pauses of `wait` are the
event loop's own.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from pramana.client.connecting import Miner, connect
from pramana.client.job import UNFINISHED, Job
from pramana.client.study import Study
from pramana.estimators.base import Estimator
from pramana.frames.sentences import options_told
from pramana.reporting.estimating import EstimatorName
from pramana_core.errors import NotReady, PramanaError
from pramana_core.wire.base import People, Records
from pramana_core.wire.jobs import JobState

if TYPE_CHECKING:
    import httpx
    import pandas as pd

Given = ParamSpec("Given")
Answer = TypeVar("Answer")
ModelT = TypeVar("ModelT")
EstimatorT = TypeVar("EstimatorT", bound=Estimator)


@options_told
def connect_async(
    url: str,
    *,
    token: str | None = None,
    token_file: str | Path | None = None,
    allow_insecure: bool = False,
    ca_file: str | Path | None = None,
    client_certificate: str | Path | None = None,
    client_key: str | Path | None = None,
    transport: httpx.BaseTransport | None = None,
    attempts: int = 5,
) -> Connecting:
    """Connect to a miner as `connect` does, from a program of coroutines.

    What it gives has the methods that a miner, a study and a job have otherwise, each to be
    awaited; what they answer, and what they raise, is the same. Requests run in threads of the
    event loop, so that many may be on their way at once. Cancelling what awaits one ends the
    waiting at once, and not the request or the job.

    Args:
        url: the miner's address; plain http is accepted for this machine only.
        token: the analyst's token; with `token_file` it does not appear in a notebook.
        token_file: the file of the token, or the access file with it that `miner-service study
            analyst` wrote, readable by nobody else (mode 0600).
        allow_insecure: whether plain http may carry the token over a network that is private.
        ca_file: the authorities that the miner's certificate must come from (PEM).
        client_certificate: the certificate (PEM) for a miner that asks for one.
        client_key: the key to it, readable by nobody else.
        transport: what carries requests, in place of the network.
        attempts: how often a request is tried before the miner counts as unreachable.

    Returns:
        what is awaited for the miner, or opened by `async with`, which closes it.

    Raises:
        OptionError, KeyFileError, ConfigError, Unauthenticated, Unreachable: when it is awaited;
            see `connect`.

    Examples:
        Two models are learned at the same time:

            async with pm.connect_async(url, token_file="me.token") as miner:
                study = await miner.study("schools")
                jobs = [await study.run(of) for of in (pm.NaiveBayes("class"), pm.BayesNet())]
                bayes, net = [job.model for job in await asyncio.gather(*(j.wait() for j in jobs))]

        As in a test, without a network; this miner has no studies:

        >>> import asyncio
        >>> import httpx
        >>> import pramana as pm
        >>> empty = httpx.MockTransport(lambda request: httpx.Response(200, json={"items": []}))
        >>> async def look():
        ...     token = "t-0123456789ab.stands-in-for-43-letters"
        ...     there = pm.connect_async("https://miner.example.org", token=token, transport=empty)
        ...     async with there as miner:
        ...         print(miner, len(await miner.studies()))
        >>> asyncio.run(look())
        AsyncMiner(https://miner.example.org; studies: none) 0
    """
    return Connecting(
        functools.partial(
            connect,
            url,
            token=token,
            token_file=token_file,
            allow_insecure=allow_insecure,
            ca_file=ca_file,
            client_certificate=client_certificate,
            client_key=client_key,
            transport=transport,
            attempts=attempts,
        )
    )


class Connecting(Awaitable["AsyncMiner"]):
    """A miner that is not connected yet: await it, or open it by `async with`."""

    def __init__(self, connecting: Callable[[], Miner]):
        self._connecting = connecting
        self._miner: AsyncMiner | None = None

    def __await__(self) -> Generator[Any, None, AsyncMiner]:
        return self._connect().__await__()

    async def __aenter__(self) -> AsyncMiner:
        self._miner = await self._connect()
        return self._miner

    async def __aexit__(self, *_error: object) -> None:
        if self._miner is not None:
            await self._miner.close()

    async def _connect(self) -> AsyncMiner:
        return AsyncMiner(await asyncio.to_thread(self._connecting))


def awaited(
    method: Callable[Concatenate[Any, Given], Answer],
) -> Callable[Concatenate[Any, Given], Coroutine[Any, Any, Answer]]:
    """Return a method of a twin that does what one of the client does, and is awaited."""

    async def asked(self: Any, /, *args: Given.args, **options: Given.kwargs) -> Answer:
        return await asyncio.to_thread(method, self._inner, *args, **options)

    return functools.update_wrapper(asked, method)


InnerT = TypeVar("InnerT", Miner, Study)


class _Twin(Generic[InnerT]):
    """What a miner and a study have in common, awaited."""

    def __init__(self, inner: InnerT):
        self._inner: InnerT = inner

    @property
    def url(self) -> str:
        """The miner's address."""
        return self._inner.url

    async def refresh(self) -> Self:
        """Ask the miner how it stands now; return this."""
        await asyncio.to_thread(self._inner.refresh)
        return self

    def __repr__(self) -> str:
        return f"Async{self._inner!r}"


class AsyncMiner(_Twin[Miner]):
    """A miner whose methods are awaited; see `Miner`. Made by `pm.connect_async`."""

    studies = awaited(Miner.studies)
    close = awaited(Miner.close)

    async def study(self, name: str) -> AsyncStudy:
        """Return a study as it stands; see `Miner.study`."""
        return AsyncStudy(await asyncio.to_thread(self._inner.study, name))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


class AsyncStudy(_Twin[Study]):
    """A study whose methods are awaited; see `Study`. Made by `AsyncMiner.study`."""

    domain = awaited(Study.domain)
    owners = awaited(Study.owners)
    releases = awaited(Study.releases)
    alignment = awaited(Study.alignment)
    told = awaited(Study.told)
    jobs = awaited(Study.jobs)
    models = awaited(Study.models)
    fetch = awaited(Study.fetch)

    @property
    def name(self) -> str:
        """The study's name."""
        return self._inner.name

    @property
    def title(self) -> str:
        """What it is about."""
        return self._inner.title

    @property
    def people(self) -> People:
        """What it says of its owners' records: of the `same` people, `different`, `overlapping`."""
        return self._inner.people

    async def run(
        self,
        learner: EstimatorT,
        /,
        records: Records | None = None,
        *,
        estimator: EstimatorName = "auto",
        order: int | None = None,
    ) -> AsyncJob[EstimatorT]:
        """Let the miner learn what `learner.fit` would learn here; see `Study.run`."""
        made = await asyncio.to_thread(
            self._inner.run, learner, records, estimator=estimator, order=order
        )
        return AsyncJob(made)

    async def table(
        self,
        variables: str | Sequence[str],
        records: Records | None = None,
        *,
        estimator: EstimatorName = "auto",
        order: int | None = None,
    ) -> AsyncJob[pd.DataFrame]:
        """Let the miner estimate a contingency table; see `Study.table`."""
        made = await asyncio.to_thread(
            self._inner.table, variables, records, estimator=estimator, order=order
        )
        return AsyncJob(made)

    async def job(self, job: str) -> AsyncJob[Any]:
        """Return a job that was made before, by its id; see `Study.job`."""
        return AsyncJob(await asyncio.to_thread(self._inner.job, job))


class AsyncJob(Generic[ModelT]):
    """A job that is awaited; see `Job`. Made by `AsyncStudy`; `wait()` brings its `model`."""

    def __init__(self, inner: Job[ModelT]):
        self._inner = inner
        self._fetched = False

    @property
    def id(self) -> str:
        """The job's id, by which `AsyncStudy.job` finds it again."""
        return self._inner.id

    @property
    def kind(self) -> str:
        """What kind of job it is, such as `decision-tree`."""
        return self._inner.kind

    @property
    def status(self) -> JobState:
        """`queued`, `running`, `succeeded`, `failed` or `cancelled`, as the miner said last."""
        return self._inner.status

    @property
    def progress(self) -> float:
        """The share of the work that is done, 0 to 1, as the miner said last."""
        return self._inner.progress

    @property
    def error(self) -> PramanaError | None:
        """Why there is no model: what a failed job ended with; None of any other."""
        return self._inner.error

    @property
    def model(self) -> ModelT:
        """What the job made; see `Job.model`. Raises NotReady before `wait()`."""
        self._require_waited()
        return self._inner.model

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be known before the model is trusted; raises as `model` does."""
        self._require_waited()
        return self._inner.warnings

    def as_dict(self) -> dict[str, Any]:
        """Return what the miner last said of it, as JSON can say it."""
        return self._inner.as_dict()

    async def refresh(self) -> Self:
        """Ask the miner how far the job is; return this."""
        await asyncio.to_thread(self._inner.refresh)
        return self

    async def cancel(self) -> Self:
        """Ask the miner to stop the job; one that is finished stays as it is. Returns itself."""
        await asyncio.to_thread(self._inner.cancel)
        return self

    async def wait(self, timeout: float | None = None) -> Self:
        """Wait until the job is finished, however it ends, and fetch what it made; see `Job.wait`.

        Cancelling this does not cancel the job.

        Args:
            timeout: the most seconds to wait; None for as long as it takes.
        """
        with self._inner._pauses(timeout) as pauses:  # noqa: SLF001 - the same waiting
            for pause in pauses:
                await asyncio.sleep(pause)
                await self.refresh()
        if self.status == "succeeded":
            await asyncio.to_thread(lambda: self._inner.model)
            self._fetched = True
        return self

    def _require_waited(self) -> None:
        if not self._fetched and (self.status == "succeeded" or self.status in UNFINISHED):
            raise NotReady(
                f"Job {self.id} is {self.status}, and its model is not here; await wait() first.",
                where=self.id,
            )

    def __repr__(self) -> str:
        return f"Async{self._inner!r}"
