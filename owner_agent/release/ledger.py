"""Everything that ever left the site, with what each column's part in it cost.

A row is written before a release can leave and is never removed; `composition` adds them up. Where
the ledger is gone and anything else is there, nothing is done: it could not say what has left.
Only what opens the file loads the library of databases, which an installation may be without.

Also here:

* Entries as rows: a column of the tables is an attribute of an entry or a draw by the same name,
  but for those that are named here.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from owner_agent.state.private_files import LEDGER, noted, require_ledger, state_directory
from pramana_core.wire.release_kinds import RANDOMIZED

if TYPE_CHECKING:
    import sqlalchemy as sa

EntryState = Literal["prepared", "discarded", "sending", "sealed", "withdrawn"]

LEFT: frozenset[EntryState] = frozenset({"sending", "sealed", "withdrawn"})
"""States in which records may have left; what was withdrawn was still seen."""

PEER = "peer:"
"""Stands before peers' names where the ledger otherwise has a miner's address."""

NEW_EPOCH = "new_epoch"
"""The action of the audit log's lines about new epochs."""


class Form(Enum):
    """In which form a column leaves: whether it is randomized, masked, and learned from."""

    OPEN = False, False, False
    RANDOMIZED = True, False, False
    MASKED = True, True, False
    TREE = True, False, True
    OPEN_TREE = False, False, True
    """In a tree, and as it is in other releases."""


