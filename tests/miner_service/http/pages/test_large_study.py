"""Pages of a study with 50 owners, 500 releases and 2,000 jobs, and of thousands of categories."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import select

from miner_service.store.schema import JobRow, ReleaseRow
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.miner_service.conftest import build
from tests.miner_service.http.pages.browsers import Browser

OWNERS, RELEASES, JOBS = 50, 10, 2000
AT_MOST = 0.4
"""Seconds of processor time for a page: twice what is wanted, for a machine that is busy."""


def quickest(browser, address):
    """The least time that a page took of a few, and the page: others are at work here, too."""
    taken = []
    for _ in range(4):
        start = time.process_time()
        answer = browser.get(address)
        taken.append(time.process_time() - start)
        assert answer.status_code == 200, answer.text
    return min(taken), answer


def copies(row, number):
    """Return the values of as many copies of a row, each with an id of its own."""
    kept = {c.name: getattr(row, c.name) for c in row.__table__.c if c.name != "seq"}
    return [{**kept, "id": f"{row.id[:2]}{i:04x}{row.id[6:]}"} for i in range(number)]


@pytest.fixture
def large(start):
    """Owners of four columns each; most releases and jobs are copies of rows."""
    miner = start()
    analyst = miner.study("s")
    for number in range(OWNERS):
        owner = miner.owner("s", f"o{number}")
        plan = Plan(
            tuple(
                Block((Variable(f"v{number}.{i}", ("a", "b")),), Symmetric.from_probability(2, 0.1))
                for i in range(4)
            )
        )
        codes = {name: [i % 2 for i in range(20)] for name in plan.domain.names}
        owner.publish("s", build(plan, range(20), codes))
    asked = {"spec": {"kind": "contingency-table", "variables": ["v0.0"]}}
    made = analyst("POST", "/v1/studies/s/jobs", json=asked)
    assert analyst.wait(made.headers["location"])["state"] == "succeeded"
    with miner.services.database.write() as session:
        for row in session.scalars(select(ReleaseRow)).all():
            for i, one in enumerate(copies(row, RELEASES - 1)):
                # Of before the one that is in use.
                earlier = {"name": f"earlier{i}", "sealing": -row.sealing * RELEASES - i}
                session.add(ReleaseRow(**{**one, **earlier}))
        (row,) = session.scalars(select(JobRow))
        for i, one in enumerate(copies(row, JOBS - 1)):
            session.add(JobRow(**{**one, "key": f"k{i}"}))
    return miner, analyst


@pytest.mark.slow
def test_pages_of_a_large_study_are_quick_and_have_all_of_it(large):
    miner, analyst = large
    browser = Browser(miner)
    browser.sign_in(analyst.token)
    took = {}
    for part in ("", "/owners", "/releases", "/privacy", "/jobs", "/models", "/people"):
        took[part], answer = quickest(browser, f"/pages/studies/s{part}")
        if part in ("/releases", "/jobs"):
            assert "Older ones" in answer.text, part
    took["form"], _ = quickest(browser, "/pages/studies/s/jobs/new?kind=decision-tree")
    told = [f"{part or 'study'} {1000 * taken:.0f} ms" for part, taken in took.items()]
    print("\n" + ", ".join(told))
    assert {part: taken for part, taken in took.items() if taken > AT_MOST} == {}
    seen, address = [], "/pages/studies/s/jobs"
    while address:
        answer = browser.get(address)
        found = [part.partition('"')[0] for part in answer.text.split('href="/pages/jobs/')[1:]]
        assert len(found) <= 50
        seen += found
        more = answer.text.partition('href="?cursor=')[2].partition('"')[0]
        address = f"/pages/studies/s/jobs?cursor={more}" if more else ""
    assert len(set(seen)) == len(seen) == JOBS


@pytest.mark.slow
def test_a_variable_of_thousands_of_categories_is_a_quick_page(miner):
    analyst = miner.study("s")
    owner = miner.owner("s", "north")
    wide = Variable("wide", tuple(f"c{i}" for i in range(4096)))
    plan = Plan((Block((wide,), Symmetric.from_probability(4096, 0.1)),))
    owner.announce("s", build(plan, range(10), {"wide": [0] * 10}))
    browser = Browser(miner)
    browser.sign_in(analyst.token)
    for part in ("", "/releases"):
        taken, answer = quickest(browser, f"/pages/studies/s{part}")
        assert taken < AT_MOST
        assert len(answer.text) < 100_000
