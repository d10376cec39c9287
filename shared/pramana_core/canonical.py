"""The one form in which a document is stored and hashed: sorted keys, no spaces, UTF-8."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def canonical_json(document: Any) -> bytes:
    """Return a document in its one form."""
    return json.dumps(
        document, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    ).encode()


def digest_of(document: Any) -> str:
    """Return SHA-256 of a document in its one form, in hexadecimal: its identity."""
    return hashlib.sha256(canonical_json(document)).hexdigest()
