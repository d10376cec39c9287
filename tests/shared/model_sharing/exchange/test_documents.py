"""The JSON of a shared tree: round trips, and what is sent by somebody hostile."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import BaseModel, ConfigDict

from pramana_core.domain import Variable
from pramana_core.errors import DomainError, InputError, LimitExceeded, ModelError
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.exchange import documents
from pramana_core.model_sharing.exchange.documents import (
    LONGEST_TEXT,
    TreeDocument,
    read_tree_json,
    write_tree_json,
)
from pramana_core.model_sharing.tree import Interval, Leaf, SharedTree, Split
from tests.shared.model_sharing.exchange.drawn_trees import SCHEMA, SHARED_TREES


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(SHARED_TREES)
def test_a_tree_comes_back_as_it_was(tree: SharedTree):
    back = read_tree_json(write_tree_json(tree))
    assert back.schema == tree.schema
    assert list(back.paths()) == list(tree.paths())
    assert TreeDocument.of(back) == TreeDocument.of(tree)


class Envelope(BaseModel):
    """A message that holds a tree, as those on the wire do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tree: TreeDocument


def test_it_is_a_part_of_a_message_read_either_way():
    tree = SharedTree(
        SCHEMA, Split("size", ((Interval(up_to=2), Leaf(0, 3, 1)), (Interval(2), Leaf(1, 2, 0))))
    )
    message = Envelope(tree=TreeDocument.of(tree))
    text = message.model_dump_json()
    assert '"class":"a"' in text
    assert Envelope.model_validate_json(text).tree.to_tree() == tree
    assert Envelope.model_validate(json.loads(text)).tree.to_tree() == tree
    schema = Envelope.model_json_schema()["$defs"]
    assert schema["PathDocument"]["required"] == ["conditions", "class", "hit", "miss"]


def document() -> dict[str, Any]:
    """Two paths by size, the second parted by colour."""
    return {
        "target": {"name": "class", "categories": ["a", "b", "c"]},
        "attributes": [
            {"name": "size", "type": "numeric", "low": 0, "high": 10},
            {
                "name": "colour",
                "type": "categorical",
                "categories": ["red", "green", "blue"],
                "taxonomy": [["warm"], ["cold"], ["cold"]],
            },
        ],
        "paths": [
            path([{"attribute": "size", "above": None, "up_to": 5}], "a", (6, 2)),
            path([above_five(), values("red")], "b", (4, 1), [1, 4, 0]),
            path([above_five(), values("green", "blue")], "c", (3, 0)),
        ],
    }


def path(
    conditions: list[Any], label: str, counts: tuple[float, float], told: Any = None
) -> dict[str, Any]:
    hit, miss = counts
    more = {} if told is None else {"distribution": told}
    return {"conditions": conditions, "class": label, "hit": hit, "miss": miss, **more}


def above_five() -> dict[str, Any]:
    return {"attribute": "size", "above": 5, "up_to": None}


def values(*labels: str, attribute: str = "colour") -> dict[str, Any]:
    return {"attribute": attribute, "values": list(labels)}


def test_the_document_of_these_tests_is_a_tree():
    tree = read_tree_json(json.dumps(document()))
    assert [leaf.label for leaf in tree.leaves] == [0, 1, 2]
    assert tree.leaves[1].distribution == (1, 4, 0)


SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "unknown field": lambda d: d.update(code="import os"),
    "unknown field of a path": lambda d: d["paths"][0].update(rows=[1]),
    "label in place of class": lambda d: d["paths"][0].update(label=d["paths"][0].pop("class")),
    "no paths": lambda d: d.update(paths=[]),
    "no attributes": lambda d: d.update(attributes=[]),
    "negative hit": lambda d: d["paths"][0].update(hit=-1),
    "negative miss": lambda d: d["paths"][0].update(miss=-0.5),
    "hit as text": lambda d: d["paths"][0].update(hit="6"),
    "hit as truth": lambda d: d["paths"][0].update(hit=True),
    "too many records": lambda d: d["paths"][0].update(hit=1e12),
    "negative in the distribution": lambda d: d["paths"][1].update(distribution=[2, 4, -1]),
    "number beyond": lambda d: d["paths"][0]["conditions"][0].update(up_to=1e101),
    "range beyond": lambda d: d["attributes"][0].update(high=1e300),
    "interval without an end": lambda d: d["paths"][0]["conditions"][0].pop("above"),
    "both kinds of condition": lambda d: d["paths"][0]["conditions"][0].update(values=["red"]),
    "no values": lambda d: d["paths"][1]["conditions"][1].update(values=[]),
    "empty name": lambda d: d["attributes"][0].update(name=""),
    "long name": lambda d: d["attributes"][0].update(name="x" * 257),
    "control characters": lambda d: d["attributes"][0].update(name="a\u001b[2Jb"),
    "unknown type": lambda d: d["attributes"][0].update(type="pickle"),
}


@pytest.mark.parametrize("wrong", SHAPES.values(), ids=SHAPES.keys())
def test_another_shape_is_refused(wrong: Callable[[dict[str, Any]], Any]):
    told = document()
    wrong(told)
    with pytest.raises(InputError, match="not a shared tree in JSON"):
        read_tree_json(json.dumps(told))


CONTENTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "unknown attribute": (
        lambda d: d["paths"][1]["conditions"].append(values("x", attribute="price")),
        "Path 2 asks for 'price'",
    ),
    "unknown category": (
        lambda d: d["paths"][1]["conditions"][1].update(values=["violet"]),
        "Path 2 asks for categories of 'colour'",
    ),
    "category twice": (
        lambda d: d["paths"][1]["conditions"][1].update(values=["red", "red"]),
        "Path 2",
    ),
    "interval of categories": (
        lambda d: d["paths"][1]["conditions"][1].update(attribute="size"),
        "Path 2",
    ),
    "categories of numbers": (
        lambda d: d["paths"][2].update(
            conditions=[{"attribute": "colour", "above": 1, "up_to": None}]
        ),
        "Path 3",
    ),
    "attribute twice": (
        lambda d: d["paths"][0]["conditions"].append({"attribute": "size", "above": 1, "up_to": 3}),
        "Path 1 has two conditions on 'size'",
    ),
    "empty interval": (
        lambda d: d["paths"][1]["conditions"][0].update(up_to=4),
        "Path 2 has an interval of 'size'",
    ),
    "interval of everything": (
        lambda d: d["paths"][0]["conditions"][0].update(up_to=None),
        "Path 1 has an interval of 'size'",
    ),
    "unknown class": (lambda d: d["paths"][2].update({"class": "d"}), "Path 3 has a class"),
    "short distribution": (lambda d: d["paths"][1].update(distribution=[1, 4]), "Path 2 counts 2"),
    "hit is not the count": (
        lambda d: d["paths"][1].update(distribution=[2, 3, 0]),
        "counts of path 2 do not agree",
    ),
    "miss is not the rest": (
        lambda d: d["paths"][1].update(distribution=[2, 4, 0]),
        "counts of path 2 do not agree",
    ),
    "class of few, told": (
        lambda d: d["paths"][1].update({"class": "a", "hit": 1, "miss": 4}),
        "counts of path 2 do not agree",
    ),
    "class of few, not told": (
        lambda d: d["paths"][0].update(hit=1, miss=3),
        "class of path 1 is not that of most",
    ),
    "overlap": (
        lambda d: d["paths"][0]["conditions"][0].update(up_to=6),
        "[Pp]aths? .*(overlap|leave)",
    ),
    "gap": (lambda d: d["paths"][0]["conditions"][0].update(up_to=4), "leave"),
    "the same path twice": (lambda d: d["paths"].append(d["paths"][0]), "[Pp]aths? .*overlap"),
    "a path missing": (lambda d: d["paths"].pop(), "leave"),
}