@dataclass(frozen=True)
class Draw:
    """One column's part in a release: which draws it was randomized by and at what loss.

    `population` names the records the draws were made for; it is empty where nothing was drawn.
    `same_as` names other columns that told the values of this one when it left.
    A column that leaves masked has no bound on what its values tell: its epsilon is infinite. Of
    one in a tree it is that of the whole tree, which all columns of the tree have in common, or
    infinite. `epoch` is the one of its draws.
    """

    column: str
    variable: str
    draw_id: str
    epsilon: float
    form: Form
    population: str = ""
    same_as: tuple[str, ...] = ()
    epoch: int = 0

    @property
    def randomized(self) -> bool:
        """Whether true values are kept back."""
        return self.form.value[0]

    @property
    def in_tree(self) -> bool:
        """Whether what left is a tree that was learned from the column."""
        return self.form.value[2]

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
    `plan_digest` then the digest of what the miner receives. `beginning` is the epoch from
    which on everything was drawn when it was made: not 0 after a loss (see `Ledger.begin_anew`).
    """

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

    @property
    def follows_plan(self) -> bool:
        """Whether it holds reports under a plan, and not masked records or a tree."""
        return self.kind == RANDOMIZED

    @property
    def left(self) -> bool:
        """Whether records may have left under this entry."""
        return self.state in LEFT


@dataclass(frozen=True)
class Ledger:
    """The ledger in a state directory; each call is one durable transaction.

    Every method but `begin_anew` raises HistoryLost where the file is absent beside anything that
    the agent made, and all raise StoreCorrupt where it is not a ledger. Those that write raise
    StorageFull where the disk has no room for the line, or none for that of the audit log, and
    nothing is written.
    """

    state: Path

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        from owner_agent.release import ledger_file as file

        require_ledger(self.state)
        if not self._path.exists():
            return ()
        with closing(self._connect()) as connection:
            draws = _all(connection, file.DRAWS)
            sketches = {one["release"]: one["sketch"] for one in _all(connection, file.SKETCHES)}
            oldest_first = file.RELEASES.select().order_by(file.RELEASES.c.id)
            rows = connection.execute(oldest_first).mappings()
            return tuple(_entry(dict(row), draws, sketches.get(row["id"], b"")) for row in rows)

    def begin(self) -> None:
        """Make the ledger's tables if they are not there."""
        from owner_agent.release import ledger_file as file

        with file.storing_ledger(self._path):
            self._connect().close()

    def beginnings(self) -> tuple[int, ...]:
        """Return the epochs in which everything was drawn anew after a loss, oldest first."""
        require_ledger(self.state)
        if not self._path.exists():
            return ()
        with closing(self._connect()) as connection:
            return _epochs(connection)

    @property
    def beginning(self) -> int:
        """The epoch from which on everything is drawn; 0 where nothing was ever lost."""
        return next(reversed(self.beginnings()), 0)

    @property
    def begun(self) -> datetime | None:
        """When everything was last begun anew after a loss; None where nothing was ever lost."""
        from owner_agent.release import ledger_file as file

        require_ledger(self.state)
        if not self._path.exists():
            return None
        with closing(self._connect()) as connection:
            newest = file.BEGINNINGS.select().order_by(file.BEGINNINGS.c.id.desc()).limit(1)
            row = connection.execute(newest).mappings().first()
            begun: datetime | None = None if row is None else row["begun"]
            return None if begun is None else begun.replace(tzinfo=UTC)

    def begin_anew(self, epoch: int, left: Sequence[Entry], now: datetime) -> None:
        """Write down what is known to have left, and draw everything in another epoch from here on.

        Args:
            epoch: a random number: nobody has drawn in it.
            left: entries that the ledger does not have, or not as left.
            now: the time.
        """
        from owner_agent.release import ledger_file as file

        with (
            file.storing_ledger(self._path),
            closing(file.connected(self._path)) as connection,
            noted(self.state, now, NEW_EPOCH, epoch=epoch_mark(epoch), releases=len(left)),
            connection.begin(),
        ):
            for entry in left:
                # An older ledger may have it as prepared.
                now_known = {"state": entry.state, "release_id": entry.release_id}
                known = file.RELEASES.update().where(_is(entry)).values(now_known)
                if not connection.execute(known).rowcount:
                    _insert(connection, entry)
            connection.execute(file.BEGINNINGS.insert().values(epoch=epoch, begun=_naive(now)))

    def find(self, miner: str, study: str, name: str) -> Entry | None:
        """Return one entry, or None."""
        wanted = (miner, study, name)
        return next((e for e in self.entries() if (e.miner, e.study, e.name) == wanted), None)

    def find_content(self, miner: str, study: str, content: str) -> Entry | None:
        """Return the newest entry of a content that was not discarded, or None."""
        wanted = (miner, study, content)
        return next(
            (
                e
                for e in reversed(self.entries())
                if (e.miner, e.study, e.content) == wanted and e.state != "discarded"
            ),
            None,
        )

    def add(self, entry: Entry) -> None:
        """Write an entry with its draws."""
        with self._changing(entry, entry.state, entry.changed) as connection:
            _insert(connection, entry)

    def renew(
        self, entry: Entry, draws: Sequence[Draw], now: datetime, beginning: int = 0
    ) -> Entry:
        """Prepare an entry that never left again, with what is known of its draws now."""
        from owner_agent.release import ledger_file as file

        releases, table = file.RELEASES, file.DRAWS
        number = releases.select().with_only_columns(releases.c.id).where(_is(entry))
        number_of = number.scalar_subquery()
        with self._changing(entry, "prepared", now) as connection:
            connection.execute(
                releases.update()
                .where(_is(entry))
                .values(state="prepared", changed=_naive(now), beginning=beginning)
            )
            for draw in draws:
                known = (table.c.release == number_of) & (table.c.column == draw.column)
                connection.execute(table.update().where(known).values(_draw_row(draw)))
        changed = replace(entry, state="prepared", changed=now, draws=tuple(draws))
        return replace(changed, beginning=beginning)

    def mark(
        self, entry: Entry, state: EntryState, now: datetime, release_id: str | None = None
    ) -> None:
        """Change an entry's state, and its identity at the miner once that is known."""
        from owner_agent.release import ledger_file as file

        values: dict[str, Any] = {"state": state, "changed": _naive(now)}
        if release_id is not None:
            values["release_id"] = release_id
        with self._changing(entry, state, now) as connection:
            connection.execute(file.RELEASES.update().where(_is(entry)).values(values))

    @property
    def _path(self) -> Path:
        return self.state / LEDGER

    def _connect(self) -> sa.Connection:
        from owner_agent.release import ledger_file as file

        require_ledger(self.state)
        return file.connected(state_directory(self.state) / LEDGER)

    @contextmanager
    def _changing(self, entry: Entry, state: EntryState, now: datetime) -> Iterator[sa.Connection]:
        """Change the ledger, and then note it in the audit log, for which there is room.

        Of a crash between the two the log knows nothing, so that it never has more than the
        ledger; nothing has left by then, and `Delivery` notes it before anything does.
        """
        from owner_agent.release import ledger_file as file

        changed = {
            "miner": entry.miner,
            "study": entry.study,
            "release": entry.name,
            "kind": entry.kind,
            "digest": entry.digest,
            "records": entry.records,
            "columns": len(entry.draws),
        }
        with (
            file.storing_ledger(self._path),
            closing(self._connect()) as connection,
            noted(self.state, now, f"release_{state}", **changed),
            connection.begin(),
        ):
            yield connection


