"""What is there but hidden is answered as what is not there: every route, every reader.

The admin's answers are the negative control: at the same addresses it finds what the others do not.
"""

from __future__ import annotations

import re

import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from pramana_core.wire.parts import PART_MEDIA_TYPE
from pramana_core.wire.services import PROBLEM_MEDIA_TYPE
from tests.miner_service.conftest import release_of_a, release_of_c, starting

ABSENT = {
    "study": "atlantis",
    "owner": "nobody",
    "token": "t-000000000000",
    "invitation": "i-000000000000",
    "release": "r-000000000000",
    "number": "9",
    "job": "j-000000000000",
    "model": "m-000000000000",
}
EVERYTHING = set(ABSENT)
STUDY_PLAN = StudyPlan(
    (("north", (Variable("D", ("no", "yes")),)),),
    (StudySet(1, (StudyPart(0, (0,), Symmetric.from_gamma(2, 3.0)),)),),
)
HIDDEN = {
    "analyst": {"token"},
    "north": {"token", "invitation", "job", "model"},
    "south": {"token", "invitation", "job", "model", "release"},
    "analyst of another study": EVERYTHING,
    "owner of another study": EVERYTHING,
}
"""What each reader may not see. The release is north's, the job is on common records."""


@pytest.fixture(scope="module")
def world(tmp_path_factory, document):
    """A study with everything in it; who may not change anything asks there."""
    with starting(tmp_path_factory.mktemp("hidden") / "data") as start:
        yield filled(start(), document)


def filled(miner, document):
    """Put everything into a study, and make people of it and of another study."""
    release_a = release_of_a()
    analyst = miner.study("asia")
    north, south = miner.owner("asia", "north"), miner.owner("asia", "south")
    path = north.publish("asia", release_a)
    south.publish("asia", release_of_c())
    spec = {"kind": "decision-tree", "target": "C", "records": "common"}
    made = analyst("POST", "/v1/studies/asia/jobs", json={"spec": spec})
    job = analyst.wait(made.headers["location"])
    invited = analyst("POST", "/v1/studies/asia/invitations", json={"owner": "west"}).json()
    miner.document = document
    miner.there = {
        "study": "asia",
        "owner": "south",
        "token": miner.study("asia").id,  # another analyst's
        "invitation": invited["id"],
        "release": path.rsplit("/", 1)[1],
        "number": "0",
        "job": job["id"],
        "model": job["model"],
    }
    miner.people = {
        "analyst": analyst,
        "north": north,
        "south": south,
        "analyst of another study": miner.study("europe"),
        "owner of another study": miner.owner("europe", "east"),
    }
    miner.bodies = {
        "issue_token": {"json": {"name": "friend"}},
        "forecast_privacy": {"json": {"plan": release_a.body["plan"]}},
        "create_invitation": {"json": {"owner": "friend"}},
        "create_release": {"json": {**release_a.body, "name": "r2"}},
        "put_study_plan": {"json": STUDY_PLAN.as_dict()},
        "create_job": {"json": {"spec": {"structure": {"A": []}}}},
        "put_part": {
            "content": release_a.parts[0],
            "headers": {"Content-Type": PART_MEDIA_TYPE},
        },
    }
    return miner


def addressed(document):
    """Every method, path and name of a route with identifiers in its path, and their names."""
    for path, methods in document["paths"].items():
        if names := re.findall(r"{(\w+)}", path):
            for method, route in methods.items():
                yield method.upper(), path, route["operationId"], names


def ask(miner, person, method, path, name, values):
    """Ask; return the status, the kind of the body, and the body apart from its address."""
    answer = person(method, path.format(**values), **miner.bodies.get(name, {}))
    kind = answer.headers.get("content-type")
    body = {**answer.json(), "instance": None} if kind == PROBLEM_MEDIA_TYPE else None
    return answer.status_code, kind, body


@pytest.mark.slow
def test_this_file_knows_every_identifier(world):
    routes = list(addressed(world.document))
    assert {name for *_, names in routes for name in names} == EVERYTHING
    assert set(world.bodies) <= {name for _, _, name, _ in routes}
    assert len(routes) >= 34


@pytest.mark.slow
@pytest.mark.parametrize("reader", HIDDEN)
def test_what_is_hidden_is_answered_as_what_is_absent(world, reader):
    person, before = world.people[reader], world.snapshot()
    differing, asked = [], 0
    for method, path, route, names in addressed(world.document):
        hidden = HIDDEN[reader] & set(names)
        for name in hidden:
            values = {**world.there, name: ABSENT[name]}
            there = ask(world, person, method, path, route, world.there)
            absent = ask(world, person, method, path, route, values)
            asked += 1
            if there != absent or there[0] != 404 or there[2]["code"] != "not-found":
                differing.append((method, path, name, there, absent))
    assert differing == []
    assert asked >= len(HIDDEN[reader])
    assert world.snapshot() == before
