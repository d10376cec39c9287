"""Canonical JSON, in which documents are stored and hashed: sorted keys, no spaces, UTF-8."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(document: Any) -> bytes:
    """Return a document as canonical JSON."""
    return json.dumps(
        document, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    ).encode()


def digest_of(document: Any) -> str:
    """Return the SHA-256 of a document's canonical JSON in hexadecimal, which identifies it."""
    return hashlib.sha256(canonical_json(document)).hexdigest()
