"""Parts on the wire: what is encoded is decoded, and nothing else is accepted."""

from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from pramana_core.channels import Dense, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import PartInvalid
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import (
    RecordSchema,
    content_digest,
    decode_part,
    decode_part_json,
    encode_part,
    locate,
    parts_of,
    strictly_ascending,
)
from tests.json_parts import encode_part_json

DOMAIN = Domain.of(a="xy", b=[str(i) for i in range(300)])
PLAN = Plan(
    (
        Block((DOMAIN["a"],), Dense.binary(0.1, 0.25)),
        Block((DOMAIN["b"],), Symmetric.from_probability(300, 0.3)),
    )
)
SCHEMA = RecordSchema.of(PLAN)


def keys_of(count: int) -> np.ndarray:
    raw = np.arange(count * 7, dtype=">u8")[::7]
    return np.stack([raw // 3, raw], axis=1).astype(">u8").view("V16").ravel()


def columns_of(count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "a": rng.integers(0, 2, count).astype(np.uint8),
        "b": rng.integers(0, 300, count).astype(np.uint16),
    }


@pytest.mark.parametrize(
    ("encode", "decode"), [(encode_part, decode_part), (encode_part_json, decode_part_json)]
)
def test_what_is_encoded_is_decoded_to_the_last_bit(encode, decode):
    schema = RecordSchema({**SCHEMA.sizes, "debt": None})
    keys, columns = keys_of(50), columns_of(50)
    columns["debt"] = np.random.default_rng(3).standard_normal(50)
    found_keys, found = decode(schema, encode(schema, keys, columns))
    assert found_keys.tobytes() == keys.tobytes()
    assert list(found) == list(schema.sizes)
    for name, values in columns.items():
        assert found[name].dtype == schema.dtype(name)
        assert found[name].tobytes() == values.tobytes()


def batch_of(first: list[int | None]) -> pa.RecordBatch:
    """A batch of as many records as its first column has values."""
    keys = pa.array([bytes(16)] * len(first), pa.binary(16))
    rest = pa.array(np.zeros(len(first), np.uint16))
    return pa.record_batch([keys, pa.array(first, pa.uint8()), rest], schema=SCHEMA.arrow)


def stream(batch: pa.RecordBatch, **options: object) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def test_a_few_compressed_bytes_cannot_fill_the_memory():
    body = stream(batch := batch_of([0] * 2_000_000), compression="zstd")
    assert len(body) < 100_000
    del batch
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    with pytest.raises(PartInvalid, match="is compressed"):
        decode_part(SCHEMA, body)
    assert pa.total_allocated_bytes() - before < 1_000_000
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_the_older_form_of_compression_is_refused_as_well():
    """Format version 4 could name the compression in a message's own metadata."""
    batch = batch_of([0])
    old = stream(batch, metadata_version=pa.ipc.MetadataVersion.V4)
    with pytest.raises(PartInvalid, match="plain Arrow IPC"):
        decode_part(SCHEMA, old)
    with_metadata = io.BytesIO()
    with pa.ipc.new_stream(with_metadata, batch.schema) as writer:
        writer.write_batch(batch, {"ARROW:experimental_compression": "zstd"})
    with pytest.raises(PartInvalid, match="plain Arrow IPC"):
        decode_part(SCHEMA, with_metadata.getvalue())


def test_any_mutated_byte_is_read_or_refused():
    """Every byte of a small part is changed in turn; nothing but PartInvalid comes out."""
    body = encode_part(SCHEMA, keys_of(3), columns_of(3))
    refused = 0
    for position in range(len(body)):
        for flip in (0x01, 0x80, 0xFF):
            mutant = bytearray(body)
            mutant[position] ^= flip
            try:
                decode_part(SCHEMA, bytes(mutant))
            except PartInvalid:
                refused += 1
    assert refused > len(body) / 2


def test_a_part_cut_short_is_refused():
    body = encode_part(SCHEMA, keys_of(3), columns_of(3))
    for length in range(len(body)):
        try:
            keys, _ = decode_part(SCHEMA, body[:length])
        except PartInvalid:
            continue
        # Cut between messages it is a whole stream of fewer batches: here of none, which the
        # manifest's record count refuses. The last eight bytes only mark the end.
        assert len(keys) == (3 if length >= len(body) - 8 else 0)


@pytest.mark.parametrize(
    ("keys", "columns", "says"),
    [
        (keys_of(3)[::-1], columns_of(3), "not strictly ascending"),
        (keys_of(3)[[0, 0, 1]], columns_of(3), "not strictly ascending"),
        (keys_of(3), columns_of(3) | {"a": np.array([0, 2, 1], np.uint8)}, "'a'"),
        (keys_of(3), columns_of(3) | {"b": np.array([0, 300, 1], np.uint16)}, "'b'"),
    ],
)
def test_what_the_plan_cannot_report_is_refused(keys, columns, says: str):
    for encode, decode in ((encode_part, decode_part), (encode_part_json, decode_part_json)):
        with pytest.raises(PartInvalid, match=says):
            decode(SCHEMA, encode(SCHEMA, keys, columns))


def test_another_schema_is_refused():
    other = Plan(PLAN.blocks[:1])
    with pytest.raises(PartInvalid, match="not those announced for the release"):
        decode_part(SCHEMA, encode_part(RecordSchema.of(other), keys_of(3), columns_of(3)))


def test_missing_values_are_refused():
    with pytest.raises(PartInvalid):
        decode_part(SCHEMA, stream(batch_of([None])))


def test_order_is_of_bytes():
    high = np.frombuffer(b"\x80" + bytes(15), dtype="V16")
    low = np.frombuffer(b"\x7f" + b"\xff" * 15, dtype="V16")
    assert strictly_ascending(np.concatenate([low, high]))
    assert not strictly_ascending(np.concatenate([high, low]))
    assert strictly_ascending(high)


def test_parts_cover_all_records_once():
    assert parts_of(10, 4) == [(0, 4), (4, 8), (8, 10)]
    assert parts_of(8, 4) == [(0, 4), (4, 8)]


def test_the_content_digest_is_rfc_9530():
    assert content_digest(b'{"hello": "world"}\n') == (
        "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    )


@pytest.mark.parametrize("dtype", ["V16", "S16"])
def test_pseudonyms_are_found_among_ascending_ones(dtype):
    def numbered(*numbers):
        """Return pseudonyms that sort as the numbers do, some with zero bytes at their end."""
        made = np.zeros((len(numbers), 2), dtype=">u8")
        high, low = np.divmod(np.array(numbers, dtype=np.int64), 4)
        made[:, 0], made[:, 1] = high, low << 40
        return made.view(dtype).ravel()

    place, there = locate(numbered(8, 3, 5, 0, 99), numbered(0, 1, 3, 4, 8))
    assert there.tolist() == [True, True, False, True, False]
    assert place.tolist() == [4, 2, 4, 0, 5]
    assert not locate(numbered(1, 2), numbered())[1].any()
