"""Masked releases as an owner would send them, and a small kind of job that learns from them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner_service.kinds.masked import RegressionKind
from pramana_core.wire.parts import content_digest, encode_part, parts_of
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


def send_clumsily(owner: Any, study: str, built: Masked) -> str:
    """Publish a release with everything sent twice, damaged once, and the parts in reverse."""
    releases = f"/v1/studies/{study}/releases"
    answers = [owner("POST", releases, json=built.body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    path = str(answers[1].headers["location"])
    for number in reversed(range(len(built.parts))):
        part = built.parts[number]
        digest = {"Content-Digest": content_digest(part)}
        damaged = owner.put(path, number, part[:-1] + bytes([part[-1] ^ 1]), **digest)
        assert damaged.json()["code"] == "part-invalid"
        assert [owner.put(path, number, part, **digest).status_code for _ in range(2)] == [201, 200]
    answers = [owner("POST", f"{path}/seal") for _ in range(2)]
    assert [answer.json()["state"] for answer in answers] == ["sealed", "sealed"]
    return path


def design(tables: Any, target: str) -> np.ndarray:
    """Least squares of the test: a constant, numbers, and an indicator of each code but 0."""
    columns = [np.ones(tables.records)]
    for column in tables.columns:
        if column.name == target:
            continue
        if hasattr(column, "codes"):
            columns += [(column.codes == k) * 1.0 for k in range(1, len(column.categories))]
        else:
            columns.append(column.values)
    return np.column_stack(columns)


class LeastSquares(RegressionKind):
    """A kind of job that shows what it received."""

    def learn(self, spec, prepared, table, on_step):
        fit = np.linalg.lstsq(design(table, spec.target), table[spec.target].values, rcond=None)
        found = fit[0].tolist()
        on_step(1, 1)
        masking = [
            {
                "release": release.source.release,
                "owner": release.source.owner,
                "method": release.table.method,
                "masked": release.table.masked,
            }
            for release in prepared.needed
        ]
        return {"document": {"coefficients": found}, "masking": masking}


LEAST_SQUARES = LeastSquares()
