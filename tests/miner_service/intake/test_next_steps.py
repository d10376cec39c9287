"""What a study needs next and who does it: REST, both commands and the page say the same."""

from __future__ import annotations

import html
import json
from datetime import timedelta

import numpy as np
import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app
from pramana_core.wire.channels import PlanMessage
from tests.miner_service.conftest import Person, build
from tests.miner_service.http.pages.browsers import Browser
from tests.miner_service.intake.test_study_plans import lone, own_plan, put

INVITE = ("operator", [], "miner-service study invite s OWNER...")
TO_DESIGN = "owner-agent design PART... --gamma 19 --records N --write-study-plan plan.json"
DESIGN = ("operator or custodian", [], TO_DESIGN)
SET = ("operator", [], "miner-service study plan set s plan.json")
ACCESS = ("operator", [], "miner-service study analyst s --access-file analyst.json")
RUN = ("analyst", [], "pramana study run KIND")


def join_by(*owners):
    return ("custodian", list(owners), "owner-agent join INVITATION")


def publish_by(*owners):
    return ("custodian", list(owners), "owner-agent publish")


def release(plan, ids=range(10), name="r1"):
    codes = {n: np.full(len(ids), size - 1) for n, size in plan.reported_sizes.items()}
    return build(plan, ids, codes, name=name)


