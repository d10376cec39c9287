"""Another owner, called over the network. All errors become `PramanaError` with its name."""

from __future__ import annotations

import copy
import threading
from typing import Self

import httpx

from owner_agent.peer.protocol.identity import PeerIdentity, PublicIdentity, client_context
from owner_agent.peer.protocol.messages import read
from owner_agent.peer.protocol.steps import MESSAGE_BYTES, PACKAGE_PART, Answer, Request, Step
from owner_agent.peer.protocol.threads import started
from owner_agent.peer.session import error_of
from owner_agent.site.sections import KnownPeer
from owner_agent.state.environment import Environment
from pramana_core.errors import PeerDeviated, PeerUnreachable
from pramana_core.wire.services import PROBLEM_MEDIA_TYPE, read_problem

_PAUSE = 0.3


class RemotePartner:
    """Another owner, called with this owner's certificate. Close it, or use it in `with`."""

    def __init__(
        self,
        peer: KnownPeer,
        certificate: PublicIdentity,
        identity: PeerIdentity,
        environment: Environment,
    ):
        self._peer = peer
        self._environment = environment
        self.ends: float | None = None
        self._client = httpx.Client(
            base_url=peer.url,
            verify=client_context(identity, certificate),
            transport=environment.transport,
            # Without idle connections, an owner's server can stop at once.
            limits=httpx.Limits(max_keepalive_connections=0),
            # The certificate is pinned, so a proxy from the environment could not answer.
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def within(self, ends: float) -> RemotePartner:
        """Return the same owner, with all calls limited to end at the time `ends`."""
        made = copy.copy(self)
        made.ends = ends
        return made

    @property
    def name(self) -> str:
        """The owner's name."""
        return self._peer.name

    def ask(
        self, step: Step[Request, Answer], session: str, message: Request | None = None
    ) -> Answer:
        """Request a step from the owner and return the answer."""
        body = b"" if message is None else message.model_dump_json().encode()
        request = self._client.build_request(
            step.method, step.path.format(session=session), content=body
        )
        answer = self._send(request, MESSAGE_BYTES, repeatable=step.repeatable)
        return read(step.answer, answer, self.name)

    def package_part(self, session: str, number: int, limit: int) -> bytes:
        """Return a part of the package that the owner prepared for this owner."""
        path = PACKAGE_PART.format(session=session, number=number)
        return self._send(self._client.build_request("GET", path), limit, repeatable=True)

    def _send(self, request: httpx.Request, limit: int, *, repeatable: bool) -> bytes:
        """Send a request until it arrives, but at most as often as the environment allows."""
        attempts = self._environment.attempts
        for attempt in range(1, attempts + 1):
            try:
                return self._once(request, limit, quick=repeatable)
            except httpx.TransportError as error:
                # Repeat requests that did not arrive, but do not wait twice for a slow owner.
                again = repeatable or isinstance(error, httpx.ConnectError)
                if attempt == attempts or not again or isinstance(error, httpx.TimeoutException):
                    raise self._unreachable(error) from None
            self._environment.sleep(_PAUSE * attempt)
        raise AssertionError("the loop above returns or raises")

    def _once(self, request: httpx.Request, limit: int, *, quick: bool) -> bytes:
        """Send a request once. The time limit also covers an answer that arrives slowly."""
        now, patience = self._environment.now(), self._environment.patience
        seconds = patience.work
        if self.ends is not None:
            seconds = max(patience.least, min(seconds, self.ends - now.timestamp()))
        given_up = threading.Event()
        request.extensions["timeout"] = httpx.Timeout(
            min(patience.quick, seconds) if quick else seconds,
            connect=min(patience.connect, seconds),
        ).as_dict()
        answer = started(lambda: self._exchange(request, limit, given_up))
        try:
            return answer.result(seconds)
        except TimeoutError:
            raise httpx.ReadTimeout("The answer did not arrive in time.") from None
        finally:
            given_up.set()

    def _exchange(self, request: httpx.Request, limit: int, given_up: threading.Event) -> bytes:
        response = self._client.send(request, stream=True)
        try:
            content = bytearray()
            most = limit if response.is_success else MESSAGE_BYTES
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > most:
                    raise PeerDeviated(
                        f"{self.name} sent more than the {most} bytes it announced.",
                        where=self.name,
                    )
                if given_up.is_set():
                    break
        finally:
            response.close()
        if response.is_success:
            return bytes(content)
        raise self._refusal(response, bytes(content))

    def _refusal(self, response: httpx.Response, content: bytes) -> Exception:
        problem = None
        if response.headers.get("Content-Type", "").startswith(PROBLEM_MEDIA_TYPE):
            problem = read_problem(content)
        if problem is None:
            return PeerUnreachable(
                f"The server at {self._peer.url}, the address of {self.name}, is not an owner's"
                f" agent (status {response.status_code}).",
                where=self.name,
                remedy=f"Check the address of {self.name} in the site file.",
            )
        return error_of(problem)

    def _unreachable(self, error: httpx.TransportError) -> PeerUnreachable:
        slow = isinstance(error, httpx.TimeoutException)
        how = "did not answer in time" if slow else "could not be reached"
        return PeerUnreachable(
            f"{self.name} at {self._peer.url} {how} ({type(error).__name__}).",
            where=self.name,
            remedy=f"Ask {self.name} whether its agent is running (`owner-agent peer`), and"
            " compare the certificates' fingerprints.",
        )
