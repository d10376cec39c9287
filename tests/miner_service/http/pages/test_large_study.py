"""Pages of a study with 50 owners, 500 releases and 300 jobs, and of one that is hostile."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest
from sqlalchemy import event, select

from miner_service.http.pages.job_forms import job_forms
from miner_service.store.schema import JobRow, ReleaseRow
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from tests.miner_service.conftest import build, starting
from tests.miner_service.http.pages.browsers import Browser

OWNERS, RELEASES, JOBS = 50, 10, 300

STATEMENTS = 200
"""So many statements a page asks of the database, at most: a few, and three for each of 50 rows."""

BYTES = 200_000
"""So large a page is, at most."""


@contextmanager
def counted(miner):
    """Count the statements that are asked of a miner's database meanwhile."""
    asked = []
    with miner.services.database.read() as session:
        engine = session.get_bind()

    def note(*statement):
        asked.append(statement[2])

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", note)


def looked_at(miner, browser, address):
    """Return a page, and how many statements it took."""
    with counted(miner) as asked:
        answer = browser.get(address)
    assert answer.status_code == 200, (address, answer.text)
    return answer, len(asked)


def copies(row, number):
    """Return the values of as many copies of a row, each with an id of its own."""
    kept = {c.name: getattr(row, c.name) for c in row.__table__.c if c.name != "seq"}
    after = [(int(row.id[2:6], 16) + 1 + i) % (1 << 16) for i in range(number)]
    return [{**kept, "id": f"{row.id[:2]}{i:04x}{row.id[6:]}"} for i in after]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Owners of four columns each; most releases and jobs are copies of rows."""
    with starting(tmp_path_factory.mktemp("large") / "data") as start:
        yield filled(start())


def filled(miner):
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


PARTS = ("", "/owners", "/releases", "/privacy", "/jobs", "/models", "/people")
FORMS = tuple(f"/jobs/new?kind={kind}" for kind in job_forms())


@pytest.mark.slow
def test_pages_of_a_large_study_are_small_ask_little_and_lead_to_all_of_it(large):
    miner, analyst = large
    browser = Browser(miner)
    browser.sign_in(analyst.token)
    for part in (*PARTS, *FORMS):
        answer, statements = looked_at(miner, browser, f"/pages/studies/s{part}")
        assert statements <= STATEMENTS, part
        assert len(answer.content) <= BYTES, part
        if part in ("/releases", "/jobs"):
            assert "Older" in answer.text, part
    seen, address = [], "/pages/studies/s/jobs"
    while address:
        answer = browser.get(address)
        found = re.findall(r'href="[./]*/pages/jobs/([^"]*)"', answer.text)
        assert len(found) <= 50
        seen += found
        more = answer.text.partition('href="?cursor=')[2].partition('"')[0]
        address = f"/pages/studies/s/jobs?cursor={more}" if more else ""
    assert len(set(seen)) == len(seen) == JOBS


# A study of somebody who means no good, or whose variable is very long.

TURNED = "\u202e"
HOSTILE = (
    "<script>alert(1)</script>",
    "</textarea><img src=x onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    f"{TURNED}txt.exe",
    "\u05d0\u05d1\u05d2 (\u0661\u0662)",
    "a\u2066b\u2067c",
    "\x00\x07\ufffe",
    "\ud7ff\u0300" * 60,
)


@pytest.mark.slow
def test_a_hostile_study_is_shown_escaped_and_cut_with_a_number(miner):
    analyst = miner.study("s")
    long = tuple(f"{HOSTILE[i % 6]} {i}" for i in range(10_000))
    wide = Variable(HOSTILE[0], long)
    variables = [Variable(f"{name}!", HOSTILE[:8]) for name in HOSTILE]
    plain = [Block((v,), Symmetric.from_probability(v.size, 0.1)) for v in variables]
    plan = Plan((Block((wide,), Symmetric.from_probability(wide.size, 0.1)), *plain))
    records = 40
    codes = {v.name: [i % 8 for i in range(records)] for v in variables}
    codes[wide.name] = [i * 5 for i in range(records)]
    built = build(plan, range(records), codes)
    miner.owner("s", "north").publish("s", built)
    asked = {"spec": {"kind": "contingency-table", "variables": [wide.name]}}
    made = analyst("POST", "/v1/studies/s/jobs", json=asked)
    job = analyst.wait(made.headers["location"])
    assert job["state"] == "succeeded", job
    browser = Browser(miner)
    browser.sign_in(analyst.token)
    asks = {"kind": "decision-tree", "target": wide.name, "only": "cost"}
    shown = [(f"/pages/studies/s{part}", None) for part in (*PARTS, *FORMS)]
    shown += [(f"/pages/jobs/{job['id']}", None), (f"/pages/models/{job['model']}", None)]
    shown += [("/pages/studies/s/jobs", asks)]
    for address, sent in shown:
        answer = browser.get(address) if sent is None else browser.post(address, sent)
        assert answer.status_code in (200, 413, 422), (address, answer.text[:2000])
        assert len(answer.content) <= BYTES, address
        for told in ("<script>alert", "<img src=x", "<svg/onload", "\x00", " 49{%"):
            assert told not in answer.text, (address, told)
        # What turns text stands within a tag that ends its reach, or alone within an attribute.
        free = re.sub(r"<bdi>.*?</bdi>|<option dir=.*?</option>|\"[^\"]*\"", "", answer.text)
        free = re.sub(r"\u2068.*?\u2069|<textarea.*?</textarea>", "", free, flags=re.DOTALL)
        assert TURNED not in free, address
    framed = browser.get(f"/pages/models/{job['model']}/page")
    assert "<script>alert" not in framed.text
    assert len(framed.content) <= 4 * BYTES
