"""The miner's REST contract, as calls; every foreign error becomes one of ours here.

A request that did not get through is tried again, more slowly each time. All calls but `accept`
may be repeated without harm, because the miner treats a repetition as the same request.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx
from pydantic import ValidationError

from owner_agent.site.site import LOOPBACK
from owner_agent.state.surroundings import Surroundings
from shared.errors import NotFound, PramanaError, Refused, Unreachable
from shared.study_plan import StudyPlan
from shared.wire.base import Message
from shared.wire.parts import DIGEST_HEADER, PART_MEDIA_TYPE, content_digest
from shared.wire.people import InvitationAccept, TokenIssued
from shared.wire.privacy import PrivacyForecast, PrivacyQuestion, StudyPrivacy
from shared.wire.problems import read_problem
from shared.wire.releases import PartReceipt, Release, ReleaseCreate
from shared.wire.study_plans import StudyPlanView

FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
LONGEST_REQUESTED_DELAY = 60.0
"""A miner that asks for a longer pause than this is asked again after it anyway."""

_TIMEOUT = httpx.Timeout(connect=10.0, read=300.0, write=60.0, pool=10.0)

_BUSY = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)

Answer = TypeVar("Answer", bound=Message)


class Miner:
    """A miner at an address, spoken to with an owner's token. Close it, or use it in `with`.

    Every method raises Refused where the miner answers with a problem document, and Unreachable
    where no answer that speaks the contract came.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        surroundings: Surroundings,
        timeout: httpx.Timeout | float = _TIMEOUT,
    ):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._url = url
        self._surroundings = surroundings
        self._client = httpx.Client(
            base_url=url,
            headers=headers,
            timeout=timeout,
            transport=surroundings.transport,
            # A proxy named by the environment is never right for this machine itself.
            trust_env=urlsplit(url).hostname not in LOOPBACK,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def accept(self, secret: str) -> TokenIssued:
        """Take up an invitation. Not repeated once it may have arrived: it works only once."""
        body = InvitationAccept(secret=secret).model_dump(mode="json")
        return self._call(
            TokenIssued, "POST", "/v1/invitations/accept", repeatable=False, json=body
        )

    def create_release(self, study: str, manifest: ReleaseCreate) -> Release:
        """Announce a release, or find the one announced before with the same manifest."""
        path = f"/v1/studies/{quote(study, safe='')}/releases"
        headers = {"Content-Type": "application/json"}
        return self._call(
            Release, "POST", path, content=manifest.model_dump_json().encode(), headers=headers
        )

    def privacy(self, study: str) -> StudyPrivacy:
        """Return what everything that left for a study comes to."""
        return self._call(StudyPrivacy, "GET", f"/v1/studies/{quote(study, safe='')}/privacy")

    def forecast(self, study: str, question: PrivacyQuestion) -> PrivacyForecast:
        """Return what a study comes to before and after a release; nothing is announced."""
        path = f"/v1/studies/{quote(study, safe='')}/privacy"
        headers = {"Content-Type": "application/json"}
        return self._call(
            PrivacyForecast,
            "POST",
            path,
            content=question.model_dump_json().encode(),
            headers=headers,
        )

    def study_plan(self, study: str) -> StudyPlan | None:
        """Return the plan that the owners of a study agreed on; None if there is none."""
        path = f"/v1/studies/{quote(study, safe='')}/plan"
        response = self._send("GET", path, True, {})
        problem = None if response.is_success else read_problem(response.content)
        # The study itself may be what is not found.
        if problem and (problem.code, problem.where) == (NotFound.code, "study plan"):
            return None
        view = self._read(StudyPlanView, "GET", path, response)
        try:
            return view.plan.to_plan()
        except PramanaError:
            raise self._not_a_miner(f"answered GET {path} with what is no study plan") from None

    def put_part(self, release: str, number: int, body: bytes) -> PartReceipt:
        """Send one part."""
        headers = {"Content-Type": PART_MEDIA_TYPE, DIGEST_HEADER: content_digest(body)}
        path = f"{_release_path(release)}/parts/{number}"
        return self._call(PartReceipt, "PUT", path, content=body, headers=headers)

    def seal(self, release: str) -> Release:
        """Declare a release complete."""
        return self._call(Release, "POST", f"{_release_path(release)}/seal")

    def withdraw(self, release: str) -> Release:
        """Ask that a release be used no more."""
        return self._call(Release, "POST", f"{_release_path(release)}/withdraw")

    def _call(
        self,
        kind: type[Answer],
        method: str,
        path: str,
        *,
        repeatable: bool = True,
        **options: Any,
    ) -> Answer:
        return self._read(kind, method, path, self._send(method, path, repeatable, options))

    def _read(self, kind: type[Answer], method: str, path: str, response: httpx.Response) -> Answer:
        if response.is_success:
            try:
                return kind.model_validate_json(response.content)
            except ValidationError:
                # Its text would quote the answer.
                raise self._not_a_miner(f"answered {method} {path} with another message") from None
        problem = read_problem(response.content)
        if problem is None:
            raise self._not_a_miner(
                f"answered {method} {path} with status {response.status_code} and no problem"
                " document"
            )
        raise Refused(
            f"The miner refused ({response.status_code} {problem.code}): {problem.detail}",
            status=response.status_code,
            problem_code=problem.code,
            remedy=problem.remedy or _remedy(response.status_code),
        )

    def _send(
        self, method: str, path: str, repeatable: bool, options: dict[str, Any]
    ) -> httpx.Response:
        attempts = self._surroundings.attempts
        delay = FIRST_DELAY
        for attempt in range(1, attempts + 1):
            try:
                response = self._client.request(method, path, **options)
            except httpx.TransportError as error:
                arrived = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if attempt == attempts or (arrived and not repeatable):
                    raise self._gave_up(attempt, type(error).__name__) from error
                pause = delay
            else:
                last = attempt == attempts or not repeatable
                if response.status_code not in _BUSY or last:
                    return response
                pause = _requested_delay(response) or delay
            self._surroundings.sleep(pause)
            delay = min(2 * delay, LONGEST_DELAY)
        raise AssertionError("the loop above returns or raises")

    def _gave_up(self, attempts: int, reason: str) -> Unreachable:
        times = "once" if attempts == 1 else f"{attempts} times"
        return Unreachable(
            f"The miner at {self._url} could not be reached; tried {times} ({reason}).",
            where=self._url,
            remedy="Check the address in the site file and that the miner is running.",
        )

    def _not_a_miner(self, what: str) -> Unreachable:
        return Unreachable(
            f"What runs at {self._url} {what}.",
            where=self._url,
            remedy="Check that the address is a miner's and that both sides have one version.",
        )


def _release_path(release: str) -> str:
    return f"/v1/releases/{quote(release, safe='')}"


def _requested_delay(response: httpx.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    return min(float(text), LONGEST_REQUESTED_DELAY) if text.isascii() and text.isdigit() else None


def _remedy(status: int) -> str | None:
    if status == HTTPStatus.UNAUTHORIZED:
        return "Ask the study for a new invitation and run `owner-agent join`."
    return None
