"""Releases by the same draws that report somebody differently are found, said and counted."""

from __future__ import annotations

import hashlib
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from miner_service.intake import intake
from miner_service.settings import StorageSettings
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.postgres import postgres

__all__ = ["postgres"]

RECORDS, CHANGED = 2000, 40
EPSILON = math.log(3)


def plan(*names, channel=None):
    channel = channel or Symmetric.from_gamma(2, 3)
    return Plan(tuple(Block((Variable(n, ("no", "yes")),), channel) for n in names))


def drawn(values, seed=0):
    """Reports as an agent draws them: by numbers that belong to the records, whatever they hold."""
    lowest = 0.75 - 0.5 * values
    return (np.random.default_rng(seed).random(len(values)) >= lowest).astype(np.uint8)


@pytest.fixture
def release(build):
    """A release of these reports, by the same draws unless others are named."""

    def make(name, draws="first", ids=None, channel=None, **codes):
        ids = range(len(next(iter(codes.values())))) if ids is None else ids
        built = build(plan(*codes, channel=channel), ids, codes, name=name)
        if draws is not None:
            built.body["draws"] = [
                hashlib.sha256(f"{draws} {column}".encode()).hexdigest() for column in codes
            ]
        return built

    return make


@pytest.fixture
def study(miner):
    """A miner, an analyst of its study, and an owner of it."""
    return miner, miner.study("asia"), miner.owner("asia", "north")


def corrected():
    """Reports of 2,000 values, and of the same with 40 changed, by an agent without memory."""
    values = np.random.default_rng(1).integers(2, size=RECORDS)
    other = values.copy()
    other[:CHANGED] = 1 - other[:CHANGED]
    before, after = drawn(values), drawn(other)
    # Only corrected people can be reported differently, and half of them are.
    differ = np.flatnonzero(before != after)
    assert 0 < len(differ) < CHANGED
    assert differ.max() < CHANGED
    return before, after, len(differ)


def told(person):
    return person.get("/v1/studies/asia/privacy")


def epsilon(person):
    return told(person)["record"]["determined"]["epsilon"]


def said(person):
    return told(person)["changed"], told(person)["warnings"]


def test_an_agent_without_memory_is_found_said_and_counted(study, release):
    miner, analyst, north = study
    south = miner.owner("asia", "south")
    before, after, differ = corrected()
    first = north.publish("asia", release("r1", ill=before))
    assert north.get(first)["repeated"] == []
    assert epsilon(analyst) == pytest.approx(EPSILON)
    path = north.publish("asia", release("r2", ill=after))
    one = north.get(first)["id"]
    found = {
        "variables": ["ill"], "compared": 1, "records": RECORDS, "changed": differ,
        "releases": [one], "anew": True,
    }  # fmt: skip
    assert north.get(path)["repeated"] == analyst.get(path)["repeated"] == [found]
    for person in (analyst, miner.admin, north):
        changed, warnings = said(person)
        assert changed == [
            {
                "owner": "north", "variables": ["ill"], "releases": 2, "records": differ,
                "of": RECORDS, "not_compared": 0,
            }
        ]  # fmt: skip
        (sentence,) = warnings
        assert f"{differ} of 2,000 records of owner north are reported differently" in sentence
        assert "in 2 releases by the same draws (ill " in sentence
        assert "no epsilon bounds" in sentence
        assert epsilon(person) == pytest.approx(2 * EPSILON)
        (board,) = person.get("/v1/dashboard")["studies"]
        assert board["privacy"]["changed"] == changed
        assert board["releases"][1]["repeated"] == [found]
        (column,) = told(person)["columns"]
        assert column["amplification"]["epsilon"] == pytest.approx(2 * EPSILON)
    # Other owners see the sums, as if all had been drawn anew, and nothing else.
    assert said(south) == ([], [])
    assert epsilon(south) == pytest.approx(2 * EPSILON)
    asked = {"plan": release("q", ill=before).body["plan"]}
    for person, seen in ((south, 0), (north, 1)):
        forecast = person("POST", "/v1/studies/asia/privacy", json=asked).json()
        for moment in ("before", "after"):
            assert len(forecast[moment]["changed"]) == seen


