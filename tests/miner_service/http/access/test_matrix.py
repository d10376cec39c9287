"""Every route asked by everybody: the whole matrix, against a table that is written here by hand.

Every request of it is one that whoever may send it can send again and again: so the order does not
matter, and what is not a refusal is the answer that the request has.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from miner_service.http.access.routing import RuledRouter, require_ruled
from miner_service.http.access.rules import ACCESS
from miner_service.store.tokens import issue_token
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.parts import PART_MEDIA_TYPE

CALLERS = ("admin", "analyst", "stranger", "north", "south", "east", "monitor", "gateway")
"""`north` is the owner concerned, `south` another of the study. The analyst `stranger` and the
owner `east` are of another study."""

REFUSED = ("revoked", "expired", "nobody")
"""Whom every route refuses with 401 that is not open: two that were analysts, and no token."""

EXPECTED = {
    # Callers:              admin analyst stranger north south east monitor gateway | no token
    "read_health": "          200 200 200 200 200 200 200 200 | 200",
    "read_readiness": "       200 200 200 200 200 200 200 200 | 200",
    "read_metrics": "         200 403 403 403 403 403 200 403 | 401",
    "create_study": "         200 403 403 403 403 403 403 403 | 401",
    "list_studies": "         200 200 200 200 200 200 403 403 | 401",
    "read_study": "           200 200 404 200 200 404 404 403 | 401",
    "compare_linkage": "      403 403 404 200 200 404 404 403 | 401",
    "issue_token": "          201 403 404 403 403 404 404 403 | 401",
    "list_tokens": "          200 403 404 403 403 404 404 403 | 401",
    "revoke_token": "         204 404 404 404 404 404 404 404 | 401",
    "create_invitation": "    201 201 404 403 403 404 404 403 | 401",
    "list_invitations": "     200 200 404 403 403 404 404 403 | 401",
    "revoke_invitation": "    204 204 404 404 404 404 404 404 | 401",
    "accept_invitation": "    404 404 404 404 404 404 404 404 | 404",
    "list_owners": "          200 200 404 200 200 404 404 403 | 401",
    "remove_owner": "         204 204 404 403 403 404 404 403 | 401",
    "put_study_plan": "       409 409 404 403 403 404 404 403 | 401",
    "read_study_plan": "      404 404 404 404 404 404 404 403 | 401",
    "delete_study_plan": "    204 204 404 403 403 404 404 403 | 401",
    "put_report_plan": "      200 403 404 403 403 404 404 403 | 401",
    "read_report_plan": "     200 200 404 200 200 404 404 200 | 401",
    "send_reports": "         403 403 404 403 403 404 404 409 | 401",
    "read_reports": "         200 200 404 403 403 404 404 403 | 401",
    "release_reports": "      409 409 404 403 403 404 404 403 | 401",
    "close_reports": "        409 403 404 403 403 404 404 403 | 401",
    "withdraw_reports": "     200 403 404 403 403 404 404 403 | 401",
    "create_release": "       403 403 404 200 409 404 404 403 | 401",
    "list_releases": "        200 200 404 200 200 404 404 403 | 401",
    "read_release": "         200 200 404 200 404 404 404 404 | 401",
    "put_part": "             403 403 404 200 404 404 404 404 | 401",
    "seal_release": "         403 403 404 200 404 404 404 404 | 401",
    "withdraw_release": "     403 403 404 200 404 404 404 404 | 401",
    "read_privacy": "         200 200 404 200 200 404 404 403 | 401",
    "forecast_privacy": "     422 422 404 200 200 404 404 403 | 401",
    "read_alignment": "       200 200 404 200 200 404 404 403 | 401",
    "create_job": "           200 200 404 403 403 404 404 403 | 401",
    "list_jobs": "            200 200 404 200 200 404 404 403 | 401",
    "read_job": "             200 200 404 200 200 404 404 404 | 401",
    "rename_job": "           200 200 404 403 403 404 404 404 | 401",
    "cancel_job": "           200 200 404 403 403 404 404 404 | 401",
    "read_model": "           200 200 404 200 200 404 404 404 | 401",
    "read_model_form": "      200 200 404 200 200 404 404 404 | 401",
    "read_dashboard": "       200 200 200 200 200 200 403 403 | 401",
}

ABSENT = {
    "study": "atlantis",
    "owner": "nobody",
    "token": "t-000000000000",
    "invitation": "i-000000000000",
    "release": "r-000000000000",
    "number": "9",
    "job": "j-000000000000",
    "model": "m-000000000000",
    "form": "page",
}
"""What nothing is called; what is hidden is answered as this is."""

HIDDEN = {
    # The same for what is of a job on other than identical records, which owners may not know of.
    name: row.replace("404 200 200", "404 404 404")
    for name, row in EXPECTED.items()
    if name in ("read_job", "read_model", "read_model_form")
} | dict.fromkeys(("rename_job", "cancel_job"), "200 200 404 404 404 404 404 404 | 401")

STUDY_PLAN = StudyPlan(
    (("nowhere", (Variable("D", ("no", "yes")),)),),
    (StudySet(1, (StudyPart(0, (0,), Symmetric.from_gamma(2, 3.0)),)),),
)
"""Of an owner that is not there: 409 for those who may agree on a plan."""

SINGLE_RECORDS = Plan((Block((Variable("D", ("no", "yes")),), Symmetric.from_gamma(2, 3.0)),))
"""What holders of single records report: published, and withdrawn before anything was counted."""


@pytest.fixture
def world(asked: Any, release_a: Any, release_c: Any) -> Any:
    """A miner whose study `s` has everything in it, and people of it and of another study."""
    miner, analyst, north = asked
    south = miner.owner("s", "south")
    path = north.publish("s", release_a)
    south.publish("s", release_c)
    jobs = [
        analyst("POST", "/v1/studies/s/jobs", json={"spec": {"structure": {"C": []}, **more}})
        for more in ({}, {"records": "common"})
    ]
    seen, hidden = (analyst.wait(job.headers["location"]) for job in jobs)
    assert seen["state"] == hidden["state"] == "succeeded"
    second = {**release_a.body, "name": "withdrawn"}
    withdrawn = north("POST", "/v1/studies/s/releases", json=second).headers["location"]
    now = miner.clock()
    with miner.services.database.write() as session:
        told = {
            name: issue_token(session, role=role, study=study, name=name, now=now, days=days)[1]
            for name, role, study, days in (
                ("expired", "analyst", "s", 1),
                ("revoked", "analyst", "s", 365),
                ("spare", "analyst", "s", 365),
                ("monitor", "monitor", None, 365),
                ("gateway", "gateway", "s", 365),
            )
        }
    miner.clock.ahead = timedelta(days=2)
    plan = {"plan": SINGLE_RECORDS.as_dict()}
    assert miner.admin("PUT", "/v1/studies/s/reports/plan", json=plan).status_code == 201
    assert miner.admin("DELETE", "/v1/studies/s/reports").status_code == 200
    person = type(analyst)
    miner.people = {
        "admin": miner.admin,
        "analyst": analyst,
        "stranger": miner.study("t"),
        "north": north,
        "south": south,
        "east": miner.owner("t", "east"),
        **{name: person(miner.client, one.text, one.id) for name, one in told.items()},
        "nobody": miner.nobody,
    }
    assert miner.admin("DELETE", f"/v1/tokens/{told['revoked'].id}").status_code == 204
    invited = [
        analyst("POST", "/v1/studies/s/invitations", json={"owner": name}).json()
        for name in ("ended", "gone")
    ]
    joined = {"secret": invited[1]["secret"]}
    assert miner.nobody("POST", "/v1/invitations/accept", json=joined).status_code == 201
    miner.there = {
        "study": "s",
        "owner": "gone",
        "token": told["spare"].id,
        "invitation": invited[0]["id"],
        "release": path.rsplit("/", 1)[1],
        "withdrawn": withdrawn.rsplit("/", 1)[1],
        "number": "0",
        "job": seen["id"],
        "model": seen["model"],
        "form": "page",
    }
    miner.hidden = {**miner.there, "job": hidden["id"], "model": hidden["model"]}
    return miner


@pytest.fixture
def addresses(document: Any) -> dict[str, tuple[str, str]]:
    """Method and path of each route, by its name."""
    return {
        route["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, route in methods.items()
    }


def bodies(release: Any) -> dict[str, dict[str, Any]]:
    """What is sent with a request, by the name of its route."""
    return {
        "create_study": {"json": {"name": "s"}},
        "compare_linkage": {"json": {"fingerprint": "0" * 64}},
        "issue_token": {"json": {"name": "friend"}},
        "create_invitation": {"json": {"owner": "friend"}},
        "rename_job": {"json": {"name": "of May"}},
        "accept_invitation": {"json": {"secret": "i-000000000000.guessed"}},
        "put_report_plan": {"json": {"plan": SINGLE_RECORDS.as_dict()}},
        "send_reports": {
            "json": {"batch": "b" * 16, "plan_digest": SINGLE_RECORDS.digest, "reports": [[0]]}
        },
        "put_study_plan": {"json": STUDY_PLAN.as_dict()},
        "create_release": {"json": release.body},
        "put_part": {
            "content": release.parts[0],
            "headers": {"Content-Type": PART_MEDIA_TYPE},
        },
        "forecast_privacy": {"json": {"plan": release.body["plan"]}},
        "create_job": {"json": {"spec": {"structure": {"C": []}}}},
    }


def body_of(answer: Any) -> str:
    """The body of a problem without its address and the id of its request."""
    return str({**answer.json(), "instance": None, "request": None})


def matrix(
    world: Any,
    addresses: dict[str, tuple[str, str]],
    there: dict[str, str],
    sent: dict[str, dict[str, Any]],
    rows: dict[str, str],
    blind: tuple[str, ...],
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """Ask all of it; return what is expected and what was answered, by route and caller.

    To `blind` callers what is there is answered as what is absent.
    """
    expected, found = {}, {}
    for route, row in rows.items():
        inside, _, outside = row.partition("|")
        statuses = [*inside.split(), *[outside.strip()] * len(REFUSED)]
        method, path = addresses[route]
        values = {**there, "release": there["withdrawn"]} if route == "withdraw_release" else there
        for caller, status in zip((*CALLERS, *REFUSED), statuses, strict=True):
            answer = world.people[caller](method, path.format(**values), **sent.get(route, {}))
            expected[route, caller], found[route, caller] = status, str(answer.status_code)
            if status == "404" and caller in blind and "{" in path:
                absent = world.people[caller](method, path.format(**ABSENT), **sent.get(route, {}))
                key = (route, f"{caller}, body")
                expected[key], found[key] = body_of(absent), body_of(answer)
    return expected, found


def differing(expected: dict[Any, str], found: dict[Any, str]) -> dict[Any, tuple[str, str]]:
    """Where an answer is another than expected: what was expected and what it was."""
    return {key: (expected[key], found[key]) for key in expected if expected[key] != found[key]}


@pytest.mark.slow
def test_every_route_answers_every_caller_as_the_table_says(
    world: Any, addresses: Any, release_a: Any
) -> None:
    assert set(addresses) == set(EXPECTED), "a new route needs a row in the table above"
    sent = bodies(release_a)
    expected, found = matrix(world, addresses, world.there, sent, EXPECTED, ("stranger", "east"))
    assert differing(expected, found) == {}
    expected, found = matrix(world, addresses, world.hidden, sent, HIDDEN, ("north", "south"))
    assert differing(expected, found) == {}


def test_every_rule_is_of_a_route_and_says_who_may(document: Any, addresses: Any) -> None:
    assert set(ACCESS) == set(addresses)
    for route, (method, path) in addresses.items():
        operation = document["paths"][path][method.lower()]
        assert operation["description"].endswith(ACCESS[route].description), route
        open_one = EXPECTED[route].endswith(("| 200", "| 404"))
        assert ("security" in operation) != open_one, route


def test_a_route_without_a_rule_is_not_served(start: Any) -> None:
    router = RuledRouter()

    def read_all() -> None:
        """Nothing."""

    def read_study() -> None:
        """A route of a name that has a rule, added past it."""

    with pytest.raises(TypeError):
        router.get("/all")(read_all)
    app = start(entered=False).app
    require_ruled(route for route in app.routes if getattr(route, "name", "") != "openapi")
    add: Callable[..., Any] = app.get("/past", name="read_study")
    add(read_study)
    with pytest.raises(TypeError):
        require_ruled(route for route in app.routes if getattr(route, "name", "") != "openapi")
    with pytest.raises(TypeError):
        require_ruled([])
