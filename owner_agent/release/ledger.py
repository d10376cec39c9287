"""Everything that ever left the site, with what each column's part in it cost.

A row is written before a release can leave and is never removed; `composition` adds them up. Where
the ledger is gone and anything else is there, nothing is done: it could not say what has left.
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
"""States in which records may have left; what was withdrawn was still seen."""

PEER = "peer:"
"""Stands before peers' names where the ledger otherwise has a miner's address."""


class Form(Enum):
    """In which form a column leaves."""

    OPEN = "open"
    RANDOMIZED = "randomized"
    MASKED = "masked"
    TREE = "tree"
    OPEN_TREE = "open-tree"
    """In a tree, and as it is in other releases."""


@dataclass(frozen=True)
class Draw:
    """One column's part in a release: which draws it was randomized by and at what loss.

    `population` names the records the draws were made for; it is empty where nothing was drawn.
    `same_as` names other columns that told the values of this one when it left.
    A column that leaves masked has no bound on what its values tell: its epsilon is infinite. Of
    one in a tree it is that of the whole tree, which all columns of the tree have in common, or
    infinite.
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
        """Whether true values are kept back."""
        return self.form not in {Form.OPEN, Form.OPEN_TREE}

    @property
    def in_tree(self) -> bool:
        """Whether what left is a tree that was learned from the column."""
        return self.form in {Form.TREE, Form.OPEN_TREE}

    @property
    def unbounded(self) -> bool:
        """Whether the column leaves in a form that no number bounds: masked, or in a tree."""
        return self.form is Form.MASKED or (self.in_tree and math.isinf(self.epsilon))

    @property
    def identity(self) -> tuple[str, str]:
        """What two draws have in common exactly if each record's draw is the same in both."""
        return self.draw_id, self.population


@dataclass(frozen=True)
class Entry:
    """One release as the ledger has it; `content` is the same however it is cut into parts.

    `sketch` is a sample of its pseudonyms: empty where nothing was drawn from. `kind` is what was
    released; `method` how columns were masked or what a tree was bound to, if any were, and
    `plan_digest` then the digest of what the miner receives. `beginning` is the epoch in which
    everything was drawn: not 0 after a loss (see `Ledger.begin_anew`). `session` is what a
    session of peers shared, as `owner_agent.peer` writes it.
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
        """What identifies a release in the ledger."""
        return self.miner, self.study, self.name

    @property
    def follows_plan(self) -> bool:
        """Whether it holds reports under a plan, and not masked records or a tree."""
        return self.kind == RANDOMIZED

    @property
    def left(self) -> bool:
        """Whether records may have left under this entry."""
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
    """The ledger in a state directory; each call is one durable transaction.

    Every method but `begin_anew` raises HistoryLost where the file is absent beside anything that
    the agent made, and all raise StoreCorrupt where it is not a ledger. Those that write raise
    StorageFull where there is no room for the line or, beforehand, for that of the audit log;
    nothing is written then.
    """

    state: Path

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        rows = self._rows("SELECT entry FROM releases ORDER BY id")
        return tuple(_ENTRY.validate_json(text) for (text,) in rows)

    def begin(self) -> None:
        """Make the ledger if it is not there."""
        require_ledger(self.state)
        state_directory(self.state)

    @property
    def beginning(self) -> int:
        """The epoch in which everything is drawn; 0 where nothing was ever lost."""
        rows = self._rows("SELECT epoch FROM beginnings ORDER BY id DESC LIMIT 1")
        return next((int(epoch) for (epoch,) in rows), 0)

    def begin_anew(self, epoch: int, left: Sequence[Entry], now: datetime) -> None:
        """Write down what is known to have left, and begin an epoch of a random number.

        `left` are entries that the ledger does not have, or not as left.
        """
        begin_ledger(self.state)
        with (
            noted(self.state, now, "new_epoch", releases=len(left)),
            ledger_transaction(self.state) as ledger,
        ):
            for entry in left:
                # An older ledger may have it as prepared.
                old = _find(ledger, entry.key) or entry
                new = replace(old, state=entry.state, release_id=entry.release_id)
                ledger.execute(_PUT, (*new.key, _ENTRY.dump_json(new).decode()))
            written = (epoch, now.astimezone(UTC).isoformat())
            ledger.execute("INSERT INTO beginnings (epoch, begun) VALUES (?, ?)", written)

    def find(self, miner: str, study: str, name: str) -> Entry | None:
        """Return one entry, or None."""
        return next((e for e in self.entries() if e.key == (miner, study, name)), None)

    def find_content(self, miner: str, study: str, content: str) -> Entry | None:
        """Return the newest entry of a content that was not discarded, or None."""
        wanted = (miner, study, content)
        found = [e for e in self.entries() if (e.miner, e.study, e.content) == wanted]
        return next((e for e in reversed(found) if e.state != "discarded"), None)

    def put(self, entry: Entry) -> None:
        """Write an entry, or what is known of it now."""
        self._write(entry, lambda _ledger: entry)

    def mark(
        self,
        entry: Entry,
        state: EntryState,
        now: datetime,
        release_id: str | None = None,
        session: str = "",
    ) -> None:
        """Change an entry's state, its identity at the miner, and what a session shared."""

        def marked(ledger: sqlite3.Connection) -> Entry:
            known = _find(ledger, entry.key) or entry
            to = release_id or known.release_id
            shared = session or known.session
            return replace(known, state=state, changed=now, release_id=to, session=shared)

        self._write(replace(entry, state=state, changed=now), marked)

    def _write(self, entry: Entry, new: Callable[[sqlite3.Connection], Entry]) -> None:
        """Write what becomes of an entry that the ledger may have, and note it."""
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
        # The audit log has room before the ledger changes.
        with (
            noted(self.state, entry.changed, f"release_{entry.state}", **facts),
            ledger_transaction(self.state) as ledger,
        ):
            ledger.execute(_PUT, (*entry.key, _ENTRY.dump_json(new(ledger)).decode()))

    def _rows(self, query: str) -> list[tuple[str]]:
        """Return what a query of the ledger finds; nothing where nothing was ever done here."""
        require_ledger(self.state)
        if not has_ledger(self.state):
            return []
        with ledger_transaction(self.state) as ledger:
            return ledger.execute(query).fetchall()
