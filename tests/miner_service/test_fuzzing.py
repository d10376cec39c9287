"""Generated requests to every endpoint, each in every role: no answer is unforeseen.

In short form a few for each endpoint; `PRAMANA_FUZZ_EXAMPLES` (`make fuzz`) says how many.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("PRAMANA_FUZZ_EXAMPLES", "2"))
CODEC = "utf-8" if EXAMPLES > 2 else "latin-1"
"""To list all characters takes as long as all else that the short form does."""

CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)

INSIDE = ("another owner", "the owner", "the analyst", "the admin")

OF_EVERY_KIND = (
    {"structure": {"A": []}},
    {"kind": "contingency-table", "variables": ["A", "B"]},
    {"kind": "association-rules", "minimum_support": 0.1},
    {"kind": "decision-tree", "target": "B"},
    {"kind": "linear-classifier", "target": "A", "loss": "perceptron"},
)


def populate(miner, built):
    """Make one of everything; return the values of path parameters and the tokens by role."""
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
    roles = {
        "nobody": None,
        "a wrong token": "t-000000000000.wrong",
        "an analyst of another study": miner.study("elsewhere").token,
        "an owner in another study": miner.owner("elsewhere", "east").token,
        "another owner": miner.owner("asia", "south-east").token,
        "the owner": owner.token,
        "the analyst": analyst.token,
        "the admin": miner.admin.token,
    }
    return parameters, roles


@pytest.mark.calibration
def test_the_service_keeps_its_word_to_everybody(miner, release_a):
    """Half of the requests name what is there, half are free; each is sent in every role.

    In short form the first, which is the simplest there is, is sent by strangers, the second by
    those who may do something.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tool warns about its own dependencies
        import schemathesis
        from schemathesis.checks import CHECKS, load_all_checks

        load_all_checks()
        checks = CHECKS.get_by_names(list(CHECKED))
        there, roles = populate(miner, release_a)
        document = miner.nobody.get("/openapi.json")
        schema = schemathesis.openapi.from_dict(document)
        schema.config.generation.update(codec=CODEC)
        statuses: Counter[tuple[str, int]] = Counter()
        tried = set()

        def send(case, token):
            options = case.as_transport_kwargs(base_url="http://testserver")
            options["headers"] = dict(options["headers"])
            options["headers"].pop("Authorization", None)
            if token is not None:
                options["headers"]["Authorization"] = f"Bearer {token}"
            options["headers"] = {k: v.encode("latin-1") for k, v in options["headers"].items()}
            options.pop("cookies", None)
            return miner.client.request(**options)

        for result in schema.get_all_operations():
            operation = result.ok()

            @seed(2006)
            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(
                case=operation.as_strategy(), known=st.none() | st.randoms(use_true_random=False)
            )
            def one(case, known):
                if known:
                    for name in case.path_parameters:
                        case.path_parameters[name] = known.choice(there[name])
                first = (case.operation.label, "nobody") not in tried
                for role, token in roles.items():
                    if EXAMPLES == 2 and first == (role in INSIDE):
                        continue
                    response = send(case, token)
                    case.validate_response(response, checks=checks)
                    statuses[role, response.status_code // 100] += 1
                    tried.add((case.operation.label, role))

            one()
    documented = sum(len(methods) for methods in document["paths"].values())
    assert len(tried) == documented * len(roles)
    assert not any(kind == 5 for _, kind in statuses)
    for role in ("the owner", "the analyst", "the admin"):
        assert statuses[role, 2] > 10, (role, statuses)
        assert statuses[role, 4] > 10, (role, statuses)
