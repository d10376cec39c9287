"""Everything that ever left the site, with what each column's part in it cost.

A row is written before a release can leave and is never removed; `composition` adds them up. Where
the outbox holds releases but the ledger is gone, nothing is done: it could not say what has left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from owner_agent.departures.ledger_file import (
    DRAWS,
    FINGERPRINTS,
    RELEASES,
    SKETCHES,
    connected,
    storing_ledger,
)
from owner_agent.departures.outbox import OUTBOX, prepared_names
from owner_agent.state.audit import noted
from owner_agent.state.private_files import private_directory
from shared.errors import StoreCorrupt
from shared.wire.releases.base import RANDOMIZED

EntryState = Literal["prepared", "discarded", "sending", "sealed", "withdrawn"]

LEFT: frozenset[EntryState] = frozenset({"sending", "sealed", "withdrawn"})
"""States in which records may have left; what was withdrawn was still seen."""

NOISE = "noise-"
"""What the identity of draws begins with that are noise on counts."""


@dataclass(frozen=True)
class Draw:
    """One column's part in a release: which draws it was randomized by and at what loss.

    `population` names the records the draws were made for; it is empty where nothing was drawn.
    `same_as` names other columns that held the same values when this one left (see `recognition`).
    A `masked` column has no bound on what its values tell: its epsilon is infinite. A column that
    is `shared` was learned from: what left is a tree. Its epsilon is that of the whole tree, which
    all columns of the tree have in common, or infinite.
    """

    column: str
    variable: str
    draw_id: str
    epsilon: float
    randomized: bool
    population: str = ""
    same_as: tuple[str, ...] = ()
    masked: bool = False
    shared: bool = False

    @property
    def unbounded(self) -> bool:
        """Whether the column leaves in a form that no number bounds: masked, or in a tree."""
        return self.masked or (self.shared and math.isinf(self.epsilon))

    @property
    def is_noise(self) -> bool:
        """Whether it comes from noise on counts, not from randomizing the column."""
        return self.draw_id.startswith(NOISE)

    @property
    def identity(self) -> tuple[str, str]:
        """What two draws have in common exactly if each record's draw is the same in both."""
        return self.draw_id, self.population


