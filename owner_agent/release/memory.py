"""What was reported of each record of a study: its pseudonym, and the codes it got by each draw.

A record keeps the report it was once given, so the agent must know it whatever became of the
table and of the outbox. One file per study, `reported/<study>.arrow` in the state directory, has
a row for each record that was ever reported: 16 bytes, and a code for each variable. It is read
and written in ranges of pseudonyms and never held whole.

Also here:

* The way out for an agent that lost what it knew of its releases, and has no backup of it.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from owner_agent.randomize.draws import random_epoch
from owner_agent.release.client import Miner
from owner_agent.release.composition import (
    beyond,
    known_entries,
    require_reported,
    spent,
    unknown_in_outbox,
)
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.release.left import entries_of, unknown
from owner_agent.release.outbox import OUTBOX, reopen
from owner_agent.site.planning import planned
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore, fingerprint
from owner_agent.state.private_files import (
    TokenStore,
    knows_draw_key,
    private_directory,
    publishing_alone,
    replacing,
    state_directory,
)
from owner_agent.table.table import cut
from pramana_core.errors import (
    Conflict,
    HistoryLost,
    InputError,
    OptionError,
    Refused,
    StateError,
    StoreCorrupt,
    Unauthenticated,
)
from pramana_core.marginals.counts import Codes
from pramana_core.wire.base import KEY_BYTES, KEY_COLUMN
from pramana_core.wire.parts import (
    READ_ROWS,
    Column,
    Pseudonyms,
    key_array,
    key_column,
    key_order,
    locate,
)
from pramana_core.wire.releases import Release

FOLDER = "reported"
"""The folder's name in a state directory."""

_FORMAT = b"1"
_SEPARATOR = "/"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class DrawReports:
    """The reports made by one draw: which rows of the memory have one, and their codes."""

    known: Mask
    columns: Mapping[str, Codes]


@dataclass(frozen=True, eq=False)
class MemoryRange:
    """What was reported in one study of the records in a range of pseudonyms.

    Attributes:
        keys: M pseudonyms, ascending.
        draws: by the identity of a draw, M codes of each of its variables.
    """

    keys: Pseudonyms = field(default_factory=lambda: np.zeros(0, dtype=f"V{KEY_BYTES}"))
    draws: Mapping[str, DrawReports] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return M."""
        return len(self.keys)

    def rows(self, rows: slice) -> MemoryRange:
        """Return what is remembered of some of the records."""
        draws = {
            draw: DrawReports(
                one.known[rows], {name: codes[rows] for name, codes in one.columns.items()}
            )
            for draw, one in self.draws.items()
        }
        return MemoryRange(self.keys[rows], draws)

    def of(self, keys: Pseudonyms) -> RememberedReports:
        """Return what is remembered of some records, in any order."""
        place, there = locate(keys, self.keys)
        return RememberedReports(self, place, there)

    def with_reports(
        self,
        keys: Pseudonyms,
        reports: Mapping[str, Mapping[str, Codes]],
        *,
        replacing: bool = False,
    ) -> MemoryRange:
        """Return the range with the reports that some records in it got.

        Args:
            keys: N pseudonyms, ascending.
            reports: by the identity of a draw, N codes of each variable of its block.
            replacing: whether these reports take the place of others of the same records.

        Raises:
            Conflict: a record was reported differently by the same draw, unless `replacing`.
        """
        wider = self._with_rows(keys)
        # As many as there are: they are the same.
        alike = len(wider) == len(keys)
        place = np.arange(len(keys)) if alike else locate(keys, wider.keys)[0]
        draws = dict(wider.draws)
        for draw, columns in reports.items():
            before = draws.get(draw)
            if before is not None and not replacing:
                _refuse_other(before, place, columns)
            draws[draw] = _updated(before, len(wider.keys), place, columns)
        return replace(wider, draws=draws)

    def _with_rows(self, keys: Pseudonyms) -> MemoryRange:
        """Return the range with a row for each of some pseudonyms."""
        _, there = locate(keys, self.keys)
        if there.all():
            return self
        joined = np.concatenate([self.keys, keys[~there]])
        order = key_order(joined) if len(self) else np.arange(len(keys))
        added = int((~there).sum())

        def grown(codes: Codes) -> Codes:
            return np.concatenate([codes, np.zeros(added, codes.dtype)])[order]

        draws = {
            draw: DrawReports(
                np.concatenate([one.known, np.zeros(added, dtype=np.bool_)])[order],
                {name: grown(codes) for name, codes in one.columns.items()},
            )
            for draw, one in self.draws.items()
        }
        return replace(self, keys=joined[order], draws=draws)


@dataclass(frozen=True, eq=False)
class RememberedReports:
    """What a memory holds of N records."""

    memory: MemoryRange
    place: npt.NDArray[np.intp]
    there: Mask

    def by(self, draw: str) -> tuple[Mask, dict[str, Codes]]:
        """Return which of the records were reported by a draw, and those records' codes."""
        remembered = self.memory.draws.get(draw)
        if remembered is None:
            return np.zeros(len(self.there), dtype=np.bool_), {}
        known = self.there.copy()
        known[known] = remembered.known[self.place[known]]
        rows = self.place[known]
        return known, {name: codes[rows] for name, codes in remembered.columns.items()}


