"""One line of a chained log: each names the hash of the line before, and its own.

`hash` is SHA-256 over "pramana/audit/1", a zero byte and the canonical JSON (sorted keys, no
spaces, ASCII) of `previous`, `number`, `time` and `entry`. A line shows the fields of its entry
beside the others, so that it reads like any log in JSON lines; there is one way to write a line,
so that no byte of it can be other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pramana_core.errors import LimitExceeded, OptionError

GENESIS = "0" * 64
"""What the first line names as the hash before it."""

LONGEST = 4096
"""Bytes that a line has at most, with its end; so much room is kept for each."""

TORN = "audit_torn_line_cut_off"
"""The action of a line that says that half a line, left by a crash, was cut off before it."""

_OWN = ("number", "time", "previous", "hash")


@dataclass(frozen=True)
class Head:
    """Where a chain ends: after so many lines, at the hash of the last."""

    entries: int = 0
    hash: str = GENESIS


@dataclass(frozen=True)
class Link:
    """One line of a chain. `time` is ISO 8601; `entry` holds what JSON can say."""

    number: int
    time: str
    entry: Mapping[str, Any]
    previous: str

    @property
    def hash(self) -> str:
        """The hash of the line, in 64 hexadecimal digits."""
        content = {
            "previous": self.previous,
            "number": self.number,
            "time": self.time,
            "entry": dict(self.entry),
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(b"pramana/audit/1\x00" + text.encode("ascii")).hexdigest()

    @property
    def head(self) -> Head:
        """Where the chain ends with this line."""
        return Head(self.number + 1, self.hash)

    def text(self) -> bytes:
        """Return the line as it is written."""
        shown = {"number": self.number, "time": self.time}
        shown |= {name: self.entry[name] for name in sorted(self.entry)}
        shown |= {"previous": self.previous, "hash": self.hash}
        return json.dumps(shown, allow_nan=False).encode("ascii") + b"\n"


def link_after(head: Head, time: datetime, entry: Mapping[str, Any]) -> Link:
    """Return the next line of a chain.

    Raises:
        OptionError: the entry has a field that every line has.
        LimitExceeded: the line would have more than `LONGEST` bytes.
    """
    taken = sorted(set(entry) & set(_OWN))
    if taken:
        raise OptionError(f"An audit entry cannot have fields of its own named {taken}.")
    link = Link(head.entries, time.isoformat(), dict(entry), head.hash)
    if len(link.text()) > LONGEST:
        raise LimitExceeded(f"An audit entry may have {LONGEST} bytes; cut its texts before.")
    return link


def read_link(line: bytes) -> Link | None:
    """Return a line of a chain, or None if it is not one that `Link.text` wrote."""
    if len(line) > LONGEST:
        return None
    try:
        shown = json.loads(line)
        if not isinstance(shown, dict) or not isinstance(shown["number"], int):
            return None
        entry = {name: value for name, value in shown.items() if name not in _OWN}
        link = Link(shown["number"], shown["time"], entry, shown["previous"])
        return link if link.text() == line else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
