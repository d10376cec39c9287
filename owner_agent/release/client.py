"""The miner's REST contract, as calls; every foreign error becomes one of ours here.

A request that did not get through is tried again, more slowly each time. All calls may be repeated
without harm, because the miner treats a repetition as the same request.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Self
from urllib.parse import quote

import httpx

from owner_agent.release.calls import TIMEOUT, Calls, Manner
from owner_agent.site.site import Site
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tls import TlsFiles
from pramana_core.errors import NotFound, PramanaError, Refused
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.audit import AuditAnchor
from pramana_core.wire.base import Page
from pramana_core.wire.parts import DIGEST_HEADER, PART_MEDIA_TYPE, content_digest
from pramana_core.wire.people import InvitationAccept, Study, TokenIssued
from pramana_core.wire.privacy import PrivacyForecast, PrivacyQuestion, StudyPrivacy
from pramana_core.wire.problems import ProblemDetail, read_problem
from pramana_core.wire.releases import PartReceipt, Release, ReleaseCreate
from pramana_core.wire.releases.linkage import LinkageCheck, LinkageQuestion
from pramana_core.wire.study_plans import StudyPlanView
from pramana_core.wire.versions import IDEMPOTENCY_HEADER


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
        timeout: httpx.Timeout | float = TIMEOUT,
        tls: TlsFiles = TlsFiles(),  # noqa: B008 - frozen
    ):
        self._calls = Calls(
            url,
            token,
            Manner(
                refusal=_refused,
                remedy="Check the address in the site file and that the miner is running.",
                transport=surroundings.transport,
                sleep=surroundings.sleep,
                attempts=surroundings.attempts,
                timeout=timeout,
                tls=tls,
            ),
        )

    @classmethod
    def of(
        cls,
        site: Site,
        token: str | None,
        surroundings: Surroundings,
        timeout: httpx.Timeout | float = TIMEOUT,
    ) -> Self:
        """Return a site's miner, spoken to as its site file says."""
        return cls(site.miner.url, token, surroundings, timeout, site.tls_files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._calls.close()

    @property
    def url(self) -> str:
        """The miner's address."""
        return self._calls.url

    def audit(self) -> AuditAnchor:
        """Return the state of the miner's audit log."""
        return self._calls.call(AuditAnchor, "GET", "/v1/audit")

    def accept(self, secret: str, key: str) -> TokenIssued:
        """Take up an invitation, or get the token again that it was taken up for.

        The invitation works once. Where the answer was lost, the same request under the same `key`
        is answered again; whoever has the secret alone gets nothing, so the key must be random.
        """
        body = InvitationAccept(secret=secret).model_dump(mode="json")
        headers = {IDEMPOTENCY_HEADER: key}
        return self._calls.call(
            TokenIssued, "POST", "/v1/invitations/accept", json=body, headers=headers
        )

    def rotate_token(self) -> TokenIssued:
        """Get the token that takes the place of this one, which is good until that is used."""
        return self._calls.call(TokenIssued, "POST", "/v1/tokens/rotate")

    def create_release(self, study: str, manifest: ReleaseCreate) -> Release:
        """Announce a release, or find the one announced before with the same manifest."""
        path = f"/v1/studies/{quote(study, safe='')}/releases"
        headers = {"Content-Type": "application/json"}
        return self._calls.call(
            Release, "POST", path, content=manifest.model_dump_json().encode(), headers=headers
        )

    def study(self, study: str) -> Study:
        """Return what the miner says of a study."""
        return self._calls.call(Study, "GET", f"/v1/studies/{quote(study, safe='')}")

    def linkage(self, study: str, fingerprint: str) -> LinkageCheck | None:
        """Return how this owner's linkage secret fits those of the others, by its fingerprint.

        None where the miner is of an earlier version, and compares nothing.
        """
        path = f"/v1/studies/{quote(study, safe='')}/linkage"
        body = LinkageQuestion(fingerprint=fingerprint).model_dump(mode="json")
        response = self._calls.send("POST", path, json=body)
        problem = None if response.is_success else read_problem(response.content)
        if problem and (problem.code, problem.where) == (NotFound.code, None):
            return None
        return self._calls.read(LinkageCheck, "POST", path, response)

    def releases(self, study: str) -> tuple[Release, ...]:
        """Return all that the miner has of this owner in a study, oldest first."""
        path = f"/v1/studies/{quote(study, safe='')}/releases"
        found: list[Release] = []
        cursor: str | None = None
        while True:
            params = {} if cursor is None else {"cursor": cursor}
            page = self._calls.call(Page[Release], "GET", path, params=params)
            found += page.items
            cursor = page.next
            if cursor is None:
                return tuple(found)

    def privacy(self, study: str) -> StudyPrivacy:
        """Return what everything that left for a study comes to."""
        return self._calls.call(StudyPrivacy, "GET", f"/v1/studies/{quote(study, safe='')}/privacy")

    def forecast(self, study: str, question: PrivacyQuestion) -> PrivacyForecast:
        """Return what a study comes to before and after a release; nothing is announced."""
        path = f"/v1/studies/{quote(study, safe='')}/privacy"
        headers = {"Content-Type": "application/json"}
        return self._calls.call(
            PrivacyForecast,
            "POST",
            path,
            content=question.model_dump_json().encode(),
            headers=headers,
        )

    def study_plan(self, study: str) -> StudyPlan | None:
        """Return the plan that the owners of a study agreed on; None if there is none."""
        path = f"/v1/studies/{quote(study, safe='')}/plan"
        response = self._calls.send("GET", path)
        problem = None if response.is_success else read_problem(response.content)
        # The study itself may be what is not found.
        if problem and (problem.code, problem.where) == (NotFound.code, "study plan"):
            return None
        view = self._calls.read(StudyPlanView, "GET", path, response)
        try:
            return view.plan.to_plan()
        except PramanaError:
            raise self._calls.not_a_miner(
                f"answered GET {path} with what is no study plan"
            ) from None

    def put_part(self, release: str, number: int, body: bytes) -> PartReceipt:
        """Send one part."""
        headers = {"Content-Type": PART_MEDIA_TYPE, DIGEST_HEADER: content_digest(body)}
        path = f"{_release_path(release)}/parts/{number}"
        return self._calls.call(PartReceipt, "PUT", path, content=body, headers=headers)

    def seal(self, release: str) -> Release:
        """Declare a release complete."""
        return self._calls.call(Release, "POST", f"{_release_path(release)}/seal")

    def withdraw(self, release: str) -> Release:
        """Ask that a release be used no more."""
        return self._calls.call(Release, "POST", f"{_release_path(release)}/withdraw")


def _release_path(release: str) -> str:
    return f"/v1/releases/{quote(release, safe='')}"


def _refused(problem: ProblemDetail) -> Refused:
    return Refused(
        f"The miner refused ({problem.status} {problem.code}): {problem.detail}",
        status=problem.status,
        problem_code=problem.code,
        remedy=problem.remedy or _remedy(problem.status),
    )


def _remedy(status: int) -> str | None:
    if status == HTTPStatus.UNAUTHORIZED:
        return "Ask the study for a new invitation and run `owner-agent join`."
    return None
