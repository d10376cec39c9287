"""How one part comes in: expected before it is read, checked from its file, kept, acknowledged.

It is acknowledged only when its bytes and its row are both on disk.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
from sqlalchemy import bindparam, exists, select, update
from sqlalchemy.orm import Session, aliased

from miner_service.intake.study_privacy import require_within_budget
from miner_service.services import Services
from miner_service.store.files.durable import storing
from miner_service.store.people import no_such
from miner_service.store.releases import content_of, find_release, kind_of_release
from miner_service.store.remembered import Remembered
from miner_service.store.schema import PartRow, ReleaseRow
from shared.errors import (
    BudgetExceeded,
    LimitExceeded,
    PartConflict,
    PartDigestMismatch,
    PartInvalid,
    ReleaseNotOpen,
)
from shared.wire.parts import (
    PART_JSON_MEDIA_TYPE,
    Keys,
    RecordSchema,
    Values,
    decode_part,
    decode_part_json,
)
from shared.wire.releases import PartReceipt

_NOT_OPEN_REMEDY = {
    "sealed": "It takes no more records; more or corrected records are another release.",
    "withdrawn": "It stays so, and its name stays taken; more or corrected records are another"
    " release.",
}


@dataclass(frozen=True)
class Expected:
    """A part that may come, as it was announced, and the media type it will have.

    Attributes:
        content: the kind and digest of what its release holds.
        bytes: its size.
        stored: whether it came before, so that it is only compared.
    """

    release: str
    number: int
    content: tuple[str, str]
    records: int
    bytes: int
    sha256: str
    stored: bool
    media: str


@dataclass(frozen=True)
class Arrived:
    """What came: a file, or None where it was only compared; its size in bytes and SHA-256."""

    scratch: Path | None
    size: int
    sha256: bytes


_other = aliased(PartRow)
_PART = (
    select(
        ReleaseRow.state,
        ReleaseRow.kind,
        ReleaseRow.content_digest,
        PartRow.records,
        PartRow.bytes,
        PartRow.sha256,
        PartRow.received,
        exists()
        .where(_other.release == ReleaseRow.id, _other.received.is_not(None))
        .label("begun"),
    )
    .join(PartRow, PartRow.release == ReleaseRow.id)
    .where(ReleaseRow.id == bindparam("release"), PartRow.number == bindparam("number"))
)
"""A part with the state of its release, and whether anything of that arrived. Rows are not loaded
as objects here: it is asked for each part, and the text of a plan is long."""


def expect_part(
    services: Services, release: str, number: int, *, media: str, length: int | None
) -> Expected:
    """Look whether a part of `length` bytes, if that is known, may come.

    Raises:
        NotFound: the release has no such part.
        LimitExceeded: it is longer than any part may be.
        PartDigestMismatch: it is not as long as the manifest announced.
        PartConflict: stored with other bytes; those stay.
        ReleaseNotOpen: sealed or withdrawn.
    """
    limits = services.settings.limits
    limit = limits.json_bytes if media == PART_JSON_MEDIA_TYPE else limits.part_bytes
    with services.database.read() as session:
        found = session.execute(_PART, {"release": release, "number": number}).first()
        if found is None:
            find_release(session, release)
            raise no_such("part")
    stored = found.received is not None
    if found.state == "withdrawn" or not stored:
        require_state(release, found.state, "open")
    for size in (length or 0, found.bytes):
        if size > limit:
            raise LimitExceeded(
                f"The part is longer than the {limit} bytes allowed.",
                remedy="Send less at once; a release may have many parts.",
            )
    expected = Expected(
        release,
        number,
        (found.kind, found.content_digest),
        found.records,
        found.bytes,
        found.sha256,
        stored,
        media,
    )
    if length is not None and length != expected.bytes:
        raise _conflict(expected) if stored else _other_length(expected, str(length))
    return expected


def take_small_part(
    services: Services, expected: Expected, body: bytes, digest_header: str | None
) -> tuple[PartReceipt, bool]:
    """Do as `take_part` with a part that came in memory."""
    scratch = None if expected.stored else services.segments.scratch_path()
    arrived = Arrived(scratch, len(body), sha256(body).digest())
    _require_bytes(expected, arrived, digest_header)
    if scratch is not None:
        with storing(f"Part {expected.number}", scratch):
            scratch.write_bytes(body)
    try:
        return take_part(services, expected, arrived, digest_header)
    finally:
        if scratch is not None:
            scratch.unlink(missing_ok=True)


def take_part(
    services: Services, expected: Expected, arrived: Arrived, digest_header: str | None
) -> tuple[PartReceipt, bool]:
    """Check what came, store it durably and acknowledge it; say whether it is new.

    Raises:
        PartDigestMismatch: not the bytes that the header or the manifest announced.
        PartConflict: stored with other bytes; those stay.
        PartInvalid: not what the release announces.
        StorageFull, NotReady: it could not be stored; nothing was changed.
        ReleaseNotOpen: withdrawn, or sealed without this part.
        BudgetExceeded: it is the first part, and there is no room left.
        NotFound: its study was deleted.
    """
    _require_bytes(expected, arrived, digest_header)
    receipt = PartReceipt(
        release=expected.release,
        number=expected.number,
        sha256=arrived.sha256.hex(),
        records=expected.records,
    )
    if expected.stored or arrived.scratch is None:
        return receipt, False
    schema = _schema(services, expected)
    with services.checking:
        _require_valid(schema, expected, arrived.scratch)
    services.segments.put_part(expected.release, expected.number, arrived.scratch)
    now = services.now()
    new = services.together.run(lambda session: _acknowledge(services, session, expected, now))
    return receipt, new


def _require_bytes(expected: Expected, arrived: Arrived, digest_header: str | None) -> None:
    found = arrived.sha256.hex()
    if digest_header is not None and digest_header.strip() != _digest_text(arrived.sha256):
        raise PartDigestMismatch(
            f"Part {expected.number} was damaged on its way: it does not have the digest in its"
            " header.",
            where=str(expected.number),
            remedy="Send it again.",
        )
    if expected.stored and expected.sha256 != found:
        raise _conflict(expected)
    if arrived.size != expected.bytes or found != expected.sha256:
        raise _other_length(expected, f"{arrived.size} bytes with SHA-256 {found}")


def _acknowledge(services: Services, session: Session, expected: Expected, now: datetime) -> bool:
    """Note that a part is on disk, or that it was before; say whether it is new.

    If the release was sealed or withdrawn while the part was written, nobody else would remove it.

    What was announced is held back by the budget only while its owner is in the study, so it is
    asked again where nothing has left yet.
    """
    release, number = expected.release, expected.number
    found = session.execute(_PART, {"release": release, "number": number}).first()
    if found is None:  # its study was deleted
        services.segments.drop_part(release, number)
        raise no_such("release")
    if found.state != "open":
        services.segments.drop_part(release, number)
    if found.state == "withdrawn" or found.received is None:
        require_state(release, found.state, "open")
    if found.received is not None:
        return False
    if not found.begun:
        try:
            require_within_budget(session, find_release(session, release))
        except BudgetExceeded:
            services.segments.drop_part(release, number)
            raise
    session.execute(_ARRIVED, {"r": release, "n": number, "at": now, "as_media": expected.media})
    return True


_ARRIVED = (
    update(PartRow.__table__)  # type: ignore[arg-type]  # it is a table
    .where(PartRow.release == bindparam("r"), PartRow.number == bindparam("n"))
    .values(received=bindparam("at"), media=bindparam("as_media"))
)


def require_state(release: str, state: str, wanted: str) -> None:
    """Check the state of a release. Raises ReleaseNotOpen."""
    if state != wanted:
        raise ReleaseNotOpen(
            f"The release is {state}.",
            where=release,
            remedy=_NOT_OPEN_REMEDY[state],
        )


def decode(
    schema: RecordSchema, body: bytes | pa.Buffer, media: str
) -> tuple[Keys, dict[str, Values]]:
    """Read the records of a part. Raises PartInvalid."""
    if media == PART_JSON_MEDIA_TYPE:
        return decode_part_json(schema, memoryview(body).tobytes())
    return decode_part(schema, body)


def _schema(services: Services, expected: Expected) -> RecordSchema:
    """Return the columns of a release's parts. Raises NotFound, ReleaseNotOpen: it is no more."""
    schema = _SCHEMAS.known(*expected.content)
    if schema is not None:
        return schema
    with services.database.read() as session:
        row = find_release(session, expected.release)
    require_state(row.id, row.state, "open")
    return _SCHEMAS.of(row)