def said_keyed(built, key):
    """Have a release of one column say by which key its draws were made."""
    built.body["keyed_draws"] = [hashlib.sha256(key.encode()).hexdigest()]
    return built


def test_an_agent_that_lost_its_ledger_is_found_though_its_records_changed_too(study, release):
    """What tells its records apart follows from the records of now; the key does not."""
    _, analyst, north = study
    before, after, _ = corrected()
    north.publish("asia", said_keyed(release("r1", ill=before), "key"))
    # 60 records are gone, not only such as were reported the same, and 50 have come.
    ids = [*range(20, RECORDS - 40), *range(5000, 5050)]
    reports = np.append(after[20 : RECORDS - 40], np.ones(50, np.uint8))
    kept = RECORDS - 60
    differ = int((before != after)[20:].sum())
    assert differ > 0
    path = north.publish("asia", said_keyed(release("r2", "lost", ids, ill=reports), "key"))
    (found,) = north.get(path)["repeated"]
    assert (found["compared"], found["records"], found["changed"]) == (1, kept, differ)
    (one,), (sentence,) = said(analyst)
    assert (one["records"], one["of"], one["releases"]) == (differ, kept, 2)
    assert "reported differently in 2 releases by the same draws" in sentence
    assert epsilon(analyst) == pytest.approx(2 * EPSILON)
    # By another key nothing was drawn that could be compared.
    path = north.publish("asia", said_keyed(release("r3", "other", ids, ill=reports), "another"))
    assert north.get(path)["repeated"] == []
    # Nor is one that names no key, except with the same records.
    path = north.publish("asia", release("r4", ill=before))
    assert [one["compared"] for one in north.get(path)["repeated"]] == [1]


@pytest.mark.slow
def test_the_same_reports_and_fresh_draws_are_nothing_to_be_said(study, release):
    """The control: what an agent with memory sends."""
    _, analyst, north = study
    before, after, _ = corrected()
    north.publish("asia", release("r1", ill=before))
    # More records, and fewer, reported as before.
    north.publish("asia", release("r2", ill=np.append(before, [1, 0, 1])))
    north.publish("asia", release("r3", ids=range(500), ill=before[:500]))
    assert said(analyst) == ([], [])
    assert epsilon(analyst) == pytest.approx(EPSILON)
    path = north.publish("asia", release("r4", draws="second", ill=after))
    assert north.get(path)["repeated"] == []
    assert epsilon(analyst) == pytest.approx(2 * EPSILON)
    # Another channel has other draws, whatever the owner calls them; so has what is not named.
    north.publish("asia", release("r5", channel=Symmetric.from_gamma(2, 5), ill=after))
    north.publish("asia", release("r6", draws=None, ill=after))
    assert said(analyst) == ([], [])
    assert epsilon(analyst) == pytest.approx(3 * EPSILON + math.log(5))


@pytest.mark.slow
def test_a_report_counts_once_for_each_way_in_which_a_record_was_reported(study, release):
    """A release that repeats one of two different ones adds nothing; each block counts alone."""
    _, analyst, north = study
    one, two = np.zeros(10, np.uint8), np.append(np.zeros(9, np.uint8), 1).astype(np.uint8)
    for name, ill, age, wanted in (
        ("r1", one, one, 2), ("r2", two, one, 3), ("r3", two, one, 3), ("r4", one, one, 3),
        ("r5", one, two, 4), ("r6", two, two, 4),
    ):  # fmt: skip
        path = north.publish("asia", release(name, ill=ill, age=age))
        assert epsilon(analyst) == pytest.approx(wanted * EPSILON), name
    last = {entry["variables"][0]: entry for entry in north.get(path)["repeated"]}
    assert [last[name]["changed"] for name in ("ill", "age")] == [1, 1]
    assert [len(last[name]["releases"]) for name in ("ill", "age")] == [3, 4]
    assert not last["ill"]["anew"]
    changed, (sentence,) = said(analyst)
    assert {(c["variables"][0], c["releases"], c["records"], c["of"]) for c in changed} == {
        ("ill", 6, 1, 10), ("age", 6, 1, 10),
    }  # fmt: skip
    assert sentence.startswith("At least 1 of 10 records of owner north")


