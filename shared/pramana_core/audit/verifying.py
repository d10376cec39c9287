"""The lines of a chained log, each with the hash of the one before, and their verification.

A log is read once from its beginning, whatever its size, to see that it is still the one written.

Also here:

* What somebody else remembers of a log: how many lines it had at a moment, and its last hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pramana_core.errors import LimitExceeded, OptionError

GENESIS = "0" * 64
"""What the first line names as the hash before it."""

LONGEST = 4096
"""Bytes that a line has at most, with its end; so much room is kept for each."""

TORN = "audit_torn_line_cut_off"
"""The action of a line that says that half a line, left by a crash, was cut off before it."""

_OWN = ("number", "time", "previous", "hash")


# One line of a chained log: each names the hash of the line before, and its own.
#
# `hash` is SHA-256 over "pramana/audit/1", a zero byte and the canonical JSON (sorted keys, no
# spaces, ASCII) of `previous`, `number`, `time` and `entry`. A line shows the fields of its entry
# beside the others, so that it reads like any log in JSON lines; there is one way to write a
# line,
# so that no byte of it can be other.
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


# What somebody else remembers of a log: how many lines it had at a moment, and its last hash.
#
# Who has an anchor need not see the log: a later anchor with fewer lines, of another log, or with
# another hash after as many lines shows that it was rewritten.


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
    except (OSError, ValueError, TypeError, KeyError):
        raise OptionError(f"{path} does not hold anchors.", where=str(path)) from None


def _read(document: Any) -> Anchor:
    """Read an anchor from JSON. Raises ValueError, TypeError or KeyError."""
    log, entries, head, at = (document[name] for name in ("log", "entries", "head", "at"))
    if not (log is None or is_hash(log)) or not is_hash(head) or not isinstance(entries, int):
        raise ValueError
    return Anchor(log, entries, head, str(at))


Kind = Literal["changed", "removed", "inserted", "reordered", "torn", "rewritten"]
Progress = Callable[[float, float | None], None]

_TOLD_EVERY = 1000


@dataclass(frozen=True)
class Verified:
    """A log whose every line follows the one before; `log` is the hash of the first, its name."""

    entries: int
    head: str
    log: str | None


@dataclass(frozen=True)
class Broken:
    """A log that was tampered with, or torn.

    `line` counts from 1; `entries` is how many lines are as they were written, up to `head`.
    """

    entries: int
    head: str
    line: int
    kind: Kind
    why: str


class _Break(Exception):
    def __init__(self, line: int, kind: Kind, why: str):
        super().__init__(why)
        self.line, self.kind, self.why = line, kind, why


def verify(
    path: Path, anchors: Iterable[Anchor] = (), progress: Progress = lambda _done, _total: None
) -> Verified | Broken:
    """Read a log from its beginning, and compare it with anchors of it.

    Args:
        path: the log.
        anchors: what others remember of it; each must be a state that it went through.
        progress: told how many bytes are read, and of how many.

    Raises:
        OptionError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return _Reader(file, path.stat().st_size, tuple(anchors), progress).read()
    except OSError as error:
        raise OptionError(
            f"The log {path} cannot be read: {error.strerror}.", where=str(path)
        ) from None


class _Reader:
    """Reads one log; remembers nothing of it but where it is."""

    def __init__(self, file: BinaryIO, size: int, anchors: tuple[Anchor, ...], progress: Progress):
        self._file, self._size, self._progress = file, size, progress
        self._anchors = anchors
        self._head = Head()
        self._before = ""
        self._log: str | None = None
        self._line = 0
        self._read = 0

    def read(self) -> Verified | Broken:
        try:
            lines = self._lines()
            for line in lines:
                self._follow(line, lines)
            self._compare_ends()
        except _Break as found:
            return Broken(self._head.entries, self._head.hash, found.line, found.kind, found.why)
        self._progress(self._size, self._size)
        return Verified(self._head.entries, self._head.hash, self._log)

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines, pieces of those that are too long for one."""
        while piece := self._file.readline(LONGEST + 1):
            self._line += 1
            self._read += len(piece)
            if self._line % _TOLD_EVERY == 0:
                self._progress(self._read, self._size)
            if not piece.endswith(b"\n") and self._read >= self._size:
                why = "it has no end: it was being written when the service was stopped"
                raise _Break(self._line, "torn", why)
            yield piece

    def _follow(self, line: bytes, rest: Iterator[bytes]) -> None:
        link = read_link(line)
        if link is None or (link.number, link.previous) != (self._head.entries, self._head.hash):
            number = self._line
            kind, why = self._cause(link, rest)
            raise _Break(number, kind, why)
        self._accept(link)

    def _accept(self, link: Link) -> None:
        self._before, self._head = self._head.hash, link.head
        self._log = self._log or self._head.hash
        for anchor in self._anchors:
            if anchor.entries == self._head.entries and anchor.head != self._head.hash:
                raise _Break(self._line, "rewritten", _told(anchor, "has another hash here"))

    def _cause(self, link: Link | None, rest: Iterator[bytes]) -> tuple[Kind, str]:
        """Say what became of a line that does not follow the last good one."""
        good = self._head
        if link is None:
            following = read_link(next(_whole(rest), b""))
            if following is not None and following.previous == good.hash:
                return "inserted", "it is no line of the chain; the one after it follows"
            return "changed", "it is not as it was written"
        if link.number == good.entries:
            return "changed", "the line before it was changed, and its hash computed anew"
        if link.number == good.entries - 1 and link.previous == self._before:
            return "inserted", "it or the line before it was inserted: both claim one place"
        later = any(
            found is not None and found.previous == good.hash
            for found in map(read_link, _whole(rest))
        )
        if not later and link.number > good.entries:
            missing = link.number - good.entries
            return "removed", f"{missing} lines before it are missing"
        if later and link.number > good.entries:
            return "reordered", "the line that belongs here comes later"
        return "inserted", "it stands here a second time"

    def _compare_ends(self) -> None:
        for anchor in self._anchors:
            if anchor.entries > self._head.entries:
                why = _told(anchor, f"has {anchor.entries} lines; here are {self._head.entries}")
                raise _Break(self._line, "removed", why)
            if anchor.log is not None and self._log is not None and anchor.log != self._log:
                raise _Break(1, "rewritten", _told(anchor, "is of a log that began otherwise"))


def _whole(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what is left of a log whose first break is found; a torn end is no second one."""
    try:
        yield from lines
    except _Break:
        return


def _told(anchor: Anchor, what: str) -> str:
    return f"the anchor of {anchor.at}, after {anchor.entries} lines, {what}"
