"""The ledger: what left this site, by which draws, and the file that keeps it.

Also here:

* The ledger's file: its tables, how it is opened or made, and full disks.
* Entries as rows: a column of the tables is an attribute of an entry or a draw by the same
  name, but for those that are named here.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from owner_agent.state import private_files
from owner_agent.state.private_files import LEDGER, noted, require_ledger, state_directory
from pramana_core.errors import StoreCorrupt
from pramana_core.full_disks import no_room, storing
from pramana_core.opening import create_private, opening_alone
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

NOISE = "noise-"
"""What the identity of draws begins with that are noise on counts."""


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
    `same_as` names other columns that held the same values when this one left (see `fingerprints`).
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

    `sketch` is a sample of its pseudonyms (see `refusals`), `fingerprint` one of its columns'
    values, encrypted (see `fingerprints`): empty where nothing was drawn from. `kind` is what was
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
    fingerprint: bytes = b""
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

        require_ledger(self.state)
        if not self._path.exists():
            return ()
        with closing(self._connect()) as connection:
            draws = _all(connection, DRAWS)
            samples: dict[int, dict[str, Any]] = {}
            for table, name in ((SKETCHES, "sketch"), (FINGERPRINTS, "fingerprint")):
                for kept in _all(connection, table):
                    samples.setdefault(kept["release"], {})[name] = kept[name]
            oldest_first = RELEASES.select().order_by(RELEASES.c.id)
            rows = connection.execute(oldest_first).mappings()
            return tuple(_entry(dict(row), draws, samples.get(row["id"], {})) for row in rows)

    def begin(self) -> None:
        """Make the ledger's tables if they are not there."""

        with storing_ledger(self._path):
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

        require_ledger(self.state)
        if not self._path.exists():
            return None
        with closing(self._connect()) as connection:
            newest = BEGINNINGS.select().order_by(BEGINNINGS.c.id.desc()).limit(1)
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

        with (
            storing_ledger(self._path),
            closing(connected(self._path)) as connection,
            noted(self.state, now, NEW_EPOCH, epoch=epoch_mark(epoch), releases=len(left)),
            connection.begin(),
        ):
            for entry in left:
                # An older ledger may have it as prepared.
                now_known = {"state": entry.state, "release_id": entry.release_id}
                known = RELEASES.update().where(_is(entry)).values(now_known)
                if not connection.execute(known).rowcount:
                    _insert(connection, entry)
            connection.execute(BEGINNINGS.insert().values(epoch=epoch, begun=_naive(now)))

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

        releases, table = RELEASES, DRAWS
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

        values: dict[str, Any] = {"state": state, "changed": _naive(now)}
        if release_id is not None:
            values["release_id"] = release_id
        with self._changing(entry, state, now) as connection:
            connection.execute(RELEASES.update().where(_is(entry)).values(values))

    @property
    def _path(self) -> Path:
        return self.state / LEDGER

    def _connect(self) -> sa.Connection:

        require_ledger(self.state)
        return connected(state_directory(self.state) / LEDGER)

    @contextmanager
    def _changing(self, entry: Entry, state: EntryState, now: datetime) -> Iterator[sa.Connection]:
        """Change the ledger, and then note it in the audit log, for which there is room.

        Of a crash between the two the log knows nothing, so that it never has more than the
        ledger; nothing has left by then, and `Delivery` notes it before anything does.
        """

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
            noted(self.state, now, f"release_{state}", **told),
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

    row = _attributes(entry, RELEASES.columns.keys(), {"id"})
    row |= {"prepared": _naive(entry.prepared), "changed": _naive(entry.changed)}
    made = connection.execute(RELEASES.insert().values(row)).inserted_primary_key
    number = made[0] if made is not None else None
    for draw in entry.draws:
        connection.execute(DRAWS.insert().values(release=number, **_draw_row(draw)))
    connection.execute(SKETCHES.insert().values(release=number, sketch=entry.sketch))
    connection.execute(FINGERPRINTS.insert().values(release=number, fingerprint=entry.fingerprint))


def _draw_row(draw: Draw) -> dict[str, Any]:
    """Return the row of a draw, but for its release."""

    row = _attributes(draw, DRAWS.columns.keys(), {"release", *_FORM})
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

    rows = connection.execute(BEGINNINGS.select().order_by(BEGINNINGS.c.id)).mappings()
    return tuple(int(row["epoch"]) for row in rows)


def _is(entry: Entry) -> sa.ColumnElement[bool]:
    """Return the condition that a row of the releases is an entry's."""

    known = RELEASES.c
    return (known.miner == entry.miner) & (known.study == entry.study) & (known.name == entry.name)


def _entry(row: dict[str, Any], draws: Sequence[dict[str, Any]], samples: dict[str, Any]) -> Entry:
    number = row.pop("id")
    row["prepared"] = row["prepared"].replace(tzinfo=UTC)
    row["changed"] = row["changed"].replace(tzinfo=UTC)
    mine = tuple(_draw(draw) for draw in draws if draw["release"] == number)
    return Entry(**row, draws=mine, **samples)


