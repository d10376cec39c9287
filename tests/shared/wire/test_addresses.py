"""Where a token may be sent."""

from __future__ import annotations

import pytest

from pramana_core.wire.services import is_loopback, require_address


@pytest.mark.parametrize(
    "url",
    ["https://m.example.org", "https://m.example.org/pramana/", "http://127.0.0.1:8000",
     "http://localhost", "http://[::1]:8000"],
)  # fmt: skip
def test_safe_addresses(url: str):
    require_address(url, allow_insecure=False, permission="say so")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("m.example.org", "not an http or https address"),
        ("ftp://m.example.org", "not an http or https address"),
        ("https://", "not an http or https address"),
        ("http://m.example.org", "unencrypted; use https, or say so"),
        ("http://127.0.0.1.example.org", "unencrypted"),
        ("https://m.example.org?a=1", "a host and a path only"),
    ],
)
def test_others(url: str, words: str):
    with pytest.raises(ValueError, match=words):
        require_address(url, allow_insecure=False, permission="say so")


def test_a_password_in_an_address_is_not_repeated():
    with pytest.raises(ValueError, match="host and a path only") as raised:
        require_address("https://me:secret@m.example.org", allow_insecure=True, permission="")
    assert "secret" not in str(raised.value)


def test_a_private_network_may_be_trusted():
    require_address("http://m.example.org", allow_insecure=True, permission="say so")
    assert not is_loopback("http://m.example.org")
