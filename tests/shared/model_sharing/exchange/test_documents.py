"""The JSON of a shared tree: round trips, and what is sent by somebody hostile."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from pramana_core.errors import DomainError, InputError, LimitExceeded, ModelError
from pramana_core.learn.common.documents import read_json
from pramana_core.model_sharing.exchange import documents
from pramana_core.model_sharing.exchange.documents import TreeDocument
from pramana_core.model_sharing.tree import Leaf, SharedTree
from tests.shared.model_sharing.exchange.drawn_trees import SHARED_TREES


def read(text: str, *, noised: bool = False) -> SharedTree:
    return read_json(TreeDocument, text, "a shared tree", "").to_tree(noised=noised)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SHARED_TREES)
def test_a_tree_comes_back_as_it_was(tree: SharedTree):
    back = read(TreeDocument.of(tree).model_dump_json(by_alias=True))
    assert back == tree


def document() -> dict[str, Any]:
    """Two parts by size, the second parted by colour."""
    return {
        "target": {"name": "class", "categories": ["a", "b", "c"]},
        "attributes": [
            {"name": "size", "type": "numeric", "low": 0, "high": 10},
            {
                "name": "colour",
                "type": "categorical",
                "categories": ["red", "green", "blue"],
            },
        ],
        "nodes": [
            split({"attribute": "size", "above": None, "up_to": 5}, 1, above_five(), 2),
            leaf("a", (6, 2)),
            split(values("red"), 3, values("green", "blue"), 4),
            leaf("b", (4, 1), [1, 4, 0]),
            leaf("c", (3, 0)),
        ],
    }


def split(first: Any, one: int, second: Any, other: int) -> dict[str, Any]:
    return {"parts": [first, second], "children": [one, other]}


def leaf(label: str, counts: tuple[float, float], told: Any = None) -> dict[str, Any]:
    hit, miss = counts
    more = {} if told is None else {"distribution": told}
    return {"class": label, "hit": hit, "miss": miss, **more}


def above_five() -> dict[str, Any]:
    return {"attribute": "size", "above": 5, "up_to": None}


def values(*labels: str, attribute: str = "colour") -> dict[str, Any]:
    return {"attribute": attribute, "values": list(labels)}


SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "unknown field": lambda d: d.update(code="import os"),
    "no nodes": lambda d: d.update(nodes=[]),
    "negative hit": lambda d: d["nodes"][1].update(hit=-1),
    "hit as text": lambda d: d["nodes"][1].update(hit="6"),
    "too many records": lambda d: d["nodes"][1].update(hit=1e12),
    "number beyond": lambda d: d["nodes"][0]["parts"][0].update(up_to=1e101),
    "interval without an end": lambda d: d["nodes"][0]["parts"][0].pop("above"),
    "both kinds of condition": lambda d: d["nodes"][0]["parts"][0].update(values=["red"]),
    "one part": lambda d: d["nodes"][0].update(parts=d["nodes"][0]["parts"][:1]),
    "empty name": lambda d: d["attributes"][0].update(name=""),
    "control characters": lambda d: d["attributes"][0].update(name="a\u001b[2Jb"),
}


@pytest.mark.parametrize("wrong", SHAPES.values(), ids=SHAPES.keys())
def test_another_shape_is_refused(wrong: Callable[[dict[str, Any]], Any]):
    told = document()
    wrong(told)
    with pytest.raises(InputError):
        read(json.dumps(told))


CONTENTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "unknown attribute": (
        lambda d: d["nodes"][2].update(split(values("x", attribute="price"), 3, values("y"), 4)),
        "nodes/2",
    ),
    "unknown category": (
        lambda d: d["nodes"][2]["parts"][1].update(values=["violet"]),
        "nodes/2",
    ),
    "a category too many": (
        lambda d: d["nodes"][2]["parts"][1].update(values=["green", "blue", "violet"]),
        "nodes/2",
    ),
    "interval of categories": (
        lambda d: d["nodes"][0].update(
            split({"attribute": "colour", "above": None, "up_to": 1}, 1,
                  {"attribute": "colour", "above": 1, "up_to": None}, 2)
        ),
        "colour",
    ),
    "two attributes": (lambda d: d["nodes"][0]["parts"].__setitem__(1, values("red")), "nodes/0"),
    "empty interval": (lambda d: d["nodes"][0]["parts"][1].update(up_to=4), "nodes/0"),
    "interval of everything": (
        lambda d: d["nodes"][0]["parts"][0].update(up_to=None),
        "nodes/0",
    ),
    "unknown class": (lambda d: d["nodes"][4].update({"class": "d"}), "nodes/4"),
    "short distribution": (lambda d: d["nodes"][3].update(distribution=[1, 4]), "leaf"),
    "hit is not the count": (lambda d: d["nodes"][3].update(distribution=[2, 3, 0]), "nodes/3"),
    "class of few, not told": (lambda d: d["nodes"][1].update(hit=1, miss=3), "nodes"),
    "overlap": (lambda d: d["nodes"][0]["parts"][0].update(up_to=6), "size"),
    "a category left out": (lambda d: d["nodes"][2]["parts"][1].update(values=["blue"]), "colour"),
    "a node twice": (lambda d: d["nodes"][0].update(children=[1, 1]), "nodes"),
    "a node before its parent": (
        lambda d: (d["nodes"][0].update(children=[3, 2]), d["nodes"][2].update(children=[1, 4])),
        "nodes/2",
    ),
    "a child too few": (lambda d: d["nodes"][0].update(children=[1]), "nodes"),
}  # fmt: skip


@pytest.mark.parametrize(("wrong", "where"), CONTENTS.values(), ids=CONTENTS.keys())
def test_what_is_no_tree_is_refused_with_the_node(wrong: Callable[[Any], Any], where: str):
    told = document()
    wrong(told)
    with pytest.raises(ModelError) as refused:
        read(json.dumps(told))
    assert refused.value.where == where


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d: d["attributes"].append(d["attributes"][0]),
        lambda d: d["attributes"][0].update(name="class"),
        lambda d: d["attributes"][0].update(low=10),
        lambda d: d["attributes"][1].update(categories=["red", "green", "red"]),
        lambda d: d["target"].update(categories=["a"]),
        lambda d: d["target"].update(categories=["a", "a", "c"]),
    ],
)
def test_schemas_that_cannot_be_are_refused(wrong: Callable[[Any], Any]):
    told = document()
    wrong(told)
    with pytest.raises(DomainError):
        read(json.dumps(told))


def test_noise_may_make_a_class_rare():
    told = document()
    told["nodes"][1].update(hit=1, miss=3)
    assert read(json.dumps(told), noised=True).leaves[0] == Leaf(0, 1, 3)


@pytest.mark.parametrize(
    "text",
    [
        '"\\ud800"',
        '{"a":' * 100_000,
        json.dumps(document()).replace("6", "NaN", 1),
        json.dumps(document()).replace("6", "Infinity", 1),
        json.dumps(document()).replace("6", "1e999", 1),
        json.dumps(document()).replace("6", "1" * 5000, 1),
    ],
)
def test_what_is_no_json_is_refused(text: str):
    with pytest.raises(InputError):
        read(text)


def test_too_many_categories_and_records_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(documents, "MOST_VALUES", 2)
    with pytest.raises(LimitExceeded):
        TreeDocument.model_validate(document()).to_tree()
    monkeypatch.undo()
    told = document()
    for place in (1, 3, 4):
        told["nodes"][place] = leaf("a", (8e9, 0))
    with pytest.raises(ModelError):
        TreeDocument.model_validate(told).to_tree()


def test_messages_name_no_value_of_a_hostile_document():
    told = document()
    told["nodes"][1]["hit"] = "<script>secret</script>"
    with pytest.raises(InputError) as caught:
        read(json.dumps(told))
    assert "secret" not in str(caught.value)