def _refuse_other(
    before: DrawReports, place: npt.NDArray[np.intp], columns: Mapping[str, Codes]
) -> None:
    """Check that records at some places were not reported differently. Raises Conflict."""
    known = before.known[place]
    for name, codes in columns.items():
        if bool((known & (before.columns[name][place] != codes)).any()):
            raise Conflict(
                f"Since these reports were made, the same draw reported some records differently in"
                f" {name!r}.",
                where=name,
                remedy="Start again; it goes on from what has left.",
            )


def _updated(
    before: DrawReports | None,
    rows: int,
    place: npt.NDArray[np.intp],
    columns: Mapping[str, Codes],
) -> DrawReports:
    """Return a draw's reports with those of the records at some places."""
    if before is None and len(place) == rows:  # all of them, in this order
        return DrawReports(np.ones(rows, dtype=np.bool_), columns)
    known = np.zeros(rows, dtype=np.bool_) if before is None else before.known.copy()
    known[place] = True
    stored: dict[str, Codes] = {}
    for name, codes in columns.items():
        stored[name] = (
            np.zeros(rows, codes.dtype) if before is None else before.columns[name].copy()
        )
        stored[name][place] = codes
    return DrawReports(known, stored)


class Memory:
    """What was reported in one study, in a file; none is an empty memory.

    Attributes:
        releases: contents (`SortedReports.digest`) of all releases that are in it.
    """

    def __init__(self, file: IO[bytes] | None = None, where: str = FOLDER):
        """Open what `write` wrote.

        Raises:
            StoreCorrupt: it is another file than was written; `where` names it.
        """
        self._where = where
        self._batches: pa.ipc.RecordBatchFileReader | None = None
        self.releases: frozenset[str] = frozenset()
        self._none = MemoryRange()
        self._types: dict[str, pa.DataType] = {}
        if file is None:
            return
        weakref.finalize(self, file.close)
        with _as_written(where):
            self._batches = pa.ipc.open_file(pa.PythonFile(file, mode="r"))
            schema = self._batches.schema
            metadata = schema.metadata or {}
            if metadata.get(b"format") != _FORMAT:
                raise ValueError("another format")
            self.releases = frozenset(json.loads(metadata[b"releases"]))
            self._none = _read(schema.empty_table())
        self._types = {one.name: one.type for one in schema if one.name != KEY_COLUMN}

    @property
    def draws(self) -> Collection[str]:
        """The identities of the draws that anything was reported by."""
        return self._none.draws.keys()

    def ranges(self) -> Iterator[MemoryRange]:
        """Yield all that is remembered, range by range, ascending."""
        batches = self._batches
        if batches is None:
            return
        read = (batches.get_batch(n) for n in range(batches.num_record_batches))
        ranges = map(_read, cut(read, READ_ROWS))
        while True:
            with _as_written(self._where):
                held = next(ranges, None)
            if held is None:
                return
            yield held

    def beside(self, keys: Column) -> Iterator[tuple[MemoryRange, slice]]:
        """Yield what is remembered, and which of some records are in the same range of pseudonyms.

        Args:
            keys: N pseudonyms, ascending. Every one of them is in a range.
        """
        ranges, start = self.ranges(), 0
        held = next(ranges, None)
        while held is not None or start < len(keys):
            block = keys[start : start + READ_ROWS]
            inside = len(block)
            if held is None:
                yield self._none, slice(start, start + inside)
            else:
                known = len(held)
                if inside and known:
                    last = min(bytes(block[-1]), bytes(held.keys[-1]))
                    inside, known = (_up_to(last, own) for own in (block, held.keys))
                elif inside:
                    known = 0
                yield held.rows(slice(known)), slice(start, start + inside)
                held = held.rows(slice(known, None))
                held = held if len(held) else next(ranges, None)
            start += inside

    def write(
        self,
        to: IO[bytes],
        keys: Column,
        reports: Mapping[str, Mapping[str, Column]],
        release: str,
        *,
        replacing: bool = False,
    ) -> None:
        """Write the memory with the reports of one more release.

        Args:
            to: the file.
            keys: N pseudonyms, ascending.
            reports: by the identity of a draw, N codes of each variable of its block.
            release: the release's content.
            replacing: whether these reports take the place of others of the same records.

        Raises:
            Conflict: a record was reported differently by the same draw, unless `replacing`.
        """
        types = dict(self._types)
        for draw, columns in reports.items():
            for name, column in columns.items():
                types.setdefault(_column(draw, name), pa.from_numpy_dtype(column.dtype))
        fields = [pa.field(KEY_COLUMN, pa.binary(KEY_BYTES))]
        fields += [pa.field(name, kind) for name, kind in types.items()]
        releases = json.dumps(sorted(self.releases | {release})).encode()
        schema = pa.schema(fields, metadata={b"format": _FORMAT, b"releases": releases})
        with pa.ipc.new_file(pa.PythonFile(to, mode="w"), schema) as writer:
            for held, rows in self.beside(keys):
                new = {
                    draw: {name: column[rows] for name, column in columns.items()}
                    for draw, columns in reports.items()
                }
                grown = held.with_reports(keys[rows], new, replacing=replacing)
                writer.write_batch(_batch(grown, schema))


