"""Everything that ever left the site, and the privacy it cost.

A row is written before a release can leave and is never removed. The loss of a column is the sum
of the epsilons of its distinct draws: sending the same draws again reveals nothing new.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from owner_agent.private_files import FILE_MODE, private_directory
from shared.errors import StoreCorrupt

EntryState = Literal["prepared", "discarded", "sending", "sealed", "withdrawn"]

LEFT: frozenset[EntryState] = frozenset({"sending", "sealed", "withdrawn"})
"""States in which records may have left; what was withdrawn was still seen."""

_METADATA = sa.MetaData()
_RELEASES = sa.Table(
    "releases",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("miner", sa.String, nullable=False),
    sa.Column("study", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("content", sa.String, nullable=False),
    sa.Column("digest", sa.String, nullable=False),
    sa.Column("plan_digest", sa.String, nullable=False),
    sa.Column("records", sa.Integer, nullable=False),
    sa.Column("parts", sa.Integer, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("prepared", sa.DateTime, nullable=False),
    sa.Column("changed", sa.DateTime, nullable=False),
    sa.Column("release_id", sa.String),
    sa.UniqueConstraint("miner", "study", "name"),
)
_DRAWS = sa.Table(
    "draws",
    _METADATA,
    sa.Column("release", sa.ForeignKey("releases.id"), primary_key=True),
    sa.Column("column", sa.String, primary_key=True),
    sa.Column("variable", sa.String, nullable=False),
    sa.Column("draw_id", sa.String, nullable=False),
    sa.Column("epsilon", sa.Float),  # null: unbounded
    sa.Column("randomized", sa.Boolean, nullable=False),
)


@dataclass(frozen=True)
class Draw:
    """One column's part in a release: which draws it was randomized by and at what loss."""

    column: str
    variable: str
    draw_id: str
    epsilon: float
    randomized: bool


@dataclass(frozen=True)
class Entry:
    """One release as the ledger has it; `content` is the same however it is cut into parts."""

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

    @property
    def left(self) -> bool:
        """Whether records may have left under this entry."""
        return self.state in LEFT


@dataclass(frozen=True)
class Ledger:
    """The ledger in a state directory; each call is one durable transaction.

    Every method raises StoreCorrupt where the file is not a ledger.
    """

    state: Path

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, oldest first."""
        if not self._path.exists():
            return ()
        with closing(self._connect()) as connection:
            draws = connection.execute(sa.select(_DRAWS)).mappings().all()
            rows = connection.execute(sa.select(_RELEASES).order_by(_RELEASES.c.id)).mappings()
            return tuple(_entry(dict(row), [dict(d) for d in draws]) for row in rows)

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
            for column in _RELEASES.columns
            if column.name != "id"
        }
        row["prepared"], row["changed"] = _naive(entry.prepared), _naive(entry.changed)
        with closing(self._connect()) as connection, connection.begin():
            made = connection.execute(sa.insert(_RELEASES).values(row)).inserted_primary_key
            number = made[0] if made is not None else None
            for draw in entry.draws:
                bound = draw.epsilon if math.isfinite(draw.epsilon) else None
                connection.execute(
                    sa.insert(_DRAWS).values(
                        release=number,
                        column=draw.column,
                        variable=draw.variable,
                        draw_id=draw.draw_id,
                        epsilon=bound,
                        randomized=draw.randomized,
                    )
                )

    def mark(
        self, entry: Entry, state: EntryState, now: datetime, release_id: str | None = None
    ) -> None:
        """Change an entry's state, and its identity at the miner once that is known."""
        values: dict[str, Any] = {"state": state, "changed": _naive(now)}
        if release_id is not None:
            values["release_id"] = release_id
        key = (
            (_RELEASES.c.miner == entry.miner)
            & (_RELEASES.c.study == entry.study)
            & (_RELEASES.c.name == entry.name)
        )
        with closing(self._connect()) as connection, connection.begin():
            connection.execute(sa.update(_RELEASES).where(key).values(values))

    @property
    def _path(self) -> Path:
        return self.state / "ledger.sqlite"

    def _connect(self) -> sa.Connection:
        private_directory(self.state)
        # SQLite would make the file with the umask's mode; its journals take over this one's.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, FILE_MODE))
        engine = sa.create_engine(f"sqlite:///{self._path}", poolclass=sa.NullPool)
        try:
            _METADATA.create_all(engine)
            return engine.connect()
        except sa.exc.DatabaseError as error:
            raise StoreCorrupt(
                f"The ledger {self._path} cannot be read or written.",
                where=str(self._path),
                remedy="Restore it from your backup: without it nobody knows what has left.",
            ) from error


def losses(draws: Iterable[Draw]) -> dict[str, float]:
    """Return each column's composed epsilon: the sum over its distinct draws.

    Unrandomized columns have an infinite one.
    """
    distinct = {(draw.column, draw.draw_id): draw.epsilon for draw in draws}
    composed: dict[str, float] = {}
    for (column, _), epsilon in distinct.items():
        composed[column] = composed.get(column, 0.0) + epsilon
    return composed


def spent(entries: Iterable[Entry]) -> dict[str, float]:
    """Return the composed epsilon of each column over everything that may have left."""
    return losses(draw for entry in entries if entry.left for draw in entry.draws)


def conflicting(planned: Sequence[Draw], entries: Iterable[Entry]) -> tuple[Draw, ...]:
    """Return the draws that would report a column anew, differently from what left before.

    A column that is public in both releases is not randomized again, whatever its categories.
    """
    left = [draw for entry in entries if entry.left for draw in entry.draws]
    return tuple(
        draw
        for draw in planned
        if any(
            old.column == draw.column
            and old.draw_id != draw.draw_id
            and (old.randomized or draw.randomized)
            for old in left
        )
        and not any(old.column == draw.column and old.draw_id == draw.draw_id for old in left)
    )


def _entry(row: dict[str, Any], draws: list[dict[str, Any]]) -> Entry:
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
        )
        for d in draws
        if d["release"] == number
    )
    return Entry(**row, draws=mine)


def _naive(moment: datetime) -> datetime:
    """Return a moment as UTC without zone, which is how SQLite keeps it."""
    return moment.astimezone(UTC).replace(tzinfo=None)
