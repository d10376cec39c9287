"""What the miner asks of the place where its records are: parts of open releases, and columns.

A file that has its name is whole. Only names that the service made itself become paths. Several
processes may share one place; none removes what another is writing.

Also here:

* Files made durable: allocated, flushed, renamed; whatever a disk refuses is told in two ways only:
  there is no room, or it does not work now.
* Columns of sealed releases: one Arrow file each, in one piece, read by memory mapping.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pramana_core.errors import NotReady, PartInvalid, PramanaError, StorageFull, StoreCorrupt
from pramana_core.full_disks import is_full
from pramana_core.wire.base import KEY_BYTES, KEY_COLUMN
from pramana_core.wire.parts import Pseudonyms, RecordSchema, Values


@contextmanager
def storing(what: str, *scratch: Path) -> Iterator[None]:
    """Translate what the system says about writing; remove what was half done.

    Args:
        what: names what is stored, as the beginning of a sentence: "Part 3 of release r-1".
        scratch: files that no error may leave behind.

    Raises:
        StorageFull: the disk has no room, or a quota or the size of a file is exhausted.
        NotReady: the file cannot be written for another reason.
    """
    try:
        yield
    except BaseException as error:
        for path in scratch:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, PramanaError):
            raise refused(what, error) from error
        raise


def refused(what: str, error: OSError) -> StorageFull | NotReady:
    """Return the error for what the system would not store; no path is in it."""
    if is_full(error):
        return StorageFull(
            f"{what} could not be stored: the disk has no room. Nothing was changed.",
            where="data",
            remedy="Send it again later; whoever runs the service should free room on its disk.",
        )
    return NotReady(
        f"{what} could not be stored; nothing was changed.",
        where="data",
        remedy="Send it again later; whoever runs the service should look at its disk.",
    )


def allocate(path: Path, size: int) -> None:
    """Make a file of `size` bytes that has its room on the disk.

    What is mapped must have room: writing to a mapped page that has none ends the process.

    Raises:
        OSError: there is no room; the file may be there.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, max(size, 1))
            os.ftruncate(descriptor, size)
        else:  # written for real: a file with holes has no room of its own
            _fill_with_zeros(descriptor, size)
    finally:
        os.close(descriptor)


def settle(scratch: Path, path: Path) -> None:
    """Flush a finished file to the disk and give it its final name, durably."""
    flush(scratch)
    scratch.replace(path)
    sync_directory(path.parent)


def settle_first(scratch: Path, path: Path) -> None:
    """Give a finished file its final name, durably, unless that name is taken: that file stays."""
    flush(scratch)
    with suppress(FileExistsError):
        path.hardlink_to(scratch)
    scratch.unlink()
    sync_directory(path.parent)


def flush(path: Path) -> None:
    """Flush a file's bytes to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(folder: Path) -> None:
    """Flush a directory's entries to the disk, where the system can."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fill_with_zeros(descriptor: int, size: int) -> None:
    block = bytes(1 << 20)
    while size > 0:
        size -= os.write(descriptor, block[: min(size, len(block))])


IDENTITY = "identity"
"""The name of what holds the identity of the store, beside its parts and columns."""

States = Callable[[], Mapping[str, str]]
"""Asks the rows for the state of every release there is, by id."""


