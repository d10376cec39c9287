"""The version of the protocol, and the methods of an address."""

from __future__ import annotations

import pytest

from pramana_core.wire.services import PROTOCOL, PROTOCOL_HEADER
from tests.miner_service.conftest import assert_problem


@pytest.mark.parametrize("named", ["2", "0", "two", "", "1, 2", "２"])
def test_other_versions_are_refused_with_the_one_that_is_served(asked, named):
    miner, analyst, _ = asked
    headers = {PROTOCOL_HEADER: named.encode()}
    for path in ("/v1/studies", "/healthz", "/nowhere"):
        answer = analyst("GET", path, headers=headers)
        assert_problem(answer, 400, "protocol-unsupported")
        assert answer.headers[PROTOCOL_HEADER] == PROTOCOL
    refused = miner.nobody("POST", "/v1/studies", headers=headers, content=b"x" * 100)
    # Its body is not read, and nobody waits for it.
    assert refused.status_code == 400


@pytest.mark.parametrize("headers", [{}, {PROTOCOL_HEADER: PROTOCOL}])
def test_the_version_may_be_named_and_stands_in_every_answer(asked, headers):
    _, analyst, _ = asked
    for path in ("/v1/studies", "/healthz", "/nowhere"):
        assert analyst("GET", path, headers=headers).headers[PROTOCOL_HEADER] == PROTOCOL
    assert analyst("GET", "/v1/studies", headers=headers).status_code == 200


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
