"""Encrypted backups of a state directory, in one file.

The file is a tar archive in chunks, encrypted by AES-256-GCM under a key that Scrypt derives from a
passphrase. Each nonce has a counter and marks the last chunk (STREAM, Hoang et al. 2015), so a
changed, missing or moved chunk is detected.
"""

from __future__ import annotations

import glob
import itertools
import secrets
import shutil
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING

from owner_agent.state.ledger_file import LEDGER, ledger_transaction, require_ledger
from owner_agent.state.lock import publishing_alone
from owner_agent.state.private_files import (
    private_directory,
    replacing,
    require_absent,
    sync_directory,
)
from owner_agent.state.scratch import scratch_file
from pramana_core.errors import Conflict, NotFound, OptionError
from pramana_core.full_disks import storing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SHORTEST_PASSPHRASE = 12

_MAGIC = b"pramana-state-backup/1\n"
_SALT, _PREFIX, _TAG = 16, 7, 16
_CHUNK = 1 << 20
_SCRYPT = {"n": 1 << 17, "r": 8, "p": 1}
"""Parameters of RFC 7914. Each guess of a passphrase needs 128 MiB of memory."""


def _cipher(passphrase: str, header: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    salt = header[len(_MAGIC) : -_PREFIX]
    return AESGCM(Scrypt(salt=salt, length=32, **_SCRYPT).derive(passphrase.encode()))


def _chunks(file: IO[bytes], size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rest of a file in chunks, each with the last bytes of its nonce."""
    chunk = file.read(size)
    for count in itertools.count():
        following = file.read(size)
        yield count.to_bytes(4, "big") + bytes([not following]), chunk
        if not following:
            return
        chunk = following


def require_something_to_back_up(state: Path) -> None:
    """Check that a state directory has a ledger. Raises NotFound, HistoryLost."""
    if not (state / LEDGER).exists():
        require_ledger(state)
        raise NotFound(f"{state} has no ledger, so there is nothing to back up.", where="state")


def back_up(state: Path, target: Path, passphrase: str, now: datetime) -> int:
    """Write an encrypted copy of a state directory to a new file; return how many files it has.

    Raises OptionError, NotFound, HistoryLost, StorageFull; Conflict while a publication runs.
    """
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise OptionError(
            f"The passphrase has fewer than {SHORTEST_PASSPHRASE} characters.",
            where="passphrase",
            remedy="Use several random words.",
        )
    require_absent(target, "file")
    require_something_to_back_up(state)
    header = _MAGIC + secrets.token_bytes(_SALT + _PREFIX)
    cipher = _cipher(passphrase, header)
    with storing("the backup", target), publishing_alone(state), scratch_file(state, -1) as plain:
        count = _archive(state, plain, now)
        plain.seek(0)
        with replacing(target) as file:
            file.write(header)
            for end, chunk in _chunks(plain, _CHUNK):
                file.write(cipher.encrypt(header[-_PREFIX:] + end, chunk, header))
    return count


def _archive(state: Path, file: IO[bytes], now: datetime) -> int:
    with ledger_transaction(state) as source, closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        content = copy.serialize()
    ledger = tarfile.TarInfo(LEDGER)
    ledger.size, ledger.mtime = len(content), int(now.timestamp())
    with tarfile.open(fileobj=file, mode="w", dereference=True) as archive:
        archive.addfile(ledger, BytesIO(content))
        for path in sorted(state.rglob("*")):
            name = path.relative_to(state)
            unfinished = any(part.startswith(".") for part in name.parts)
            if not (unfinished or name.name.startswith(LEDGER) or name.suffix == ".lock"):
                archive.add(path, str(name), recursive=False)
        return sum(member.isfile() for member in archive.getmembers())


def restore(file: Path, state: Path, passphrase: str) -> datetime:
    """Restore a backup into a new state directory; return the time of the backup.

    Raises OptionError, StorageFull, and Conflict if the directory already has content.
    """
    if state.exists() and any(state.iterdir()):
        raise Conflict(
            f"{state} already has content. Nothing was restored.",
            where="state",
            remedy="If the directory is damaged, move it to another place and restore again.",
        )
    folder = state.parent / f".{state.name}.{secrets.token_hex(8)}"
    try:
        with file.open("rb") as source:
            header = _header(source, file)
            _remove_unfinished(state)
            with storing("the state", state), scratch_file(folder, -1) as plain:
                _decrypt(source, plain, passphrase, header)
                plain.seek(0)
                made = _extract(plain, folder)
        folder.rename(state)  # fails if the directory has content meanwhile
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sync_directory(state.parent)
    return made


def _header(source: IO[bytes], file: Path) -> bytes:
    length = len(_MAGIC) + _SALT + _PREFIX
    header = source.read(length)
    if len(header) < length or not header.startswith(_MAGIC):
        raise OptionError(
            f"{file} is not a backup of a state directory; nothing was restored.",
            where="file",
            remedy="Name a file written by `owner-agent backup`.",
        )
    return header


def _remove_unfinished(state: Path) -> None:
    """Remove the folders of restores that were killed: they contain decrypted keys."""
    for folder in state.parent.glob(f".{glob.escape(state.name)}.{'[0-9a-f]' * 16}"):
        shutil.rmtree(folder, ignore_errors=True)


def _decrypt(source: IO[bytes], plain: IO[bytes], passphrase: str, header: bytes) -> None:
    from cryptography.exceptions import InvalidTag

    cipher = _cipher(passphrase, header)
    try:
        for end, chunk in _chunks(source, _CHUNK + _TAG):
            plain.write(cipher.decrypt(header[-_PREFIX:] + end, chunk, header))
    except InvalidTag:
        raise OptionError(
            "The passphrase is wrong, or the backup is damaged; nothing was restored.",
            where="passphrase",
            remedy="Use the passphrase of this backup, or another backup.",
        ) from None


def _extract(file: IO[bytes], folder: Path) -> datetime:
    made = 0.0
    with tarfile.open(fileobj=file, mode="r") as archive:
        for member in archive:
            path = folder / member.name
            if ".." in path.parts or not path.is_relative_to(folder):
                raise OptionError(f"The backup names the file {member.name}.", where="file")
            made = max(made, member.mtime if member.name == LEDGER else 0.0)
            private_directory(path if member.isdir() else path.parent)
            if member.isfile() and (content := archive.extractfile(member)) is not None:
                with replacing(path) as target:
                    shutil.copyfileobj(content, target)
    return datetime.fromtimestamp(made, UTC)