class Segments(Protocol):
    """Where parts and columns are.

    All methods raise StorageFull where there is no room, and NotReady where the place does not
    answer; then nothing was changed.
    """

    @property
    def place(self) -> str:
        """Where it is, in words that may be shown."""

    def identity(self) -> str | None:
        """Return the identity of the store that the files are of, if they have one."""

    def identify(self, identity: str) -> None:
        """Keep the identity of the store, durably, if there is none.

        Of two that do so at once an object store may keep the last.
        """

    def kept(self) -> dict[str, set[str]]:
        """Return of which releases there are `parts`, and of which `columns`."""

    def prepare(self) -> None:
        """Make what is needed, and remove what processes that ended left half done."""

    def check(self) -> None:
        """Try to store a little. Raises NotReady, also where there is no room."""

    def scratch_path(self) -> Path:
        """Return a fresh name for a local file that is being written."""

    def put_part(self, release: str, number: int, scratch: Path) -> None:
        """Keep a finished local file as a part; when this returns it survives a power cut.

        The file is taken away, whatever happens.
        """

    def read_part(self, release: str, number: int, sha256: str) -> bytes:
        """Return a part's bytes. Raises StoreCorrupt if they are not those acknowledged."""

    def drop_part(self, release: str, number: int) -> None:
        """Remove one part."""

    def drop_parts(self, release: str) -> None:
        """Remove a release's parts."""

    def put_data(self, release: str, scratch: Path) -> None:
        """Keep a finished local file as the columns of a release, durably; it is taken away."""

    def data_path(self, release: str) -> Path:
        """Return a local file with the columns of a sealed release, to be mapped.

        Where there are none the file is not there.
        """

    def verify_data(self, release: str, sha256: str) -> None:
        """Check the columns of a sealed release. Raises StoreCorrupt."""

    def drop_data(self, release: str) -> None:
        """Remove a release's columns. A job that has them open may finish reading."""

    def orphans(self, states: States) -> list[str]:
        """Return what is kept and no release needs: `parts/ID` and `columns/ID`.

        `states` is asked after the files were listed: a file that is listed has had its row
        before. Parts are needed while their release is open; columns also while it is, because
        another process may just be sealing it.
        """

    def sweep(self, states: States) -> list[str]:
        """Remove what `orphans` names, and what processes that ended left; return the names."""


def require_part(release: str, number: int, body: bytes, sha256: str) -> bytes:
    """Return the bytes of a part. Raises StoreCorrupt if they are not those acknowledged."""
    if hashlib.sha256(body).hexdigest() != sha256:
        raise StoreCorrupt(
            f"Part {number} of release {release} is not as it was acknowledged.",
            where=release,
            remedy="Restore the data directory from a backup. Without one, withdraw the release;"
            " more or corrected records are another release.",
        )
    return body


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def damaged_columns(release: str) -> StoreCorrupt:
    """Return the error for columns that are not as they were sealed."""
    return StoreCorrupt(
        f"The columns of release {release} are not as they were sealed.",
        where=release,
        remedy="Restore the data directory from a backup. Without one, withdraw the release;"
        " more or corrected records are another release.",
    )


def part_name(number: int) -> str:
    """Return the name of a part's file."""
    return f"{number:05d}.part"


_NEEDS = {"parts": frozenset({"open"}), "columns": frozenset({"open", "sealed"})}


def unneeded(kept: Mapping[str, Iterable[str]], states: Mapping[str, str]) -> list[str]:
    """Return which parts and columns, by release, no release needs in its state."""
    return [
        f"{kind}/{release}"
        for kind, releases in kept.items()
        for release in sorted(releases)
        if states.get(release) not in _NEEDS[kind]
    ]


def drop(segments: Segments, names: Iterable[str]) -> None:
    """Remove what `unneeded` names."""
    for name in names:
        kind, _, release = name.partition("/")
        (segments.drop_parts if kind == "parts" else segments.drop_data)(release)


# Columns of sealed releases: one Arrow file each, in one piece, read by memory mapping.
#
# Where everything is in the file follows from its columns and the number of records. So the parts
# are written where they belong as they come: sealing needs the memory of one part and the room of
# one file, whatever the size of the release. Nothing is written through a mapping: on a disk
# without room that would end the process.

KeyText = npt.NDArray[np.bytes_]
"""Pseudonyms as fixed strings of 16 bytes. All have the same length, so that comparing them as
padded strings is comparing them as bytes."""


@dataclass(frozen=True)
class SealedFile:
    """What is known of a file of columns once it is written."""

    keys_digest: str
    sha256: str


def build_columns(
    columns: RecordSchema,
    records: int,
    parts: Iterable[tuple[Pseudonyms, dict[str, Values]]],
    *,
    scratch: Path,
) -> SealedFile:
    """Join decoded parts into one file of columns.

    Args:
        parts: pseudonyms and columns per part, in order, `records` in all.
        scratch: a free path, where the file is afterwards, for the caller to settle. After an
            error it is not there.

    Raises:
        PartInvalid: pseudonyms do not ascend from one part to the next.
        StorageFull: there is no room for the columns.
        NotReady: the disk does not work.
    """
    outline = _Outline.of(columns.arrow, records)
    with storing("The columns of the release", scratch):
        allocate(scratch, outline.tell())
        with scratch.open("r+b", buffering=0) as file:
            for at, data in outline.framing:
                _write_at(file.fileno(), at, data)
            digest = _fill(file.fileno(), columns.arrow, outline.places, records, parts)
        return SealedFile(digest, file_sha256(scratch))


