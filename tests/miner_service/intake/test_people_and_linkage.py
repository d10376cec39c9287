"""Whose people are whose: what a study says of it, and releases under different linkage secrets."""

from __future__ import annotations

import json

import numpy as np
import pytest

from miner_service.alignment.align import LinkageSecrets
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import LinkageDiffers
from pramana_core.plan import Block, Plan
from pramana_core.wire.releases import LinkageCheck, secrets_differ

ONE, OTHER = "1" * 64, "2" * 64


def plan(name, gamma):
    return Plan((Block((Variable(name, ("no", "yes")),), Symmetric.from_gamma(2, gamma)),))


@pytest.fixture
def release(build):
    """A release of one column at gamma 19, with the fingerprint of its linkage secret."""

    def make(name, ids, linkage=None, column="ill"):
        made = plan(column, 19.0)
        built = build(made, ids, {column: np.zeros(len(ids), np.uint8)}, name=name)
        if linkage is not None:
            built.body["linkage"] = linkage
        return built

    return make


def opened(miner, people=None):
    """Open a study that says this of its people; return its analyst and two owners."""
    analyst = miner.study("s", **({} if people is None else {"people": people}))
    return analyst, miner.owner("s", "north"), miner.owner("s", "south")


def read(person, path):
    answer = person("GET", path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def compared(person, fingerprint):
    """Ask how a linkage secret fits, as an agent does."""
    answer = person("POST", "/v1/studies/s/linkage", json={"fingerprint": fingerprint})
    assert answer.status_code == 200, answer.text
    return answer.json()


def seen(person):
    return read(person, "/v1/studies/s/privacy")


def gamma(told):
    return round(told["record"]["determined"]["gamma"])


def test_secrets_are_compared_owner_by_owner():
    assert LinkageSecrets.of([("a", ONE), ("b", ONE)]).state == "same"
    assert LinkageSecrets.of([("a", ONE), ("b", None)]).state == "unknown"
    assert LinkageSecrets.of([]).state == "unknown"
    three = LinkageSecrets.of([("a", ONE), ("b", OTHER), ("c", ONE), ("d", None)])
    assert three.state == "different"
    assert three.groups == (("a", "c"), ("b",))
    assert secrets_differ(three.groups) == (
        "The linkage secrets of the owners differ: one at a, c; another at b."
    )


@pytest.mark.parametrize("people", ["same", "overlapping"])
def test_a_release_under_another_secret_is_refused_and_nothing_is_stored(
    miner, release, assert_problem, people
):
    _, north, south = opened(miner, people)
    path = north.publish("s", release("r1", range(10), ONE))
    other = release("r1", range(100, 110), OTHER)
    asked = compared(south, OTHER)
    before = miner.snapshot()
    assert (asked["secrets"], asked["others"], asked["refused"]) == ("different", ["north"], True)
    answer = south("POST", "/v1/studies/s/releases", json=other.body)
    problem = assert_problem(answer, 409, "linkage-differs")
    assert "withdraw their releases" in str(problem.remedy)
    # What the agent says of its own accord is the same.
    with pytest.raises(LinkageDiffers) as own:
        LinkageCheck(**asked).require_accepted()
    assert (own.value.message, own.value.remedy) == (problem.detail, problem.remedy)
    forecast = {"plan": other.body["plan"], "linkage": OTHER}
    told = south("POST", "/v1/studies/s/privacy", json=forecast).json()
    assert told["refused"] == f"{problem.detail} {problem.remedy}"
    assert miner.snapshot() == before
    # Under the same secret, and where none is told, it is taken as ever.
    assert compared(south, ONE)["secrets"] == "same"
    south.publish("s", release("r2", range(10), ONE, column="old"))
    # The earlier one may be the wrong one: withdrawn, it does not count.
    for person, name in ((south, "r2"), (north, "r1")):
        (mine,) = [r for r in read(person, "/v1/studies/s/releases")["items"] if r["name"] == name]
        assert mine["linkage"] == ONE
        assert person("POST", f"/v1/releases/{mine['id']}/withdraw").status_code == 200
    assert path
    assert south("POST", "/v1/studies/s/releases", json=other.body).status_code == 201


def test_owners_that_were_removed_and_releases_that_were_followed_do_not_count(miner, release):
    _, north, south = opened(miner)
    north.publish("s", release("r1", range(10), ONE))
    # The same owner corrects its own secret: nobody else's is another.
    north.publish("s", release("r2", range(20, 30), OTHER))
    assert compared(south, OTHER)["secrets"] == "same"
    assert compared(south, ONE)["refused"]
    assert miner.admin("DELETE", "/v1/studies/s/owners/north").status_code == 204
    assert compared(south, ONE)["secrets"] == "unknown"
    south.publish("s", release("r1", range(10), ONE))


def test_the_same_release_with_another_fingerprint_is_another_release(
    miner, release, assert_problem
):
    _, north, _ = opened(miner)
    first = north.announce("s", release("r1", range(10), ONE))
    assert north.announce("s", release("r1", range(10), ONE)) == first
    for body in (release("r1", range(10), OTHER).body, release("r1", range(10)).body):
        assert_problem(north("POST", "/v1/studies/s/releases", json=body), 409, "conflict")
    north.announce("s", release("unsaid", range(10)))
    assert_problem(
        north("POST", "/v1/studies/s/releases", json=release("unsaid", range(10), ONE).body),
        409,
        "conflict",
    )


# Sums --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [None, "same", "overlapping"])
@pytest.mark.parametrize("linkages", [(None, None), (ONE, ONE), (ONE, None)])
def test_no_common_pseudonym_never_halves_the_epsilon(miner, release, people, linkages):
    analyst, north, south = opened(miner, people)
    north.publish("s", release("r1", range(10), linkages[0]))
    south.publish("s", release("r1", range(20, 30), linkages[1]))
    for person in (analyst, north, south):
        told = seen(person)
        assert gamma(told) == 361
        assert not told["different_people"]
        assert told["at_several"] is None
    *said, added = seen(analyst)["warnings"]
    assert "the losses of the owners add" in added
    contradicted = people == "same" and linkages == (ONE, ONE)
    found = ["of 20 records at any owner 0 are at every owner" in one for one in said]
    assert found == ([True] if contradicted else [])


def test_of_different_people_the_largest_owner_counts_for_everybody(miner, release):
    analyst, north, south = opened(miner, "different")
    north.publish("s", release("r1", range(10), ONE))
    south.publish("s", release("r1", range(20, 30), ONE))
    for person in (analyst, north, south):
        told = seen(person)
        assert told["different_people"]
        assert gamma(told) == 19
        assert round(told["at_several"]["determined"]["gamma"]) == 361
        assert told["warnings"] == []
        assert told["people"] == "different"


def test_a_person_at_both_is_told_to_the_analyst_and_to_no_owner(miner, release):
    analyst, north, south = opened(miner, "different")
    north.publish("s", release("r1", range(10), ONE))
    south.publish("s", release("r1", [9, *range(20, 29)], ONE))
    told = seen(analyst)
    assert (gamma(told), told["different_people"]) == (361, False)
    assert "records of several owners have the same pseudonym" in told["warnings"][0]
    assert not any("study plan" in said.lower() for said in told["warnings"])
    assert gamma(seen(north)) == gamma(seen(south)) == 19


@pytest.mark.parametrize("people", ["same", "different", "overlapping"])
def test_an_owners_views_are_the_same_bytes_whether_or_not_pseudonyms_match(
    start, tmp_path, release, people
):
    """The probe of a curious owner: one person's record, in two worlds."""
    views = {}
    for world, probe in (("apart", [77]), ("known", [5])):
        miner = start(at=tmp_path / world)
        analyst, north, south = opened(miner, people)
        north.publish("s", release("r1", range(10), ONE))
        south.publish("s", release("r1", probe, ONE))
        question = {"plan": release("x", [1], column="b").body["plan"], "linkage": ONE}
        forecast = south("POST", "/v1/studies/s/privacy", json=question)
        mine = read(south, "/v1/studies/s/alignment")
        views[world] = (
            south("GET", "/v1/studies/s/privacy").content,
            forecast.content,
            south("POST", "/v1/studies/s/linkage", json={"fingerprint": ONE}).content,
            [mine["state"], mine["secrets"], mine["secret_groups"], mine["in_all"]],
        )
        views[f"{world}, analyst"] = read(analyst, "/v1/studies/s/alignment")["state"]
        views[f"{world}, sum"] = gamma(seen(analyst))
    assert views["apart"] == views["known"]
    assert views["apart, analyst"] != views["known, analyst"]  # the control
    assert (views["apart, sum"] == views["known, sum"]) is (people != "different")


def test_a_budget_goes_by_what_the_study_says(miner, release, assert_problem):
    for name, people, status in (("a", "different", 201), ("b", "overlapping", 409)):
        miner.study(name, people=people, max_epsilon_record=3.0)
        miner.owner(name, "north").publish(name, release("r1", range(10), ONE))
        for ids in ([5], [77]):  # whosever record it is
            body = release(f"r{ids[0]}", ids, ONE).body
            south = miner.owner(name, f"south{ids[0]}")
            answer = south("POST", f"/v1/studies/{name}/releases", json=body)
            assert answer.status_code == status


def test_a_fingerprint_is_shown_to_its_owner_only(miner, release):
    """Guesses of a secret can be tried against it."""
    analyst, north, south = opened(miner, "same")
    path = north.publish("s", release("r1", range(10), ONE))
    south.publish("s", release("r1", range(10), ONE))
    views = (path, "/v1/studies/s/releases", "/v1/dashboard", "/v1/studies/s/alignment")
    for person in (analyst, miner.admin):
        for view in views:
            assert ONE not in json.dumps(read(person, view))
        assert read(person, "/v1/studies/s/alignment")["secrets"] == "same"
    for view in views[:3]:
        assert ONE in json.dumps(read(north, view))


def test_a_question_about_a_secret_is_in_the_audit_log_and_the_fingerprint_is_not(miner, release):
    _, north, south = opened(miner, "same")
    north.publish("s", release("r1", range(10), ONE))
    assert compared(south, OTHER)["secrets"] == "different"
    *_, line = (miner.data / "audit.jsonl").read_text().splitlines()
    told = json.loads(line)
    assert (told["name"], told["action"], told["outcome"]) == ("south", "compare_linkage", 200)
    assert told["resource"] == "/v1/studies/s/linkage"
    assert OTHER not in line
    # In an address it is not taken.
    assert south("GET", f"/v1/studies/s/linkage?fingerprint={OTHER}").status_code == 405
