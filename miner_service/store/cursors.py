"""Cursors: where the next page of a list starts, readable and makeable by this service alone.

A cursor holds how many of the rows that its reader may see have been read: never the number of a
row, from which one could count the rows that are hidden. All cursors
are of one length, and one is good only for the reader and the list that it was given for.
"""

from __future__ import annotations

import binascii
import os
import secrets
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from miner_service.store.files.durable import settle_new, storing
from shared.errors import OptionError, StoreCorrupt

KEY_FILE = "cursor.key"
KEY_LENGTH = 64
"""Of AES-256-SIV (RFC 5297), which needs no nonce: the same page has the same cursor."""

_PURPOSE = b"pramana/cursor/1"
_NUMBER_BYTES = 8
_SEALED_BYTES = 16 + _NUMBER_BYTES


@dataclass(frozen=True)
class ListView:
    """A list as one reader sees it: the list's address, and the id of the reader's token."""

    address: str
    reader: str

    @property
    def bound(self) -> list[bytes]:
        """What a cursor of this view is bound to."""
        return [_PURPOSE, self.address.encode("utf-8", "surrogatepass"), self.reader.encode()]


@dataclass(frozen=True)
class Cursors:
    """Seals and opens cursors under the service's key."""

    key: bytes = field(repr=False)

    def seal(self, view: ListView, had: int) -> str:
        """Return the cursor of the page after the first `had` rows of a view."""
        sealed = AESSIV(self.key).encrypt(had.to_bytes(_NUMBER_BYTES), view.bound)
        return urlsafe_b64encode(sealed).decode()

    def open(self, view: ListView, cursor: str) -> int:
        """Return how many rows of a view its reader has had.

        Raises:
            OptionError: the cursor was not given by this service for this view.
        """
        try:
            sealed = b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
            if len(sealed) == _SEALED_BYTES:
                return int.from_bytes(AESSIV(self.key).decrypt(sealed, view.bound))
        except (UnicodeError, binascii.Error, InvalidTag):
            pass
        raise OptionError(
            "The cursor is not one that this service gave for this list and this token.",
            where="cursor",
            remedy="Take it from `next` of the page before, or leave it out for the first page.",
        )


def open_cursors(folder: Path) -> Cursors:
    """Return the cursors of the service whose data a folder holds, making their key if it has none.

    Raises:
        StoreCorrupt: the key file does not hold a key.
    """
    path = folder / KEY_FILE
    if not path.exists():
        _make_key(path)
    path.chmod(0o600)
    key = path.read_bytes()
    if len(key) != KEY_LENGTH:
        raise StoreCorrupt(
            f"The key file {path} does not hold {KEY_LENGTH} bytes.",
            where=str(path),
            remedy="Remove it: the next start makes another, and pages of lists are then read from"
            " the first one again.",
        )
    return Cursors(key)


def _make_key(path: Path) -> None:
    """Write a key, durably, unless another process does so first. Raises StorageFull, NotReady."""
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with storing("The key of the cursors", scratch):
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_LENGTH))
        settle_new(scratch, path)
