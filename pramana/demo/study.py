"""One study from invitation to model, through the services' own REST interfaces."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Self

import httpx

from pramana_core.errors import EstimationError, Refused, StateError, Unreachable
from pramana_core.wire.learning.models import BayesNetMessage
from pramana_core.wire.problems import read_problem
from pramana_core.wire.versions import CURRENT, PROTOCOL_HEADER

_POLL_SECONDS = 0.1
_DEADLINE_SECONDS = 3600.0


class Rest:
    """A service's REST interface as one caller sees it; leaving the context closes it.

    Args:
        url: where the service listens.
        token: the caller's.
        seconds: for how long an answer is waited for; None is without end.

    Raises (every call):
        Refused: the service answered with a problem document.
        Unreachable: it did not answer.
    """

    def __init__(self, url: str, token: str, seconds: float | None = 60.0) -> None:
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}", PROTOCOL_HEADER: str(CURRENT)},
            timeout=seconds,
            # These are this machine's or a private network's services: no proxy is asked.
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def get(self, path: str) -> Any:
        """GET a JSON document."""
        return self._call("GET", path).json()

    def text(self, path: str) -> str:
        """GET a text."""
        return self._call("GET", path).text

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """POST a JSON document and return the answer's."""
        return self._call("POST", path, body or {}).json()

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        try:
            answer = self._client.request(method, path, json=body)
        except httpx.TransportError as error:
            raise Unreachable(f"No answer from {self._client.base_url}: {error}.") from error
        if answer.is_error:
            problem = read_problem(answer.content)
            raise Refused(
                problem.detail if problem else answer.text,
                status=answer.status_code,
                problem_code=problem.code if problem else "unknown",
                remedy=problem.remedy if problem else None,
            )
        return answer

    def wait(self, path: str) -> dict[str, Any]:
        """Poll a resource until its state is final.

        Raises:
            StateError: it failed or was cancelled; the message is its problem's.
        """
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while time.monotonic() < deadline:
            found: dict[str, Any] = self.get(path)
            if found["state"] == "succeeded":
                return found
            if found["state"] in {"failed", "cancelled"}:
                problem = found.get("problem") or {}
                raise StateError(
                    str(problem.get("detail", f"It {found['state']}.")),
                    where=problem.get("code"),
                    remedy=problem.get("remedy"),
                )
            time.sleep(_POLL_SECONDS)
        raise EstimationError(f"{path} did not finish within {_DEADLINE_SECONDS:.0f} seconds.")


def open_study(admin: Rest, study: str, title: str, owners: list[str]) -> dict[str, str]:
    """Create a study and invite its owners; return each owner's invitation secret."""
    admin.post("/v1/studies", {"name": study, "title": title, "people": "same"})
    return {
        owner: admin.post(f"/v1/studies/{study}/invitations", {"owner": owner})["secret"]
        for owner in owners
    }


def publish(agent: Rest) -> dict[str, Any]:
    """Have an owner's agent publish, and wait until its release is sealed."""
    started = agent.post("/v1/publications")
    return agent.wait(f"/v1/publications/{started['id']}")


def learn(analyst: Rest, study: str, structure: dict[str, list[str]]) -> BayesNetMessage:
    """Run the job and fetch its model."""
    spec = {"kind": "bayes-net-parameters", "structure": structure}
    job = analyst.post(f"/v1/studies/{study}/jobs", {"spec": spec})
    done = analyst.wait(f"/v1/jobs/{job['id']}")
    return BayesNetMessage.model_validate(analyst.get(f"/v1/models/{done['model']}"))
