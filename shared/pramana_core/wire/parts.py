"""The records of a release on the wire, part by part: pseudonyms, codes and numbers.

Parts are Arrow IPC streams; small ones may be JSON. A reader checks all of a part against the
schema of its release.
"""

from __future__ import annotations

import hashlib
import math
import struct
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, StringConstraints, ValidationError

from pramana_core.alike import first_few
from pramana_core.errors import DuplicateRecordId, PartInvalid
from pramana_core.mixed import LARGEST
from pramana_core.plan import Plan
from pramana_core.wire.base import KEY_BYTES, KEY_COLUMN, Label, Message

PART_MEDIA_TYPE = "application/vnd.apache.arrow.stream"
PART_JSON_MEDIA_TYPE = "application/json"
DIGEST_HEADER = "Content-Digest"

_BLOCK = 1 << 14
"""Pseudonyms that are compared at once."""

READ_ROWS = 1 << 18
"""Rows of a column that are read from a file at once."""

Pseudonyms = npt.NDArray[np.void]
"""Record pseudonyms: an array of dtype `V16`."""

Values = npt.NDArray[Any]
"""A column in a part: codes in the narrowest unsigned type, or numbers as float64."""


class Column(Protocol):
    """A column that is read and changed slice by slice: an array, or a column in a file."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the column's values."""

    def __len__(self) -> int:
        """Return the count of values."""

    def __getitem__(self, rows: slice, /) -> npt.NDArray[Any]:
        """Return the values of a slice."""

    def __setitem__(self, rows: slice, values: npt.NDArray[Any], /) -> None:
        """Replace the values of a slice."""


def slices_of(records: int) -> Iterator[slice]:
    """Yield slices that cover N records, with at most `READ_ROWS` rows each."""
    for start in range(0, records, READ_ROWS):
        yield slice(start, min(records, start + READ_ROWS))


class PartJson(Message):
    """A small part as JSON: pseudonyms in hexadecimal, and for each column its codes or numbers."""

    keys: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$", strict=True)]],
        Field(min_length=1),
    ]
    columns: dict[
        Label,
        list[Annotated[int, Field(ge=0, lt=1 << 32, strict=True)]]
        | list[Annotated[float, Field(allow_inf_nan=False, strict=True)]],
    ]


@dataclass(frozen=True)
class RecordSchema:
    """The columns of a release's parts, except the pseudonyms.

    Attributes:
        sizes: for each column, in order, its count of codes, or None for numbers.
    """

    sizes: Mapping[str, int | None]

    @classmethod
    def of(cls, plan: Plan) -> RecordSchema:
        """Return the columns of records reported under a plan."""
        return cls(plan.reported_sizes)

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema of a part."""
        fields = [pa.field(KEY_COLUMN, pa.binary(KEY_BYTES), nullable=False)]
        fields += [
            pa.field(name, pa.from_numpy_dtype(self.dtype(name)), nullable=False)
            for name in self.sizes
        ]
        return pa.schema(fields)

    @cached_property
    def row_bytes(self) -> int:
        """The size of one record in bytes: its pseudonym and its values."""
        return KEY_BYTES + sum(self.dtype(name).itemsize for name in self.sizes)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the type of a column in parts."""
        size = self.sizes[name]
        return np.dtype(np.float64) if size is None else code_dtype(size)

    def require(self, columns: Mapping[str, Values]) -> None:
        """Check the values of a part's columns.

        Raises PartInvalid: a code outside its column's range, or a number that is missing, infinite
        or too large to be squared and added up.
        """
        for name, size in self.sizes.items():
            values = columns[name]
            if size is None:
                wrong = int(np.count_nonzero(~(np.abs(values) <= LARGEST)))
                if wrong:
                    raise PartInvalid(
                        f"Column {name!r} of the part has {wrong} values that are missing, infinite"
                        f" or beyond {LARGEST:g}.",
                        where=name,
                        remedy="Release finite numbers only.",
                    )
            elif len(values) and int(values.max()) >= size:
                raise PartInvalid(
                    f"The part has code {int(values.max())} for {name!r}, which has {size} codes.",
                    where=name,
                )


def content_digest(body: bytes) -> str:
    """Return the value of the Content-Digest header (RFC 9530) for a body, SHA-256."""
    return f"sha-256=:{b64encode(hashlib.sha256(body).digest()).decode()}:"


def records_digest(plan: Plan, keys: Column | None, columns: Mapping[str, Column]) -> str:
    """Return SHA-256 of plan, pseudonyms and reports, independent of the division into parts."""
    running = hashlib.sha256(plan.digest.encode())
    if keys is not None:
        for rows in slices_of(len(keys)):
            running.update(np.ascontiguousarray(keys[rows]).view(np.uint8).data)
    for name, size in plan.reported_sizes.items():
        column, dtype = columns[name], code_dtype(size)
        for rows in slices_of(len(column)):
            codes = np.ascontiguousarray(column[rows].astype(dtype, copy=False))
            running.update(codes.view(np.uint8).data)
    return running.hexdigest()


