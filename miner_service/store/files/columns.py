"""Columns of sealed releases: one Arrow file each, in one piece, read by memory mapping.

The file is built part by part in a scratch file of fixed size, so that sealing needs the memory
of one part, whatever the size of the release. Nothing is written through a mapping: on a disk
without room that would end the process.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from miner_service.store.files.durable import allocate, storing
from miner_service.store.files.segments import file_sha256
from pramana_core.errors import NotReady, PartInvalid
from pramana_core.wire.base import KEY_BYTES, KEY_COLUMN
from pramana_core.wire.parts import Keys, RecordSchema, Values

KeyText = npt.NDArray[np.bytes_]
"""Pseudonyms as fixed strings of 16 bytes. All have the same length, so that comparing them as
padded strings is comparing them as bytes."""

_ALIGNMENT = 64


@dataclass(frozen=True)
class SealedFile:
    """What is known of a file of columns once it is written."""

    keys_digest: str
    sha256: str


def build_columns(
    columns: RecordSchema,
    records: int,
    parts: Iterable[tuple[Keys, dict[str, Values]]],
    *,
    scratch: Path,
) -> SealedFile:
    """Join decoded parts into one file of columns.

    Args:
        parts: pseudonyms and columns per part, in order, `records` in all.
        scratch: a free path, where the file is afterwards, for the caller to settle; another one
            with the suffix `.space` is used beside it. After an error neither is there.

    Raises:
        PartInvalid: pseudonyms do not ascend from one part to the next.
        StorageFull: there is no room for twice the columns.
        NotReady: the disk does not work.
    """
    schema = columns.arrow
    offsets, size = _layout(schema, records)
    space = scratch.with_suffix(".space")
    with storing("The columns of the release", scratch, space):
        allocate(space, size)
        digest = _fill(space, schema, offsets, records, parts)
        with pa.memory_map(str(space)) as source, pa.OSFile(str(scratch), "wb") as sink:
            _write(source.read_buffer(), schema, offsets, records, sink)
        space.unlink()
        return SealedFile(digest, file_sha256(scratch))


def load_keys(path: Path) -> KeyText:
    """Return a sealed release's pseudonyms, memory-mapped."""
    column = _batch(path).column(KEY_COLUMN)
    return np.frombuffer(column.buffers()[1], dtype=f"S{KEY_BYTES}", count=len(column))


def load_columns(path: Path, names: Sequence[str]) -> dict[str, Values]:
    """Return some columns of a sealed release, memory-mapped."""
    batch = _batch(path)
    return {name: batch.column(name).to_numpy(zero_copy_only=True) for name in names}


def _batch(path: Path) -> pa.RecordBatch:
    try:
        source = pa.memory_map(str(path))
    except FileNotFoundError as error:
        raise NotReady(
            f"The columns of release {path.stem} are not there.",
            where=path.stem,
            remedy="If it was just withdrawn, ask again.",
        ) from error
    # The arrays made from the batch keep the mapping alive.
    return pa.ipc.open_file(source).get_batch(0)


def _layout(schema: pa.Schema, records: int) -> tuple[dict[str, int], int]:
    offsets, size = {}, 0
    for field in schema:
        offsets[field.name] = size
        size += -(-records * _width(field) // _ALIGNMENT) * _ALIGNMENT
    return offsets, size


def _width(field: pa.Field) -> int:
    return int(field.type.bit_width) // 8


def _fill(
    space: Path,
    schema: pa.Schema,
    offsets: dict[str, int],
    records: int,
    parts: Iterable[tuple[Keys, dict[str, Values]]],
) -> str:
    """Lay the parts' columns out one after the other; return the digest of the pseudonyms."""
    digest = hashlib.sha256()
    start, last = 0, b""
    with space.open("r+b", buffering=0) as file:
        for number, (keys, columns) in enumerate(parts):
            raw = keys.tobytes()
            if last and not last < raw[:KEY_BYTES]:
                raise PartInvalid(
                    f"The pseudonyms do not ascend from part {number - 1} to part {number}.",
                    where=str(number),
                    remedy="Sort the records of the whole release by pseudonym and send each once.",
                )
            last = raw[-KEY_BYTES:]
            digest.update(raw)
            for field in schema:
                data = raw if field.name == KEY_COLUMN else columns[field.name].tobytes()
                _write_at(file.fileno(), offsets[field.name] + start * _width(field), data)
            start += len(keys)
    if start != records:
        raise PartInvalid(f"The parts hold {start} records; {records} were announced.")
    return digest.hexdigest()


def _write_at(descriptor: int, at: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        done = os.pwrite(descriptor, left, at)
        left, at = left[done:], at + done


def _write(
    space: pa.Buffer, schema: pa.Schema, offsets: dict[str, int], records: int, sink: pa.NativeFile
) -> None:
    arrays = [
        pa.Array.from_buffers(
            field.type,
            records,
            [None, space.slice(offsets[field.name], records * _width(field))],
        )
        for field in schema
    ]
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))
