"""The service's public address, stored in the data directory while the service runs."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from miner_service.settings import Settings, require_public_address
from miner_service.store.durable import storing
from pramana_core.errors import OptionError

_FILE = "address"


def write_address(settings: Settings, url: str) -> None:
    """Store the address for invitations: `public_url`, or the address the service listens on."""
    file = settings.data_dir / _FILE
    known = settings.web.public_url
    if known is None and not ipaddress.ip_address(urlsplit(url).hostname or "").is_unspecified:
        known = url
    if known is None:
        file.unlink(missing_ok=True)
    else:
        with storing("The address of the service"):
            file.write_text(f"{known}\n", encoding="utf-8")


def address_of(settings: Settings, url: str | None) -> str:
    """Return `url` or, without it, the address for invitations. Raises OptionError."""
    if url is not None:
        require_public_address(url, "url")
        return url
    if settings.web.public_url is not None:
        return settings.web.public_url
    try:
        return (settings.data_dir / _FILE).read_text(encoding="utf-8").strip()
    except OSError:
        raise OptionError(
            "The public address of this miner is unknown.",
            where="url",
            remedy="Pass --url here, or --public-url to `miner-service serve`.",
        ) from None