_SCHEMAS = Remembered(lambda row: kind_of_release(row).schema_of(content_of(row)))
"""A plan is long to read, and asked for with each part."""


def _require_valid(schema: RecordSchema, expected: Expected, scratch: Path) -> None:
    with pa.memory_map(str(scratch)) as file:
        keys, _ = decode(schema, file.read_buffer(), expected.media)
    if len(keys) != expected.records:
        raise PartInvalid(
            f"Part {expected.number} holds {len(keys)} records; {expected.records} were announced.",
            where=str(expected.number),
            remedy="Announce another release, with the right numbers.",
        )


def _conflict(part: Expected) -> PartConflict:
    return PartConflict(
        f"Part {part.number} is stored with other bytes; those are unchanged.",
        where=str(part.number),
        remedy="Send the bytes announced; other content is another release.",
    )


def _other_length(part: Expected, found: str) -> PartDigestMismatch:
    has = found if "bytes" in found else f"{found} bytes"
    return PartDigestMismatch(
        f"Part {part.number} has {has}; announced were {part.bytes} bytes with {part.sha256}."
        " Nothing was stored.",
        where=str(part.number),
        remedy="Send the bytes that the manifest describes.",
    )


def _digest_text(sha256: bytes) -> str:
    return f"sha-256=:{b64encode(sha256).decode()}:"