@pytest.mark.slow
def test_what_was_counted_is_gone_from_the_budget(miner, release, assert_problem):
    miner.study("asia", max_epsilon_record=2.5 * EPSILON)
    north = miner.owner("asia", "north")
    before, after, _ = corrected()
    north.publish("asia", release("r1", ill=before))
    north.publish("asia", release("r2", ill=after))
    assert told(north)["budget"]["left_for_record"] == pytest.approx(0.5 * EPSILON)
    answer = north("POST", "/v1/studies/asia/releases", json=release("r3", age=before).body)
    assert_problem(answer, 409, "budget-exceeded")
    # The same draws once more are taken as ever.
    north.publish("asia", release("r4", ill=after))


@pytest.mark.parametrize("sealed", [True, False])
def test_a_withdrawn_release_cannot_be_compared_and_that_is_said(study, release, sealed):
    _, analyst, north = study
    before, after, _ = corrected()
    built = release("r1", ill=before)
    path = (north.publish if sealed else north.send)("asia", built)
    assert north("POST", f"{path}/withdraw").status_code == 200
    assert said(analyst) == ([], [])
    second = north.publish("asia", release("r2", ill=after))
    assert north.get(second)["repeated"] == []
    changed, (sentence,) = said(analyst)
    assert [(one["records"], one["not_compared"]) for one in changed] == [(0, 1)]
    assert "1 release of owner north could not be compared with others" in sentence
    assert epsilon(analyst) == pytest.approx(EPSILON)


def test_what_was_found_stays_said_when_releases_are_withdrawn(study, release):
    _, analyst, north = study
    before, after, differ = corrected()
    paths = [
        north.publish("asia", release("r1", ill=before)),
        north.publish("asia", release("r2", ill=after)),
    ]
    known = told(analyst)
    for path in paths:
        assert north("POST", f"{path}/withdraw").status_code == 200
    assert told(analyst) == known
    assert known["changed"][0]["records"] == differ


def test_a_release_that_cannot_be_read_keeps_no_other_from_being_sealed(study, release):
    miner, analyst, north = study
    before, after, _ = corrected()
    first = north.publish("asia", release("r1", ill=before))
    miner.services.segments.data_path(north.get(first)["id"]).write_bytes(b"broken")
    second = north.publish("asia", release("r2", ill=after))
    assert north.get(second)["repeated"] == []
    assert [one["not_compared"] for one in said(analyst)[0]] == [1]


def compared_together(monkeypatch, number):
    """Let so many seals find what they are to be compared with before one of them commits."""
    all_there, found, first = threading.Barrier(number), intake.compared, threading.local()

    def wait(*arguments):
        seen = found(*arguments)
        if not hasattr(first, "done"):
            first.done = True
            all_there.wait()
        return seen

    monkeypatch.setattr(intake, "compared", wait)


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_of_releases_sealed_at_once_each_pair_is_compared(
    start, release, monkeypatch, request, database
):
    place = None if database == "sqlite" else request.getfixturevalue("postgres").url()
    miner = start(storage=StorageSettings(database=place))
    analyst, north = miner.study("asia"), miner.owner("asia", "north")
    codes = [np.eye(10, dtype=np.uint8)[n] for n in range(3)]
    paths = [north.send("asia", release(f"r{n}", ill=c)) for n, c in enumerate(codes)]
    compared_together(monkeypatch, len(paths))
    with ThreadPoolExecutor(len(paths)) as pool:
        sealed = list(pool.map(lambda path: north("POST", f"{path}/seal").json(), paths))
    entries = [[(e["compared"], len(e["releases"])) for e in one["repeated"]] for one in sealed]
    assert sorted(entries) == [[], [(1, 1)], [(2, 2)]]
    (changed,), _ = said(analyst)
    assert (changed["releases"], changed["not_compared"]) == (3, 0)
    assert epsilon(analyst) == pytest.approx(3 * EPSILON)
