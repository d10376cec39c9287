"""Calls of the miner's REST interface. Errors of the HTTP library become `PramanaError` here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.tls_files import TlsFiles
from pramana_core.errors import NotFound, PramanaError, ProtocolUnsupported, Refused, Unreachable
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.base import Page
from pramana_core.wire.parts import DIGEST_HEADER, PART_MEDIA_TYPE, content_digest
from pramana_core.wire.privacy import (
    InvitationAccept,
    PrivacyForecast,
    PrivacyQuestion,
    Study,
    TokenIssued,
)
from pramana_core.wire.releases import (
    LinkageCheck,
    LinkageQuestion,
    PartReceipt,
    Release,
    ReleaseCreate,
)
from pramana_core.wire.services import (
    IDEMPOTENCY_HEADER,
    PROTOCOL,
    PROTOCOL_HEADER,
    ProblemDetail,
    is_loopback,
    read_problem,
)
from pramana_core.wire.study_plans import StudyPlanView

FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
LONGEST_REQUESTED_DELAY = 60.0
"""The longest pause in seconds that a miner's answer can request."""

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


class Calls:
    """A client for requests to a miner; use it in `with`. No error message contains the token."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        refusal: Callable[[ProblemDetail], PramanaError],
        remedy: str,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        attempts: int = 5,
        tls: TlsFiles = TlsFiles(),  # noqa: B008 - frozen
        timeout: httpx.Timeout | float = TIMEOUT,
    ):
        """Store the settings; no request is sent yet.

        `refusal` turns a problem document into an error. `remedy` is the advice to the user if the
        miner cannot be reached in `attempts` tries. The default `transport` is the network.
        """
        headers = {PROTOCOL_HEADER: PROTOCOL}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.url = url
        self._refusal, self._remedy = refusal, remedy
        self._sleep, self._attempts = sleep, attempts
        self._client = httpx.Client(
            base_url=url,
            headers=headers,
            timeout=timeout,
            transport=transport,
            verify=tls.verify(),
            # Calls to this machine must not use a proxy from the environment.
            trust_env=not is_loopback(url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def call(self, kind: type[Answer], method: str, path: str, **options: Any) -> Answer:
        """Send a request and return its parsed answer. Raises the errors of `send` and `read`."""
        response = self.send(method, path, **options)
        return self.read(kind, method, path, response)

    def read(self, kind: type[Answer], method: str, path: str, response: httpx.Response) -> Answer:
        """Return the message in a response. Raises PramanaError."""
        if response.is_success:
            try:
                return kind.model_validate_json(response.content)
            except ValidationError:
                # The parser's error would quote the answer.
                raise self.not_a_miner(
                    f"answered {method} {path} with a message of another kind"
                ) from None
        problem = read_problem(response.content)
        if problem is None:
            raise self.not_a_miner(
                f"answered {method} {path} with status {response.status_code} and without a"
                " problem document"
            )
        if problem.code == ProtocolUnsupported.code:
            raise self._speaks_another(problem)
        # The response's status counts, as the document may state another.
        raise self._refusal(problem.model_copy(update={"status": response.status_code}))

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request, and repeat it while the miner answers "later". Raises Unreachable."""
        attempts, delay = self._attempts, FIRST_DELAY
        for attempt in range(1, attempts + 1):
            try:
                response = self._client.request(method, path, **options)
            except httpx.TransportError as error:
                if attempt == attempts:
                    raise self._gave_up(attempt, _why(error)) from None
                pause = delay
            else:
                if response.status_code not in _BUSY or attempt == attempts:
                    return response
                pause = requested_delay(response.headers) or delay
            self._sleep(pause)
            delay = min(2 * delay, LONGEST_DELAY)
        raise AssertionError("the loop above returns or raises")

    def not_a_miner(self, what: str) -> Unreachable:
        """Return the error for an answer that no miner would give."""
        return Unreachable(
            f"The server at {self.url} {what}.",
            where=self.url,
            remedy="Check that the address is the address of a miner, and that agent and miner "
            "have the same version.",
        )

    def _speaks_another(self, problem: ProblemDetail) -> ProtocolUnsupported:
        return ProtocolUnsupported(
            f"The miner at {self.url} does not support version {PROTOCOL} of the protocol, which"
            f" this agent uses. The miner's answer: {problem.detail}",
            where=self.url,
            remedy="Install the miner's version of Pramana, or ask the miner's operator to update"
            " the miner.",
        )

    def _gave_up(self, attempts: int, reason: str) -> Unreachable:
        times = "once" if attempts == 1 else f"{attempts} times"
        return Unreachable(
            f"The miner at {self.url} could not be reached in {times} ({reason}).",
            where=self.url,
            remedy=self._remedy,
        )


