"""What a reader must know of a model is said in each form: lack of fit, and what it tells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.rounding import rounded_up

NAMES = ("a", "b", "c")
PLAN = Plan(
    tuple(Block((Variable(n, ("no", "yes")),), Symmetric.from_probability(2, 0.1)) for n in NAMES)
)

ORDER = {"estimator": "pooled", "order": 2}
TABLE = {"kind": "contingency-table", "variables": list(NAMES), **ORDER}
NETWORK = {"structure": {"a": [], "b": ["a"], "c": ["a", "b"]}, **ORDER}


def reports(three: bool) -> dict[str, np.ndarray]:
    """2,000 records of which c is mostly the parity of the two others, or of none."""
    rng = np.random.default_rng(3)
    true = {n: rng.integers(0, 2, 2000) for n in NAMES}
    if three:
        follows = rng.random(2000) < 0.7
        true["c"] = np.where(follows, true["a"] ^ true["b"], true["c"])
    return {n: (v ^ (rng.random(2000) < 0.1)).astype(np.uint8) for n, v in true.items()}


@pytest.mark.slow
@pytest.mark.parametrize("spec", [TABLE, NETWORK], ids=["table", "network"])
@pytest.mark.parametrize("three", [True, False], ids=["parity", "independent"])
def test_a_model_that_does_not_fit_is_marked_wherever_it_is_shown(miner, build, spec, three):
    analyst, owner = miner.study("s"), miner.owner("s", "north")
    owner.publish("s", build(PLAN, range(2000), reports(three)))
    job = analyst.wait(
        analyst("POST", "/v1/studies/s/jobs", json={"spec": spec}).headers["location"]
    )
    address = f"/v1/models/{job['model']}"
    (test,) = analyst.get(address)["lack_of_fit"]
    assert (test["variables"], test["order"], test["reason"]) == (list(NAMES), 2, "")
    page = analyst("GET", f"{address}/page").text
    (entry,) = analyst.get("/v1/dashboard")["studies"][0]["models"]
    if three:
        assert test["p_value"] < 1e-6
        assert "Raise the order to 3" in test["warning"]
        assert f"<b>Warning:</b> {test['warning'][:50]}" in page
        assert entry["warnings"] == [test["warning"]]
    else:
        assert test["p_value"] > 0.01
        assert test["warning"] == ""
        assert "Warning:" not in page
        assert entry["warnings"] == []
    assert "Fit of the pooled table" in page
    assert ("the table of maximum entropy" in page) == (spec == TABLE)
    assert "is the raw estimate" not in page


SETS = ((0, 1), (1, 2))
PAIRS = Plan(
    (
        Block(
            tuple(Variable(n, ("no", "yes")) for n in NAMES),
            Sampled(
                (2, 2, 2),
                tuple(Choice(s, RESOLUTION // 2, Symmetric.from_gamma(4, 19.0)) for s in SETS),
            ),
        ),
    )
)


def of_pairs() -> dict[str, np.ndarray]:
    """Reports of a and b, or of b and c; 2 stands for what is withheld."""
    rng = np.random.default_rng(5)
    told = {n: rng.integers(0, 2, 2000).astype(np.uint8) for n in NAMES}
    first = rng.random(2000) < 0.5
    told["a"][~first], told["c"][first] = 2, 2
    return told


def learned(analyst, spec: dict[str, object]) -> str:
    return f"/v1/models/{analyst.learn('s', spec)['id']}"


def test_counts_filled_in_from_pairs_are_marked_wherever_they_are_shown(miner, build):
    analyst, owner = miner.study("s"), miner.owner("s", "north")
    owner.publish("s", build(PAIRS, range(2000), of_pairs()))
    asked = {"kind": "contingency-table", "estimator": "pooled"}
    filled = learned(analyst, {**asked, "variables": list(NAMES)})
    told = learned(analyst, {**asked, "variables": ["b", "a"]})
    assert analyst("GET", filled).json()["filled_in"] == [list(NAMES)]
    assert analyst("GET", told).json()["filled_in"] == []
    words = "Counts of a, b, c together are filled in from those of fewer variables"
    assert words in analyst("GET", f"{filled}/page").text
    assert "Filled in:" not in analyst("GET", f"{told}/page").text
    for address, marked in ((filled, "True"), (told, "False")):
        head, *rows = analyst("GET", f"{address}/csv").text.splitlines()
        assert head.endswith(",filled_in")
        assert all(row.endswith(f",{marked}") for row in rows)
    assert analyst.get(filled)["spec"]["order"] == 2


def test_an_order_that_is_left_out_follows_the_records_and_is_told(miner, build):
    analyst, owner = miner.study("s"), miner.owner("s", "north")
    owner.publish("s", build(PLAN, range(2000), reports(three=True)))
    asked = {"kind": "contingency-table", "variables": list(NAMES)}
    for estimator, order in (("moment", 2), ("pooled", 3)):
        body = {"key": f"by-{estimator}", "spec": {**asked, "estimator": estimator}}
        made = analyst("POST", "/v1/studies/s/jobs", json=body).json()
        assert made["spec"]["order"] == order
        # The same work is the same job, whether its order is left out or named.
        assert analyst("POST", "/v1/studies/s/jobs", json=body).json()["id"] == made["id"]
        body["spec"]["order"] = order
        assert analyst("POST", "/v1/studies/s/jobs", json=body).json()["id"] == made["id"]
    rules = {"kind": "association-rules", "estimator": "pooled", "minimum_support": 0.1}
    made = analyst("POST", "/v1/studies/s/jobs", json={"spec": rules}).json()
    assert made["spec"]["order"] is None


def test_gamma_stands_in_json_page_text_and_picture(miner, build):
    analyst, north = miner.study("s"), miner.owner("s", "north")
    columns = [Variable(n, ("no", "yes")) for n in ("ill", "smoker")]
    two = Plan(tuple(Block((one,), Symmetric.from_gamma(2, 3)) for one in columns))
    codes = np.random.default_rng(0).integers(2, size=300).astype(np.uint8)
    north.publish("s", build(two, range(300), {"ill": codes, "smoker": codes}))
    path = learned(analyst, {"kind": "decision-tree", "target": "ill", "records": "any"})
    told = analyst.get(path)["told"]
    # Two columns of gamma 3 each: 9 for the record.
    assert told["gamma"] == pytest.approx(9)
    assert told["epsilon"] == pytest.approx(2 * math.log(3))
    central = analyst.get(path)["central"]["epsilon"]
    page = analyst("GET", f"{path}/page").text
    assert "γ = 9" in page
    assert "epsilon&nbsp;2.198" in page
    assert f"ε = {rounded_up(central)}" in page
    said = (
        "Learned from 300 records; whole record: gamma 9, epsilon 2.198, central epsilon"
        f" {rounded_up(central)} at delta 1e-08 (among 300 similar records)."
    )
    text = analyst("GET", f"{path}/text").text
    assert text.endswith(f"\n\n{said}\n")
    picture = analyst("GET", f"{path}/svg").text
    assert picture.count(said) == 1
    assert picture.rstrip().endswith("</svg>")
    # It is another program's to read: nothing is added.
    assert said not in analyst("GET", f"{path}/document").text