def _up_to(last: bytes, keys: Pseudonyms) -> int:
    """Return how many of ascending pseudonyms are at most the last."""
    place, there = locate(np.frombuffer(last, dtype=f"V{KEY_BYTES}"), keys)
    return int(place[0]) + int(there[0])


def load_memory(state: Path, study: str) -> Memory:
    """Return what is remembered of a study; nothing, where nothing was ever written.

    It stays what it is now, whatever is written in its place.

    Raises:
        StoreCorrupt: the file is not what was written.
    """
    path = _path(state, study)
    return Memory(path.open("rb", buffering=0), str(path)) if path.exists() else Memory()


@contextmanager
def _as_written(where: str) -> Iterator[None]:
    """Turn what readers say of another file into StoreCorrupt."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError):
        raise StoreCorrupt(
            f"{where} is not the memory of reports that was written there.",
            where=where,
            remedy="Restore it from your backup, with the ledger of the same day.",
        ) from None


def save_memory(
    state: Path,
    study: str,
    memory: Memory,
    keys: Column,
    reports: Mapping[str, Mapping[str, Column]],
    release: str,
) -> None:
    """Write what is remembered of a study and one more release, in place of what was there.

    Raises:
        Conflict: a record was reported differently by the same draw.
        StateError: it cannot be written; what was there stays.
    """
    path = _path(state, study)
    try:
        private_directory(state_directory(state) / FOLDER)
        with replacing(path) as file:
            memory.write(file, keys, reports, release)
    except OSError as error:
        raise StateError(
            f"What is about to be reported cannot be written to {path}: {error.strerror}.",
            where=str(path),
            remedy="Nothing left. Make room or mend the folder, and start again.",
        ) from None


def set_apart(state: Path, now: datetime) -> None:
    """Give what is remembered another name: after a loss nothing is drawn as it was before."""
    for name in (FOLDER, OUTBOX):
        if (folder := state / name).exists():
            folder.rename(state / f"{name}-until-{now:%Y%m%dT%H%M%S%f}")


def remembered_studies(state: Path) -> list[str]:
    """Return the studies of which anything is remembered."""
    return sorted(path.stem for path in (state / FOLDER).glob("*.arrow"))


def _path(state: Path, study: str) -> Path:
    return state / FOLDER / f"{study}.arrow"


def _column(draw: str, name: str) -> str:
    return f"{draw}{_SEPARATOR}{name}"


def _batch(memory: MemoryRange, schema: pa.Schema) -> pa.RecordBatch:
    """Return a range as it is written; of draws that it does not have nothing is known."""
    arrays = {KEY_COLUMN: key_column(memory.keys)}
    for draw, remembered in memory.draws.items():
        unknown = None if remembered.known.all() else ~remembered.known
        for name, codes in remembered.columns.items():
            arrays[_column(draw, name)] = pa.array(codes, mask=unknown)
    for absent in schema:
        if absent.name not in arrays:
            arrays[absent.name] = pa.nulls(len(memory), absent.type)
    return pa.record_batch([arrays[name] for name in schema.names], schema=schema)


def _read(table: pa.Table) -> MemoryRange:
    combined = table.combine_chunks()
    draws: dict[str, DrawReports] = {}
    for column in combined.column_names[1:]:
        draw, _, name = column.partition(_SEPARATOR)
        held = combined.column(column)
        known = held.is_valid().to_numpy()
        codes = held.fill_null(0).to_numpy()
        before = draws.get(draw, DrawReports(known, {}))
        draws[draw] = DrawReports(known, {**before.columns, name: codes})
    return MemoryRange(key_array(combined.column(KEY_COLUMN)), draws)


# The way out for an agent that lost what it knew of its releases, and has no backup of it.
#
# Nothing that was drawn before is drawn again: everything from here on is drawn in another epoch,
# independently, so that no two reports of a record by one draw can be compared. What is known to
# have
# left is written down, and its loss adds to all that follows.


@dataclass(frozen=True)
class NewEpoch:
    """What a new epoch begins with.

    Attributes:
        counted: releases that the miner has and the ledger did not know as left.
        losses: what all that is known to have left has cost each column, as composed epsilon.
        uncounted: names of releases that only the audit log has: what they cost is not known.
        asked: whether the miner was asked; it is not where the site has no token.
    """

    counted: tuple[Entry, ...]
    losses: dict[str, float]
    uncounted: tuple[str, ...]
    asked: bool


def begin_new_epoch(site: Site, environment: Environment, *, anyway: bool = False) -> NewEpoch:
    """Count what the miner has as left, and have everything from here on drawn anew.

    Args:
        site: the site.
        environment: the time, and how the miner is reached.
        anyway: whether it is wanted although nothing is missing.

    Raises:
        OptionError: nothing is missing, and it is not wanted all the same.
        Conflict: a publication of this site is running.
        StoreCorrupt: there is a ledger that cannot be read.
        Refused, Unreachable: the miner said no, or nothing; nothing was changed.
    """
    state = site.state
    with publishing_alone(state):
        ledger = Ledger(state)
        known: tuple[Entry, ...] = ()
        try:
            known, lost = known_entries(state), False
        except HistoryLost:
            lost = True
            with suppress(HistoryLost):
                known = ledger.entries()
        lost = lost or _remembers_more(state, known)
        asked = _asked(site, environment, known)
        counted = (*(asked or ()), *_counted_in_outbox(site, environment, known, asked or ()))
        if not (lost or counted or anyway):
            raise OptionError(
                "Nothing is missing here: the ledger has all that the audit log and the miner have."
                " In a new epoch every column that left would be drawn anew when it leaves again,"
                " and cost its whole epsilon once more, for good.",
                where="yes",
                remedy="Say --yes if that is wanted: where a peer remembers a session that is not"
                " in the ledger, it is.",
            )
        _, missing = beyond(state, [*known, *counted])
        missing = (*missing, *unknown_in_outbox(state, [*known, *counted]))
        epoch = random_epoch(environment.random_bytes)
        ledger.begin_anew(epoch, counted, environment.now())
        # From here on nothing reads what was remembered: all is drawn in the new epoch.
        set_apart(state, environment.now())
        KeyStore(state).know_draw()
        return NewEpoch(counted, spent(ledger.entries()), missing, asked is not None)


def import_draw_key(
    store: KeyStore, secret: bytes, environment: Environment, *, anyway: bool = False
) -> bool:
    """Store a draw key; one that may have been used elsewhere draws nothing as it drew there.

    The key is there before the epoch begins, and the ledger knows it last: until then it draws
    nothing, and the same import goes on from wherever it was interrupted.

    Args:
        store: where it goes.
        secret: the key.
        environment: the time, and random bytes.
        anyway: whether it is wanted although what left will be drawn anew.

    Returns:
        Whether an epoch was begun: not if the ledger knows the key, which restores a lost one.

    Raises:
        KeyFileError: the key is weak, or there is another one.
        OptionError: an epoch would begin that costs something, and it is not wanted all the same.
        Conflict: a publication of this site is running.
        HistoryLost, StoreCorrupt: the ledger is gone, or cannot be read.
        StorageFull: there is no room; the same import again goes on.
    """
    ledger, mark = Ledger(store.state), fingerprint("draw", secret)
    with publishing_alone(store.state):
        ledger.begin()
        interrupted = store.unknown_draw == mark
        if not interrupted and (store.path("draw").exists() or knows_draw_key(store.state, mark)):
            store.add("draw", secret)
            return False
        if not anyway and any(entry.left for entry in ledger.entries()):
            raise OptionError(
                "The ledger does not know this draw key, which may have drawn elsewhere. With it"
                " a new epoch begins: every column that left is drawn anew when it leaves again,"
                " and costs its whole epsilon once more, for good. Nothing was stored.",
                where="yes",
                remedy="Import the key that drew what left, from your backup; or say --yes.",
            )
        if not interrupted:
            store.add("draw", secret, known=False)
        ledger.begin_anew(random_epoch(environment.random_bytes), (), environment.now())
        store.know_draw()
        return True


def _remembers_more(state: Path, known: tuple[Entry, ...]) -> bool:
    """Whether reports of releases are remembered that the ledger does not have.

    So it is of an older ledger, and after a crash between beginning anew and setting them apart.
    """
    for study in remembered_studies(state):
        try:
            require_reported(study, load_memory(state, study).releases, known)
        except HistoryLost:
            return True
        except StoreCorrupt:
            continue  # What cannot be read says nothing here; whoever needs it will be refused.
    return False


def _counted_in_outbox(
    site: Site, environment: Environment, known: tuple[Entry, ...], counted: tuple[Entry, ...]
) -> tuple[Entry, ...]:
    """Return entries of the outbox's releases that may have left and are in neither."""
    outbox, found = site.state / OUTBOX, list[Release]()
    study = site.file.miner or site.file.peer
    for name in unknown_in_outbox(site.state, [*known, *counted]):
        with suppress(StoreCorrupt):  # It stays uncounted, and is named.
            prepared = reopen(outbox, name)
            if prepared is None or study is None:
                continue
            manifest = prepared.manifest
            kind = manifest.release_kind
            release = {
                "id": name,
                "study": study.study,
                "owner": site.owner,
                "name": name,
                "state": "open",
                "kind": manifest.kind,
                kind.field: manifest.content,
                kind.digest_field: kind.read(manifest.content).digest,
                "records": manifest.records,
                "parts": len(manifest.parts),
                "parts_received": [],
                "digest": manifest.digest,
                "created": environment.now(),
                "sealed": None,
            }
            found.append(Release.model_validate(release))
    miner = "" if site.file.miner is None else site.file.miner.url
    return entries_of(found, known, _columns(site), None, miner, environment.now())


def _columns(site: Site) -> dict[str, str]:
    """Return the column of each variable, as far as the site file says so."""
    with suppress(InputError):  # A site file without variables still has releases.
        return dict(planned(site).columns)
    return {}


def _asked(
    site: Site, environment: Environment, known: tuple[Entry, ...]
) -> tuple[Entry, ...] | None:
    """Return what the miner has and the ledger does not know; None if there is nobody to ask."""
    if site.file.miner is None:
        return None
    try:
        token = TokenStore(site.state).load(site.miner.study)
    except Unauthenticated:
        return None
    with Miner.of(site, token, environment) as miner:
        found = unknown(miner.releases(site.miner.study), known)
        told = None
        with suppress(Refused):  # Each release counts by itself then.
            told = miner.privacy(site.miner.study)
        return entries_of(found, known, _columns(site), told, miner.url, environment.now())
