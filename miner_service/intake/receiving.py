"""How one part comes in: expected before it is read, checked from its file, kept, acknowledged.

It is acknowledged only when its bytes and its row are both on disk.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from sqlalchemy.orm import Session

from miner_service.intake.study_privacy import require_within_budget
from miner_service.services import Services
from miner_service.store.releases import (
    anything_arrived,
    content_of,
    find_part,
    find_release,
    kind_of_release,
)
from miner_service.store.schema import PartRow, ReleaseRow
from shared.errors import (
    BudgetExceeded,
    LimitExceeded,
    NotFound,
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
    """A part that may come: its rows, and the media type it will have."""

    release: ReleaseRow
    part: PartRow
    media: str

    @property
    def stored(self) -> bool:
        """Whether it came before, so that it is only compared."""
        return self.part.received is not None


@dataclass(frozen=True)
class Arrived:
    """What came: a file, or None where it was only compared; its size in bytes and SHA-256."""

    scratch: Path | None
    size: int
    sha256: bytes


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
        row = find_release(session, release)
        part = find_part(session, release, number)
    if row.state == "withdrawn" or part.received is None:
        require_state(row, "open")
    for size in (length or 0, part.bytes):
        if size > limit:
            raise LimitExceeded(
                f"The part is longer than the {limit} bytes allowed.",
                remedy="Send less at once; a release may have many parts.",
            )
    if length is not None and length != part.bytes:
        raise _conflict(part) if part.received is not None else _other_length(part, str(length))
    return Expected(row, part, media)


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
    part = expected.part
    _require_bytes(expected, arrived, digest_header)
    receipt = PartReceipt(
        release=part.release,
        number=part.number,
        sha256=arrived.sha256.hex(),
        records=part.records,
    )
    if expected.stored or arrived.scratch is None:
        return receipt, False
    with services.checking:
        _require_valid(expected, arrived)
    services.segments.put_part(part.release, part.number, arrived.scratch)
    new = services.together.run(lambda session: _acknowledge(services, session, expected))
    return receipt, new


def _require_bytes(expected: Expected, arrived: Arrived, digest_header: str | None) -> None:
    part, sha256 = expected.part, arrived.sha256.hex()
    if digest_header is not None and digest_header.strip() != _digest_text(arrived.sha256):
        raise PartDigestMismatch(
            f"Part {part.number} was damaged on its way: it does not have the digest in its"
            " header.",
            where=str(part.number),
            remedy="Send it again.",
        )
    if expected.stored and part.sha256 != sha256:
        raise _conflict(part)
    if arrived.size != part.bytes or sha256 != part.sha256:
        raise _other_length(part, f"{arrived.size} bytes with SHA-256 {sha256}")


def _acknowledge(services: Services, session: Session, expected: Expected) -> bool:
    """Note that a part is on disk, or that it was before; say whether it is new.

    If the release was sealed or withdrawn while the part was written, nobody else would remove it.

    What was announced is held back by the budget only while its owner is in the study, so it is
    asked again where nothing has left yet.
    """
    part = expected.part
    try:
        row = find_release(session, part.release)
    except NotFound:  # its study was deleted
        services.segments.drop_part(part.release, part.number)
        raise
    stored = find_part(session, part.release, part.number)
    if row.state != "open":
        services.segments.drop_part(part.release, part.number)
    if row.state == "withdrawn" or stored.received is None:
        require_state(row, "open")
    if stored.received is not None:
        return False
    if not anything_arrived(session, row):
        try:
            require_within_budget(session, row)
        except BudgetExceeded:
            services.segments.drop_part(part.release, part.number)
            raise
    stored.received = services.now()
    stored.media = expected.media
    return True


def require_state(row: ReleaseRow, wanted: str) -> None:
    """Check the state of a release. Raises ReleaseNotOpen."""
    if row.state != wanted:
        raise ReleaseNotOpen(
            f"The release is {row.state}.",
            where=row.id,
            remedy=_NOT_OPEN_REMEDY[row.state],
        )


def decode(
    schema: RecordSchema, body: bytes | pa.Buffer, media: str
) -> tuple[Keys, dict[str, Values]]:
    """Read the records of a part. Raises PartInvalid."""
    if media == PART_JSON_MEDIA_TYPE:
        return decode_part_json(schema, memoryview(body).tobytes())
    return decode_part(schema, body)


def _require_valid(expected: Expected, arrived: Arrived) -> None:
    row, part = expected.release, expected.part
    schema = kind_of_release(row).schema_of(content_of(row))
    with pa.memory_map(str(arrived.scratch)) as file:
        keys, _ = decode(schema, file.read_buffer(), expected.media)
    if len(keys) != part.records:
        raise PartInvalid(
            f"Part {part.number} holds {len(keys)} records; {part.records} were announced.",
            where=str(part.number),
            remedy="Announce another release, with the right numbers.",
        )


def _conflict(part: PartRow) -> PartConflict:
    return PartConflict(
        f"Part {part.number} is stored with other bytes; those are unchanged.",
        where=str(part.number),
        remedy="Send the bytes announced; other content is another release.",
    )


def _other_length(part: PartRow, found: str) -> PartDigestMismatch:
    has = found if "bytes" in found else f"{found} bytes"
    return PartDigestMismatch(
        f"Part {part.number} has {has}; announced were {part.bytes} bytes with {part.sha256}."
        " Nothing was stored.",
        where=str(part.number),
        remedy="Send the bytes that the manifest describes.",
    )


def _digest_text(sha256: bytes) -> str:
    return f"sha-256=:{b64encode(sha256).decode()}:"
