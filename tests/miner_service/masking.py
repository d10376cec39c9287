"""Masked releases as an owner would send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pramana_core.wire.parts import encode_part
from pramana_core.wire.release_kinds import MaskedTableMessage
from tests.miner_service.conftest import Built, build

COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "role": "told", "type": "numeric"},
    {"name": "sex", "role": "told", "type": "categorical", "categories": ["f", "m"]},
    {"name": "debt", "role": "masked", "type": "numeric"},
]


def table_of(
    columns: Sequence[dict[str, Any]] = COLUMNS, method: str = "egadp"
) -> MaskedTableMessage:
    """A masked table's description."""
    told = {"columns": columns, "method": method}
    protection = ["It tells nothing of a person beyond the told columns."]
    return MaskedTableMessage.model_validate({**told, "protection": protection})


def masked(
    ids: Sequence[int],
    *,
    values: dict[str, np.ndarray] | None = None,
    name: str = "m1",
    per_part: int = 40,
    seed: int = 1,
    encode: Any = encode_part,
    **told: Any,
) -> Built:
    """Build a masked release of records `ids`, of made-up values if none are given."""
    table, rng = table_of(**told), np.random.default_rng(seed)
    drawn = {
        name: rng.normal(40, 12, len(ids)) if size is None else rng.integers(0, size, len(ids))
        for name, size in table.schema_of_parts.sizes.items()
    }
    held = {name: (values or drawn)[name] for name in table.names}
    return build(table, ids, held, name=name, per_part=per_part, encode=encode)
