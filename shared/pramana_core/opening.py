"""A lock on a folder, so that one process at a time opens its files and the others wait."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pramana_core.errors import KeyFileError, OptionError

_LOCK = "opening.lock"


@contextmanager
def opening_alone(folder: Path) -> Iterator[None]:
    """Lock a folder for the caller; wait while another process has the lock.

    The lock is on an empty file in the folder, which is opened for writing because NFS does not
    lock other files. The system releases the lock if the process dies.
    """
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


_OTHERS_WRITE = 0o022
_OTHERS = 0o077
_OTHERS_THAN_THE_GROUP = 0o037


def require_own_folder(folder: Path) -> None:
    """Create or check a folder that only its owner may write to. Raises KeyFileError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & _OTHERS_WRITE:
        raise KeyFileError(
            f"The folder {folder} has mode {mode:04o}: other users may replace its files.",
            where="data",
            remedy=f"Run `chmod 700 {folder}`, and check whether anyone has changed its files.",
        )


def require_private_key(key: Path) -> None:
    """Check that nobody but its owner may read a private key, as PostgreSQL does.

    The group may also read a key that belongs to root: systems share keys between services in this
    way. Raises KeyFileError, OSError.
    """
    state = key.stat()
    mode = stat.S_IMODE(state.st_mode)
    if mode & (_OTHERS_THAN_THE_GROUP if state.st_uid == 0 else _OTHERS):
        raise KeyFileError(
            f"The private key {key} has mode {mode:04o}: users other than its owner may read it.",
            where="private_key",
            remedy=f"Run `chmod 600 {key}`, and check who may have read it. A key that belongs to"
            " root may have mode 640 if the service's user is in its group.",
        )


def require_tls_files(certificate: Path, private_key: Path | None, authority: Path | None) -> None:
    """Check the PEM files that a process uses for TLS.

    Raises OptionError: they cannot be read or do not match, or the key has a passphrase.
    KeyFileError: users other than its owner may read the private key.
    """

    import ssl

    files = [file for file in (certificate, private_key, authority) if file is not None]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        require_private_key(private_key or certificate)
        context.load_cert_chain(certificate, private_key, password=lambda: "")
        if authority is not None:
            context.load_verify_locations(authority)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
        raise OptionError(
            f"The TLS files ({', '.join(map(str, files))}) cannot be used:"
            f" {_TLS_WORDS.get(str(reason), reason or type(error).__name__)}.",
            where="certificate",
            remedy="Give PEM files that this process may read: a certificate with its chain, its"
            " private key without a passphrase, and the certificate authority of the other side.",
        ) from None


_TLS_WORDS = {
    "KEY_VALUES_MISMATCH": "the private key does not match the certificate",
    "NO_CERTIFICATE_OR_CRL_FOUND": "the authority's file has no certificate",
}
"""Plain words for OpenSSL's most common errors."""


def create_private(path: Path) -> None:
    """Create an empty file with mode 600, unless it exists.

    An existing SQLite file is not opened, because closing it would release all locks of the process
    (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