def _naive(moment: datetime) -> datetime:
    """Return a moment as UTC without zone, which is how SQLite keeps it."""
    return moment.astimezone(UTC).replace(tzinfo=None)


# The ledger's file: its tables, how it is opened or made, and full disks.


_BUSY_SECONDS = 30.0
"""So long a statement waits for whoever writes."""

_METADATA = sa.MetaData()
SCHEMA_VERSION = 6
"""Raised with every change of the tables: a ledger of another version is refused, unchanged."""

RELEASES = sa.Table(
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
    sa.Column("kind", sa.String, nullable=False, server_default=RANDOMIZED),
    sa.Column("method", sa.String, nullable=False, server_default=""),
    sa.Column("beginning", sa.BigInteger, nullable=False, server_default="0"),
    sa.UniqueConstraint("miner", "study", "name"),
)
DRAWS = sa.Table(
    "draws",
    _METADATA,
    sa.Column("release", sa.ForeignKey("releases.id"), primary_key=True),
    sa.Column("column", sa.String, primary_key=True),
    sa.Column("variable", sa.String, nullable=False),
    sa.Column("draw_id", sa.String, nullable=False),
    sa.Column("epsilon", sa.Float),  # null: unbounded
    sa.Column("randomized", sa.Boolean, nullable=False),
    sa.Column("population", sa.String, nullable=False),
    sa.Column("same_as", sa.JSON, nullable=False),
    sa.Column("masked", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("shared", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
)
SKETCHES = sa.Table(
    "sketches",
    _METADATA,
    sa.Column("release", sa.ForeignKey("releases.id"), primary_key=True),
    sa.Column("sketch", sa.LargeBinary, nullable=False),
)
FINGERPRINTS = sa.Table(
    "fingerprints",
    _METADATA,
    sa.Column("release", sa.ForeignKey("releases.id"), primary_key=True),
    sa.Column("fingerprint", sa.LargeBinary, nullable=False),
)
BEGINNINGS = sa.Table(
    "beginnings",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("begun", sa.DateTime, nullable=False),
)
"""From which epoch on everything was drawn after a loss; without a row it is epoch 0."""
DRAW_KEYS = sa.Table(
    private_files.DRAW_KEYS, _METADATA, sa.Column("fingerprint", sa.String, primary_key=True)
)
"""Of draw keys that were made or imported with this ledger (see `state/history.py`)."""


def connected(path: Path) -> sa.Connection:
    """Open the ledger; make it first if it is not there.

    Whoever makes it at the same time is waited for, however slow.

    Raises:
        StoreCorrupt: it is no ledger, or one of another version.
        StorageFull: it has to be written for that, and there is no room.
    """
    with storing_ledger(path):
        # SQLite would make the file with the umask's mode; its journals take over this one's.
        create_private(path)
    engine = _engine(path)
    try:
        with storing_ledger(path):
            with engine.connect() as connection:
                made = _version(connection)
            if made != SCHEMA_VERSION:
                with opening_alone(path.parent), engine.begin() as connection:
                    made = _with_tables(connection)
        if made != SCHEMA_VERSION:
            raise StoreCorrupt(
                f"The ledger {path} has schema {made}; this version of the agent"
                f" reads schema {SCHEMA_VERSION}.",
                where=str(path),
                remedy="Run the version of the agent that made it.",
            )
        return engine.connect()
    except sa.exc.DatabaseError:
        raise StoreCorrupt(
            f"The ledger {path} cannot be read or written.",
            where=str(path),
            remedy="Restore it from your backup: without it nobody knows what has left.",
        ) from None


@contextmanager
def storing_ledger(path: Path) -> Iterator[None]:
    """Turn what the system and SQLite say of a full disk into StorageFull; all else passes."""
    try:
        with storing("the ledger", path):
            yield
    except sa.exc.OperationalError as error:
        if getattr(error.orig, "sqlite_errorname", "") in private_files.FULL:
            raise no_room("the ledger", path) from None
        raise


@cache
def _engine(path: Path) -> sa.Engine:
    """Return the engine of a file: it holds no connections, but the statements it has compiled."""
    return sa.create_engine(
        f"sqlite:///{path}", poolclass=sa.NullPool, connect_args={"timeout": _BUSY_SECONDS}
    )


def _with_tables(connection: sa.Connection) -> int:
    """Make the tables in an empty file; return their version, zero for tables of something else."""
    # The driver opens no transaction by itself for changes of tables. Somebody else may have made
    # them meanwhile.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    made = _version(connection)
    if made == 0 and set(sa.inspect(connection).get_table_names()) <= {DRAW_KEYS.name}:
        _METADATA.create_all(connection)
        connection.exec_driver_sql(f"PRAGMA user_version={SCHEMA_VERSION}")
        made = SCHEMA_VERSION
    return made


def _version(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
