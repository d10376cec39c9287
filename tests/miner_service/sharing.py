"""Shared trees as an owner would release them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pramana_core.domain import Variable
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.exchange.documents import TreeDocument
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.wire.release_kinds import SharedTreeMessage
from pramana_core.wire.releases import ReleaseCreate, release_digest

SCHEMA = TreeSchema(
    Variable("ill", ("no", "yes", "maybe")),
    (
        NumericAttribute("age", 0, 100, whole=True),
        CategoricalAttribute("job", ("clerk", "cook", "nurse")),
        NumericAttribute("debt", 0, 500),
    ),
)

NODES: list[dict[str, Any]] = [
    {
        "parts": [
            {"attribute": "age", "above": None, "up_to": 40},
            {"attribute": "age", "above": 40, "up_to": None},
        ],
        "children": [1, 2],
    },
    {"class": "no", "hit": 60, "miss": 20},
    {
        "parts": [
            {"attribute": "job", "values": ["clerk", "cook"]},
            {"attribute": "job", "values": ["nurse"]},
        ],
        "children": [3, 4],
    },
    {"class": "yes", "hit": 30, "miss": 10},
    {"class": "maybe", "hit": 40, "miss": 12},
]


def tree(nodes: Any = NODES, **other: Any) -> dict[str, Any]:
    """A tree's JSON, made by hand."""
    return {
        "target": {"name": "ill", "categories": ["no", "yes", "maybe"]},
        "attributes": [
            {"name": "age", "type": "numeric", "low": 0, "high": 100, "whole": True},
            {"name": "job", "type": "categorical", "categories": ["clerk", "cook", "nurse"]},
            {"name": "debt", "type": "numeric", "low": 0, "high": 500},
        ],
        "nodes": nodes,
        **other,
    }


def chain(number: int) -> list[dict[str, Any]]:
    """The nodes of a tree of so many cuts below each other, of the attributes a and b in turn."""
    nodes: list[dict[str, Any]] = []
    for cut in range(1, number + 1):
        ends = [{"above": None, "up_to": cut}, {"above": cut, "up_to": None}]
        if cut > 2:
            ends[0]["above"] = cut - 2
        parts = [{"attribute": "ab"[cut % 2], **end} for end in ends]
        nodes += [
            {"parts": parts, "children": [2 * cut - 1, 2 * cut]},
            {"class": "no", "hit": 1, "miss": 0},
        ]
    return [*nodes, {"class": "yes", "hit": 1, "miss": 0}]


def model(told: Any = None, **more: Any) -> dict[str, Any]:
    """A shared tree's JSON; by default it promises what it meets."""
    return {
        "tree": tree() if told is None else told,
        "requirement": {"k": 40, "c": 8, "l": 3, "exact": False},
        "counts": "exact",
        "protection": ["Every path has at least 40 records."],
        **more,
    }


def private(epsilon: float = 1.0, told: Any = None, **more: Any) -> dict[str, Any]:
    """A differentially private one."""
    return model(told, requirement=None, counts="noised", epsilon=epsilon, **more)


def body(told: dict[str, Any], name: str = "t1") -> dict[str, Any]:
    """The manifest of a release."""
    digest = release_digest(SharedTreeMessage.model_validate(told).digest, [])
    made = ReleaseCreate.model_validate(
        {"name": name, "kind": "knowledge-model", "model": told, "digest": digest}
    )
    return made.model_dump(mode="json")


def raw(told: dict[str, Any], name: str = "t1", **more: Any) -> dict[str, Any]:
    """A manifest that nobody checked before it is sent."""
    return {"name": name, "kind": "knowledge-model", "model": told, "digest": "0" * 64, **more}


def share(owner: Any, study: str, told: dict[str, Any], name: str = "t1") -> str:
    """Announce and seal a model; return the release's path."""
    response = owner("POST", f"/v1/studies/{study}/releases", json=body(told, name))
    assert response.status_code in (200, 201), response.text
    path = str(response.headers["location"])
    sealed = owner("POST", f"{path}/seal")
    assert sealed.status_code == 200, sealed.text
    assert sealed.json()["state"] == "sealed"
    return path


def records(number: int, seed: int) -> tuple[MixedTable, np.ndarray[Any, Any]]:
    """Made-up people whose class depends on age and job, and their class codes."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 101, number).astype(np.float64)
    job = rng.integers(0, 3, number)
    debt = rng.uniform(0, 500, number)
    codes = np.where(age <= 40, 0, np.where(job == 2, 2, 1))
    codes = np.where(rng.random(number) < 0.1, rng.integers(0, 3, number), codes)
    columns = (
        NumericColumn("age", age),
        CategoricalColumn("job", job, ("clerk", "cook", "nurse")),
        NumericColumn("debt", debt),
    )
    return MixedTable(columns, number), codes


def grown(number: int = 600, seed: int = 1) -> SharedTree:
    """A local tree of such people."""
    table, codes = records(number, seed)
    return grow_tree(SCHEMA, table, codes, GrowthOptions(max_depth=4, min_leaf=20))


def told_of(shared: SharedTree, **more: Any) -> dict[str, Any]:
    """The model of a local tree."""
    document = TreeDocument.of(shared).model_dump(mode="json", by_alias=True)
    return model(document, **({"requirement": None} | more))


def changed_attributes(**names: str) -> dict[str, Any]:
    """The tree by hand, with attributes or the class called otherwise."""
    told = tree()
    for attribute in (*told["attributes"], told["target"]):
        attribute["name"] = names.get(attribute["name"], attribute["name"])
    return told
