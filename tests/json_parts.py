"""Parts as JSON, as whoever writes to the API by hand sends them."""

from __future__ import annotations

import json

import numpy as np

from pramana_core.wire.parts import RecordSchema


def encode_part_json(schema: RecordSchema, keys: np.ndarray, columns: dict) -> bytes:
    part = {
        "keys": [key.tobytes().hex() for key in keys],
        "columns": {name: columns[name].tolist() for name in schema.sizes},
    }
    return json.dumps(part, separators=(",", ":")).encode()
