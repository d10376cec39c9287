"""Both versions of the protocol: the last one's strict clients read every answer to them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pramana_core.wire.versions import CURRENT, PROTOCOL_HEADER
from tests.miner_service.conftest import Person, assert_problem

OLD = json.loads((Path(__file__).parent / "answers_of_version_1.json").read_text())
"""What clients of version 1 take for an answer, unknown fields refused; as version 1 wrote it."""


def schema_of(method: str, path: str, status: int) -> Any:
    """The schema of an answer in version 1; None where it is not JSON."""
    for known, operations in OLD["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", known), path) and method in operations:
            content = operations[method]["responses"].get(str(status), {}).get("content", {})
            return content.get("application/json", {}).get("schema")
    raise AssertionError(f"version 1 has no {method} {path}")


def require_old(method: str, path: str, response: Any) -> None:
    """Check an answer against version 1."""
    schema = schema_of(method.lower(), path, response.status_code)
    if schema is not None:
        whole = {**schema, "components": OLD["components"]}
        Draft202012Validator(whole).validate(response.json())


@dataclass
class Speaking(Person):
    """Somebody who names a version of the protocol, or none, which is the first."""

    version: int | None = None
    answered: list[str] = field(default_factory=list)

    def __call__(self, method: str, path: str, **options: Any) -> Any:
        headers = dict(options.pop("headers", {}))
        if self.version is not None:
            headers[PROTOCOL_HEADER] = str(self.version)
        response = super().__call__(method, path, headers=headers, **options)
        assert response.headers[PROTOCOL_HEADER] == str(self.version or 1)
        if response.status_code < 400:
            if self.version != CURRENT:
                require_old(method, path, response)
            self.answered.append(path)
        return response


def speaking(person: Person, version: int | None) -> Speaking:
    return Speaking(person.client, person.token, person.id, version)


@pytest.mark.slow
@pytest.mark.parametrize("version", [None, 1, 2])
def test_each_version_walks_the_whole_way(miner, release_a, version):
    admin, nobody = speaking(miner.admin, version), speaking(miner.nobody, version)
    assert nobody("GET", "/healthz").status_code == 200
    assert nobody("GET", "/readyz").status_code == 200
    assert admin("POST", "/v1/studies", json={"name": "s"}).status_code == 201
    token = admin("POST", "/v1/studies/s/tokens", json={"name": "ana"}).json()["token"]
    analyst = Speaking(miner.client, token, version=version)
    invited = analyst("POST", "/v1/studies/s/invitations", json={"owner": "north"}).json()
    accepted = nobody("POST", "/v1/invitations/accept", json={"secret": invited["secret"]})
    owner = Speaking(miner.client, accepted.json()["token"], version=version)
    release = owner.publish("s", release_a)
    spec = {"kind": "contingency-table", "variables": ["A", "B"]}
    job = analyst("POST", "/v1/studies/s/jobs", json={"spec": spec})
    assert job.status_code == 202
    done = analyst.wait(job.headers["location"])
    assert done["state"] == "succeeded"
    for path in (
        "/v1/studies",
        "/v1/studies/s",
        "/v1/studies/s/invitations",
        "/v1/studies/s/owners",
        "/v1/studies/s/releases",
        release,
        "/v1/studies/s/alignment",
        "/v1/studies/s/privacy",
        "/v1/studies/s/jobs",
        f"/v1/models/{done['model']}",
        "/v1/dashboard",
    ):
        analyst("GET", path)
        owner("GET", path)
    admin.get("/v1/studies/s/tokens")
    assert {person.version for person in (admin, analyst, owner)} == {version}


def test_a_strict_client_of_version_1_would_refuse_what_came_later():
    grown = {"status": "ok", "since": 2}
    with pytest.raises(Exception, match="since"):
        Draft202012Validator(
            {**schema_of("get", "/healthz", 200), "components": OLD["components"]}
        ).validate(grown)


@pytest.mark.parametrize("named", ["3", "0", "two", "", "1, 2", "２"])
def test_other_versions_are_refused_with_those_that_are_served(asked, named):
    miner, analyst, _ = asked
    headers = {PROTOCOL_HEADER: named.encode()}
    for path in ("/v1/studies", "/healthz", "/nowhere"):
        answer = analyst("GET", path, headers=headers)
        assert_problem(answer, 400, "protocol-unsupported", "1 and 2")
        assert answer.headers[PROTOCOL_HEADER] == str(CURRENT)
    refused = miner.nobody("POST", "/v1/studies", headers=headers, content=b"x" * 100)
    # Its body is not read, and nobody waits for it.
    assert (refused.status_code, refused.headers["connection"]) == (400, "close")


def test_a_version_named_twice_is_none(asked):
    miner, _, _ = asked
    answer = miner.client.get("/healthz", headers=[(PROTOCOL_HEADER, "1"), (PROTOCOL_HEADER, "2")])
    assert_problem(answer, 400, "protocol-unsupported")


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/studies", "GET, POST"),
        ("/v1/studies/s/plan", "DELETE, GET, PUT"),
        ("/v1/jobs/j-1", "DELETE, GET"),
        ("/v1/releases/r-1/seal", "POST"),
        ("/healthz", "GET"),
    ],
)
def test_405_names_every_method_of_the_address(asked, path, methods):
    miner, analyst, _ = asked
    for method in ("PATCH", "OPTIONS", "TRACE"):
        answer = analyst(method, path)
        assert_problem(answer, 405, "method-not-allowed")
        assert answer.headers["allow"] == methods
    head = miner.client.request("HEAD", path)
    assert head.status_code == 405
    assert head.headers["allow"] == methods
