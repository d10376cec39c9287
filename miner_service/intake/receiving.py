"""Receiving one part. A part is acknowledged once its bytes and its row are on disk."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from sqlalchemy import bindparam, exists, select, update
from sqlalchemy.orm import Session

from miner_service.intake.admission import require_one_secret
from miner_service.intake.study_privacy import require_within_budget
from miner_service.services import Services
from miner_service.settings import Limits
from miner_service.store.people import no_such
from miner_service.store.releases import (
    cached_by_content,
    content_of,
    find_release,
    kind_of_release,
)
from miner_service.store.schema import PartRow, ReleaseRow
from pramana_core.errors import (
    BudgetExceeded,
    Conflict,
    LinkageDiffers,
    PartInvalid,
    PramanaError,
    require_at_most,
)
from pramana_core.wire.parts import (
    PART_JSON_MEDIA_TYPE,
    Pseudonyms,
    RecordSchema,
    Values,
    decode_part,
    decode_part_json,
)
from pramana_core.wire.releases import PartReceipt

_NOT_OPEN_REMEDY = {
    "sealed": "Publish additional or corrected records as a new release.",
    "withdrawn": "The release and its name cannot be used again. Publish under a new name.",
}


@dataclass(frozen=True)
class ExpectedPart:
    """An announced part, with the kind and digest of its release; `stored` if it has arrived."""

    release: str
    number: int
    content: tuple[str, str]
    records: int
    bytes: int
    sha256: str
    stored: bool
    media: str


@dataclass(frozen=True)
class ReceivedPart:
    """A received part: its size in bytes, SHA-256 and file, or None if it was only compared."""

    scratch: Path | None
    size: int
    sha256: bytes


_release, _part = ReleaseRow.__table__.c, PartRow.__table__.c
_other = PartRow.__table__.alias()
_PART = (
    select(
        _release.state,
        _release.kind,
        _release.content_digest,
        _part.records,
        _part.bytes,
        _part.sha256,
        _part.received,
        exists()
        .where(_other.c.release == _release.id, _other.c.received.is_not(None))
        .label("begun"),
    )
    .where(_part.release == _release.id)
    .where(_release.id == bindparam("release"), _part.number == bindparam("number"))
)
"""Selects a part, its release's state, and whether any part arrived.

