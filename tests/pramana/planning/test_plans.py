"""Plans as they are stated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import pramana as pm
from owner_agent.site.planning import planned
from owner_agent.site.site import site_from
from pramana_core.privacy import Amplification

DOMAIN = pm.Domain.of(age=["child", "adult"], sex=["f", "m"], town=["A", "B", "C"])


def gammas(plan: pm.Plan) -> list[float]:
    return [Amplification.together([block]).gamma for block in plan.blocks]


def test_one_strength_for_all():
    assert gammas(pm.plan(DOMAIN, gamma=3)) == pytest.approx([3, 3, 3], rel=1e-8)
    assert gammas(pm.plan(DOMAIN, epsilon=math.log(3))) == pytest.approx([3, 3, 3], rel=1e-8)
    # A category is kept with 1 - p, and becomes each of K - 1 others with p / (K - 1).
    assert gammas(pm.plan(DOMAIN, p=0.2)) == pytest.approx([4, 4, 8], rel=1e-8)


def test_something_is_said_of_each_variable_and_blocks_stand_in_the_domains_order():
    plan = pm.plan(
        DOMAIN,
        {("town", "age"): {"kind": "gamma-diagonal", "gamma": 19}},
        public=["sex"],
    )
    assert [block.names for block in plan.blocks] == [("sex",), ("town", "age")]
    assert plan.blocks[0].channel == pm.Identity(2)
    assert plan.blocks[1].channel == pm.Mixture.from_gamma(6, 19)
    assert pm.plan(DOMAIN, p=0.1, withheld="town").domain.names == ("age", "sex")


CHANNELS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "symmetric": (("town",), {"gamma": 9}),
    "gamma-diagonal": (("age", "sex"), {"epsilon": 2}),
    "random-gamma-diagonal": (("age", "sex"), {"gamma": 9, "share": 0.2}),
    "binary": (("sex",), {"p1": 0.1, "p2": 0.2}),
    "ternary": (("town",), {"p1": 0.1, "p2": 0.2}),
    "matrix": (("sex",), {"rows": [[0.9, 0.1], [0.25, 0.75]]}),
    "grouped": (
        ("age", "sex"),
        {"groups": [["child*f", "child*m"], ["adult*f", "adult*m"]], "p": 0.2},
    ),
    "mask": (("town",), {"p": 0.9}),
    "cut-and-paste": (("age", "sex"), {"keep": 2, "rho": 0.3}),
    "sampled": (("age", "sex", "town"), {"size": 2, "gamma": 9}),
}


@pytest.mark.parametrize("kind", [k for k in CHANNELS if k != "grouped"])
def test_keys_mean_what_they_mean_in_a_site_file(kind: str):
    names, keys = CHANNELS[kind]
    channel = {"kind": kind, **keys}
    stated = pm.plan(DOMAIN.project(names), {names: channel})
    variables = [
        {"name": n, "categories": list(DOMAIN[n].categories), "sensitive": True} for n in names
    ]
    if len(names) == 1:
        variables[0]["channel"] = channel
    content: dict[str, Any] = {
        "owner": "a",
        "table": "t.csv",
        "record_id": "id",
        "variables": variables,
        "blocks": [{"variables": list(names), "channel": channel}] if len(names) > 1 else [],
    }
    assert stated == planned(site_from(content, Path())).plan


@pytest.mark.parametrize(
    "channel",
    [
        pm.Symmetric.from_probability(3, 0.2),
        pm.OneHot.from_gamma(3, 9),
        pm.Mixture.from_gamma(3, 9),
    ],
    ids=lambda channel: channel.describe(),
)
def test_channels_may_be_objects(channel: Any):
    assert pm.plan(DOMAIN, {"town": channel}, p=0.1).block_of("town").channel is channel


def test_groups_that_give_a_variable_away_are_refused():
    names, keys = CHANNELS["grouped"]
    with pytest.raises(pm.InputError) as caught:
        pm.plan(DOMAIN.project(names), {names: {"kind": "grouped", **keys}})
    assert "public" in str(caught.value)
