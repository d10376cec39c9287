"""The OpenAPI document: every route, and its problems."""

from __future__ import annotations

import json

from pramana_core.wire.services import PROBLEM_MEDIA_TYPE


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


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
