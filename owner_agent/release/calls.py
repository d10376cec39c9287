"""Requests to a miner: tried again where they did not get through, and read as messages.

Every foreign error becomes one of ours here. What is asked, and by whom, is for the callers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from owner_agent.state.tls import TlsFiles
from pramana_core.errors import PramanaError, ProtocolUnsupported, Unreachable
from pramana_core.wire.addresses import is_loopback
from pramana_core.wire.problems import ProblemDetail, read_problem
from pramana_core.wire.versions import CURRENT, PROTOCOL_HEADER

FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
LONGEST_REQUESTED_DELAY = 60.0
"""A miner that asks for a longer pause than this is asked again after it anyway."""

TIMEOUT = httpx.Timeout(connect=10.0, read=300.0, write=60.0, pool=10.0)

_BUSY = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True)
class Manner:
    """How requests are sent: over what, how often, and what is said where they fail.

    `transport` None is the network; `attempts` is how often a request is tried before the miner
    counts as unreachable, `remedy` what to do then, and `refusal` the error of a problem document.
    `tls` are the files that secure the connection.
    """

    refusal: Callable[[ProblemDetail], PramanaError]
    remedy: str
    transport: httpx.BaseTransport | None = None
    sleep: Callable[[float], None] = time.sleep
    attempts: int = 5
    tls: TlsFiles = field(default_factory=TlsFiles)
    timeout: httpx.Timeout | float = field(default_factory=lambda: TIMEOUT)


class Calls:
    """Requests to the miner at an address, with a token or without one.

    The token is in no text that this makes.
    """

    def __init__(self, url: str, token: str | None, manner: Manner):
        headers = {PROTOCOL_HEADER: str(CURRENT)}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.url = url
        self._manner = manner
        self._client = httpx.Client(
            base_url=url,
            headers=headers,
            timeout=manner.timeout,
            transport=manner.transport,
            verify=manner.tls.verify(),
            # A proxy named by the environment is never right for this machine itself.
            trust_env=not is_loopback(url),
        )

    def close(self) -> None:
        """End the connections."""
        self._client.close()

    def call(
        self,
        kind: type[Answer],
        method: str,
        path: str,
        **options: Any,
    ) -> Answer:
        """Send a request and read its answer. Raises what `send` and `read` do."""
        response = self.send(method, path, **options)
        return self.read(kind, method, path, response)

    def read(self, kind: type[Answer], method: str, path: str, response: httpx.Response) -> Answer:
        """Return an answer as a message.

        Raises:
            PramanaError: the miner refused, as `Manner.refusal` says it.
            ProtocolUnsupported: it does not speak this side's version of the protocol.
            Unreachable: what answered does not speak the contract.
        """
        if response.is_success:
            try:
                return kind.model_validate_json(response.content)
            except ValidationError:
                # Its text would quote the answer.
                raise self.not_a_miner(f"answered {method} {path} with another message") from None
        problem = read_problem(response.content)
        if problem is None:
            raise self.not_a_miner(
                f"answered {method} {path} with status {response.status_code} and no problem"
                " document"
            )
        if problem.code == ProtocolUnsupported.code:
            raise self._speaks_another(problem)
        # The status is that of the answer: a document may say another.
        raise self._manner.refusal(problem.model_copy(update={"status": response.status_code}))

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request until it is answered by anything but "later"; return the answer.

        Args:
            method: of HTTP.
            path: under the address.
            options: as `httpx.Client.request` takes them.

        Raises:
            Unreachable: no answer came.
        """
        attempts = self._manner.attempts
        delay = FIRST_DELAY
        for attempt in range(1, attempts + 1):
            try:
                response = self._client.request(method, path, **options)
            except httpx.TransportError as error:
                if attempt == attempts:
                    raise self._gave_up(attempt, type(error).__name__) from error
                pause = delay
            else:
                if response.status_code not in _BUSY or attempt == attempts:
                    return response
                pause = requested_delay(response.headers) or delay
            self._manner.sleep(pause)
            delay = min(2 * delay, LONGEST_DELAY)
        raise AssertionError("the loop above returns or raises")

    def not_a_miner(self, what: str) -> Unreachable:
        """Return the error of an answer that does not speak the contract."""
        return Unreachable(
            f"What runs at {self.url} {what}.",
            where=self.url,
            remedy="Check that the address is a miner's and that both sides have one version.",
        )

    def _speaks_another(self, problem: ProblemDetail) -> ProtocolUnsupported:
        """Return the error of a miner that does not speak the version spoken here."""
        return ProtocolUnsupported(
            f"The miner at {self.url} does not speak version {CURRENT} of the protocol, as this"
            f" side does. It says: {problem.detail}",
            where=self.url,
            remedy="Install the version of Pramana that the miner has, or ask whoever runs the"
            " miner to bring it up to date.",
        )

    def _gave_up(self, attempts: int, reason: str) -> Unreachable:
        times = "once" if attempts == 1 else f"{attempts} times"
        return Unreachable(
            f"The miner at {self.url} could not be reached; tried {times} ({reason}).",
            where=self.url,
            remedy=self._manner.remedy,
        )


def requested_delay(headers: Mapping[str, str]) -> float | None:
    """Return for how many seconds an answer asks to wait, within reason; None if it does not.

    It names a number of seconds or a date; a date counts from the one of the answer, so that the
    two clocks need not agree.
    """
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_REQUESTED_DELAY)
    until = _date(text)
    if until is None:
        return None
    answered = _date(headers.get("Date", "")) or datetime.now(UTC)
    return min(max(0.0, (until - answered).total_seconds()), LONGEST_REQUESTED_DELAY)


def _date(text: str) -> datetime | None:
    """Return a date as HTTP writes it; None if the text is none."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