def code_dtype(size: int) -> np.dtype[np.unsignedinteger]:
    """Return the narrowest unsigned integer type that represents `size` codes."""
    for candidate in (np.uint8, np.uint16, np.uint32):
        if size - 1 <= np.iinfo(candidate).max:
            return np.dtype(candidate)
    return np.dtype(np.uint64)


# Indices of fields in Arrow's flatbuffers Message and RecordBatch, and a format version.
_VERSION, _HEADER, _CUSTOM_METADATA = 0, 2, 4
_LENGTH, _COMPRESSION = 0, 3
_VERSION_5 = 4


def encode_part(schema: RecordSchema, keys: Pseudonyms, columns: Mapping[str, Values]) -> bytes:
    """Return one part as an Arrow IPC stream with one batch: the pseudonyms and the columns."""
    arrays = [key_column(keys)]
    arrays += [
        pa.array(columns[name].astype(schema.dtype(name), copy=False)) for name in schema.sizes
    ]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema.arrow) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema.arrow))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode_part(
    schema: RecordSchema, body: bytes | pa.Buffer
) -> tuple[Pseudonyms, dict[str, Values]]:
    """Read one part and check it against the schema of its release.

    Raises:
        PartInvalid: not an Arrow stream of one uncompressed batch (other streams could need any
            amount of memory), another schema, nulls, pseudonyms not strictly ascending, a code
            outside its column's range, or a number that is not finite.
    """
    try:
        with pa.ipc.open_stream(body) as reader:
            if reader.schema != schema.arrow:
                raise PartInvalid(
                    f"The part's columns are {reader.schema.names} of types"
                    f" {[str(t) for t in reader.schema.types]}, not those announced for the"
                    " release.",
                    remedy="Send the pseudonyms, then all columns in the announced order.",
                )
            _require_one_plain_batch(schema, body)
            batch = reader.read_next_batch()
        batch.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, struct.error) as error:
        raise PartInvalid(
            f"The part is not a readable Arrow IPC stream ({type(error).__name__}).",
            remedy="Send the file from the agent's outbox unchanged.",
        ) from None
    if any(column.null_count for column in batch.columns):
        raise PartInvalid("The part has missing values.")
    keys = _values(batch.column(KEY_COLUMN), np.dtype(f"V{KEY_BYTES}"))
    _require_ascending(keys)
    columns = {name: _values(batch.column(name), schema.dtype(name)) for name in schema.sizes}
    schema.require(columns)
    return keys, columns


def _values(column: pa.Array, dtype: np.dtype[Any]) -> Values:
    """Return a column without nulls as a view; Arrow's own conversion would load pandas."""
    return np.frombuffer(
        column.buffers()[1], dtype, count=len(column), offset=column.offset * dtype.itemsize
    )


def _require_one_plain_batch(schema: RecordSchema, body: bytes | pa.Buffer) -> None:
    """Check that reading a part needs little more memory than the part itself."""
    batches = rows = 0
    for message in pa.ipc.MessageReader.open_stream(body):
        if message.type == "schema":
            continue
        metadata = memoryview(message.metadata)
        table = struct.unpack_from("<I", metadata, 0)[0]
        version, header = (_field(metadata, table, index) for index in (_VERSION, _HEADER))
        if not header or not version:
            raise PartInvalid("The part has a message without a header.")
        batch = header + struct.unpack_from("<I", metadata, header)[0]
        length = _field(metadata, batch, _LENGTH)
        rows = struct.unpack_from("<q", metadata, length)[0] if length else 0
        plain = (
            message.type == "record batch"
            and struct.unpack_from("<h", metadata, version)[0] == _VERSION_5
            and not _field(metadata, table, _CUSTOM_METADATA)
            and not _field(metadata, batch, _COMPRESSION)
        )
        batches += 1
        if not plain or batches > 1 or not 0 <= rows * schema.row_bytes <= len(body):
            raise PartInvalid(
                "The part is compressed, has several record batches, or is not plain Arrow IPC.",
                remedy="Send an uncompressed Arrow IPC stream of one record batch, format version"
                " 5.",
            )
    if not rows:
        raise PartInvalid("The part has no records.")


def _field(buffer: memoryview, table: int, index: int) -> int:
    entries = table - struct.unpack_from("<i", buffer, table)[0]
    slot = 4 + 2 * index
    if slot >= struct.unpack_from("<H", buffer, entries)[0]:
        return 0
    offset: int = struct.unpack_from("<H", buffer, entries + slot)[0]
    return table + offset if offset else 0


