"""The ledger of all releases of the site, with the privacy loss of each column.

An entry is written before its release can be sent, and is never removed.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from owner_agent.state.audit import noted
from owner_agent.state.ledger_file import (
    begin_ledger,
    has_ledger,
    ledger_transaction,
    require_ledger,
    state_directory,
)
from pramana_core.wire.release_kinds import RANDOMIZED

EntryState = Literal["prepared", "discarded", "sending", "sealed", "withdrawn"]

LEFT: frozenset[EntryState] = frozenset({"sending", "sealed", "withdrawn"})
"""States in which records may have been sent. Withdrawn records were seen by the miner."""

PEER = "peer:"
"""Prefix of a peer's name, which takes the place of a miner's address."""


FILE = "file:"
"""Prefix of the name of a release's file, which takes the place of a miner's address."""


class Form(Enum):
    """The form in which a column was released."""

    OPEN = "open"
    RANDOMIZED = "randomized"
    MASKED = "masked"
    TREE = "tree"
    OPEN_TREE = "open-tree"
    """In a tree, and unrandomized in other releases."""


@dataclass(frozen=True)
class Draw:
    """A release of one column, with its privacy loss epsilon, which is infinite without a bound.

    `population` identifies the set of records; `same_as` lists the columns with the same values.
    """

    column: str
    variable: str
    draw_id: str
    epsilon: float
    form: Form
    population: str = ""
    same_as: tuple[str, ...] = ()

    @property
    def randomized(self) -> bool:
        """Whether the release contains only randomized values of the column."""
        return self.form not in {Form.OPEN, Form.OPEN_TREE}

    @property
    def in_tree(self) -> bool:
        """Whether the release is a shared tree that was learned from the column."""
        return self.form in {Form.TREE, Form.OPEN_TREE}

    @property
    def unbounded(self) -> bool:
        """Whether the loss has no known bound: the column was released masked or in a tree."""
        return self.form is Form.MASKED or (self.in_tree and math.isinf(self.epsilon))

    @property
    def identity(self) -> tuple[str, str]:
        """A key that is equal for two draws if and only if every record has equal draws in both."""
        return self.draw_id, self.population


@dataclass(frozen=True)
class Entry:
    """A release's entry in the ledger.

    `content` identifies what is released, however it is divided into parts. `plan_digest`
    identifies the description that the miner has. `sketch` is a sample of pseudonyms, `beginning`
    is the epoch, and `session` is what peers received.
    """

    __pydantic_config__ = ConfigDict(
        ser_json_inf_nan="strings", ser_json_bytes="base64", val_json_bytes="base64"
    )

    miner: str
    study: str
    name: str
    content: str
    digest: str
    plan_digest: str
    records: int
    parts: int
    state: EntryState
    prepared: datetime
    changed: datetime
    release_id: str | None
    draws: tuple[Draw, ...]
    sketch: bytes = b""
    kind: str = RANDOMIZED
    method: str = ""
    beginning: int = 0
    session: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The miner, the study and the release's name, which identify an entry."""
        return self.miner, self.study, self.name

    @property
    def follows_plan(self) -> bool:
        """Whether the release consists of reports under a plan."""
        return self.kind == RANDOMIZED

    @property
    def left(self) -> bool:
        """Whether records may have been sent under this entry."""
        return self.state in LEFT


_ENTRY = TypeAdapter(Entry)
_PUT = """
INSERT INTO releases (miner, study, name, entry) VALUES (?, ?, ?, ?)
ON CONFLICT (miner, study, name) DO UPDATE SET entry = excluded.entry
"""


def _find(ledger: sqlite3.Connection, key: tuple[str, str, str]) -> Entry | None:
    query = "SELECT entry FROM releases WHERE (miner, study, name) = (?, ?, ?)"
    row = ledger.execute(query, key).fetchone()
    return None if row is None else _ENTRY.validate_json(row[0])


@dataclass(frozen=True)
class Ledger:
    """The ledger in a state directory. Each method is one durable transaction.

    Methods raise HistoryLost if the file is missing while other files of the agent exist,
    StoreCorrupt, and StorageFull, the latter before anything is written.
    """

    state: Path

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        rows = self._rows("SELECT entry FROM releases ORDER BY id")
        return tuple(_ENTRY.validate_json(text) for (text,) in rows)

    def begin(self) -> None:
        """Create the ledger if it is missing."""
        require_ledger(self.state)
        state_directory(self.state)

    @property
    def beginning(self) -> int:
        """The current epoch of all draws, initially 0."""
        rows = self._rows("SELECT epoch FROM beginnings ORDER BY id DESC LIMIT 1")
        return next((int(epoch) for (epoch,) in rows), 0)

    def begin_anew(self, epoch: int, left: Sequence[Entry], now: datetime) -> None:
        """Add missing releases to the ledger as sent, and start a new epoch."""
        begin_ledger(self.state)
        with (
            noted(self.state, now, "new_epoch", releases=len(left)),
            ledger_transaction(self.state) as ledger,
        ):
            for entry in left:
                # An outdated ledger may list it as prepared.
                old = _find(ledger, entry.key) or entry
                new = replace(old, state=entry.state, release_id=entry.release_id)
                ledger.execute(_PUT, (*new.key, _ENTRY.dump_json(new).decode()))
            written = (epoch, now.astimezone(UTC).isoformat())
            ledger.execute("INSERT INTO beginnings (epoch, begun) VALUES (?, ?)", written)

    def find(self, miner: str, study: str, name: str) -> Entry | None:
        """Return the entry of a release, or None."""
        return next((e for e in self.entries() if e.key == (miner, study, name)), None)

    def find_content(self, miner: str, study: str, content: str) -> Entry | None:
        """Return the newest entry with a given content that was not discarded, or None."""
        wanted = (miner, study, content)
        found = [e for e in self.entries() if (e.miner, e.study, e.content) == wanted]
        return next((e for e in reversed(found) if e.state != "discarded"), None)

    def put(self, entry: Entry) -> None:
        """Insert or update an entry."""
        self._write(entry, lambda _ledger: entry)

    def mark(
        self,
        entry: Entry,
        state: EntryState,
        now: datetime,
        release_id: str | None = None,
        session: str = "",
    ) -> None:
        """Change an entry's state and, if given, its id at the miner and its shared content."""

        def marked(ledger: sqlite3.Connection) -> Entry:
            known = _find(ledger, entry.key) or entry
            to = release_id or known.release_id
            shared = session or known.session
            return replace(known, state=state, changed=now, release_id=to, session=shared)

        self._write(replace(entry, state=state, changed=now), marked)

    def _write(self, entry: Entry, new: Callable[[sqlite3.Connection], Entry]) -> None:
        """Write a new version of an entry, and a line of the audit log."""
        self.begin()
        facts = {
            "miner": entry.miner,
            "study": entry.study,
            "release": entry.name,
            "kind": entry.kind,
            "digest": entry.digest,
            "records": entry.records,
            "columns": len(entry.draws),
        }
        # Reserve space for the audit log before changing the ledger.
        with (
            noted(self.state, entry.changed, f"release_{entry.state}", **facts),
            ledger_transaction(self.state) as ledger,
        ):
            ledger.execute(_PUT, (*entry.key, _ENTRY.dump_json(new(ledger)).decode()))

    def _rows(self, query: str) -> list[tuple[str]]:
        require_ledger(self.state)
        if not has_ledger(self.state):
            return []
        with ledger_transaction(self.state) as ledger:
            return ledger.execute(query).fetchall()
