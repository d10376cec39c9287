"""The process that serves the owner's pages on this machine, and the publications they start.

Also here:

* What an unforeseen error leaves at the terminal: its kind and its place.
* Publications that the pages start: one at a time, each in its own thread.
* Every error of the agent becomes an answer with a problem document here.
"""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import socket
import threading
import traceback
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import uvicorn
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as WireMessage

from owner_agent.release.approval import Approval
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, PublishOutcome, publish
from owner_agent.report.outcomes import found_wrong, outcome_lines
from owner_agent.report.plan import require_accepted
from owner_agent.report.study import PeopleStatement, outlook_of, people_of
from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from owner_agent.state.private_files import (
    write_replacing,
)
from pramana_core.errors import Conflict, NotFound, OptionError, PramanaError
from pramana_core.progress import StagedProgress
from pramana_core.terminal import console
from pramana_core.wire.base import Message
from pramana_core.wire.services import (
    PROBLEM_MEDIA_TYPE,
    ProblemDetail,
    invalid_request,
    problem_of,
    problem_of_status,
    unforeseen,
)

# What an unforeseen error leaves at the terminal: its kind and its place.
#
# What such an error says may quote a record, and a server or a thread that ends by it would print
# that, with all the errors before it.


def tell_failure(what: str, error: Exception) -> None:
    """Print that something failed, by which kind of error, and where that was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = f"{what} failed: {type(error).__name__}."
    words += f" It was raised at {Path(place.filename).name}, line {place.lineno}."
    console(stderr=True).print(words, markup=False, soft_wrap=True)


class FailureMiddleware:
    """The middleware around the whole agent: no error goes on to the server, which would log it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        started = False

        async def watched(message: WireMessage) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if scope["type"] != "http":
                raise
            tell_failure("A request", error)
            if not started:
                await PlainTextResponse("Internal Server Error", 500)(scope, receive, watched)


# Publications that the pages start: one at a time, each in its own thread.


_UNFORESEEN = (
    "The publication ended with an unforeseen error; its kind stands at the agent's terminal."
)

PublicationState = Literal["running", "succeeded", "failed"]


class Publication(Message):
    """A publication and how far it is.

    `people` is what the study says of its owners' people, `stage` what is being done while it
    runs; `said` is in words what it ended with, and `warnings` what was found wrong.
    """

    id: str
    state: PublicationState
    parts_sent: int
    parts: int | None
    people: str | None = None
    stage: str | None = None
    said: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    outcome: dict[str, Any] | None
    problem: ProblemDetail | None


class Publications:
    """Publications of one site, run in a thread each, one at a time; kept in memory."""

    def __init__(
        self,
        people: Callable[[], str | None],
        publish_once: Callable[[PublishOptions, Approval, StagedProgress], PublishOutcome],
    ):
        """Take what asks for what is said of the people, and what publishes as it was shown."""
        self._people = people
        self._publish_once = publish_once
        self._all: dict[str, Publication] = {}
        self._changing = threading.Lock()

    def start(self, options: PublishOptions, shown: Approval) -> Publication:
        """Start a publication. Raises Conflict."""
        with self._changing:
            running = [p.id for p in self._all.values() if p.state == "running"]
            if running:
                raise Conflict(
                    "A publication is running.",
                    where=running[0],
                    remedy="Follow it on the page of the last publication.",
                )
            made = Publication(
                id=uuid.uuid4().hex,
                state="running",
                parts_sent=0,
                parts=None,
                outcome=None,
                problem=None,
            )
            self._all[made.id] = made
        threading.Thread(target=self._run, args=(made.id, options, shown), daemon=True).start()
        return made

    def get(self, identity: str) -> Publication:
        """Return a publication. Raises NotFound."""
        try:
            return self._all[identity]
        except KeyError:
            raise NotFound("There is no such publication.", where=identity) from None

    def last(self) -> Publication | None:
        """Return the newest publication since the agent started."""
        return next(reversed(self._all.values()), None)

    def _run(self, identity: str, options: PublishOptions, shown: Approval) -> None:
        def watch(stage: str, done: int, total: int) -> None:
            now: dict[str, Any] = {"stage": stage}
            if stage == "parts":
                now |= {"parts_sent": done, "parts": total}
            self._update(identity, **now)

        try:
            # Whoever follows the publication can read it before anything leaves.
            self._update(identity, people=self._people())
            outcome = self._publish_once(options, shown, watch)
        except PramanaError as error:
            self._update(identity, state="failed", problem=problem_of(error))
        except Exception as error:  # noqa: BLE001 - what it says may quote a record
            tell_failure("A publication", error)
            problem = unforeseen(_UNFORESEEN, remedy=None)
            self._update(identity, state="failed", problem=problem)
        else:
            self._update(
                identity,
                state="succeeded",
                outcome=outcome.as_dict(),
                said=tuple(outcome_lines(outcome)),
                warnings=tuple(found_wrong(outcome)),
            )

    def _update(self, identity: str, **changes: Any) -> None:
        with self._changing:
            self._all[identity] = self._all[identity].model_copy(update=changes)