def _why(error: BaseException) -> str:
    """Return why a request failed: OpenSSL's reason to reject a certificate, or the error class."""
    cause: BaseException | None = error
    while cause is not None and not hasattr(cause, "verify_message"):
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__ if cause is None else str(cause.verify_message)


def requested_delay(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that an answer requests, up to a limit, or None."""
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_REQUESTED_DELAY)
    return None


class Miner(Calls):
    """A miner, called with an owner's token. Every method can raise Refused and Unreachable."""

    def __init__(
        self,
        url: str,
        token: str | None,
        environment: Environment,
        timeout: httpx.Timeout | float = TIMEOUT,
        tls: TlsFiles = TlsFiles(),  # noqa: B008 - frozen
    ):
        super().__init__(
            url,
            token,
            refusal=_refused,
            remedy="Check the miner's address in the site file, and that the miner is running.",
            transport=environment.transport,
            sleep=environment.sleep,
            attempts=environment.attempts,
            tls=tls,
            timeout=timeout,
        )

    @classmethod
    def of(
        cls,
        site: Site,
        token: str | None,
        environment: Environment,
        timeout: httpx.Timeout | float = TIMEOUT,
    ) -> Self:
        """Return the miner of a site file."""
        return cls(site.miner.url, token, environment, timeout, site.tls_files)

    def accept(self, secret: str) -> TokenIssued:
        """Accept an invitation, which works once."""
        body = InvitationAccept(secret=secret).model_dump(mode="json")
        headers = {IDEMPOTENCY_HEADER: secrets.token_hex(32)}
        path = _path("invitations", "accept")
        return self.call(TokenIssued, "POST", path, json=body, headers=headers)

    def create_release(self, study: str, manifest: ReleaseCreate) -> Release:
        """Announce a release, unless done before. Return the miner's copy of the announcement."""
        return self._post(Release, _path("studies", study, "releases"), manifest)

    def study(self, study: str) -> Study:
        """Return the miner's message about a study."""
        return self.call(Study, "GET", _path("studies", study))

    def linkage(self, study: str, fingerprint: str) -> LinkageCheck:
        """Return whether the other owners have the linkage secret with this fingerprint."""
        question = LinkageQuestion(fingerprint=fingerprint)
        return self._post(LinkageCheck, _path("studies", study, "linkage"), question)

    def releases(self, study: str) -> tuple[Release, ...]:
        """Return this owner's releases in a study, oldest first."""
        found: list[Release] = []
        params: dict[str, str] = {}
        while True:
            path = _path("studies", study, "releases")
            page = self.call(Page[Release], "GET", path, params=params)
            found += page.items
            if page.next is None:
                return tuple(found)
            params = {"cursor": page.next}

    def forecast(self, study: str, question: PrivacyQuestion) -> PrivacyForecast:
        """Return a study's privacy loss before and after a planned, unannounced release."""
        return self._post(PrivacyForecast, _path("studies", study, "privacy"), question)

    def study_plan(self, study: str) -> StudyPlan | None:
        """Return the study's plan, or None if it has none."""
        path = _path("studies", study, "plan")
        response = self.send("GET", path)
        problem = None if response.is_success else read_problem(response.content)
        # A 404 may also mean that the study is unknown.
        if problem and (problem.code, problem.where) == (NotFound.code, "study plan"):
            return None
        view = self.read(StudyPlanView, "GET", path, response)
        try:
            return view.plan.to_plan()
        except PramanaError:
            raise self.not_a_miner(
                f"answered GET {path} with a message that is not a study plan"
            ) from None

    def put_part(self, release: str, number: int, body: bytes) -> PartReceipt:
        """Send a part of a release."""
        headers = {"Content-Type": PART_MEDIA_TYPE, DIGEST_HEADER: content_digest(body)}
        path = _path("releases", release, "parts", str(number))
        return self.call(PartReceipt, "PUT", path, content=body, headers=headers)

    def seal(self, release: str) -> Release:
        """Declare a release complete."""
        return self.call(Release, "POST", _path("releases", release, "seal"))

    def withdraw(self, release: str) -> Release:
        """Withdraw a release."""
        return self.call(Release, "POST", _path("releases", release, "withdraw"))

    def _post(self, kind: type[Answer], path: str, message: BaseModel) -> Answer:
        headers = {"Content-Type": "application/json"}
        content = message.model_dump_json().encode()
        return self.call(kind, "POST", path, content=content, headers=headers)


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def _refused(problem: ProblemDetail) -> Refused:
    return Refused(
        f"The miner rejected the request ({problem.status} {problem.code}): {problem.detail}",
        status=problem.status,
        problem_code=problem.code,
        remedy=problem.remedy or _REMEDIES.get(problem.status),
    )


_REMEDIES: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "Ask the operator for a new invitation, then run `owner-agent join`."
}
