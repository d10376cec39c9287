"""Masked releases as an owner would send them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pramana_core.wire.parts import encode_part, parts_of
from pramana_core.wire.release_kinds import MaskedTableMessage
from pramana_core.wire.releases import PartManifest, ReleaseCreate, release_digest

COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "role": "told", "type": "numeric"},
    {"name": "sex", "role": "told", "type": "categorical", "categories": ["f", "m"]},
    {"name": "debt", "role": "masked", "type": "numeric"},
]


@dataclass(frozen=True)
class Masked:
    """A masked release before it is sent, and what it holds in the order it is sent in."""

    body: dict[str, Any]
    parts: list[bytes]
    table: MaskedTableMessage
    columns: dict[str, np.ndarray]


def drawn(table: MaskedTableMessage, records: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Columns of a masked table, made up: as they travel."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(40, 12, records) if size is None else rng.integers(0, size, records)
        for name, size in table.schema_of_parts.sizes.items()
    }


def masked(
    ids: Sequence[int],
    *,
    columns: Sequence[dict[str, Any]] = COLUMNS,
    values: dict[str, np.ndarray] | None = None,
    copies: int = 1,
    method: str = "egadp",
    name: str = "m1",
    per_part: int = 40,
    seed: int = 1,
    encode: Any = encode_part,
) -> Masked:
    """Build a masked release of records `ids`."""
    table = MaskedTableMessage.model_validate(
        {
            "columns": columns,
            "method": method,
            "copies": copies,
            "protection": ["It tells nothing of a person beyond the told columns."],
        }
    )
    raw = b"".join(hashlib.sha256(str(i).encode()).digest()[:16] for i in ids)
    keys = np.frombuffer(raw, dtype="V16")
    order = np.argsort(np.frombuffer(raw, dtype="S16"))
    held = drawn(table, len(ids), seed) if values is None else values
    sorted_values = {name: held[name][order] for name in table.names}
    places = parts_of(len(ids), per_part)
    parts = [
        encode(
            table.schema_of_parts,
            keys[order][a:b],
            {name: column[a:b] for name, column in sorted_values.items()},
        )
        for a, b in places
    ]
    return announced(table, parts, [b - a for a, b in places], name, sorted_values)


def announced(
    table: MaskedTableMessage,
    parts: list[bytes],
    sizes: list[int],
    name: str = "m1",
    columns: dict[str, np.ndarray] | None = None,
) -> Masked:
    """Announce parts."""
    manifests = [
        PartManifest(number=i, records=n, bytes=len(p), sha256=hashlib.sha256(p).hexdigest())
        for i, (p, n) in enumerate(zip(parts, sizes, strict=True))
    ]
    body = ReleaseCreate(
        name=name,
        kind="masked-records",
        table=table,
        records=sum(sizes),
        parts=manifests,
        digest=release_digest(table.digest, manifests),
    )
    return Masked(body.model_dump(mode="json"), parts, table, columns or {})
