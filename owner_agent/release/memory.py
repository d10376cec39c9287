"""What was reported of each record of a study: its pseudonym, and the codes it got by each draw.

A record keeps the report it was once given, so the agent must know it whatever became of the
table and of the outbox. One file per study, `reported/<study>.arrow` in the state directory, has
a row for each record that was ever reported: 16 bytes, and a code for each variable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from owner_agent.state.history import state_directory
from owner_agent.state.private_files import private_directory, write_replacing
from pramana_core.errors import Conflict, StateError, StoreCorrupt
from pramana_core.marginals.counts import Codes
from pramana_core.wire.base import KEY_BYTES, KEY_COLUMN
from pramana_core.wire.parts import Pseudonyms, key_array, key_column, key_order, locate

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
class Memory:
    """What was reported in one study.

    Attributes:
        keys: M pseudonyms, ascending.
        draws: by the identity of a draw, M codes of each of its variables.
        releases: contents (`Randomized.digest`) of all releases that are in it.
    """

    keys: Pseudonyms = field(default_factory=lambda: np.zeros(0, dtype=f"V{KEY_BYTES}"))
    draws: Mapping[str, DrawReports] = field(default_factory=dict)
    releases: frozenset[str] = frozenset()

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
    ) -> Memory:
        """Return the memory with the reports that some records got.

        Args:
            keys: N pseudonyms, ascending.
            reports: by the identity of a draw, N codes of each variable of its block.
            replacing: whether these reports take the place of others of the same records.

        Raises:
            Conflict: a record was reported differently by the same draw, unless `replacing`.
        """
        wider = self._with_rows(keys)
        place, _ = locate(keys, wider.keys)
        draws = dict(wider.draws)
        for draw, columns in reports.items():
            before = draws.get(draw)
            if before is not None and not replacing:
                _refuse_other(before, place, columns)
            draws[draw] = _updated(before, len(wider.keys), place, columns)
        return replace(wider, draws=draws)

    def with_release(self, content: str) -> Memory:
        """Return the memory with a release of this content noted as known."""
        return replace(self, releases=self.releases | {content})

    def _with_rows(self, keys: Pseudonyms) -> Memory:
        """Return the memory with a row for each of some pseudonyms."""
        _, there = locate(keys, self.keys)
        if there.all():
            return self
        joined = np.concatenate([self.keys, keys[~there]])
        order = key_order(joined)
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

    memory: Memory
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
    known = np.zeros(rows, dtype=np.bool_) if before is None else before.known.copy()
    known[place] = True
    stored: dict[str, Codes] = {}
    for name, codes in columns.items():
        stored[name] = (
            np.zeros(rows, codes.dtype) if before is None else before.columns[name].copy()
        )
        stored[name][place] = codes
    return DrawReports(known, stored)


def load_memory(state: Path, study: str) -> Memory:
    """Return what is remembered of a study; nothing, where nothing was ever written.

    Raises:
        StoreCorrupt: the file is not what was written.
    """
    path = _path(state, study)
    if not path.exists():
        return Memory()
    try:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        return _read(table)
    except (pa.ArrowException, OSError, ValueError, KeyError):
        raise StoreCorrupt(
            f"{path} is not the memory of reports that was written there.",
            where=str(path),
            remedy="Restore it from your backup, with the ledger of the same day.",
        ) from None


def save_memory(state: Path, study: str, memory: Memory) -> None:
    """Write what is remembered of a study, durably, in place of what was there.

    Raises:
        StateError: it cannot be written; what was there stays.
    """
    path = _path(state, study)
    sink = pa.BufferOutputStream()
    table = _table(memory)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    try:
        private_directory(state_directory(state) / FOLDER)
        write_replacing(path, sink.getvalue())
    except OSError as error:
        raise StateError(
            f"What is about to be reported cannot be written to {path}: {error.strerror}.",
            where=str(path),
            remedy="Nothing left. Make room or mend the folder, and start again.",
        ) from None


def set_apart(state: Path, now: datetime) -> None:
    """Give what is remembered another name: after a loss nothing is drawn as it was before."""
    folder = state / FOLDER
    if folder.exists():
        folder.rename(state / f"{FOLDER}-until-{now:%Y%m%dT%H%M%S%f}")


def remembered_studies(state: Path) -> list[str]:
    """Return the studies of which anything is remembered."""
    return sorted(path.stem for path in (state / FOLDER).glob("*.arrow"))


def _path(state: Path, study: str) -> Path:
    return state / FOLDER / f"{study}.arrow"


def _table(memory: Memory) -> pa.Table:
    arrays = [key_column(memory.keys)]
    names = [KEY_COLUMN]
    for draw, remembered in memory.draws.items():
        for name, codes in remembered.columns.items():
            arrays.append(pa.array(codes, mask=~remembered.known))
            names.append(f"{draw}{_SEPARATOR}{name}")
    metadata = {b"format": _FORMAT, b"releases": json.dumps(sorted(memory.releases)).encode()}
    return pa.table(arrays, names=names).replace_schema_metadata(metadata)


def _read(table: pa.Table) -> Memory:
    metadata = table.schema.metadata or {}
    if metadata.get(b"format") != _FORMAT:
        raise ValueError("another format")
    combined = table.combine_chunks()
    draws: dict[str, DrawReports] = {}
    for column in combined.column_names[1:]:
        draw, _, name = column.partition(_SEPARATOR)
        held = combined.column(column)
        known = held.is_valid().to_numpy()
        codes = held.fill_null(0).to_numpy()
        before = draws.get(draw, DrawReports(known, {}))
        draws[draw] = DrawReports(known, {**before.columns, name: codes})
    return Memory(
        key_array(combined.column(KEY_COLUMN)), draws, frozenset(json.loads(metadata[b"releases"]))
    )