def load_keys(path: Path) -> KeyText:
    """Return a sealed release's pseudonyms, memory-mapped. Raises NotReady: they are not there."""
    return _mapped(path, {KEY_COLUMN: np.dtype(f"S{KEY_BYTES}")})[KEY_COLUMN]


def load_columns(path: Path, names: Sequence[str]) -> dict[str, Values]:
    """Return some columns of a sealed release, memory-mapped. Raises NotReady."""
    return _mapped(path, dict.fromkeys(names))


def let_go(arrays: Iterable[npt.NDArray[Any]]) -> None:
    """Let the pages of mapped columns leave this process's memory; read again, they come back.

    What is not memory-mapped stays as it is.
    """
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray | memoryview):
            base = base.base if isinstance(base, np.ndarray) else base.obj
        if isinstance(base, _Mapping) and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


class _Mapping(mmap.mmap):
    """The mapping of a sealed file: nobody writes to it, so its pages may go."""


def _mapped(path: Path, names: Mapping[str, np.dtype[Any] | None]) -> dict[str, Values]:
    """Return columns as arrays over one mapping of a file, which they keep alive."""
    try:
        with path.open("rb") as file:
            source = _Mapping(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise NotReady(
            f"The columns of release {path.stem} are not there.",
            where=path.stem,
            remedy="If it was just withdrawn, ask again.",
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


class _Outline:
    """An Arrow file of columns that are not there yet, as Arrow writes it."""

    closed = False

    def __init__(self, values: pa.Buffer) -> None:
        self.framing: list[tuple[int, bytes]] = []
        self.places: list[int] = []
        self._values = range(values.address, values.address + values.size)
        self._at = 0

    @classmethod
    def of(cls, schema: pa.Schema, records: int) -> _Outline:
        """Return the outline of one batch of records without missing values."""
        sizes = [records * _width(field) for field in schema]
        # Memory that nobody reads or writes is none.
        values = pa.py_buffer(mmap.mmap(-1, max(sizes)))
        arrays = [
            pa.Array.from_buffers(field.type, records, [None, values.slice(0, size)])
            for field, size in zip(schema, sizes, strict=True)
        ]
        outline = cls(values)
        with pa.ipc.new_file(pa.PythonFile(outline, mode="w"), schema) as writer:
            writer.write_batch(pa.record_batch(arrays, schema=schema))
        return outline

    def write(self, data: pa.Buffer | bytes) -> int:
        """Take note of what Arrow writes next."""
        buffer = pa.py_buffer(data)
        if buffer.address in self._values:
            self.places.append(self._at)
        else:
            self.framing.append((self._at, bytes(data)))
        self._at += buffer.size
        return int(buffer.size)

    def tell(self) -> int:
        """Return the size of what was written."""
        return self._at

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Take no more."""
        self.closed = True


def _width(field: pa.Field) -> int:
    return int(field.type.bit_width) // 8


def _fill(
    descriptor: int,
    schema: pa.Schema,
    places: Sequence[int],
    records: int,
    parts: Iterable[tuple[Pseudonyms, dict[str, Values]]],
) -> str:
    """Write the parts' columns where they belong; return the digest of the pseudonyms."""
    digest = hashlib.sha256()
    start, last = 0, b""
    for number, (keys, columns) in enumerate(parts):
        first, raw = keys[:1].tobytes(), _raw(keys)
        if last and not last < first:
            raise PartInvalid(
                f"The pseudonyms do not ascend from part {number - 1} to part {number}.",
                where=str(number),
                remedy="Sort the records of the whole release by pseudonym and send each once.",
            )
        last = keys[-1:].tobytes()
        digest.update(raw)
        for field, place in zip(schema, places, strict=True):
            data = raw if field.name == KEY_COLUMN else _raw(columns[field.name])
            _write_at(descriptor, place + start * _width(field), data)
        start += len(keys)
    if start != records:
        raise PartInvalid(f"The parts hold {start} records; {records} were announced.")
    return digest.hexdigest()


def _raw(values: Values) -> memoryview:
    return np.ascontiguousarray(values).view(np.uint8).data


def _write_at(descriptor: int, at: int, data: bytes | memoryview) -> None:
    left = memoryview(data)
    while left:
        done = os.pwrite(descriptor, left, at)
        left, at = left[done:], at + done
