"""Cursors: where the next page of a list starts, readable and makeable by this service alone.

A cursor holds how many of the rows that its reader may see have been read: never the number of a
row, from which one could count the rows that are hidden. All cursors
are of one length, and one is good only for the reader and the list that it was given for.
"""

from __future__ import annotations

import binascii
import secrets
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from miner_service.store.database import Database
from miner_service.store.schema import KeyRow
from pramana_core.errors import OptionError, StoreCorrupt

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


def open_cursors(database: Database, folder: Path) -> Cursors:
    """Return the cursors of a service, making their key if its database has none.

    All processes on a database have one key. Earlier versions kept it in a file of their `folder`,
    which is carried over.

    Raises:
        StoreCorrupt: the key file does not hold a key.
    """
    file = folder / KEY_FILE
    with database.read() as session:
        row = session.get(KeyRow, _PURPOSE.decode())
    if row is None:
        kept = _read_key(file)
        with database.write() as session:
            row = session.get(KeyRow, _PURPOSE.decode())
            if row is None:
                made = kept or secrets.token_bytes(KEY_LENGTH)
                row = KeyRow(name=_PURPOSE.decode(), key=made)
                session.add(row)
        file.unlink(missing_ok=True)
    return Cursors(row.key)


def _read_key(file: Path) -> bytes | None:
    """Return the key that an earlier version kept in a file, if there is one."""
    if not file.exists():
        return None
    key = file.read_bytes()
    if len(key) != KEY_LENGTH:
        raise StoreCorrupt(
            f"The key file {file} does not hold {KEY_LENGTH} bytes.",
            where=str(file),
            remedy="Remove it: the next start makes another, and pages of lists are then read from"
            " the first one again.",
        )
    return key
