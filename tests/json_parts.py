"""Parts as JSON, as whoever writes to the API by hand sends them."""

from __future__ import annotations

import numpy as np

from pramana_core.wire.parts import PartJson, RecordSchema


def encode_part_json(schema: RecordSchema, keys: np.ndarray, columns: dict) -> bytes:
    hexadecimal = [key.tobytes().hex() for key in keys]
    numbers = {name: columns[name].tolist() for name in schema.sizes}
    return PartJson(keys=hexadecimal, columns=numbers).model_dump_json().encode()