def decode_part_json(schema: RecordSchema, body: bytes) -> tuple[Pseudonyms, dict[str, Values]]:
    """Read one JSON part and check it against its schema. Raises PartInvalid as `decode_part`."""
    try:
        part = PartJson.model_validate_json(body)
    except ValidationError as error:
        places = sorted({".".join(str(step) for step in e["loc"][:2]) for e in error.errors()})
        raise PartInvalid(
            f"The part is invalid JSON: {error.error_count()} errors, in {first_few(places)}.",
            remedy='Send {"keys": [32 hexadecimal digits, ...], "columns": {name: [code or number,'
            " ...]}}.",
        ) from None
    if set(part.columns) != set(schema.sizes):
        raise PartInvalid(
            f"The part's columns are {sorted(part.columns)}, not those announced for the release.",
            remedy=f"Send {sorted(schema.sizes)}.",
        )
    lengths = {len(codes) for codes in part.columns.values()}
    if lengths != {len(part.keys)}:
        raise PartInvalid(
            f"The part has {len(part.keys)} pseudonyms, but columns with {sorted(lengths)} values."
        )
    keys = np.frombuffer(bytes.fromhex("".join(part.keys)), dtype=f"V{KEY_BYTES}")
    _require_ascending(keys)
    columns = {name: _wide(name, schema.sizes[name], part.columns[name]) for name in schema.sizes}
    schema.require(columns)
    return keys, {name: values.astype(schema.dtype(name)) for name, values in columns.items()}


def _wide(name: str, size: int | None, values: Sequence[float]) -> Values:
    if size is None:
        return np.array(values, dtype=np.float64)
    if any(isinstance(value, float) for value in values):
        raise PartInvalid(f"Column {name!r} of the part has values that are not codes.", where=name)
    return np.array(values, dtype=np.uint32)


def _require_ascending(keys: Pseudonyms) -> None:
    if not strictly_ascending(keys):
        raise PartInvalid(
            "The part's pseudonyms are not strictly ascending.",
            remedy="Sort the records by pseudonym and send each record once.",
        )


def key_column(keys: Pseudonyms) -> pa.Array:
    """Return pseudonyms as an Arrow array of fixed-size binary values."""
    buffer = pa.py_buffer(np.ascontiguousarray(keys).view(np.uint8))
    return pa.Array.from_buffers(pa.binary(KEY_BYTES), len(keys), [None, buffer])


def key_array(column: pa.ChunkedArray) -> Pseudonyms:
    """Return the pseudonyms in an Arrow column; the reverse of `key_column`."""
    pieces = [_values(chunk, np.dtype(f"V{KEY_BYTES}")) for chunk in column.chunks]
    # A single chunk needs no copy.
    return (
        pieces[0] if len(pieces) == 1 else np.concatenate([np.empty(0, f"V{KEY_BYTES}"), *pieces])
    )


def key_words(keys: Pseudonyms) -> npt.NDArray[np.uint64]:
    """Return pseudonyms as an (N, 2) array of integers that sort like the bytes."""
    return np.ascontiguousarray(keys).view(">u8").reshape(-1, 2).astype(np.uint64)


def key_order(keys: Pseudonyms) -> npt.NDArray[np.intp]:
    """Return the indices that sort pseudonyms. Raises DuplicateRecordId: a repeated pseudonym."""
    # Half a pseudonym separates nearly all, and single integers sort several times as fast.
    order = np.argsort(np.ascontiguousarray(key_words(keys)[:, 0]))
    if strictly_ascending(keys[order]):
        return order
    words = key_words(keys)
    order = np.lexsort((words[:, 1], words[:, 0]))
    if not strictly_ascending(keys[order]):
        raise DuplicateRecordId(
            "Two records have the same pseudonym.", remedy="Make the record ids unique."
        )
    return order


def strictly_ascending(keys: Pseudonyms) -> bool:
    """Return whether pseudonyms ascend strictly as bytes."""
    # Block by block, each with the key before it: fast, with the memory of one block.
    for start in range(0, len(keys), _BLOCK):
        words = key_words(keys[max(0, start - 1) : start + _BLOCK])
        high, low = words[:, 0], words[:, 1]
        rises = (high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] > low[:-1]))
        if not rises.all():
            return False
    return True


def locate(
    keys: Pseudonyms | npt.NDArray[np.bytes_], among: Pseudonyms | npt.NDArray[np.bytes_]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return the index of each pseudonym in an ascending array, and whether the array has it.

    Both arrays have dtype `V16` or `S16`.
    """
    # Bytes of equal length compare like text; text ignores final zeros, which is harmless here.
    wanted = np.ascontiguousarray(keys).view(f"S{KEY_BYTES}")
    sorted_keys = np.ascontiguousarray(among).view(f"S{KEY_BYTES}")
    place = np.searchsorted(sorted_keys, wanted)
    if not len(sorted_keys):
        return place, np.zeros(len(wanted), dtype=np.bool_)
    there: npt.NDArray[np.bool_] = sorted_keys[np.minimum(place, len(sorted_keys) - 1)] == wanted
    return place, there


def joined_parts(
    schema: RecordSchema, parts: Sequence[tuple[Pseudonyms, dict[str, Values]]]
) -> tuple[Pseudonyms, dict[str, Values]]:
    """Return the concatenated pseudonyms and columns of decoded parts of one release."""
    columns = {name: np.concatenate([values[name] for _, values in parts]) for name in schema.sizes}
    return np.concatenate([keys for keys, _ in parts]), columns


def parts_of(records: int, per_part: int) -> list[tuple[int, int]]:
    """Return the (start, stop) of each part of N records. A part has at most `per_part` records."""
    return [
        (i * per_part, min(records, (i + 1) * per_part))
        for i in range(math.ceil(records / per_part))
    ]
