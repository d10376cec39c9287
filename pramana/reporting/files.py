"""Reports as one Parquet file: codes and pseudonyms as columns, all else as schema metadata."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from pramana.frames.sentences import quoted
from pramana.frames.tables import shown
from pramana.reporting.disclosure import BlockDraw
from pramana_core.errors import (
    OptionError,
    PramanaError,
    StoreCorrupt,
    TableError,
)
from pramana_core.wire.base import KEY_COLUMN, Message
from pramana_core.wire.channels import BlockMessage, PlanMessage
from pramana_core.wire.parts import RecordSchema, key_array, key_column

VERSION = 1
_MARK = b"pramana-reports"
"""The metadata key of everything that is not a column, as JSON."""
_PICKLES = (".pkl", ".pickle")


class _DrawnMessage(Message):
    owner: str
    block: BlockMessage
    draw: str
    people: str

    @classmethod
    def of(cls, drawn: BlockDraw) -> _DrawnMessage:
        block = BlockMessage.model_validate(drawn.block.as_dict())
        return cls(owner=drawn.owner, block=block, draw=drawn.draw, people=drawn.people)

    def to_drawn(self) -> BlockDraw:
        return BlockDraw(self.owner, self.block.to_block(), self.draw, self.people)


class _Described(Message):
    version: Annotated[int, Field(strict=True)]
    kind: Literal["reports"]
    digest: str
    study: str | None
    plan: PlanMessage
    draws: list[_DrawnMessage] | None
    joined: bool = True
    seal: str

    def sealed(self) -> str:
        """Return the digest of the study and the draws, which `Reports.digest` does not cover."""
        text = self.model_dump_json(include={"study", "draws"})
        return hashlib.sha256(text.encode()).hexdigest()


def write_contents(reports: Any, path: str | Path) -> None:
    """Write `Reports` to a file. Raises OptionError."""
    plan, drawn = reports.plan, reports.draws
    described = _Described(
        version=VERSION,
        kind="reports",
        digest=reports.digest,
        study=reports.study,
        plan=PlanMessage.from_plan(plan),
        draws=None if drawn is None else [_DrawnMessage.of(one) for one in drawn],
        joined=reports.joined,
        seal="",
    )
    described = described.model_copy(update={"seal": described.sealed()})
    schema = RecordSchema.of(plan).arrow
    arrays = [
        pa.array(reports.codes[field.name].astype(field.type.to_pandas_dtype(), copy=False))
        for field in list(schema)[1:]
    ]
    if reports.pseudonyms is None:
        schema = schema.remove(0)
    else:
        arrays.insert(0, key_column(reports.pseudonyms))
    schema = schema.with_metadata({_MARK: described.model_dump_json().encode()})
    table = pa.Table.from_arrays(arrays, schema=schema)
    write_whole(path, lambda file: pq.write_table(table, file))


def read_contents(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the fields of a file's `Reports`, and its digest. Raises TableError, StoreCorrupt."""
    place = require_path(path)
    described, file = _opened(place)
    try:
        plan = described.plan.to_plan()
        wanted = RecordSchema.of(plan).arrow
        names = [name for name in wanted.names if name in file.schema_arrow.names]
        combined = file.read(columns=names).cast(pa.schema([wanted.field(name) for name in names]))
        codes = {name: combined.column(name).to_numpy() for name in plan.reported_sizes}
        keyed = KEY_COLUMN in names
        keys = key_array(combined.combine_chunks().column(KEY_COLUMN)) if keyed else None
        listed = described.draws
        draws = None if listed is None else tuple(one.to_drawn() for one in listed)
    except (PramanaError, KeyError, ValueError, OSError, pa.ArrowException):
        raise not_what_was_saved(place) from None
    if described.seal != described.sealed():
        raise not_what_was_saved(place)
    fields = {"plan": plan, "codes": codes, "pseudonyms": keys, "draws": draws}
    return fields | {"study": described.study, "joined": described.joined}, described.digest


def not_what_was_saved(path: str | Path) -> StoreCorrupt:
    """Return the error for a file that was changed or damaged."""
    return StoreCorrupt(
        f"path {str(path)!r} was changed or damaged after it was saved: its reports do not match"
        " the digest in the file.",
        where="path",
    )


def write_whole(path: str | Path, write: Callable[[Path], object]) -> None:
    """Write a file completely or not at all. Raises OptionError."""
    place = require_path(path)
    if place.suffix.lower() in _PICKLES:
        raise OptionError(
            f"path {str(place)!r} has the extension of a pickle, but files are not saved as"
            f" pickles; name it {place.stem}.json, or {place.stem}.parquet for reports.",
            where="path",
        )
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        write(temporary)
        temporary.replace(place)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # A library's message may have several sentences.
        why = os.strerror(error.errno) if error.errno else "an error of the disk"
        raise OptionError(f"path {str(place)!r} cannot be written ({why}).", where="path") from None


def require_path(path: object) -> Path:
    """Return the argument as a `Path`. Raises OptionError if it is not a path."""
    if not isinstance(path, str | Path) or not Path(path).name:
        raise OptionError(
            f"path must be the name of a file, not {shown(path)}.", where="path"
        ) from None
    return Path(path)


def require_version(version: object, newest: int, place: Path) -> None:
    """Raise TableError for another version of the format."""
    if version != newest:
        raise TableError(
            f"path {str(place)!r} was written in version {quoted([version])} of the format; this"
            f" Pramana reads version {newest}.",
            where="path",
        )


def _opened(place: Path) -> tuple[_Described, pq.ParquetFile]:
    if not place.is_file():
        raise TableError(f"path {str(place)!r} must be a file that exists.", where="path")
    try:
        file = pq.ParquetFile(place)
        metadata = (file.schema_arrow.metadata or {})[_MARK]
        version = json.loads(metadata).get("version")
    except (pa.ArrowException, OSError, KeyError, ValueError, AttributeError, RecursionError):
        raise _not_reports(place) from None
    require_version(version, VERSION, place)
    try:
        return _Described.model_validate_json(metadata), file
    except ValidationError:
        raise _not_reports(place) from None


def _not_reports(place: Path) -> TableError:
    return TableError(f"path {str(place)!r} must be a file that Reports.save wrote.", where="path")
