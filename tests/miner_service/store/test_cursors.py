"""A cursor counts the rows that its reader has had: an owner counts no hidden jobs by it.

A cursor that holds the row's number in the table fails these tests: the numbers between two of an
owner's own jobs count the jobs that are hidden from it.
"""

from __future__ import annotations

import pytest

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
    assert [cursor for _, cursor in after] == ["1", "2", "3", None]
    # What the analyst sees shows that they are there.
    assert len(pages(study.analyst, JOBS)) == 7


@pytest.mark.slow
def test_a_cursor_that_is_made_up_shows_no_hidden_row(study):
    for number, key in enumerate(("first", "hidden", "second")):
        study.create(key, "any" if number == 1 else "identical")
    shown = [study.north.get(f"{JOBS}?cursor={number}")["items"] for number in (1, 2, 10**17)]
    assert [[job["key"] for job in items] for items in shown] == [["second"], [], []]


@pytest.mark.parametrize("cursor", ["", "0", "-1", "01", "1.5", "x", "٣", "1" * 19, "1 "])
def test_what_is_no_cursor_is_refused(asked, assert_problem, cursor):
    _, analyst, _ = asked
    answer = analyst("GET", "/v1/studies/s/jobs", params={"cursor": cursor})
    assert_problem(answer, 422, "option-invalid")
