"""Columns of sealed releases: one Arrow file each, in one piece, read by memory mapping.

The file is built part by part in a scratch file of fixed size, so that sealing needs the memory
of one part, whatever the size of the release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from miner_service.store.files.segments import settle
from shared.errors import NotReady, PartInvalid, StoreCorrupt
from shared.wire.base import KEY_BYTES, KEY_COLUMN
from shared.wire.parts import Keys, RecordSchema, Values

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
    target: Path,
) -> SealedFile:
    """Join decoded parts into one durable file of columns.

    Args:
        parts: pseudonyms and columns per part, in order, `records` in all.
        scratch: a free path; a second one with the suffix `.file` is used beside it.
        target: the final path, replaced if it is there.

    Raises:
        PartInvalid: pseudonyms do not ascend from one part to the next.
    """
    schema = columns.arrow
    offsets, size = _layout(schema, records)
    written = scratch.with_suffix(".file")
    try:
        digest = _fill(scratch, size, schema, offsets, records, parts)
        with pa.memory_map(str(scratch)) as source, pa.OSFile(str(written), "wb") as sink:
            _write(source.read_buffer(), schema, offsets, records, sink)
        settle(written, target)
    finally:
        scratch.unlink(missing_ok=True)
        written.unlink(missing_ok=True)
    return SealedFile(digest, file_sha256(target))


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_columns(path: Path, sha256: str) -> None:
    """Check a sealed release's file. Raises StoreCorrupt."""
    if not path.exists() or file_sha256(path) != sha256:
        raise StoreCorrupt(
            f"The columns of release {path.stem} are not as they were sealed.",
            where=path.stem,
            remedy="Restore the data directory from a backup. Without one, withdraw the release;"
            " more or corrected records are another release.",
        )


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
    scratch: Path,
    size: int,
    schema: pa.Schema,
    offsets: dict[str, int],
    records: int,
    parts: Iterable[tuple[Keys, dict[str, Values]]],
) -> str:
    """Lay the parts' columns out one after the other; return the digest of the pseudonyms."""
    space = np.memmap(scratch, dtype=np.uint8, mode="w+", shape=(size,))
    digest = hashlib.sha256()
    start, last = 0, b""
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
            at = offsets[field.name] + start * _width(field)
            space[at : at + len(data)] = np.frombuffer(data, dtype=np.uint8)
        start += len(keys)
    if start != records:
        raise PartInvalid(f"The parts hold {start} records; {records} were announced.")
    space.flush()
    return digest.hexdigest()


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