@dataclass(frozen=True)
class Entry:
    """One release as the ledger has it; `content` is the same however it is cut into parts.

    `sketch` is a sample of its pseudonyms (see `populations`), `fingerprint` one of its columns'
    values, encrypted (see `fingerprints`): empty where nothing was drawn from, and for what left
    before the ledger kept any. `kind` is what was released; `method` how columns were masked or
    what a tree was bound to, if any were, and `plan_digest` then the digest of what the miner is
    told of it.
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
    fingerprint: bytes = b""
    kind: str = RANDOMIZED
    method: str = ""

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

    Every method raises StoreCorrupt where the file is not a ledger, or absent beside an outbox
    that is not empty. Those that write raise StorageFull where the disk has no room for the line,
    or none for that of the audit log, and nothing is written.
    """

    state: Path

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        self._refuse_lost()
        if not self._path.exists():
            return ()
        with closing(self._connect()) as connection:
            draws = _all(connection, DRAWS)
            samples: dict[int, dict[str, Any]] = {}
            for table, name in ((SKETCHES, "sketch"), (FINGERPRINTS, "fingerprint")):
                for kept in _all(connection, table):
                    samples.setdefault(kept["release"], {})[name] = kept[name]
            rows = connection.execute(sa.select(RELEASES).order_by(RELEASES.c.id)).mappings()
            return tuple(
                _entry(dict(row), [dict(d) for d in draws], samples.get(row["id"], {}))
                for row in rows
            )

    def begin(self) -> None:
        """Make the ledger if it is not there, so that an outbox without one means a loss."""
        with storing_ledger(self._path):
            self._connect().close()

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
        row = {
            column.name: getattr(entry, column.name)
            for column in RELEASES.columns
            if column.name != "id"
        }
        row["prepared"], row["changed"] = _naive(entry.prepared), _naive(entry.changed)
        with self._changing(entry, entry.state, entry.changed) as connection:
            made = connection.execute(sa.insert(RELEASES).values(row)).inserted_primary_key
            number = made[0] if made is not None else None
            for draw in entry.draws:
                bound = draw.epsilon if math.isfinite(draw.epsilon) else None
                connection.execute(
                    sa.insert(DRAWS).values(
                        release=number,
                        column=draw.column,
                        variable=draw.variable,
                        draw_id=draw.draw_id,
                        epsilon=bound,
                        randomized=draw.randomized,
                        population=draw.population,
                        same_as=list(draw.same_as),
                        masked=draw.masked,
                        shared=draw.shared,
                    )
                )
            connection.execute(sa.insert(SKETCHES).values(release=number, sketch=entry.sketch))
            connection.execute(
                sa.insert(FINGERPRINTS).values(release=number, fingerprint=entry.fingerprint)
            )

    def renew(self, entry: Entry, draws: Sequence[Draw], now: datetime) -> Entry:
        """Prepare an entry that never left again, with what is known of its draws now."""
        number = sa.select(RELEASES.c.id).where(_is(entry)).scalar_subquery()
        with self._changing(entry, "prepared", now) as connection:
            connection.execute(
                sa.update(RELEASES).where(_is(entry)).values(state="prepared", changed=_naive(now))
            )
            for draw in draws:
                connection.execute(
                    sa.update(DRAWS)
                    .where((DRAWS.c.release == number) & (DRAWS.c.column == draw.column))
                    .values(population=draw.population, same_as=list(draw.same_as))
                )
        return replace(entry, state="prepared", changed=now, draws=tuple(draws))

    def mark(
        self, entry: Entry, state: EntryState, now: datetime, release_id: str | None = None
    ) -> None:
        """Change an entry's state, and its identity at the miner once that is known."""
        values: dict[str, Any] = {"state": state, "changed": _naive(now)}
        if release_id is not None:
            values["release_id"] = release_id
        with self._changing(entry, state, now) as connection:
            connection.execute(sa.update(RELEASES).where(_is(entry)).values(values))

    @property
    def _path(self) -> Path:
        return self.state / "ledger.sqlite"

    def _refuse_lost(self) -> None:
        """Check that a ledger is there, unless nothing was ever prepared."""
        outbox = self.state / OUTBOX
        names = prepared_names(outbox)
        if names and not (self._path.exists() and self._path.stat().st_size):
            raise StoreCorrupt(
                f"There is no ledger at {self._path}, but the outbox holds {len(names)} releases:"
                " nobody knows which of them have left.",
                where=str(self._path),
                remedy="Restore it from your backup. Only if truly nothing ever left this site,"
                f" remove the folders in {outbox}.",
            )

    def _connect(self) -> sa.Connection:
        self._refuse_lost()
        private_directory(self.state)
        return connected(self._path)

    @contextmanager
    def _changing(self, entry: Entry, state: EntryState, now: datetime) -> Iterator[sa.Connection]:
        """Change the ledger and note it in the audit log, or do neither."""
        told = {
            "miner": entry.miner,
            "study": entry.study,
            "release": entry.name,
            "kind": entry.kind,
            "digest": entry.digest,
            "records": entry.records,
            "columns": len(entry.draws),
        }
        with (
            storing_ledger(self._path),
            closing(self._connect()) as connection,
            connection.begin(),
            noted(self.state, now, f"release_{state}", **told),
        ):
            yield connection


def _all(connection: sa.Connection, table: sa.Table) -> Sequence[sa.RowMapping]:
    return connection.execute(sa.select(table)).mappings().all()


def _is(entry: Entry) -> sa.ColumnElement[bool]:
    """Return the condition that a row of the releases is an entry's."""
    return (
        (RELEASES.c.miner == entry.miner)
        & (RELEASES.c.study == entry.study)
        & (RELEASES.c.name == entry.name)
    )


def _entry(row: dict[str, Any], draws: list[dict[str, Any]], samples: dict[str, Any]) -> Entry:
    number = row.pop("id")
    row["prepared"] = row["prepared"].replace(tzinfo=UTC)
    row["changed"] = row["changed"].replace(tzinfo=UTC)
    mine = tuple(
        Draw(
            d["column"],
            d["variable"],
            d["draw_id"],
            math.inf if d["epsilon"] is None else d["epsilon"],
            d["randomized"],
            d["population"],
            tuple(d["same_as"]),
            d["masked"],
            d["shared"],
        )
        for d in draws
        if d["release"] == number
    )
    return Entry(**row, draws=mine, **samples)


def _naive(moment: datetime) -> datetime:
    """Return a moment as UTC without zone, which is how SQLite keeps it."""
    return moment.astimezone(UTC).replace(tzinfo=None)
