"""Files that hand secrets to people: tokens, invitations and access files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from pramana_core.errors import OptionError


def write_secret(path: Path, text: str, option: str) -> None:
    """Write a secret into a new file of mode 0600. Raises OptionError if that fails."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text + "\n")
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OptionError(
            f"{path} cannot be written: {error.strerror}. Nothing was issued.",
            where=option,
            remedy=f"Free space or name another --{option}, and run the command again.",
        ) from error


@contextmanager
def secret_in(path: Path, text: str, option: str = "token-file") -> Iterator[None]:
    """Write a secret into a new file; remove the file if the body of the `with` statement fails."""
    write_secret(path, text, option)
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def where_it_is(what: str, secret: str, file: Path | None) -> str:
    """Return a sentence with the path of a secret's file or, without a file, the secret itself."""
    return f"{what}, shown only this once: {secret}" if file is None else f"{what} is in {file}"


def require_writable(file: Path, option: str) -> None:
    """Check that a file can be created in its folder. Raises OptionError."""
    try:
        with TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        raise OptionError(
            f"{file} cannot be written: {error.strerror}. Nothing was written.",
            where=option,
            remedy=f"With --{option}, name a file in an existing, writable folder.",
        ) from None


def require_absent(files: Iterable[Path], option: str) -> None:
    """Check that files do not exist and can be created. Raises OptionError."""
    for file in files:
        if file.exists():
            raise OptionError(
                f"{file} already exists; nothing was written.",
                where=option,
                remedy=f"Remove the file, or name another --{option}.",
            )
        require_writable(file, option)