def epoch_mark(epoch: int) -> str:
    """Return what the audit log says of an epoch: 16 digits that identify it."""
    return hashlib.sha256(b"pramana/epoch/1\x00" + str(epoch).encode()).hexdigest()[:16]


# Entries as rows: a column of the tables is an attribute of an entry or a draw by the same name,
# but for those that are named here.

_FORM = ("randomized", "masked", "shared")
"""The columns of a draw's form."""


def _insert(connection: sa.Connection, entry: Entry) -> None:
    """Write an entry with its draws."""
    from owner_agent.release import ledger_file as file

    row = _attributes(entry, file.RELEASES.columns.keys(), {"id"})
    row |= {"prepared": _naive(entry.prepared), "changed": _naive(entry.changed)}
    made = connection.execute(file.RELEASES.insert().values(row)).inserted_primary_key
    number = made[0] if made is not None else None
    for draw in entry.draws:
        connection.execute(file.DRAWS.insert().values(release=number, **_draw_row(draw)))
    connection.execute(file.SKETCHES.insert().values(release=number, sketch=entry.sketch))


def _draw_row(draw: Draw) -> dict[str, Any]:
    """Return the row of a draw, but for its release."""
    from owner_agent.release import ledger_file as file

    row = _attributes(draw, file.DRAWS.columns.keys(), {"release", *_FORM})
    row["epsilon"] = draw.epsilon if math.isfinite(draw.epsilon) else None
    return row | dict(zip(_FORM, draw.form.value, strict=True))


def _attributes(of: Entry | Draw, columns: Iterable[str], besides: set[str]) -> dict[str, Any]:
    return {name: getattr(of, name) for name in columns if name not in besides}


def _draw(row: dict[str, Any]) -> Draw:
    known = {name: row[name] for name in row if name not in {"release", *_FORM}}
    known["epsilon"] = math.inf if row["epsilon"] is None else row["epsilon"]
    known["same_as"] = tuple(row["same_as"])
    return Draw(**known, form=Form(tuple(row[name] for name in _FORM)))


def _all(connection: sa.Connection, table: sa.Table) -> Sequence[dict[str, Any]]:
    return [dict(row) for row in connection.execute(table.select()).mappings()]


def _epochs(connection: sa.Connection) -> tuple[int, ...]:
    from owner_agent.release import ledger_file as file

    rows = connection.execute(file.BEGINNINGS.select().order_by(file.BEGINNINGS.c.id)).mappings()
    return tuple(int(row["epoch"]) for row in rows)


def _is(entry: Entry) -> sa.ColumnElement[bool]:
    """Return the condition that a row of the releases is an entry's."""
    from owner_agent.release import ledger_file as file

    known = file.RELEASES.c
    return (known.miner == entry.miner) & (known.study == entry.study) & (known.name == entry.name)


def _entry(row: dict[str, Any], draws: Sequence[dict[str, Any]], sketch: bytes) -> Entry:
    number = row.pop("id")
    row["prepared"] = row["prepared"].replace(tzinfo=UTC)
    row["changed"] = row["changed"].replace(tzinfo=UTC)
    mine = tuple(_draw(draw) for draw in draws if draw["release"] == number)
    return Entry(**row, draws=mine, sketch=sketch)


def _naive(moment: datetime) -> datetime:
    """Return a moment as UTC without zone, which is how SQLite keeps it."""
    return moment.astimezone(UTC).replace(tzinfo=None)
