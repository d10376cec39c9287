"""Bearer tokens and invitation secrets: `<id>.<256 random bits>`, stored as SHA-256 hashes."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass

SECRET_BYTES = 32

ID_BYTES = 6

_ID = re.compile(r"[a-z]-[0-9a-f]{12}")

_WHOLE = re.compile(r"([a-z]-[0-9a-f]{12})\.[\w-]+")


@dataclass(frozen=True)
class Credential:
    """A new credential. Only its holder gets `text`; the miner stores `id` and `hash`."""

    id: str
    text: str
    hash: str


def new_id(prefix: str) -> str:
    """Return a fresh identifier, such as `r-1f0c22d9a4be`."""
    return f"{prefix}-{secrets.token_hex(ID_BYTES)}"


def new_credential(prefix: str) -> Credential:
    """Return a fresh credential whose id starts with `prefix`."""
    identifier = new_id(prefix)
    text = f"{identifier}.{secrets.token_urlsafe(SECRET_BYTES)}"
    return Credential(identifier, text, credential_hash(text))


def derived_credential(prefix: str, secret: str, key: str) -> Credential:
    """Return the credential derived from a secret of 256 random bits and a key."""
    material = hmac.digest(secret.encode(), key.encode(), "sha512")
    identifier = f"{prefix}-{material[SECRET_BYTES:][:ID_BYTES].hex()}"
    text = f"{identifier}.{urlsafe_b64encode(material[:SECRET_BYTES]).rstrip(b'=').decode()}"
    return Credential(identifier, text, credential_hash(text))


def credential_hash(text: str) -> str:
    """Return the SHA-256 hash of a credential, which the miner stores instead of the credential."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def credential_id(text: str) -> str:
    """Return the id in a credential, or "". Only `matches` verifies the credential."""
    claimed = text.partition(".")[0]
    return claimed if _ID.fullmatch(claimed) else ""


def without_secrets(text: str) -> str:
    """Replace each credential in a text by its id."""
    return _WHOLE.sub(r"\1", text)


def matches(text: str, stored_hash: str) -> bool:
    """Return whether a credential has the stored hash. The comparison takes constant time."""
    return hmac.compare_digest(credential_hash(text), stored_hash)
