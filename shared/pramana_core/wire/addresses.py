"""Addresses of services that take a token: what they may look like, and when they are safe."""

from __future__ import annotations

from urllib.parse import urlsplit

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""This machine itself, where plain http tells nobody the token."""


def is_loopback(url: str) -> bool:
    """Whether an address is of this machine."""
    return urlsplit(url).hostname in LOOPBACK


def require_address(url: str, *, allow_insecure: bool, permission: str) -> None:
    """Check an address that a token is sent to.

    Args:
        url: the address.
        allow_insecure: whether plain http may leave this machine.
        permission: how one says so.

    Raises:
        ValueError: it is none, holds more than a host and a path, or would carry the token
            unencrypted to another machine.
    """
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        # Not quoted: it may hold a password.
        raise ValueError("the address must hold a host and a path only")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is not an http or https address")
    if parts.scheme == "http" and not is_loopback(url) and not allow_insecure:
        raise ValueError(
            f"{url!r} would carry the token unencrypted; use https, or {permission} if the network"
            " itself is private"
        )
