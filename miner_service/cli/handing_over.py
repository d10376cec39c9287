"""Files that hand a secret over: tokens, invitations, analysts' access; and the address in them."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pramana_core.errors import OptionError

if TYPE_CHECKING:
    from miner_service.settings import Settings

_ADDRESS = "address"
"""The file in the data directory with the address at which the service was last reached."""


def write_secret(path: Path, text: str) -> None:
    """Write a secret into a file of mode 0600, in place of what was there. Raises OptionError."""
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise OptionError(
            f"{path} cannot be written: {error.strerror}. Nobody has what was to be in it.",
            where="token-file",
            remedy="Name a file in a directory that can be written, and issue it again.",
        ) from error


def where_it_is(what: str, secret: str, file: Path | None) -> str:
    """Return the sentence that says where a secret is, or the secret itself."""
    return f"{what}, shown only this once: {secret}" if file is None else f"{what} is in {file}"


def require_absent(files: Iterable[Path], option: str) -> None:
    """Refuse to overwrite an existing file. Raises OptionError."""
    for file in files:
        if file.exists():
            raise OptionError(
                f"{file} exists; nothing was made.",
                where=option,
                remedy=f"Remove it if it is to be replaced, or name another --{option}.",
            )


def write_address(settings: Settings, url: str) -> None:
    """Write down the address in invitations: `public_url`, or the one listened on."""
    from miner_service.store.durable import storing

    file = settings.data_dir / _ADDRESS
    known = settings.web.public_url
    if known is None and not ipaddress.ip_address(urlsplit(url).hostname or "").is_unspecified:
        known = url
    if known is None:
        file.unlink(missing_ok=True)
    else:
        with storing("The address of the service"):
            file.write_text(f"{known}\n", encoding="utf-8")


def address_of(settings: Settings, url: str | None) -> str:
    """Return the address in invitations and access files, `url` if given. Raises OptionError."""
    from miner_service.settings import require_public_address

    if url is not None:
        require_public_address(url, "url")
        return url
    if settings.web.public_url is not None:
        return settings.web.public_url
    try:
        return (settings.data_dir / _ADDRESS).read_text(encoding="utf-8").strip()
    except OSError:
        raise OptionError(
            "The address at which people reach this miner is not known.",
            where="url",
            remedy="Give --url here, or --public-url to `miner-service serve`.",
        ) from None
