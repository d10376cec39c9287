"""A model whose reports contradict the log-linear model behind it says so wherever it is shown."""

from __future__ import annotations

import numpy as np
import pytest

from shared.channels import Symmetric
from shared.domain import Variable
from shared.plan import Block, Plan

NAMES = ("a", "b", "c")
PLAN = Plan(
    tuple(Block((Variable(n, ("no", "yes")),), Symmetric.from_probability(2, 0.1)) for n in NAMES)
)

TABLE = {"kind": "contingency-table", "variables": list(NAMES), "estimator": "log-linear"}
NETWORK = {"structure": {"a": [], "b": ["a"], "c": ["a", "b"]}, "estimator": "log-linear"}


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
    assert "Fit of the log-linear model" in page
    assert ("drawn towards no interaction" in page) == (spec == TABLE)
    assert "is the raw estimate" not in page


def test_a_model_without_a_log_linear_model_has_no_such_test(miner, build):
    analyst, owner = miner.study("s"), miner.owner("s", "north")
    owner.publish("s", build(PLAN, range(2000), reports(three=True)))
    spec = {**TABLE, "estimator": "moment"}
    job = analyst.wait(
        analyst("POST", "/v1/studies/s/jobs", json={"spec": spec}).headers["location"]
    )
    address = f"/v1/models/{job['model']}"
    assert analyst.get(address)["lack_of_fit"] == []
    assert "Fit of the log-linear model" not in analyst("GET", f"{address}/page").text
    (entry,) = analyst.get("/v1/dashboard")["studies"][0]["models"]
    assert entry["warnings"] == []
