"""Which release of an owner is in use, and what an owner may see of the others' records."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

ALIGNMENT = "/v1/studies/asia/alignment"


def named(built, name):
    return replace(built, body={**built.body, "name": name})


def in_use(person):
    alignment = person.get(ALIGNMENT)
    return {row["owner"]: row["release"] for row in alignment["owners"]}, alignment["missing"]


def id_of(path):
    return path.rsplit("/", 1)[1]


@pytest.fixture
def two(miner, release_a, release_c):
    """A study whose owner south has a release in use."""
    miner.analyst = miner.study("asia")
    miner.north, miner.south = miner.owner("asia", "north"), miner.owner("asia", "south")
    miner.c = id_of(miner.south.publish("asia", release_c))
    return miner


@pytest.mark.slow
@pytest.mark.parametrize("step", [timedelta(), timedelta(days=-1)])
def test_the_release_in_use_is_the_one_sealed_last(two, release_a, step):
    first = two.north.send("asia", named(release_a, "r1"))
    second = two.north.publish("asia", named(release_a, "r2"))
    assert in_use(two.analyst) == ({"north": id_of(second), "south": two.c}, [])
    two.clock.ahead = step  # the order is that of sealing, whatever the clock says
    assert two.north("POST", f"{first}/seal").status_code == 200
    assert in_use(two.analyst) == ({"north": id_of(first), "south": two.c}, [])
    two.north("POST", f"{second}/seal")  # again: nothing new
    assert in_use(two.analyst) == ({"north": id_of(first), "south": two.c}, [])


def test_withdrawing_the_release_in_use_does_not_revive_the_one_it_replaced(
    two, release_a, assert_problem
):
    two.north.publish("asia", named(release_a, "r1"))
    second = two.north.publish("asia", named(release_a, "r2"))
    two.north("POST", f"{second}/withdraw")
    assert in_use(two.analyst) == ({"south": two.c}, ["north"])
    assert two.analyst.get(ALIGNMENT)["state"] == "waiting"
    spec = {"spec": {"structure": {"A": []}}}
    before = two.snapshot()
    answer = two.analyst("POST", "/v1/studies/asia/jobs", json=spec)
    assert_problem(answer, 409, "records-do-not-align")
    assert two.snapshot() == before
    third = two.north.publish("asia", named(release_a, "r3"))
    assert in_use(two.analyst) == ({"north": id_of(third), "south": two.c}, [])


def views(person):
    """An owner's two ways of looking at the alignment."""
    (study,) = person.get("/v1/dashboard")["studies"]
    alignment = person.get(ALIGNMENT)
    assert study["alignment"] == alignment
    return alignment


def test_an_owner_cannot_ask_whether_a_person_is_known_elsewhere(two, build, plan_a):
    """One record that the other owner has, or one it has not: the answer is the same."""
    told = []
    for name, record in (("known", 7), ("unknown", 500)):
        path = two.north.publish("asia", build(plan_a, [record], {"A": [0], "B": [0]}, name=name))
        seen = views(two.north)
        (row,) = seen["owners"]
        assert (row["owner"], row["release"], row["records"]) == ("north", id_of(path), 1)
        told.append(
            (seen["state"], seen["in_all"], seen["in_any"], row["not_everywhere"], seen["missing"])
        )
    assert told == [("mismatch", None, None, None, [])] * 2
    assert two.analyst.get(ALIGNMENT)["state"] == "disjoint"
    assert views(two.analyst)["in_any"] == 101


def test_an_owner_sees_that_the_records_are_the_same_and_its_own_row(two, release_a):
    two.north.publish("asia", release_a)
    seen = views(two.north)
    assert (seen["state"], seen["in_all"], seen["in_any"]) == ("identical", 100, 100)
    assert [(r["owner"], r["not_everywhere"]) for r in seen["owners"]] == [("north", 0)]
    assert [r["owner"] for r in views(two.analyst)["owners"]] == ["north", "south"]
