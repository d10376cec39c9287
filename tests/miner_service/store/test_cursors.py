"""A cursor tells its reader nothing, and nobody can make one: an owner counts no hidden jobs.

A cursor that holds the row's number in the table, as base64("after:7"), fails these tests twice:
the numbers between two of an owner's own jobs count the jobs that are hidden from it, and
"after:N" for any N answers how many of its own jobs come later, so that N can be searched for.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from miner_service.store.database import Cursors, ListView, open_cursors
from miner_service.store.sqlite import SqliteStore
from pramana_core.errors import OptionError

JOBS = "/v1/studies/asia/jobs"
TABLE = {"kind": "contingency-table", "variables": ["A"]}


@pytest.fixture
def study(miner, release_a, release_c):
    """A study of two owners with the same records; `create` makes a job."""
    miner.analyst = miner.study("asia")
    miner.north, miner.south = miner.owner("asia", "north"), miner.owner("asia", "south")
    miner.north.publish("asia", release_a)
    miner.south.publish("asia", release_c)

    def create(key, records="identical"):
        body = {"key": key, "spec": {**TABLE, "records": records}}
        made = miner.analyst("POST", JOBS, json=body)
        assert made.status_code == 202, made.text
        miner.analyst.wait(made.headers["location"])

    miner.create = create
    return miner


def pages(person, address, limit=1):
    """All pages of a list, each as the items' keys and the cursor after them."""
    found, cursor = [], ""
    while cursor is not None:
        page = person.get(f"{address}?limit={limit}{cursor and '&cursor=' + cursor}")
        cursor = page["next"]
        found.append(([item.get("key") or item["name"] for item in page["items"]], cursor))
    return found


@pytest.mark.slow
def test_an_owner_sees_no_difference_that_hidden_jobs_make(study):
    for key in ("first", "second", "third"):
        study.create(key)
    before = pages(study.north, JOBS)
    assert [keys for keys, _ in before] == [["first"], ["second"], ["third"]]
    for number in range(3):
        study.create(f"hidden-{number}", ("common", "any")[number % 2])
    # The same to the byte, cursors and all.
    assert pages(study.north, JOBS) == before
    study.create("fourth")
    after = pages(study.north, JOBS)
    assert [keys for keys, _ in after] == [["first"], ["second"], ["third"], ["fourth"]]
    # Between the third and the fourth three jobs are hidden: the cursor counts none of them.
    view = ListView(JOBS, study.north.id)
    assert [study.services.cursors.open(view, c) for _, c in after[:-1]] == [1, 2, 3]
    # What the analyst sees shows that they are there.
    assert len(pages(study.analyst, JOBS)) == 7


@pytest.mark.slow
def test_a_cursor_cannot_be_made_or_moved(study, assert_problem):
    for key in ("first", "second", "third"):
        study.create(key)
    study.create("hidden", "any")
    given = study.north.get(f"{JOBS}?limit=1")["next"]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    changed = [
        given[:place] + letters[letters.index(letter) ^ 1] + given[place + 1 :]
        for place, letter in enumerate(given)
    ]
    as_before = [
        urlsafe_b64encode(f"after:{number}".encode()).decode().rstrip("=") for number in range(8)
    ]
    others = [
        study.analyst.get(f"{JOBS}?limit=1")["next"],
        study.south.get(f"{JOBS}?limit=1")["next"],
        study.north.get("/v1/studies/asia/owners?limit=1")["next"],
    ]
    for cursor in [*changed, *as_before, *others, given[:-1], given + "A", given + "AAAA", ""]:
        answer = study.north("GET", f"{JOBS}?limit=1&cursor={cursor}")
        assert_problem(answer, 422, "option-invalid", "cursor", "`next`")
    # Which host the request names does not say which list it is.
    host = {"Host": "miner/v1/studies/asia/owners?"}
    answer = study.north("GET", f"{JOBS}?limit=1&cursor={others[-1]}", headers=host)
    assert_problem(answer, 422, "option-invalid", "cursor")
    assert [j["key"] for j in study.north.get(f"{JOBS}?cursor={given}")["items"]] == [
        "second",
        "third",
    ]


def test_a_cursor_of_a_hidden_study_is_not_looked_at(study, assert_problem):
    outsider = study.study("other")
    for cursor in ("x", study.services.cursors.seal(ListView(JOBS, outsider.id), 1)):
        answer = outsider("GET", f"{JOBS}?cursor={cursor}")
        assert_problem(answer, 404, "not-found", "study")


LISTS = ("/v1/studies", *(f"/v1/studies/asia/{what}" for what in (
    "tokens", "invitations", "owners", "releases", "jobs",
)))  # fmt: skip


@pytest.mark.slow
def test_every_list_comes_in_pages_of_its_own_view(study, assert_problem):
    study.study("other")
    study.study("asia")
    for key in ("first", "second"):
        study.create(key)
    cursors = {}
    for address in LISTS:
        whole = study.admin.get(address)["items"]
        assert len(whole) > 1
        parts, cursor = [], ""
        while cursor is not None:
            page = study.admin.get(f"{address}?limit=1{cursor and '&cursor=' + cursor}")
            parts += page["items"]
            cursor = page["next"]
            if cursor:
                cursors.setdefault(address, cursor)
        assert parts == whole
    assert {len(cursor) for cursor in cursors.values()} == {32}
    for address in LISTS:
        for other, cursor in cursors.items():
            answer = study.admin("GET", f"{address}?cursor={cursor}")
            if other == address:
                assert answer.json()["items"] == study.admin.get(address)["items"][1:]
            else:
                assert_problem(answer, 422, "option-invalid", "this list")


def test_cursors_outlive_a_restart(start):
    first = start(entered=False)
    with first.client:
        analyst = first.study("asia")
        for name in ("north", "south"):
            first.owner("asia", name)
        cursor = analyst.get("/v1/studies/asia/owners?limit=1")["next"]
    again = start()
    person = type(analyst)(again.client, analyst.token)
    (owner,) = person.get(f"/v1/studies/asia/owners?cursor={cursor}")["items"]
    assert owner["name"] == "south"


@pytest.fixture
def opened(tmp_path):
    """Open a database of SQLite in a folder; return it."""
    with ExitStack() as stack:

        def open_one(name="data"):
            (tmp_path / name).mkdir(exist_ok=True)
            database = SqliteStore(tmp_path / name / "miner.sqlite")
            stack.callback(database.close)
            return database

        yield open_one


def test_each_service_has_a_key_of_its_own(tmp_path, opened):
    one, two = (open_cursors(opened(name)) for name in ("one", "two"))
    assert open_cursors(opened("one")) == one
    assert one.key != two.key
    view = ListView(JOBS, "t-1")
    assert one.open(view, one.seal(view, 7)) == 7
    with pytest.raises(OptionError, match="not one that this service gave"):
        two.open(view, one.seal(view, 7))
    assert one.key.hex() not in repr(one)


def test_a_key_that_another_process_made_meanwhile_is_the_one(tmp_path, opened):
    database, empty = opened(), opened("empty")
    made = open_cursors(database)
    looked_before = SimpleNamespace(read=empty.read, write=database.write)
    assert open_cursors(looked_before) == made


def test_all_cursors_are_of_one_length():
    cursors = Cursors(bytes(range(64)))
    made = {cursors.seal(ListView(JOBS, "t-1"), had) for had in (1, 9, 10, 10**6, 10**18)}
    assert len(made) == 5
    assert {len(cursor) for cursor in made} == {32}