@pytest.mark.parametrize(("wrong", "said"), CONTENTS.values(), ids=CONTENTS.keys())
def test_what_is_no_tree_is_refused_with_the_path(wrong: Callable[[Any], Any], said: str):
    told = document()
    wrong(told)
    with pytest.raises(ModelError, match=said):
        read_tree_json(json.dumps(told))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d: d["attributes"].append(d["attributes"][0]),
        lambda d: d["attributes"][0].update(name="class"),
        lambda d: d["attributes"][0].update(low=10),
        lambda d: d["attributes"][1].update(categories=["red", "green", "red"]),
        lambda d: d["attributes"][1].update(taxonomy=[["warm"]]),
        lambda d: d["attributes"][1].update(taxonomy=[["warm"], ["cold", "x"], ["cold"]]),
        lambda d: d["target"].update(categories=["a"]),
        lambda d: d["target"].update(categories=["a", "a", "c"]),
    ],
)
def test_schemas_that_cannot_be_are_refused(wrong: Callable[[Any], Any]):
    told = document()
    wrong(told)
    with pytest.raises(DomainError):
        read_tree_json(json.dumps(told))


def test_noise_may_make_a_class_rare():
    told = document()
    told["paths"][0].update(hit=1, miss=3)
    assert read_tree_json(json.dumps(told), noised=True).leaves[0] == Leaf(0, 1, 3)


def test_rounded_sums_agree():
    told = document()
    told["paths"][1].update(hit=0.3, miss=0.1 + 0.2, distribution=[0.1, 0.3, 0.2])
    told["paths"][0].update(hit=1.1, miss=2.2)
    assert read_tree_json(json.dumps(told)).leaves[1].hit == 0.3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"\\ud800"',
        "[" * 100_000,
        '{"a":' * 100_000,
        json.dumps(document()).replace("6", "NaN", 1),
        json.dumps(document()).replace("6", "Infinity", 1),
        json.dumps(document()).replace("6", "1e999", 1),
        json.dumps(document()).replace("6", "1" * 5000, 1),
        b"\xff\xfe{}",
    ],
)
def test_what_is_no_json_is_refused(text: str | bytes):
    with pytest.raises(InputError):
        read_tree_json(text)


def test_long_texts_are_refused_unread():
    with pytest.raises(LimitExceeded):
        read_tree_json(" " * (LONGEST_TEXT + 1))


@pytest.mark.slow
def test_very_many_paths_are_refused():
    told = document()
    one = json.dumps(path([], "a", (6, 2)))
    told["paths"] = []
    head, tail = json.dumps(told).split("[]", 1)
    for number, words in (
        (100_001, "not a shared tree in JSON"),
        (3_000, "others overlap"),
    ):
        with pytest.raises(InputError, match=words):
            read_tree_json(f"{head}[{','.join([one] * number)}]{tail}")


def test_too_many_conditions_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(documents, "MOST_CONDITIONS", 6_000)
    told = document()
    told["attributes"] += [
        {"name": f"n{k}", "type": "numeric", "low": 0, "high": 1} for k in range(60)
    ]
    every = [{"attribute": f"n{k}", "above": 0, "up_to": None} for k in range(60)]
    told["paths"] = [path(every, "a", (1, 0))] * 101
    with pytest.raises(LimitExceeded, match="6,060 conditions"):
        TreeDocument.model_validate(told).to_tree()
    told["paths"] = [path([], "a", (1e9, 0))] * 10
    with pytest.raises(ModelError, match="records together"):
        TreeDocument.model_validate(told).to_tree()


def test_names_that_are_too_long_are_not_written():
    schema = TreeSchema(Variable("x" * 300, ("a", "b")), SCHEMA.attributes)
    with pytest.raises(ModelError, match="too long"):
        TreeDocument.of(SharedTree(schema, Leaf(0, 1, 0)))


def test_messages_name_no_value_of_a_hostile_document():
    told = document()
    told["paths"][0]["hit"] = "<script>secret</script>"
    with pytest.raises(InputError) as caught:
        read_tree_json(json.dumps(told))
    assert "secret" not in str(caught.value)
