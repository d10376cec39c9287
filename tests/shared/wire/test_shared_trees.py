"""Shared trees on the wire: their identity, and what is left of them when withdrawn."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from pydantic import ValidationError

from pramana_core.errors import ModelError
from pramana_core.wire.release_kinds import KINDS, SharedTreeMessage
from pramana_core.wire.releases import Release, ReleaseCreate
from tests.miner_service.sharing import model, private, tree


def read(told: dict[str, Any]) -> SharedTreeMessage:
    return SharedTreeMessage.model_validate(told)


def test_the_digest_is_that_of_what_is_told_but_the_owners_words():
    message = read(model())
    written = json.loads(message.canonical_json())
    assert written["tree"]["nodes"][1]["class"] == "no"
    assert SharedTreeMessage.model_validate(written) == message
    told = {key: value for key, value in written.items() if key != "protection"}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert message.digest == hashlib.sha256(text.encode()).hexdigest()
    assert read(model(protection=["Other words."])).digest == message.digest
    assert read(model(requirement={"k": 2})).digest != message.digest


def test_the_kind_answers_for_a_model():
    kind = KINDS["knowledge-model"]
    told, bounded = read(model()), read(private(0.5))
    assert not kind.has_records
    assert kind.columns(told) == dict.fromkeys(["age", "job", "debt", "ill"], False)
    assert kind.categories(told) == 6
    assert kind.plan(told) is None
    assert (kind.epsilon(told), kind.epsilon(bounded)) == (None, 0.5)
    assert "neither a gamma" in str(kind.unbounded(told))
    assert kind.unbounded(bounded) is None
    assert {kind.field, kind.digest_field} <= set(Release.model_fields)
    with pytest.raises(TypeError, match="no parts"):
        kind.schema_of(told)


def test_nothing_of_the_tree_is_left_when_it_is_withdrawn():
    kind = KINDS["knowledge-model"]
    left = kind.remainder(read(model(records=172)))
    assert kind.parse(left.canonical_json().decode()) == left
    assert list(kind.columns(left)) == ["age", "job", "debt", "ill"]
    assert (left.tree, left.records, left.protection) == (None, None, [])
    assert kind.remainder(left) == left
    assert kind.epsilon(kind.remainder(read(private(0.5)))) == 0.5
    with pytest.raises(ModelError, match="withdrawn"):
        kind.require(left)


@pytest.mark.parametrize(
    "wrong",
    [{"records": 1}, {"draws": ["0" * 64]}, {"plan": {"blocks": []}}, {"kind": "masked-records"}],
)
def test_a_manifest_of_a_model_has_nothing_of_other_kinds(wrong: dict[str, Any]):
    told = {"name": "t", "kind": "knowledge-model", "model": model(), "digest": "0" * 64}
    made = ReleaseCreate.model_validate(told)
    assert (made.records, made.parts) == (0, [])
    with pytest.raises(ValidationError):
        ReleaseCreate.model_validate(told | wrong)


def test_a_promise_is_checked_on_what_is_told():
    """Misses all of one class: hit and miss alone cannot see it, the distribution does."""
    nodes = [{"class": "no", "hit": 10, "miss": 6, "distribution": [10, 6, 0]}]
    lenient, exact = ({"c": 5, "l": 3, "exact": way} for way in (False, True))
    read(model(tree(nodes), requirement=lenient)).require_promised()
    with pytest.raises(ModelError, match="1 of 1 paths"):
        read(model(tree(nodes), requirement=exact)).require_promised()


def test_records_are_those_that_the_paths_count():
    """Merged in proportion, counts may lack what was cut; counted ones may not."""
    nodes = [{"class": "no", "hit": 10, "miss": 6}]
    for counts, records in (("exact", 16), ("exact", None), ("propagated", 17)):
        told = {"counts": counts, "records": records, "requirement": None}
        read(model(tree(nodes), **told)).require_promised()
    for counts, records in (("exact", 15), ("exact", 17), ("propagated", 15)):
        told = {"counts": counts, "records": records, "requirement": None}
        with pytest.raises(ModelError, match="count 16 records"):
            read(model(tree(nodes), **told)).require_promised()
