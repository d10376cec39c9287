"""The OpenAPI document: every route, and its problems."""

from __future__ import annotations

import json

import pytest

from pramana_core.wire.services import PROBLEM_MEDIA_TYPE

CONTRACT = {
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/metrics": {"get"},
    "/v1/studies": {"get", "post"},
    "/v1/studies/{study}": {"get"},
    "/v1/studies/{study}/tokens": {"get", "post"},
    "/v1/tokens/rotate": {"post"},
    "/v1/tokens/{token}": {"delete"},
    "/v1/studies/{study}/invitations": {"get", "post"},
    "/v1/invitations/{invitation}": {"delete"},
    "/v1/invitations/accept": {"post"},
    "/v1/studies/{study}/owners": {"get"},
    "/v1/studies/{study}/reports": {"get", "post", "delete"},
    "/v1/studies/{study}/reports/plan": {"get", "put"},
    "/v1/studies/{study}/reports/release": {"post"},
    "/v1/studies/{study}/reports/close": {"post"},
    "/v1/studies/{study}/owners/{owner}": {"delete"},
    "/v1/studies/{study}/releases": {"get", "post"},
    "/v1/studies/{study}/privacy": {"get", "post"},
    "/v1/studies/{study}/linkage": {"post"},
    "/v1/studies/{study}/plan": {"get", "put", "delete"},
    "/v1/releases/{release}": {"get"},
    "/v1/releases/{release}/parts/{number}": {"put"},
    "/v1/releases/{release}/seal": {"post"},
    "/v1/releases/{release}/withdraw": {"post"},
    "/v1/studies/{study}/alignment": {"get"},
    "/v1/studies/{study}/jobs": {"get", "post"},
    "/v1/jobs/{job}": {"get", "delete"},
    "/v1/jobs/{job}/events": {"get"},
    "/v1/jobs/{job}/log": {"get"},
    "/v1/models/{model}": {"get"},
    "/v1/models/{model}/bif": {"get"},
    "/v1/models/{model}/csv": {"get"},
    "/v1/models/{model}/itemsets.csv": {"get"},
    "/v1/models/{model}/rules.csv": {"get"},
    "/v1/models/{model}/text": {"get"},
    "/v1/models/{model}/document": {"get"},
    "/v1/models/{model}/predictions": {"post"},
    "/v1/models/{model}/svg": {"get"},
    "/v1/models/{model}/page": {"get"},
    "/v1/models/{model}/queries": {"post"},
    "/v1/models/{model}/samples": {"get"},
    "/v1/models/{model}/pseudo-data": {"get"},
    "/v1/dashboard": {"get"},
}


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


@pytest.mark.slow
def test_the_document_lists_the_contract_and_nothing_else(document):
    assert {path: set(methods) for path, methods in document["paths"].items()} == CONTRACT


def test_every_operation_is_described_and_declares_its_problems(document):
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names)
    for path, method, operation in operations(document):
        assert operation.get("description"), (path, method)
        wanted = {"422", "500"}
        if path.startswith("/v1"):
            wanted |= {"401", "403", "404", "413", "503"}
        assert wanted <= set(operation["responses"]), (path, method)
        for status, response in operation["responses"].items():
            if status >= "400":
                (media,) = response["content"]
                assert media == PROBLEM_MEDIA_TYPE, (path, method, status)


def test_the_document_is_whole(document):
    text = json.dumps(document)
    known = document["components"]["schemas"]
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in known


def test_every_operation_but_accepting_an_invitation_asks_for_a_token(document):
    open_ones = {path for path, _, operation in operations(document) if "security" not in operation}
    assert open_ones == {"/healthz", "/readyz", "/v1/invitations/accept"}
