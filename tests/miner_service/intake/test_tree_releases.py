"""Shared trees come in: announced, checked, sealed, accounted for, withdrawn."""

from __future__ import annotations

import copy
import sqlite3
from typing import Any

import pytest

from tests.miner_service.conftest import assert_problem
from tests.miner_service.sharing import (
    NODES,
    body,
    chain,
    changed_attributes,
    model,
    private,
    raw,
    share,
    tree,
)

RELEASES = "/v1/studies/s/releases"


def changed(number: int, **more: Any) -> list[dict[str, Any]]:
    nodes = copy.deepcopy(NODES)
    nodes[number] |= more
    return nodes


BAD = {
    "negative": (tree(changed(1, hit=-1)), "request-invalid"),
    "no attribute": (
        tree(changed(0, parts=[{"attribute": "shoes", "above": None, "up_to": 40}] * 2)),
        "model-invalid",
    ),
    "a range of nothing": (
        tree(attributes=[{"name": "age", "type": "numeric", "low": 9, "high": 1}]),
        "domain-invalid",
    ),
    "something unknown": (tree(executable="rm -rf"), "request-invalid"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_tree_that_is_none_is_refused_and_nothing_is_stored(asked, name: str):
    told, code = BAD[name]
    miner, _, north = asked
    before = miner.snapshot()
    sent = raw(model(told, requirement=None))
    assert_problem(north("POST", RELEASES, json=sent), 422, code)
    assert miner.snapshot() == before


@pytest.mark.slow
def test_depth_bombs_are_refused(miner):
    """Of JSON, and of a tree whose every path is one cut away from the next."""
    miner.study("s")
    north = miner.owner("s", "north")
    deep = '{"a":' * 100_000
    answer = north("POST", RELEASES, content=deep, headers={"Content-Type": "application/json"})
    assert_problem(answer, 422, "request-invalid")
    numbers = [{"name": n, "type": "numeric", "low": 0, "high": 9_999} for n in "ab"]
    bomb = model(tree(chain(2_000), attributes=numbers), requirement=None)
    assert_problem(north("POST", RELEASES, json=raw(bomb)), 413, "limit-exceeded")


def test_a_withdrawn_tree_is_readable_nowhere(miner):
    analyst, north = miner.study("s"), miner.owner("s", "north")
    told = tree(attributes=[*tree()["attributes"][:2], {"name": "unmistakable", "type": "numeric",
                            "low": 0, "high": 123454321}])  # fmt: skip
    path = share(north, "s", model(told))
    withdrawn = [north("POST", f"{path}/withdraw") for _ in range(2)]
    assert [answer.json()["state"] for answer in withdrawn] == ["withdrawn"] * 2
    release = analyst.get(path)
    assert release["model"]["tree"] is None
    assert release["model"]["columns"] == ["age", "job", "unmistakable", "ill"]
    with sqlite3.connect(miner.data / "miner.sqlite") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rows = connection.execute("SELECT content FROM releases").fetchall()
    assert "123454321" not in str(rows)
    assert b"123454321" not in (miner.data / "miner.sqlite").read_bytes()
    assert_problem(north("POST", f"{path}/seal"), 409, "conflict")
    # What was told stays told.
    told = analyst.get("/v1/studies/s/privacy")
    assert [one["confidential"] for one in told["unbounded"]] == [
        ["age", "job", "unmistakable", "ill"]
    ]


def test_an_owner_with_a_tree_alone_is_not_missing(miner, release_a):
    analyst = miner.study("s")
    north, south = miner.owner("s", "north"), miner.owner("s", "south")
    read = "/v1/studies/s/alignment"
    assert analyst.get(read)["state"] == "waiting"
    share(north, "s", model())
    first = analyst.get(read)
    assert (first["state"], first["missing"]) == ("waiting", ["south"])
    share(south, "s", model(requirement={"k": 2}))
    both = analyst.get(read)
    assert (both["state"], both["missing"], both["owners"]) == ("no-records", [], [])
    assert (both["in_all"], both["in_any"]) == (None, None)
    assert north.get(read)["state"] == "no-records"
    south.publish("s", release_a)
    beside = analyst.get(read)
    assert (beside["state"], [one["owner"] for one in beside["owners"]]) == ("identical", ["south"])
    shown = analyst.get("/v1/dashboard")["studies"][0]
    assert [one["kind"] for one in shown["releases"]][:2] == ["knowledge-model"] * 2


def test_private_trees_count_with_their_epsilon(miner):
    """Replacing a record multiplies by e^epsilon at most: two different trees, by their product."""
    miner.study("b", max_epsilon_record=2.5, max_epsilon_column=2.5)
    west = miner.owner("b", "west")
    first = share(west, "b", private(1.0), "one")
    share(west, "b", private(1.0), "again")
    spent = west.get("/v1/studies/b/privacy")
    assert spent["unbounded"] == []
    assert spent["record"]["determined"]["epsilon"] == pytest.approx(1.0)
    assert spent["budget"]["left_for_columns"] == pytest.approx(
        dict.fromkeys(("age", "job", "debt", "ill"), 1.5)
    )
    other = private(1.0, tree(changed(1, hit=61)))
    share(west, "b", other, "two")
    assert west.get("/v1/studies/b/privacy")["record"]["determined"]["epsilon"] == pytest.approx(2)
    before = miner.snapshot()
    third = body(private(1.0, tree(changed(1, hit=62))), "three")
    assert_problem(west("POST", "/v1/studies/b/releases", json=third), 409, "budget-exceeded")
    assert miner.snapshot() == before
    # Withdrawing gives nothing back: the tree was told when it was announced.
    west("POST", f"{first}/withdraw")
    assert west.get("/v1/studies/b/privacy")["record"]["determined"]["epsilon"] == pytest.approx(2)
    assert not west.get("/v1/studies/b/privacy")["different_people"]


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\x9b31m", "\u202eabc", "a\u2028b", "a\ufffe"])
def test_names_that_steer_what_shows_them_are_refused(miner, name: str):
    miner.study("s")
    north = miner.owner("s", "north")
    answer = north("POST", RELEASES, json=raw(model(changed_attributes(debt=name))))
    assert_problem(answer, 422, "request-invalid")
    assert "at least 1 item" not in answer.text


def test_a_tree_is_read_once_however_often_its_study_is_asked_about(miner, monkeypatch):
    analyst, north = miner.study("s"), miner.owner("s", "north")
    told = model(changed_attributes(debt="asked"))
    path = share(north, "s", told)
    first = analyst.get("/v1/studies/s/privacy")
    monkeypatch.setattr("miner_service.intake.unbounded.content_of", None)
    assert analyst.get("/v1/studies/s/privacy") == first
    assert north("POST", f"{path}/withdraw").status_code == 200
    assert analyst.get("/v1/studies/s/privacy") == first
