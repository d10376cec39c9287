"""Columns of sealed releases: one memory-mapped Arrow file per release, in one batch."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from miner_service.store.durable import file_sha256, storing
from pramana_core.errors import NotReady, PartInvalid, StoreCorrupt
from pramana_core.wire.base import KEY_BYTES, KEY_COLUMN
from pramana_core.wire.parts import Pseudonyms, RecordSchema, Values

KeyText = npt.NDArray[np.bytes_]
"""Pseudonyms as strings of 16 bytes. Because all have this length, they sort as bytes do."""


@dataclass(frozen=True)
class ColumnFiles:
    """A folder that contains only the columns of sealed releases."""

    folder: Path

    def data_path(self, release: str) -> Path:
        """Return the path of a sealed release's column file."""
        return self.folder / f"{release}.arrow"

    def verify_data(self, release: str, sha256: str) -> None:
        """Compare a sealed release's column file with its digest. Raises StoreCorrupt."""
        path = self.data_path(release)
        if not path.exists() or file_sha256(path) != sha256:
            raise StoreCorrupt(
                f"The columns of release {release} differ from the columns that were sealed.",
                where=release,
                remedy="Restore the data directory from a backup. Without a backup, withdraw the"
                " release and have its owner publish a new one.",
            )


@dataclass(frozen=True)
class SealedFile:
    """The digests of a column file: the digest of its pseudonyms, and of all its bytes."""

    keys_digest: str
    sha256: str


def build_columns(
    columns: RecordSchema,
    records: int,
    parts: Iterable[tuple[Pseudonyms, dict[str, Values]]],
    *,
    scratch: Path,
) -> SealedFile:
    """Join decoded parts into one column file at `scratch`, with one part in memory at a time.

    Raises PartInvalid, StorageFull or NotReady, after removing the file.
    """
    schema, raw = columns.arrow, scratch.with_suffix(".raw")
    sizes = [records * int(field.type.bit_width) // 8 for field in schema]
    places = [sum(sizes[:number]) for number in range(len(sizes))]
    with storing("The columns of the release", scratch, raw):
        with raw.open("xb+") as file:
            digest = _write_parts(file, schema, places, records, parts)
            file.flush()
            whole = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        arrays = [
            pa.Array.from_buffers(field.type, records, [None, whole.slice(place, size)])
            for field, place, size in zip(schema, places, sizes, strict=True)
        ]
        with pa.ipc.new_file(str(scratch), schema) as writer:
            writer.write_batch(pa.record_batch(arrays, schema=schema))
        raw.unlink()
        return SealedFile(digest, file_sha256(scratch))


def _write_parts(
    file: BinaryIO,
    schema: pa.Schema,
    places: Sequence[int],
    records: int,
    parts: Iterable[tuple[Pseudonyms, dict[str, Values]]],
) -> str:
    """Write each column at its offset in the file, and return the digest of the pseudonyms."""
    digest, start, last = hashlib.sha256(), 0, b""
    for number, (keys, columns) in enumerate(parts):
        if last and not last < keys[:1].tobytes():
            raise PartInvalid(
                f"The pseudonyms do not ascend between parts {number - 1} and {number}.",
                where=str(number),
                remedy="Sort all records of the release by pseudonym and send each record once.",
            )
        last = keys[-1:].tobytes()
        digest.update(np.ascontiguousarray(keys).view(np.uint8).data)
        for field, place in zip(schema, places, strict=True):
            values = keys if field.name == KEY_COLUMN else columns[field.name]
            file.seek(place + start * int(field.type.bit_width) // 8)
            file.write(np.ascontiguousarray(values).view(np.uint8).data)
        start += len(keys)
    if start != records:
        raise PartInvalid(f"The parts have {start} records; {records} were announced.")
    return digest.hexdigest()


def load_keys(path: Path) -> KeyText:
    """Return a sealed release's pseudonyms, memory-mapped. Raises NotReady for a missing file."""
    return _map_columns(path, {KEY_COLUMN: np.dtype(f"S{KEY_BYTES}")})[KEY_COLUMN]


def load_columns(path: Path, names: Sequence[str]) -> dict[str, Values]:
    """Return columns of a sealed release, memory-mapped. Raises NotReady for a missing file."""
    return _map_columns(path, dict.fromkeys(names))


def drop_pages(arrays: Iterable[npt.NDArray[Any]]) -> None:
    """Free the memory of memory-mapped columns; a later access reads them from the disk again."""
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray | memoryview):
            base = base.base if isinstance(base, np.ndarray) else base.obj
        if isinstance(base, _Mapping) and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


class _Mapping(mmap.mmap):
    """The mapping of a sealed file into memory. The file never changes, so memory can be freed."""


def _map_columns(path: Path, names: Mapping[str, np.dtype[Any] | None]) -> dict[str, Values]:
    """Return columns as arrays over one mapping of a file, which the arrays keep open."""
    try:
        with path.open("rb") as file:
            source = _Mapping(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise NotReady(
            f"The columns of release {path.stem} are missing.",
            where=path.stem,
            remedy="If the release was withdrawn a moment ago, repeat the request.",
        ) from error
    whole = pa.py_buffer(source)
    batch = pa.ipc.open_file(whole).get_batch(0)
    return {
        name: np.frombuffer(
            source,
            dtype or batch.schema.field(name).type.to_pandas_dtype(),
            count=batch.num_rows,
            offset=batch.column(name).buffers()[1].address - whole.address,
        )
        for name, dtype in names.items()
    }
