"""Masked tables on the wire: what they describe, their parts, and what is no release of theirs."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from pramana_core.domain import Domain
from pramana_core.errors import PartInvalid
from pramana_core.plan import Plan
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import RecordSchema, decode_part, decode_part_json, encode_part
from pramana_core.wire.release_kinds import KINDS, MaskedTableMessage
from pramana_core.wire.releases import PartManifest, Release, ReleaseCreate, release_digest
from tests.json_parts import encode_part_json

AGE = {"name": "age", "role": "told", "type": "numeric"}
SEX = {"name": "sex", "role": "told", "type": "categorical", "categories": ["f", "m"]}
DEBT = {"name": "debt", "role": "masked", "type": "numeric"}
TABLE: dict[str, Any] = {
    "columns": [AGE, SEX, DEBT],
    "method": "egadp",
    "protection": ["The masked debt tells nothing of a person beyond age and sex."],
}
FORMS = [(encode_part, decode_part), (encode_part_json, decode_part_json)]
PLAN = Plan.unrandomized(Domain.of(sex="fm"))


def table_of(**changed: Any) -> MaskedTableMessage:
    return MaskedTableMessage.model_validate(TABLE | changed)


def keys_of(count: int) -> np.ndarray:
    return np.arange(2 * count, dtype=">u8").view("V16")


def columns_of(schema: RecordSchema, count: int = 20) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        name: rng.standard_normal(count) if size is None else rng.integers(0, size, count)
        for name, size in schema.sizes.items()
    }


def create(**changed: Any) -> dict[str, Any]:
    part = {"number": 0, "records": 2, "bytes": 1, "sha256": "0" * 64}
    digest = release_digest(table_of().digest, [PartManifest.model_validate(part)])
    made = {"name": "m1", "kind": "masked-records", "table": TABLE, "records": 2}
    return made | {"parts": [part], "digest": digest} | changed


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e101])
def test_a_number_that_is_none_to_reckon_with_is_refused(wrong: float):
    schema = table_of().schema_of_parts
    columns = columns_of(schema)
    columns["debt"][3] = wrong
    with pytest.raises(PartInvalid, match="'debt' of the part has 1 values") as told:
        decode_part(schema, encode_part(schema, keys_of(20), columns))
    assert str(wrong) not in str(told.value).replace("infinite", "")
    numbers = json.dumps({"keys": ["0" * 32], "columns": {"age": [1], "sex": [0], "debt": [wrong]}})
    with pytest.raises(PartInvalid):
        decode_part_json(schema, numbers.encode())


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"age": [1], "sex": [0.5], "debt": [1]}, "'sex'"),
        ({"age": [1], "sex": [2], "debt": [1]}, "code 2 for 'sex'"),
        ({"age": ["1"], "sex": [0], "debt": [1]}, "invalid JSON"),
        ({"age": [True], "sex": [0], "debt": [1]}, "invalid JSON"),
        ({"age": [None], "sex": [0], "debt": [1]}, "invalid JSON"),
        ({"age": [1], "sex": [0]}, "not those announced for the release"),
        ({"age": [1, 2], "sex": [0], "debt": [1]}, "columns with"),
    ],
)
def test_json_of_another_form_is_refused(columns: Any, says: str):
    body = json.dumps({"keys": ["0" * 32], "columns": columns}).encode()
    with pytest.raises(PartInvalid, match=says):
        decode_part_json(table_of().schema_of_parts, body)


@pytest.mark.parametrize(("encode", "decode"), FORMS)
def test_a_part_of_one_kind_is_refused_by_the_other(encode, decode):
    masked, plan = table_of().schema_of_parts, RecordSchema.of(PLAN)
    with pytest.raises(PartInvalid):
        decode(plan, encode(masked, keys_of(20), columns_of(masked)))
    with pytest.raises(PartInvalid):
        decode(masked, encode(plan, keys_of(20), columns_of(plan)))


@pytest.mark.parametrize(
    "changed",
    [
        {"columns": [AGE, SEX]},
        {"columns": [AGE, DEBT, DEBT]},
        {"columns": [SEX | {"role": "masked"}]},
        {"columns": [DEBT, SEX | {"categories": None}]},
        {"columns": [DEBT | {"categories": ["a"]}]},
        {"columns": [DEBT, SEX | {"categories": ["f", "f"]}]},
        {"copies": 1},
        {"method": "EGADP by hand"},
        {"protection": ["x" * 401]},
        {"protection": ["x"] * 21},
        {"gamma": 3},
    ],
)
def test_a_table_that_is_none_is_refused(changed: Any):
    with pytest.raises(ValidationError):
        table_of(**changed)


def test_the_digest_is_of_columns_and_method():
    digests = {
        table_of(**changed).digest
        for changed in (
            {},
            {"method": "ipso"},
            {"columns": [AGE, DEBT]},
            {"columns": [SEX, AGE, DEBT]},
        )
    }
    assert len(digests) == 4
    assert table_of(protection=[]).digest == table_of().digest
    canonical = {key: TABLE[key] for key in ("columns", "method")}
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    assert table_of().digest == hashlib.sha256(text.encode()).hexdigest()


def test_a_manifest_holds_the_content_of_its_kind_and_no_other():
    made = ReleaseCreate.model_validate(create())
    assert made.content == table_of()
    assert "plan" not in made.model_dump(mode="json")
    assert ReleaseCreate.model_validate_json(made.model_dump_json()) == made
    plan = PlanMessage.from_plan(PLAN).model_dump(mode="json")
    for wrong in (
        {"table": None},
        {"plan": plan},
        {"kind": "randomized-records"},
        {"kind": "knowledge-model"},
        {"draws": ["0" * 64]},
        {"table": TABLE | {"columns": [DEBT | {"name": "__key__"}]}},
    ):
        with pytest.raises(ValidationError):
            ReleaseCreate.model_validate(create(**wrong))


def test_a_manifest_without_a_kind_is_one_of_randomized_records():
    plan = PlanMessage.from_plan(PLAN).model_dump(mode="json")
    told = create(plan=plan)
    del told["kind"], told["table"]
    made = ReleaseCreate.model_validate(told)
    assert made.kind == "randomized-records"
    assert made.release_kind.plan(made.release_kind.read(made.content)) == PLAN
    # The kind is not written: what an outbox holds stays the same bytes.
    assert list(made.model_dump(mode="json")) == [
        "name", "plan", "records", "parts", "digest", "draws",
    ]  # fmt: skip


def test_an_answer_has_what_its_kind_has():
    told = {
        "id": "r1", "study": "s", "owner": "o", "name": "n", "state": "open", "records": 2,
        "parts": 1, "parts_received": [], "digest": "0" * 64, "created": "2026-01-02T03:04:05Z",
        "sealed": None,
    }  # fmt: skip
    masked = {"kind": "masked-records", "table": TABLE, "table_digest": table_of().digest}
    written = Release.model_validate(told | masked).model_dump(mode="json")
    assert written["table"] == TABLE
    assert not {"plan", "plan_digest"} & set(written)
    with pytest.raises(ValidationError):
        Release.model_validate(told | masked | {"plan": PlanMessage.from_plan(PLAN)})


def test_every_kind_is_whole():
    plan, table = PlanMessage.from_plan(PLAN), table_of()
    for kind, message in zip(KINDS.values(), (plan, table), strict=False):
        content = kind.read(message)
        assert kind.field in ReleaseCreate.model_fields
        assert {kind.field, kind.digest_field} <= set(Release.model_fields)
        assert kind.parse(content.canonical_json().decode()) == content
        assert list(kind.schema_of(content).sizes) == list(kind.names(message))
        assert (kind.plan(content) is None) == (kind.unbounded(content) is not None)
    assert KINDS["masked-records"].columns(table) == {"age": True, "sex": True, "debt": False}
    assert KINDS["masked-records"].categories(table) == 2
