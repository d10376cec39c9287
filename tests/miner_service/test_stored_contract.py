"""docs/openapi.json is the contract as it was agreed on; every route declares its answers."""

from __future__ import annotations

import difflib
import json
import os

import pytest

from pramana_core.wire.services import PROBLEM_MEDIA_TYPE
from tests.places import ROOT

STORED = ROOT / "docs" / "openapi.json"
SHOWN = 80


def lines(document):
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def difference(stored, now):
    """Return what changed, as a reader of the contract sees it; empty if nothing did."""
    return list(difflib.unified_diff(stored, now, "docs/openapi.json", "the service", n=4))


@pytest.mark.slow
def test_the_contract_is_the_stored_one(document):
    now = lines(document)
    if os.environ.get("PRAMANA_WRITE_OPENAPI"):
        STORED.write_text("\n".join(now) + "\n", encoding="utf-8")
    changed = difference(STORED.read_text(encoding="utf-8").splitlines(), now)
    assert not changed, (
        "The contract is another than docs/openapi.json says. If that is meant, follow 'To change"
        " the contract' in CONTRIBUTING.md and run `make openapi`:\n"
        + "\n".join(changed[:SHOWN])
        + (f"\n... and {len(changed) - SHOWN} lines more" if len(changed) > SHOWN else "")
    )


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