def printed(miner, *words):
    result = CliRunner().invoke(app, ["study", *words, "--data", str(miner.data)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def steps(miner):
    """The steps of study `s` and whom it awaits, once every way has said the same."""
    browser = Browser(miner)
    browser.sign_in(miner.admin.token)

    def found(person=miner.admin):
        said = person.get("/v1/studies/s")
        assert person.get("/v1/studies")["items"] == [said]
        (seen,) = person.get("/v1/dashboard")["studies"]
        assert seen["study"] == said
        if person is miner.admin:
            assert json.loads(printed(miner, "list", "--json")) == [said]
            assert json.loads(printed(miner, "show", "s", "--json"))["study"] == said
            page = html.unescape(browser.get("/pages/studies/s").text)
            for words in (printed(miner, "list"), printed(miner, "show", "s"), page):
                one_line = " ".join(words.split())
                assert one_line.count("Next, the") == len(said["next"])
                for step in said["next"]:
                    assert f"Next, the {step['who']}" in one_line
                    assert step["what"] in one_line
                    assert step["command"] is None or step["command"] in one_line
        return [(one["who"], one["owners"], one["command"]) for one in said["next"]], said[
            "awaited"
        ]

    return found


def invited(miner, owner):
    invitation = miner.admin("POST", "/v1/studies/s/invitations", json={"owner": owner}).json()
    secret = {"secret": invitation["secret"]}

    def accept():
        issued = miner.nobody("POST", "/v1/invitations/accept", json=secret).json()
        return Person(miner.client, issued["token"], issued["id"])

    return accept


def test_a_study_of_the_same_people_from_its_opening_to_its_first_job(miner, steps):
    miner.admin("POST", "/v1/studies", json={"name": "s", "people": "same"})
    assert steps() == ([INVITE], [])
    accept_north, accept_south = (invited(miner, owner) for owner in ("north", "south"))
    assert steps() == ([join_by("north", "south"), DESIGN, SET], ["north", "south"])
    assert "owner-agent init TABLE --invitation" in " ".join(printed(miner, "show", "s").split())
    north = accept_north()
    assert steps(north) == steps() == ([join_by("south"), DESIGN, SET], ["south"])
    south = accept_south()
    assert steps(north) == steps() == ([DESIGN, SET], [])
    assert put(miner.admin).status_code == 201
    assert steps(north) == steps() == ([publish_by("north", "south")], [])
    first = release(own_plan("north"))
    north.publish("s", first)
    assert steps(south) == steps() == ([publish_by("south")], [])
    south.publish("s", release(own_plan("south")))
    assert steps() == ([ACCESS, RUN], [])
    issued = miner.admin("POST", "/v1/studies/s/tokens", json={"name": "ana"}).json()
    analyst = Person(miner.client, issued["token"], issued["id"])
    assert steps(analyst) == steps() == ([RUN], [])
    # What an owner sees hangs on no job.
    seen = north("GET", "/v1/studies/s").content
    spec = {"kind": "contingency-table", "variables": ["b"]}
    made = analyst("POST", "/v1/studies/s/jobs", json={"spec": spec})
    assert made.status_code == 202, made.text
    assert steps() == ([], [])
    assert north("GET", "/v1/studies/s").content == seen
    assert steps(north) == ([], [])
    # A release that was withdrawn is missing, though an earlier one is sealed.
    second = release(own_plan("north"), ids=range(5), name="r2")
    assert north("POST", f"{north.publish('s', second)}/withdraw").status_code == 200
    assert steps() == ([publish_by("north")], [])


def test_owners_of_different_people_and_one_owner_alone_need_no_plan(miner, steps):
    miner.admin("POST", "/v1/studies", json={"name": "s", "people": "different"})
    miner.owner("s", "north")
    assert steps() == ([publish_by("north")], [])
    accept = invited(miner, "south")
    assert steps() == ([join_by("south"), publish_by("north")], ["south"])
    accept()
    assert steps() == ([publish_by("north", "south")], [])


def test_owners_who_began_without_a_plan_go_on_without_one(miner, steps):
    miner.admin("POST", "/v1/studies", json={"name": "s"})
    north, _ = miner.owner("s", "north"), miner.owner("s", "south")
    assert steps() == ([DESIGN, SET], [])
    north.publish("s", release(lone("a")))
    assert steps() == ([publish_by("south")], [])


def test_a_study_with_a_central_budget_needs_a_plan_for_it(miner, steps):
    central = {"max_central_epsilon": 0.5, "central_records": 30_000}
    miner.admin("POST", "/v1/studies", json={"name": "s", **central})
    for name in ("north", "south"):
        miner.owner("s", name)
    need = "--central-epsilon 0.5 --delta 1e-08 --records 30000"
    command = steps()[0][0][-1]
    assert command == f"owner-agent design PART... {need} --write-study-plan plan.json"


def test_an_owner_that_left_and_an_invitation_that_ended_are_not_awaited(miner, steps):
    miner.admin("POST", "/v1/studies", json={"name": "s"})
    invited(miner, "north")
    (waiting,) = miner.admin.get("/v1/studies/s/invitations")["items"]
    miner.admin("DELETE", f"/v1/invitations/{waiting['id']}")
    assert steps() == ([INVITE], [])
    miner.owner("s", "south")
    miner.admin("DELETE", "/v1/studies/s/owners/south")
    assert steps() == ([INVITE], [])


def test_reports_of_single_records_wait_for_the_operator(miner, steps):
    miner.admin("POST", "/v1/studies", json={"name": "s"})
    plan = PlanMessage.from_plan(lone("a")).model_dump(mode="json")
    body = {"owner": "people", "plan": plan}
    assert miner.admin("PUT", "/v1/studies/s/reports/plan", json=body).status_code == 201
    assert steps() == ([("operator", [], None)], [])


def test_without_a_study_the_list_says_how_to_make_one(miner):
    assert "miner-service study create" in printed(miner, "list")
    assert json.loads(printed(miner, "list", "--json")) == []


def test_an_owner_whose_invitation_expired_is_to_be_invited_again(miner, steps):
    miner.admin("POST", "/v1/studies", json={"name": "s", "people": "different"})
    miner.owner("s", "north")
    miner.clock.ahead -= timedelta(days=8)
    invited(miner, "south")
    miner.clock.ahead += timedelta(days=8)
    again = ("operator", [], "miner-service study invite s south")
    assert steps() == ([again, publish_by("north")], [])
    accept = invited(miner, "south")
    assert steps() == ([join_by("south"), publish_by("north")], ["south"])
    accept()
    assert steps() == ([publish_by("north", "south")], [])
