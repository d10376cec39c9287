"""Private files of an owner, which nobody else can read, written durably and as a whole."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pramana_core.errors import KeyFileError, OptionError
from pramana_core.full_disks import storing

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
COMMON_MODE = 0o666
"""Mode of files without private content, before the process's umask."""


def private_directory(path: Path) -> Path:
    """Create a directory that only its owner can enter. Raises KeyFileError if others can."""
    with storing("a folder", path):
        path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    refuse_if_open_to_others(path, f"chmod 700 {path}")
    return path


def refuse_if_open_to_others(path: Path, repair: str) -> None:
    """Check that no other user has access to a path. Raises KeyFileError."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise KeyFileError(
            f"{path} has mode {mode:04o}: other users of this machine can access it.",
            where=str(path),
            remedy=f"Run `{repair}`, and consider who may have read it.",
        )


def read_secret(path: Path) -> str:
    """Return the secret in a file, a single word of printable ASCII. Raises KeyFileError."""
    try:
        refuse_if_open_to_others(path, f"chmod 600 {path}")
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        text, why = "", getattr(error, "strerror", None) or "the file is not text"
    else:
        why = "the file is empty" if not text else "the file is not a single word"
    if not _SECRET.fullmatch(text):
        raise KeyFileError(
            f"The secret in {path} cannot be read: {why}.",
            where=str(path),
            remedy="Restore the file from your backup, or remove it and request another secret.",
        )
    return text


_SECRET = re.compile(r"[!-~]+")


def save(path: Path, content: bytes, where: str, mode: int = FILE_MODE) -> None:
    """Write a file to a chosen path, unless it is there with this content. Raises OptionError."""
    try:
        write_new(path, content, mode)
    except FileExistsError:
        if not path.is_file() or path.read_bytes() != content:
            require_absent(path, where)
    except OSError as error:
        raise OptionError(f"{path} cannot be written: {error.strerror}.", where=where) from None


def require_absent(path: Path, where: str) -> None:
    """Check that a file does not exist. Raises OptionError."""
    if path.exists():
        raise OptionError(
            f"{path} exists and was not changed.",
            where=where,
            remedy="Remove the file if you no longer need it, or name a new file.",
        )


def write_new(path: Path, content: bytes, mode: int = FILE_MODE) -> None:
    """Write a file durably. Raises FileExistsError if it exists, and StorageFull."""
    with storing("a file", path):
        temporary = _temporary(path)
        write_durably(temporary, content, mode)
        try:
            # A hard link, unlike a rename, never replaces a file created in the meantime.
            path.hardlink_to(temporary)
        finally:
            temporary.unlink()
        sync_directory(path.parent)


def write_replacing(path: Path, content: bytes) -> None:
    """Write a private file durably, replacing an earlier one. Raises StorageFull."""
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a private file for writing. Once complete, it durably replaces an earlier file."""
    with storing("a file", path):
        temporary = _temporary(path)
        with _durable(temporary, FILE_MODE) as file:
            yield file
        temporary.replace(path)
        sync_directory(path.parent)


def write_durably(path: Path, content: bytes, mode: int = FILE_MODE) -> None:
    """Write a file whose folder the caller syncs later. Raises FileExistsError, StorageFull."""
    with storing("a file", path), _durable(path, mode) as file:
        file.write(content)


@contextmanager
def _durable(path: Path, mode: int) -> Iterator[IO[bytes]]:
    """Open a new file. Sync it to disk at the end, or remove it after an error."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)  # Attempts must not fill a full disk further.
        raise


def sync_directory(path: Path) -> None:
    """Sync a directory to disk, so that new and renamed files in it survive a crash."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")
