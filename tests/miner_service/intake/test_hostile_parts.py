"""Parts that take more memory to read than to send: refused before any of it is taken."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import PartInvalid
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import (
    PART_MEDIA_TYPE,
    RecordSchema,
    content_digest,
    decode_part,
    encode_part,
)
from tests.miner_service.conftest import manifest

COLUMNS, ROWS, BATCHES = 1000, 1900, 200
_BODY_LENGTH, _HEADER, _BUFFERS = 3, 2, 2  # fields of Arrow's Message and RecordBatch


def plan_of(columns: int) -> Plan:
    domain = Domain.of(**{f"v{i}": "xy" for i in range(columns)})
    channel = Symmetric.from_probability(2, 0.2)
    return Plan(tuple(Block((variable,), channel) for variable in domain))


def keys_from(start: int, rows: int) -> np.ndarray:
    numbers = np.arange(start, start + rows, dtype=">u8")
    return np.stack([numbers, numbers], axis=1).view("V16").ravel()


def shared_bytes_part(schema: RecordSchema, rows: int, batches: int) -> bytes:
    """A part in whose batches all columns of codes lie at the same bytes."""
    zeros = dict.fromkeys(schema.sizes, np.zeros(rows, np.uint8))
    whole = encode_part(schema, keys_from(0, rows), zeros)
    described, batch = pa.ipc.MessageReader.open_stream(whole)
    metadata = bytearray(batch.metadata.to_pybytes())
    message = struct.unpack_from("<I", metadata, 0)[0]
    header = field(metadata, message, _HEADER)
    buffers = field(metadata, header + u32(metadata, header), _BUFFERS)
    buffers += u32(metadata, buffers)
    key_bytes = struct.unpack_from("<q", metadata, buffers + 4 + 16 + 8)[0]
    place = -(-key_bytes // 64) * 64
    for number in range(u32(metadata, buffers)):
        _, length = struct.unpack_from("<qq", metadata, buffers + 4 + 16 * number)
        if length == rows:
            struct.pack_into("<q", metadata, buffers + 4 + 16 * number, place)
    size = place + -(-rows // 64) * 64
    struct.pack_into("<q", metadata, field(metadata, message, _BODY_LENGTH), size)
    body = [message_bytes(described.metadata.to_pybytes())]
    for number in range(batches):
        keys = keys_from(number * rows, rows).tobytes().ljust(place, b"\0")
        body.append(message_bytes(bytes(metadata)) + keys.ljust(size, b"\0"))
    return b"".join(body) + struct.pack("<Ii", 0xFFFFFFFF, 0)


def message_bytes(metadata: bytes) -> bytes:
    return struct.pack("<Ii", 0xFFFFFFFF, len(metadata)) + metadata


def u32(buffer: bytearray, at: int) -> int:
    return int(struct.unpack_from("<I", buffer, at)[0])


def field(buffer: bytearray, table: int, number: int) -> int:
    entries = table - struct.unpack_from("<i", buffer, table)[0]
    return table + int(struct.unpack_from("<H", buffer, entries + 4 + 2 * number)[0])


@pytest.mark.parametrize(("rows", "batches"), [(50, 1), (50, 40), (3, 2)])
def test_columns_at_the_same_bytes_are_refused(rows, batches):
    schema = RecordSchema.of(plan_of(300))
    body = shared_bytes_part(schema, rows, batches)
    with pa.ipc.open_stream(body) as reader:  # Arrow itself reads it
        assert reader.read_all().num_rows == rows * batches
    # One batch may lie at the same bytes where its columns are no larger than the part.
    if batches == 1 and rows * schema.row_bytes <= len(body):
        decode_part(schema, body)
    else:
        with pytest.raises(PartInvalid):
            decode_part(schema, body)


def test_a_batch_with_more_rows_than_the_part_has_bytes_is_refused():
    schema = RecordSchema.of(plan_of(300))
    body = shared_bytes_part(schema, 5000, 1)
    assert 5000 * schema.row_bytes > 5 * len(body)
    with pytest.raises(PartInvalid):
        decode_part(schema, body)


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


@pytest.mark.end_to_end
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory from /proc")
def test_the_service_takes_no_more_memory_than_the_parts_sent(killed):
    plan = plan_of(COLUMNS)
    part = shared_bytes_part(RecordSchema.of(plan), ROWS, BATCHES)
    assert 20 * len(part) < ROWS * BATCHES * COLUMNS  # what its columns would take
    built = manifest(plan, [part], [ROWS * BATCHES])
    path = killed(killed.owner, "POST", "/v1/studies/asia/releases", json=built.body)
    before = peak_bytes(killed.process.pid)
    for _ in range(3):
        answer = httpx.put(
            f"{killed.url}{path.headers['location']}/parts/0",
            content=part,
            headers={
                "Authorization": f"Bearer {killed.owner}",
                "Content-Type": PART_MEDIA_TYPE,
                "Content-Digest": content_digest(part),
            },
            timeout=None,
        )
        assert (answer.status_code, answer.json()["code"]) == (422, "part-invalid")
    assert peak_bytes(killed.process.pid) - before < 4 * len(part)
