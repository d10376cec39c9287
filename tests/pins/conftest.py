"""Pins: what the project says today, held fast while its code is moved and merged.

A test calls `pin(name, found)`; what it found must be what the JSON file beside it has under that
name: texts, whole numbers and the order of keys exactly, other numbers within a stated tolerance.
To write the files anew, which is for a person to decide who wants the change:

    PRAMANA_WRITE_PINS=1 pytest tests/pins
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

WRITE = os.environ.get("PRAMANA_WRITE_PINS") == "1"
DIGITS = 12
WIDTH = 100

Pin = Callable[..., None]


def plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays as lists, numbers to 12 digits, no infinities."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    return value


def differences(
    found: Any,
    wanted: Any,
    rel: float,
    absolute: float,
    place: str = "",
    within: Mapping[str, float] | None = None,
) -> Iterator[str]:
    """Yield where two values of `plain` differ, and how.

    `within` gives some keys, and all below them, an absolute tolerance of their own.
    """
    if isinstance(wanted, dict) and isinstance(found, dict):
        if list(found) != list(wanted):
            yield f"{place}: keys {list(found)}, pinned {list(wanted)}"
            return
        for key in wanted:
            allowed = (within or {}).get(key, absolute)
            yield from differences(found[key], wanted[key], rel, allowed, f"{place}.{key}", within)
    elif isinstance(wanted, list) and isinstance(found, list):
        if len(found) != len(wanted):
            yield f"{place}: {len(found)} entries, pinned {len(wanted)}"
            return
        for index, pair in enumerate(zip(found, wanted, strict=True)):
            yield from differences(*pair, rel, absolute, f"{place}[{index}]", within)
    elif type(found) is type(wanted) is float:
        if not math.isclose(found, wanted, rel_tol=rel, abs_tol=absolute):
            yield f"{place}: {found!r}, pinned {wanted!r}"
    elif type(found) is not type(wanted) or found != wanted:
        yield f"{place}: {found!r}, pinned {wanted!r}"


def written(value: Any, indent: int = 0) -> str:
    """Return JSON of which a short value, or a list of plain ones, is on one line."""
    line = json.dumps(value, ensure_ascii=False)
    flat = isinstance(value, list) and not any(isinstance(v, dict | list) for v in value)
    if not isinstance(value, dict | list) or not value or flat or len(line) + indent <= WIDTH:
        return line
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(k, ensure_ascii=False)}: {written(v, indent + 1)}"
            for k, v in value.items()
        ]
        opening, closing = "{", "}"
    else:
        parts, (opening, closing) = [written(v, indent + 1) for v in value], "[]"
    body = ",\n".join(inner + part for part in parts)
    return f"{opening}\n{body}\n{' ' * indent}{closing}"


@pytest.fixture
def pin(request: pytest.FixtureRequest) -> Pin:
    """Return `pin(name, found, rel=0, absolute=0, within={})`: compares with the module's file."""
    path: Path = request.path.with_suffix(".json")

    def compare(
        name: str,
        found: Any,
        rel: float = 0.0,
        absolute: float = 0.0,
        within: Mapping[str, float] | None = None,
    ) -> None:
        pinned = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        seen = plain(found)
        if WRITE:
            pinned[name] = seen
            path.write_text(written(dict(sorted(pinned.items()))) + "\n", encoding="utf-8")
            return
        assert name in pinned, f"{name} is not pinned"
        # The last of the digits kept may be rounded either way.
        rel = max(rel, 1e-11)
        wrong = list(differences(seen, pinned[name], rel, absolute, name, within))
        assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:10])

    return compare
