"""The OpenAPI document: every route, its problems; and a fuzz of the service against it."""

from __future__ import annotations

import json
import warnings

import pytest
from miner_service.app import create_app
from miner_service.settings import Settings
from miner_service.store.people import rotate_admin_token
from shared.wire import PROBLEM_MEDIA_TYPE

CONTRACT = {
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/v1/studies": {"get", "post"},
    "/v1/studies/{study}": {"get"},
    "/v1/studies/{study}/tokens": {"get", "post"},
    "/v1/tokens/{token}": {"delete"},
    "/v1/studies/{study}/invitations": {"get", "post"},
    "/v1/invitations/accept": {"post"},
    "/v1/studies/{study}/owners": {"get"},
    "/v1/studies/{study}/owners/{owner}": {"delete"},
    "/v1/studies/{study}/releases": {"get", "post"},
    "/v1/releases/{release}": {"get"},
    "/v1/releases/{release}/parts/{number}": {"put"},
    "/v1/releases/{release}/seal": {"post"},
    "/v1/releases/{release}/withdraw": {"post"},
    "/v1/studies/{study}/alignment": {"get"},
    "/v1/studies/{study}/jobs": {"get", "post"},
    "/v1/jobs/{job}": {"get", "delete"},
    "/v1/jobs/{job}/events": {"get"},
    "/v1/models/{model}": {"get"},
    "/v1/models/{model}/bif": {"get"},
    "/v1/dashboard": {"get"},
}


@pytest.fixture
def document(miner):
    return miner.nobody.get("/openapi.json")


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


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


def test_the_service_keeps_its_word_under_fuzzing(tmp_path, build, plan_a):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tool warns about its own dependencies
        import schemathesis
        from hypothesis import HealthCheck, Phase, given, seed, settings

        app = create_app(Settings(tmp_path / "data"))
        services = app.state.services
        with services.database.write() as session:
            token = rotate_admin_token(session, services.now()).text
        schema = schemathesis.openapi.from_asgi("/openapi.json", app)
        from schemathesis.checks import CHECKS, load_all_checks

        load_all_checks()
        wanted = (
            "not_a_server_error",
            "status_code_conformance",
            "content_type_conformance",
            "response_schema_conformance",
        )
        checks = CHECKS.get_by_names(list(wanted))
        tried = 0
        for result in schema.get_all_operations():
            operation = result.ok()
            tried += 1

            @seed(2006)
            @settings(
                max_examples=12,
                deadline=None,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def fuzz(case):
                response = case.call(headers={"Authorization": f"Bearer {token}"})
                case.validate_response(response, checks=checks)

            fuzz()
    assert tried == sum(map(len, CONTRACT.values()))
