"""What somebody else remembers of a log: how many lines it had at a moment, and its last hash.

Who has an anchor need not see the log: a later anchor with fewer lines, of another log, or with
another hash after as many lines shows that it was rewritten.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pramana_core.audit.chain import GENESIS
from pramana_core.errors import OptionError


@dataclass(frozen=True)
class Anchor:
    """A state of a log.

    Attributes:
        log: the hash of its first line, which is its name; None while it has none.
        entries: how many lines its chain has.
        head: the hash of the last, in hexadecimal digits.
        at: when it was told, in ISO 8601.
    """

    log: str | None
    entries: int
    head: str
    at: str

    def __str__(self) -> str:
        """Return it as two people read it to each other, and as `--anchor` takes it."""
        return f"{self.entries}:{self.head}"


def anchor_of(text: str) -> Anchor:
    """Read an anchor from `ENTRIES:HEAD`. Raises OptionError."""
    entries, _, head = text.strip().partition(":")
    if entries.isascii() and entries.isdigit() and is_hash(head):
        return Anchor(None, int(entries), head, "the command line")
    raise OptionError(
        "An anchor is a number of lines, a colon and a hash of 64 hexadecimal digits.",
        where="anchor",
        remedy="`owner-agent audit anchors` prints anchors as they are wanted here.",
    )


def is_hash(text: object) -> bool:
    """Whether a text is a hash as anchors have it."""
    return isinstance(text, str) and len(text) == len(GENESIS) and set(text) <= set(_DIGITS)


_DIGITS = "0123456789abcdef"


def contradiction(earlier: Anchor, later: Anchor) -> str | None:
    """Return why two anchors cannot be of one log that was only appended to, or None."""
    if earlier.log is not None and later.log is not None and earlier.log != later.log:
        return "it began anew: its first line is another"
    if later.entries < earlier.entries:
        return f"it had {earlier.entries} lines at {earlier.at} and now has {later.entries}"
    if later.entries == earlier.entries and later.head != earlier.head:
        return f"line {later.entries} is another than at {earlier.at}"
    return None


def written(anchors: Iterable[Anchor]) -> str:
    """Return anchors as JSON lines."""
    return "".join(json.dumps(asdict(anchor)) + "\n" for anchor in anchors)


def read_anchors(path: Path) -> tuple[Anchor, ...]:
    """Read anchors from JSON lines. Raises OptionError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return tuple(_read(json.loads(line)) for line in lines if line.strip())
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise OptionError(f"{path} does not hold anchors.", where=str(path)) from error


def _read(told: Any) -> Anchor:
    """Read an anchor from JSON. Raises ValueError, TypeError or KeyError."""
    log, entries, head, at = (told[name] for name in ("log", "entries", "head", "at"))
    if not (log is None or is_hash(log)) or not is_hash(head) or not isinstance(entries, int):
        raise ValueError
    return Anchor(log, entries, head, str(at))