It selects single columns because it runs for each part, and plans are long and row objects slow.
"""


def expect_part(
    session: Session,
    limits: Limits,
    release: str,
    number: int,
    *,
    media: str,
    length: int | None,
) -> ExpectedPart:
    """Check that a part may be sent. Raises NotFound, LimitExceeded, PartInvalid, Conflict."""
    limit = limits.json_bytes if media == PART_JSON_MEDIA_TYPE else limits.part_bytes
    found = session.execute(_PART, {"release": release, "number": number}).first()
    if found is None:
        raise _no_part(find_release(session, release))
    stored = found.received is not None
    if found.state == "withdrawn" or not stored:
        require_open(release, found.state)
    for size in (length or 0, found.bytes):
        remedy = "Split the records into smaller parts."
        require_at_most(size, limit, "bytes of a part", remedy=remedy)
    expected = ExpectedPart(
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


def take_part(
    services: Services, expected: ExpectedPart, arrived: ReceivedPart, digest_header: str | None
) -> bool:
    """Check, store and acknowledge a part. Return whether it is new.

    Raises PartInvalid, Conflict, StorageFull, NotReady, BudgetExceeded, NotFound.
    """
    _require_bytes(expected, arrived.size, arrived.sha256, digest_header)
    if expected.stored or arrived.scratch is None:
        return False
    schema = _schema(services, expected)
    with services.checking, pa.memory_map(str(arrived.scratch)) as file:
        keys, _ = decode(schema, file.read_buffer(), expected.media)
    if len(keys) != expected.records:
        raise PartInvalid(
            f"Part {expected.number} has {len(keys)} records; {expected.records} were announced.",
            where=str(expected.number),
            remedy="Announce a new release with the correct counts.",
        )
    services.segments.put_part(expected.release, expected.number, arrived.scratch)
    with services.database.write() as session:
        return _acknowledge(services, session, expected, services.now())


def receipt_of(expected: ExpectedPart) -> PartReceipt:
    """Return the receipt for a stored part."""
    return PartReceipt(
        release=expected.release,
        number=expected.number,
        sha256=expected.sha256,
        records=expected.records,
    )


def _require_bytes(
    expected: ExpectedPart, size: int, digest: bytes, digest_header: str | None
) -> None:
    found = digest.hex()
    expected_header = f"sha-256=:{b64encode(digest).decode()}:"
    if digest_header is not None and digest_header.strip() != expected_header:
        raise PartInvalid(
            f"Part {expected.number} was damaged in transit: its digest differs from its header.",
            where=str(expected.number),
            remedy="Send the part again.",
        )
    if expected.stored and expected.sha256 != found:
        raise _conflict(expected)
    if size != expected.bytes or found != expected.sha256:
        raise _other_length(expected, f"{size} bytes with SHA-256 {found}")


def _acknowledge(
    services: Services, session: Session, expected: ExpectedPart, now: datetime
) -> bool:
    """Record that a part is on disk; return whether it is new."""
    release, number = expected.release, expected.number
    found = session.execute(_PART, {"release": release, "number": number}).first()
    if found is None:  # the release was withdrawn, or its study deleted
        services.segments.drop_part(release, number)
        raise _no_part(find_release(session, release))
    if found.state != "open":
        services.segments.drop_part(release, number)
    if found.state == "withdrawn" or found.received is None:
        require_open(release, found.state)
    if found.received is not None:
        return False
    if not found.begun:
        try:
            row = find_release(session, release)
            require_one_secret(session, row.study, row.owner, row.linkage)
            require_within_budget(session, row)
        except (BudgetExceeded, LinkageDiffers):
            services.segments.drop_part(release, number)
            raise
    session.execute(_ARRIVED, {"r": release, "n": number, "at": now, "as_media": expected.media})
    return True


_ARRIVED = (
    update(PartRow.__table__)  # type: ignore[arg-type]  # it is a table
    .where(PartRow.release == bindparam("r"), PartRow.number == bindparam("n"))
    .values(received=bindparam("at"), media=bindparam("as_media"))
)


def require_open(release: str, state: str) -> None:
    """Check that a release is open. Raises Conflict."""
    if state != "open":
        raise Conflict(f"The release is {state}.", where=release, remedy=_NOT_OPEN_REMEDY[state])


def _no_part(row: ReleaseRow) -> PramanaError:
    if row.state == "withdrawn":
        require_open(row.id, row.state)
    return no_such("part")


def decode(
    schema: RecordSchema, body: bytes | pa.Buffer, media: str
) -> tuple[Pseudonyms, dict[str, Values]]:
    """Decode the records of a part. Raises PartInvalid."""
    if media == PART_JSON_MEDIA_TYPE:
        return decode_part_json(schema, memoryview(body).tobytes())
    return decode_part(schema, body)


def _schema(services: Services, expected: ExpectedPart) -> RecordSchema:
    """Return the columns of a release's parts. Raises NotFound, or Conflict if it is not open."""
    known: RecordSchema | None = _SCHEMAS.cache.get(expected.content)  # type: ignore[attr-defined]
    if known is not None:
        return known
    with services.database.read() as session:
        row = find_release(session, expected.release)
    require_open(row.id, row.state)
    return _SCHEMAS(row)


_SCHEMAS = cached_by_content(lambda row: kind_of_release(row).schema_of(content_of(row)))
"""The columns of a release's parts, cached because parsing a plan is slow."""


def _conflict(part: ExpectedPart) -> Conflict:
    return Conflict(
        f"Part {part.number} is already stored with different bytes. It is unchanged.",
        where=str(part.number),
        remedy="Send the announced bytes. For different content, publish a new release.",
    )


def _other_length(part: ExpectedPart, found: str) -> PartInvalid:
    has = found if "bytes" in found else f"{found} bytes"
    return PartInvalid(
        f"Part {part.number} has {has}; {part.bytes} bytes with {part.sha256} were announced."
        " Nothing was stored.",
        where=str(part.number),
        remedy="Send the bytes that the manifest describes.",
    )
