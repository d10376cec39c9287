"""Masked records as one Parquet file: what may leave, and what to know of it beside the schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError

from pramana.reporting.files import require_path, require_version, write_whole
from pramana_core.errors import StoreCorrupt, TableError
from pramana_core.wire.base import Message

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1
MARK = b"pramana-masked"
"""Under this key stands everything that is not a column, as JSON."""


class _Described(Message):
    version: Annotated[int, Field(strict=True)]
    kind: Literal["masked-records"]
    method: str
    tell: list[str]
    confidential: list[str]
    copies: Annotated[int, Field(ge=1)]
    order: list[str]
    warnings: list[str]
    gravities: list[Literal["GRAVE", "WARNING", "NOTE"]] = Field(default_factory=list)
    """Of each warning; files of before have none."""


def write(contents: Any, path: str | Path) -> None:
    """Write masked records. Raises OptionError where they cannot be."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pramana_core.mask.core.cautions import gravity_of

    described = _Described.model_validate(
        {
            "version": VERSION,
            "kind": "masked-records",
            "method": contents.method,
            "tell": list(contents.tell),
            "confidential": list(contents.confidential),
            "copies": len(contents.copies),
            "order": list(contents.copies[0].columns),
            "warnings": [str(words) for words in contents.warnings],
            "gravities": [gravity_of(words).name for words in contents.warnings],
        }
    )
    frame = contents.copies[0][list(contents.tell)].copy()
    for number, copy in enumerate(contents.copies, 1):
        for name in contents.confidential:
            frame[_column(name, number, len(contents.copies))] = copy[name]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), MARK: described.model_dump_json().encode()}
    table = table.replace_schema_metadata(metadata)
    write_whole(path, lambda file: pq.write_table(table, file))


def is_masked(place: Path) -> bool:
    """Return whether a Parquet file holds masked records."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return MARK in (pq.read_schema(place).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def read(path: str | Path) -> tuple[Any, ...]:
    """Return what a file of masked records holds: the first fields of a `MaskedFrame`.

    Raises:
        TableError: there is no such file, it is not one of masked records, or of a later
            version.
        StoreCorrupt: its columns are not those that it says it has.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = require_path(path)
    if not place.is_file():
        raise TableError(f"path {str(place)!r} must be a file that exists.", where="path")
    try:
        table = pq.read_table(place)
        described = _Described.model_validate_json((table.schema.metadata or {})[MARK])
    except (pa.ArrowException, OSError, KeyError, ValidationError):
        raise TableError(
            f"path {str(place)!r} must be a file that MaskedFrame.save wrote; it is not.",
            where="path",
        ) from None
    require_version(described.version, VERSION, place)
    try:
        copies = tuple(_copies(table.to_pandas(), described))
    except KeyError:
        raise StoreCorrupt(
            f"path {str(place)!r} lacks columns that it says it has.", where="path"
        ) from None
    return (
        described.method,
        tuple(described.tell),
        tuple(described.confidential),
        copies,
        tuple(_cautions(described)),
    )


def _cautions(described: _Described) -> Iterator[str]:
    """Yield the warnings, with their gravity where it is known."""
    from pramana_core.mask.core.cautions import Caution, Gravity

    for place, words in enumerate(described.warnings):
        known = described.gravities[place : place + 1]
        yield Caution(words, Gravity[known[0]]) if known else words


def _copies(frame: pd.DataFrame, described: _Described) -> Sequence[pd.DataFrame]:
    found = []
    for number in range(1, described.copies + 1):
        copy = frame[described.tell].copy()
        for name in described.confidential:
            copy[name] = frame[_column(name, number, described.copies)]
        found.append(copy[described.order])
    return found


def _column(name: str, number: int, copies: int) -> str:
    return name if copies == 1 else f"{name}@{number}"
