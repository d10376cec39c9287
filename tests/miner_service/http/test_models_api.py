"""Models over HTTP: as JSON, drawn, and shown on a page."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from pramana_core.domain import Domain
from pramana_core.learn.networks.bif import read_bif
from pramana_core.learn.networks.documents import network_of_json
from pramana_core.plan import Plan
from tests.miner_service.conftest import build, starting

SEARCH = {"kind": "bayes-net-structure", "draws": 20}
ODD = "<b>B & co</b>"


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A miner that learned a model from records without noise."""
    with starting(tmp_path_factory.mktemp("learned") / "data") as start:
        miner = start()
        miner.analyst = miner.study("asia")
        miner.owner_person = miner.owner("asia", "north")
        a = np.repeat([0, 1], 100)
        b = np.concatenate([np.repeat([0, 1], [80, 20]), np.repeat([0, 1], [30, 70])])
        plan = Plan.unrandomized(Domain.of(**{"A": ["no", "yes"], ODD: ["lo,w", "<hi>"]}))
        miner.owner_person.publish("asia", build(plan, range(200), {"A": a, ODD: b}))
        miner.model = f"/v1/models/{miner.analyst.learn('asia', SEARCH)['id']}"
        yield miner


def test_the_model_reads_as_a_network(learned):
    miner = learned
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
    miner = learned
    svg = miner.owner_person("GET", f"{miner.model}/svg")
    assert svg.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in svg.headers["content-security-policy"]
    texts = {t.text for t in ET.fromstring(svg.text).iter("{http://www.w3.org/2000/svg}text")}
    said = (
        "The link stands out from the noise."
        " Learned from 200 records; no gamma bounds what they disclose about a person."
    )
    assert texts == {"A", ODD, said}
    assert "confidence 100 %" in svg.text


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
    miner = learned
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
    assert "the factor by which randomization increases" in seen
    # The percentage of a link is one number, and has one explanation.
    assert seen.count("the probability that the link exists") == 1
    assert "bootstrap samples of the records keep it" not in seen