# Every error of the agent becomes an answer with a problem document here.


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every error with a problem document."""
    for kind in (PramanaError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _handle)


def _handle(_request: Request, error: Exception) -> Response:
    match error:
        case PramanaError():
            document = problem_of(error)
        case RequestValidationError():
            places = [".".join(str(part) for part in e["loc"]) for e in error.errors()]
            document = invalid_request(f"The request is not well formed at {', '.join(places)}.")
        case HTTPException():
            return _respond(problem_of_status(error.status_code), error.headers)
        case _:
            raise AssertionError("registered for the three classes above")
    return _respond(document)


def _respond(problem: ProblemDetail, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(
        problem.model_dump(mode="json"),
        status_code=problem.status,
        media_type=PROBLEM_MEDIA_TYPE,
        headers={"WWW-Authenticate": "Bearer"} if problem.status == 401 else headers,
    )


@dataclass(frozen=True)
class Agent:
    """What the pages need: the site file (read anew each time) and the publications."""

    site: Path
    publications: Publications
    environment: Environment


def create_app(site: Path, environment: Environment) -> FastAPI:
    """Return the agent's application for a site file; the pages are added to it."""

    def people() -> str | None:
        told = people_of(load_site(site), environment)
        return told.sentence if isinstance(told, PeopleStatement) else told

    def publish_once(
        options: PublishOptions, shown: Approval, watch: StagedProgress
    ) -> PublishOutcome:
        opened = load_site(site)
        plan = planned(opened)
        forecast = outlook_of(opened, plan, environment)
        require_accepted(opened, plan, environment, forecast)
        return publish(PreparedRecords, opened, environment, options, watch, approval=shown)

    app = FastAPI(title="Pramana owner agent", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.agent = Agent(site, Publications(people, publish_once), environment)
    add_handlers(app)
    app.include_router(_health)
    return app


_health = APIRouter()


@_health.get("/healthz")
def healthz() -> dict[str, str]:
    """Say that the agent is alive."""
    return {"status": "ok"}


_LAST_SECONDS = 5
"""So long a request that is being answered may take when the server ends."""


@dataclass(frozen=True)
class ListenAddress:
    """Where to listen.

    Raises:
        OptionError: an address other than loopback.
    """

    host: str = "127.0.0.1"
    port: int = 8100
    ready_file: Path | None = None

    def __post_init__(self) -> None:
        if not is_loopback(self.host):
            raise OptionError(
                f"{self.host} is reachable from other machines; the pages are for this one alone.",
                where="host",
                remedy="Use 127.0.0.1.",
            )


def is_loopback(host: str) -> bool:
    """Whether an address is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


AddPages = Callable[[FastAPI, str], str]
"""Adds the pages to an application at an address, and returns the link that opens them."""


def serve_agent(
    site: Path, environment: Environment, listen: ListenAddress, add_pages: AddPages
) -> None:
    """Serve until SIGTERM or Ctrl-C, both of which are the regular end.

    Raises ConfigError, OptionError.
    """
    load_site(site)  # What is wrong with it is said before anything listens.
    app = create_app(site, environment)
    with _bind(listen) as bound:
        host = f"[{listen.host}]" if ":" in listen.host else listen.host
        url = f"http://{host}:{bound.getsockname()[1]}"
        link = add_pages(app, url)
        config = uvicorn.Config(
            FailureMiddleware(app),
            http="h11",
            log_level="warning",
            ws="none",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_LAST_SECONDS,
        )
        server = _Announcing(config, url, listen.ready_file, link)
        with _ended_by_signals(server):
            server.run(sockets=[bound])


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """End a server well at SIGINT and SIGTERM, and raise neither again when it has ended."""

    def end(_number: int, _frame: object) -> None:
        server.should_exit = True

    # The server takes note of both itself, and raises them again to whoever had them before.
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Announcing(uvicorn.Server):
    """A server that says once it accepts requests."""

    def __init__(
        self,
        config: uvicorn.Config,
        url: str,
        ready_file: Path | None,
        link: str,
    ):
        super().__init__(config)
        self._link = link
        self._url = url
        self._ready_file = ready_file

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started:
            return
        console(stderr=True).print(
            f"Open this in your browser; it works once: {self._link}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        if self._ready_file is not None:
            ready = json.dumps({"url": self._url, "pid": os.getpid()})
            write_replacing(self._ready_file, ready.encode())


def _bind(listen: ListenAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    # Said to be TCP, so that asyncio lets small answers go at once (TCP_NODELAY).
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((listen.host, listen.port))
    except (OSError, OverflowError) as error:
        bound.close()
        raise OptionError(
            f"The agent cannot listen on {listen.host} port {listen.port}:"
            f" {str(error).rstrip('.')}.",
            where="port",
            remedy="Choose another port; 0 takes a free one.",
        ) from None
    return bound
