"""The outbox: parts and manifests of releases, stored before the first byte is sent."""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from owner_agent.randomize.reports import SortedReports
from owner_agent.state.private_files import private_directory, sync_directory, write_durably
from pramana_core.errors import LimitExceeded, OptionError, PramanaError, StoreCorrupt
from pramana_core.full_disks import storing
from pramana_core.wire.base import KEY_BYTES, MAX_PARTS
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import Column, encode_part, parts_of
from pramana_core.wire.release_kinds import KINDS, RANDOMIZED, ReleaseKindName
from pramana_core.wire.releases import PartManifest, ReleaseCreate, release_digest

OUTBOX = "outbox"
"""The folder's name in a state directory."""

MANIFEST = "manifest.json"
UNSENT = "unsent"
"""Marker file in the folder of a release, removed before the first byte is sent."""
_UNFINISHED = ".unfinished-"


@dataclass(frozen=True)
class StoredRelease:
    """A complete release in the outbox."""

    folder: Path
    manifest: ReleaseCreate

    def mark_leaving(self) -> None:
        """Record durably that sending may begin. The ledger must already list the release."""
        (self.folder / UNSENT).unlink(missing_ok=True)
        sync_directory(self.folder)

    def part(self, number: int) -> bytes:
        """Return the bytes of a part. Raises StoreCorrupt."""
        path = self.folder / _part_name(number)
        expected = self.manifest.parts[number].sha256
        body = path.read_bytes() if path.exists() else b""
        if hashlib.sha256(body).hexdigest() != expected:
            raise _corrupt(path, self.folder)
        return body


@dataclass(frozen=True, eq=False)
class Outgoing:
    """A release of any kind as it will be sent, with its records sorted by pseudonym.

    `draws` and `keyed_draws` are opaque identities of each block's draws (see `ReleaseCreate`).
    """

    kind: ReleaseKindName
    message: Any
    keys: Column = field(default_factory=lambda: np.empty(0, dtype=f"V{KEY_BYTES}"))
    columns: Mapping[str, Column] = field(default_factory=dict)
    linkage: str | None = None
    draws: list[str] | None = None
    keyed_draws: list[str] | None = None

    @classmethod
    def of(cls, randomized: SortedReports, **more: Any) -> Outgoing:
        """Return randomized records as an outgoing release. `more` gives its further fields."""
        message = PlanMessage.from_plan(randomized.plan)
        return cls(RANDOMIZED, message, randomized.keys, randomized.columns, **more)

    @cached_property
    def content(self) -> Any:
        """The message, parsed by the release's kind."""
        return KINDS[self.kind].read(self.message)


def prepare(outbox: Path, records: Outgoing, per_part: int) -> StoredRelease:
    """Write a release into the outbox, in parts of at most `per_part` records, unless it is there.

    Raises OptionError, LimitExceeded, StorageFull or StoreCorrupt, after which nothing is stored.
    """
    _require_part_count(len(records.keys), per_part)
    private_directory(outbox)
    for stale in outbox.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(stale)
    temporary = private_directory(outbox / f"{_UNFINISHED}{secrets.token_hex(8)}")
    try:
        parts = []
        for part, body in _bodies(records, per_part):
            write_durably(temporary / _part_name(part.number), body)
            parts.append(part)
        manifest = _manifest(records, parts)
        folder = outbox / manifest.name
        if folder.exists():
            shutil.rmtree(temporary)
            return _found(folder, manifest)
        write_durably(temporary / MANIFEST, manifest.model_dump_json().encode() + b"\n")
        write_durably(temporary / UNSENT, b"")
        with storing("a release", folder):
            sync_directory(temporary)
            temporary.rename(folder)
            sync_directory(outbox)
        return StoredRelease(folder, manifest)
    except BaseException:
        # Attempts must not fill a full disk further.
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def reopen(outbox: Path, name: str) -> StoredRelease | None:
    """Return a release in the outbox by its name, or None. Raises StoreCorrupt."""
    folder = outbox / name
    if not folder.exists():
        return None
    path = folder / MANIFEST
    try:
        manifest = ReleaseCreate.model_validate_json(path.read_bytes())
        content = manifest.release_kind.read(manifest.content)
        digest = release_digest(content.digest, manifest.parts)
        if (manifest.name, manifest.digest) == (name, digest):
            return StoredRelease(folder, manifest)
    except (OSError, ValueError, PramanaError):
        pass  # All of these lead to the error below.
    raise _corrupt(path, folder)


def may_have_left(outbox: Path) -> tuple[str, ...]:
    """Return the names of releases in the outbox that may have been sent, wholly or partly."""
    return tuple(
        folder.name
        for folder in (sorted(outbox.iterdir()) if outbox.exists() else ())
        if not folder.name.startswith(".") and not (folder / UNSENT).exists()
    )


def discard(outbox: Path, name: str) -> None:
    """Remove a release that was never sent from the outbox, if it exists."""
    shutil.rmtree(outbox / name, ignore_errors=True)


def _require_part_count(records: int, per_part: int) -> None:
    if per_part < 1:
        raise OptionError(
            f"--part-records must be at least 1, not {per_part}.",
            where="part-records",
        )
    count = len(parts_of(records, per_part))
    if count > MAX_PARTS:
        raise LimitExceeded(
            f"The release would have {count} parts; {MAX_PARTS} are allowed.",
            where="part-records",
            remedy="Allow more records in a part with --part-records.",
        )


def _manifest(records: Outgoing, parts: list[PartManifest]) -> ReleaseCreate:
    digest = release_digest(records.content.digest, parts)
    content: dict[str, Any] = {KINDS[records.kind].field: records.message}
    return ReleaseCreate(
        name=f"r-{digest[:12]}",
        kind=records.kind,
        records=len(records.keys),
        parts=parts,
        digest=digest,
        draws=records.draws,
        keyed_draws=records.keyed_draws,
        linkage=records.linkage,
        **content,
    )


def _bodies(records: Outgoing, per_part: int) -> Iterator[tuple[PartManifest, bytes]]:
    for number, (start, stop) in enumerate(parts_of(len(records.keys), per_part)):
        # Inside the loop, because a release without records has neither parts nor a schema.
        schema = KINDS[records.kind].schema_of(records.content)
        columns = {name: values[start:stop] for name, values in records.columns.items()}
        body = encode_part(schema, records.keys[start:stop], columns)
        sha = hashlib.sha256(body).hexdigest()
        yield PartManifest(number=number, records=stop - start, bytes=len(body), sha256=sha), body


def _found(folder: Path, manifest: ReleaseCreate) -> StoredRelease:
    found = reopen(folder.parent, manifest.name)
    if found is not None:
        # A session of peers prepares the same bytes without draws and linkage.
        one, other = found.manifest, manifest
        beside = ("draws", "keyed_draws", "linkage")
        bare = {n: None for n in beside if None in (getattr(one, n), getattr(other, n))}
        if one.model_copy(update=bare) == other.model_copy(update=bare):
            return found
    raise _corrupt(folder / MANIFEST, folder)


def _corrupt(path: Path, folder: Path) -> StoreCorrupt:
    return StoreCorrupt(
        f"The file {path} in the outbox was changed or damaged.",
        where=str(path),
        remedy=f"Remove the folder {folder} and publish again with the same options, which writes"
        " the same content.",
    )


def _part_name(number: int) -> str:
    return f"part-{number:05d}.arrow"
