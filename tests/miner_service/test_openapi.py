"""The OpenAPI document: every route, its problems; and a fuzz of the service against it."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from shared.wire.problems import PROBLEM_MEDIA_TYPE

CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)

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
    "/v1/studies/{study}/owners/{owner}": {"delete"},
    "/v1/studies/{study}/releases": {"get", "post"},
    "/v1/studies/{study}/privacy": {"get", "post"},
    "/v1/studies/{study}/plan": {"get", "put", "delete"},
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
    "/v1/models/{model}/dot": {"get"},
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
    "/v1/audit": {"get"},
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


OF_EVERY_KIND = (
    {"structure": {"A": []}},
    {"kind": "contingency-table", "variables": ["A", "B"]},
    {"kind": "association-rules", "minimum_support": 0.1},
    {"kind": "decision-tree", "target": "B"},
    {"kind": "linear-classifier", "target": "A", "loss": "perceptron"},
)


def populate(miner, built):
    """Make one of everything; return the values of path parameters and the tokens by method."""
    analyst = miner.study("asia")
    owner = miner.owner("asia", "north")
    sealed = owner.publish("asia", built)
    opened = owner.announce("asia", replace(built, body={**built.body, "name": "open"}))
    made = [
        analyst("POST", "/v1/studies/asia/jobs", json={"spec": spec}).headers["location"]
        for spec in OF_EVERY_KIND
    ]
    jobs = [analyst.wait(path) for path in made]
    assert {job["state"] for job in jobs} == {"succeeded"}
    pending = analyst("POST", "/v1/studies/asia/invitations", json={"owner": "west"})
    last = {name: path.rsplit("/", 1)[1] for name, path in (("s", sealed), ("o", opened))}
    parameters = {
        "study": ["asia"],
        "owner": ["south"],
        "token": ["t-000000000000"],
        "invitation": [pending.json()["id"]],
        "release": [last["s"], last["o"]],
        "number": [0, 1],
        "job": [job["id"] for job in jobs],
        "model": [job["model"] for job in jobs],
    }
    return parameters, (miner.admin.token, owner.token)


@pytest.mark.calibration
def test_the_service_keeps_its_word_under_fuzzing(miner, release_a):
    """Half of the requests name what is there, half are free; no answer is unforeseen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tool warns about its own dependencies
        import schemathesis
        from schemathesis.checks import CHECKS, load_all_checks

        load_all_checks()
        checks = CHECKS.get_by_names(list(CHECKED))
        there, tokens = populate(miner, release_a)
        schema = schemathesis.openapi.from_dict(miner.nobody.get("/openapi.json"))
        statuses = Counter()
        tried = set()

        def fuzz(case, known, token):
            if known:
                for name in case.path_parameters:
                    case.path_parameters[name] = known.choice(there[name])
            options = case.as_transport_kwargs(base_url="http://testserver")
            options["headers"] = {**options["headers"], "Authorization": f"Bearer {token}"}
            options.pop("cookies", None)
            response = miner.client.request(**options)
            statuses[response.status_code // 100] += 1
            return response

        for result in schema.get_all_operations():
            operation = result.ok()
            tried.add(operation.label)

            @seed(2006)
            @settings(
                max_examples=15,
                deadline=None,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(
                case=operation.as_strategy(),
                known=st.none() | st.randoms(use_true_random=False),
                token=st.sampled_from(tokens),
            )
            def one(case, known, token):
                response = fuzz(case, known, token)
                case.validate_response(response, checks=checks)

            one()
    assert len(tried) == sum(map(len, CONTRACT.values()))
    assert statuses[5] == 0
    assert statuses[2] > 50
    assert statuses[4] > 50
