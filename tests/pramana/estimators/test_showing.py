"""Pictures of what was learned, and what a notebook shows."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from html.parser import HTMLParser

import pandas as pd
import pytest

import pramana as pm

BAD = "<script>alert('x')</script>"
VOID = {"br", "hr", "img", "input", "meta"}


@cache
def people() -> pd.DataFrame:
    """People aboard, of whom the women are called what would be a script."""
    return pm.example("titanic").replace({"sex": {"female": BAD}, "survived": {"yes": "$x_1$ &"}})


@cache
def reports() -> pm.Reports:
    frame = people()
    plan = pm.plan(pm.domain(frame, pm.observed_categories(frame)), p=0.1)
    return pm.randomize(frame, plan, pm.Keys.for_experiments(1), record_id=frame.index)


SHOWN = {
    "counts": lambda: pm.estimate(reports()),
    "tree": lambda: pm.DecisionTree("survived"),
    "naive Bayes": lambda: pm.NaiveBayes("survived"),
    "Bayes with links": lambda: pm.BayesClassifier("survived"),
    "linear": lambda: pm.LinearClassifier("survived"),
    "linear of three planes and more": lambda: pm.LinearClassifier("class", basis="network"),
    "network": lambda: pm.BayesNet([("sex", "survived"), ("class", "survived")]),
    "network with confidences": lambda: pm.BayesNet(draws=5),
    "rules": lambda: pm.AssociationRules(0.1, 0.7),
}


@cache
def made(name: str):
    thing = SHOWN[name]()
    return thing if name == "counts" else thing.fit(reports())


shown = pytest.mark.parametrize("name", SHOWN)


class Checked(HTMLParser):
    """Reads HTML; knows which elements there are, and whether they close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.said: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.attributes += [(name, value or "") for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)


@pytest.mark.slow
@shown
def test_a_notebook_shows_a_card_that_loads_and_runs_nothing(name: str):
    page = Checked(made(name)._repr_html_())
    assert page.open == []
    assert not page.seen & {"script", "style", "link", "img", "iframe", "foreignobject"}
    for attribute, value in page.attributes:
        assert not attribute.startswith("on"), attribute
        assert "javascript:" not in value
        if attribute in ("href", "xlink:href", "src"):
            assert value.startswith("#")
        assert "url(http" not in value
    assert repr(made(name)) in " ".join(page.said)
    assert ("style", "max-width:100%;box-sizing:border-box;line-height:1.4") in page.attributes


@pytest.mark.slow
def test_neither_pyplot_nor_scikit_learn_is_loaded_where_nobody_asks_for_it():
    code = """
import sys
import pramana as pm
from matplotlib.figure import Figure
people = pm.example("berkeley")
plan = pm.Plan.unrandomized(pm.Domain.of(sex=["female", "male"], admitted=["no", "yes"]))
net = pm.BayesNet().fit(people, plan)
net._repr_html_(), net.plot(Figure().subplots())
pm.AssociationRules(0.1).fit(people, plan).plot(Figure().subplots())
assert "matplotlib.pyplot" not in sys.modules
whole = pm.Plan.unrandomized(pm.domain(people, pm.observed_categories(people)))
pm.LinearClassifier("admitted").fit(people, whole).score(people)
assert "sklearn" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
