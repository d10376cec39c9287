"""What its releases tell of one person stands in every form of a model that people read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan

RECORDS = 300
TREE = {"kind": "decision-tree", "target": "ill", "records": "any"}


def plan(channel):
    return Plan(tuple(Block((Variable(n, ("no", "yes")),), channel) for n in ("ill", "smoker")))


def codes(seed=0):
    smoker = np.random.default_rng(seed).integers(2, size=RECORDS).astype(np.uint8)
    return {"ill": smoker, "smoker": smoker}


@pytest.fixture
def study(miner):
    """An analyst of a study, and its only owner: jobs wait for every owner that there is."""
    analyst = miner.study("s")
    return analyst, miner.owner("s", "north")


def learned(analyst, spec=TREE):
    return f"/v1/models/{analyst.learn('s', spec)['id']}"


def test_gamma_stands_in_json_page_text_and_picture(study, build):
    analyst, north = study
    north.publish("s", build(plan(Symmetric.from_gamma(2, 3)), range(RECORDS), codes()))
    path = learned(analyst)
    told = analyst.get(path)["told"]
    # Two columns of gamma 3 each: 9 for the record.
    assert told["gamma"] == pytest.approx(9)
    assert told["epsilon"] == pytest.approx(2 * math.log(3))
    page = analyst("GET", f"{path}/page").text
    assert "γ = 9" in page
    assert "epsilon&nbsp;2.197" in page
    said = "Learned from 300 records; whole record: gamma 9, epsilon 2.197."
    text = analyst("GET", f"{path}/text").text
    assert text.endswith(f"\n\n{said}\n")
    picture = analyst("GET", f"{path}/svg").text
    assert picture.count(said) == 1
    assert picture.rstrip().endswith("</svg>")
    # It is another program's to read: nothing is added.
    assert said not in analyst("GET", f"{path}/document").text


def test_what_nothing_bounds_says_so(study, build):
    analyst, north = study
    north.publish("s", build(plan(Identity(2)), range(RECORDS), codes()))
    path = learned(analyst)
    told = analyst.get(path)["told"]
    assert (told["gamma"], told["epsilon"], told["grows_to"]) == (None, None, 1.0)
    assert "no gamma bounds what is told of a person" in analyst("GET", f"{path}/page").text
    assert "no gamma bounds what these tell" in analyst("GET", f"{path}/text").text
