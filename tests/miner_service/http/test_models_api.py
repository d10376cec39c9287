"""Models over HTTP: drawn, asked, sampled, and shown on a page."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from miner_service.settings import Limits
from pramana_core.domain import Domain
from pramana_core.learn.networks.bif import read_bif
from pramana_core.learn.networks.documents import network_of_json
from pramana_core.plan import Plan
from tests.miner_service.conftest import build, starting

SEARCH = {"kind": "bayes-net-structure", "draws": 20}
ODD = "<b>B & co</b>"


def with_model(miner, spec=SEARCH):
    """Have a miner learn a model from records without noise."""
    miner.analyst = miner.study("asia")
    miner.owner_person = miner.owner("asia", "north")
    a = np.repeat([0, 1], 100)
    b = np.concatenate([np.repeat([0, 1], [80, 20]), np.repeat([0, 1], [30, 70])])
    plan = Plan.unrandomized(Domain.of(**{"A": ["no", "yes"], ODD: ["lo,w", "<hi>"]}))
    miner.owner_person.publish("asia", build(plan, range(200), {"A": a, ODD: b}))
    miner.model = f"/v1/models/{miner.analyst.learn('asia', spec)['id']}"
    return miner


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with starting(tmp_path_factory.mktemp("learned") / "data") as start:
        yield with_model(start())


@pytest.fixture
def learned(start, request):
    """A miner with a model; who says nothing of it gets the one that the module shares."""

    def make(limits=None, **spec):
        if limits or spec:  # what changes rows has a miner of its own, too
            return with_model(start(limits), **spec)
        return request.getfixturevalue("shared")

    return make


def test_the_model_reads_as_a_network(learned):
    miner = learned()
    body = miner.analyst.get(miner.model)
    document = network_of_json(body)
    again = read_bif(miner.analyst("GET", f"{miner.model}/bif").text)
    assert document.network.structure == again.structure
    assert document.network.tables.keys() == again.tables.keys()
    assert all(np.array_equal(document.network.tables[n], again.tables[n]) for n in again.tables)
    (link,) = document.links
    assert (link.gain, link.inflation, link.confidence) == tuple(
        body["links"][0][name] for name in ("gain", "inflation", "confidence")
    )


def test_the_structure_as_a_picture(learned):
    miner = learned()
    svg = miner.owner_person("GET", f"{miner.model}/svg")
    assert svg.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in svg.headers["content-security-policy"]
    texts = {t.text for t in ET.fromstring(svg.text).iter("{http://www.w3.org/2000/svg}text")}
    said = "Learned from 200 records; no gamma bounds what these tell of a person."
    assert texts == {"A", ODD, said}
    assert "confidence 100 %" in svg.text


def ask(person, model, **body):
    return person("POST", f"{model}/queries", json=body)


def test_a_question_is_answered_from_the_tables(learned):
    miner = learned()
    answer = ask(miner.owner_person, miner.model, of=["A"], given={ODD: "<hi>"})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["rows"] == [
        {"values": {"A": "no"}, "probability": pytest.approx(20 / 90)},
        {"values": {"A": "yes"}, "probability": pytest.approx(70 / 90)},
    ]
    assert told["given_probability"] == pytest.approx(90 / 200)
    joint = ask(miner.analyst, miner.model, of=[ODD, "A"]).json()
    assert [(*r["values"].values(), round(200 * r["probability"])) for r in joint["rows"]] == [
        ("lo,w", "no", 80),
        ("lo,w", "yes", 30),
        ("<hi>", "no", 20),
        ("<hi>", "yes", 70),
    ]
    assert joint["given"] == {}
    assert joint["given_probability"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"of": ["Z"]}, 422, "unknown-variable"),
        ({"of": ["A"], "given": {"Z": "no"}}, 422, "unknown-variable"),
        ({"of": ["A"], "given": {ODD: "no"}}, 422, "unknown-category"),
        ({"of": ["A", "A"]}, 422, "option-invalid"),
        ({"of": ["A"], "given": {"A": "no"}}, 422, "option-invalid"),
        ({"of": []}, 422, "request-invalid"),
        ({"of": ["A"], "seed": 1}, 422, "request-invalid"),
    ],
)
def test_questions_without_an_answer(learned, assert_problem, body, status, code):
    miner = learned()
    assert_problem(ask(miner.analyst, miner.model, **body), status, code)


def test_samples_are_a_csv_that_a_seed_decides(learned):
    miner = learned()
    address = f"{miner.model}/samples"
    first = miner.owner_person("GET", address, params={"records": 4000, "seed": 9})
    assert first.headers["content-type"].startswith("text/csv")
    header, *rows = csv.reader(io.StringIO(first.text, newline=""))
    assert header == ["A", ODD]
    assert len(rows) == 4000
    assert {tuple(row) for row in rows} == {(a, b) for a in ("no", "yes") for b in ("lo,w", "<hi>")}
    again = miner.analyst("GET", address, params={"records": 4000, "seed": 9})
    other = miner.analyst("GET", address, params={"records": 4000})
    assert again.text == first.text
    assert other.text != first.text


def test_what_is_answered_is_bounded(learned, assert_problem):
    miner = learned(Limits(answer_cells=3, sample_cells=100))
    answer = ask(miner.analyst, miner.model, of=["A", ODD])
    assert_problem(answer, 413, "limit-exceeded")
    assert ask(miner.analyst, miner.model, of=["A"]).status_code == 200
    address = f"{miner.model}/samples"
    answer = miner.analyst("GET", address, params={"records": 51})
    assert_problem(answer, 413, "limit-exceeded")
    assert miner.analyst("GET", address, params={"records": 50}).status_code == 200


class Page(HTMLParser):
    """What a reader of the page sees, and whether its tags close."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.cells, self.sources = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.sources += [v for k, v in attrs if k in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.seen.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def test_the_page_shows_picture_links_and_parameters(learned):
    miner = learned()
    answer = miner.owner_person("GET", f"{miner.model}/page")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = Page(answer.text)
    assert page.open == []
    assert page.sources == [], "it loads nothing"
    assert "<svg" in answer.text
    assert "<b>B & co</b>" not in answer.text, "names are shown, not obeyed"
    (link,) = miner.analyst.get(miner.model)["links"]
    row = [link["parent"], link["child"], f"{link['gain']:.1f}", "1", "100 %", "open"]
    head = page.cells.index("parent")
    names = ["parent", "child", "gain", "inflation", "confidence", "direction"]
    assert page.cells[head : head + 6] == names
    assert page.cells[head + 6 : head + 12] == row
    assert {"<hi>", "lo,w", "A=no" if link["parent"] == "A" else f"{ODD}=<hi>"} <= set(page.cells)
    seen = " ".join(" ".join(page.seen).split())
    assert "how many times randomization multiplies" in seen
    # The percentage of a link is one number, and has one explanation.
    assert seen.count("the probability that the link is there") == 1
    assert "bootstrap samples of the records keep it" not in seen


ADDRESSES = ("", "/bif", "/svg", "/page", "/samples?records=1")


def test_who_may_not_read_a_model_may_do_nothing_with_it(learned, assert_problem):
    miner = learned(spec=SEARCH)
    other = miner.study("other")
    with miner.services.database.write() as session:
        sql = "UPDATE jobs SET spec = json_set(spec, '$.records', 'common'), records = 'common'"
        session.connection().exec_driver_sql(sql)
    for address in ADDRESSES:
        assert_problem(other("GET", miner.model + address), 404, "not-found")
        assert_problem(miner.owner_person("GET", miner.model + address), 404, "not-found")
        assert_problem(miner.nobody("GET", miner.model + address), 401, "unauthenticated")
        assert miner.analyst("GET", miner.model + address).status_code == 200
    assert_problem(ask(other, miner.model, of=["A"]), 404, "not-found")
    assert_problem(ask(miner.owner_person, miner.model, of=["A"]), 404, "not-found")
    assert_problem(ask(miner.nobody, miner.model, of=["A"]), 401, "unauthenticated")
