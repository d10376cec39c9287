"""What was reported of each record of a study: its pseudonym, and the codes it got by each draw.

A record keeps the report it was once given, so the agent must know it whatever became of the
table and of the outbox. One file per study, `reported/<study>.arrow` in the state directory, has
a row for each record that was ever reported: 16 bytes, and a code for each variable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from owner_agent.private_files import private_directory, write_replacing
from shared.counts import Codes
from shared.errors import Conflict, StoreCorrupt
from shared.parts import Keys, key_array, key_column, key_words
from shared.wire import KEY_BYTES, KEY_COLUMN

FOLDER = "reported"
"""The folder's name in a state directory."""

_FORMAT = b"1"
_SEPARATOR = "/"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Remembered:
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

    keys: Keys = field(default_factory=lambda: np.zeros(0, dtype=f"V{KEY_BYTES}"))
    draws: Mapping[str, Remembered] = field(default_factory=dict)
    releases: frozenset[str] = frozenset()

    def recall(self, draw: str, keys: Keys) -> tuple[Mask, dict[str, Codes]]:
        """Return which of N records were reported by a draw, and those records' codes, in order."""
        place, there = locate(keys, self.keys)
        remembered = self.draws.get(draw)
        if remembered is None:
            return np.zeros(len(keys), dtype=np.bool_), {}
        there[there] = remembered.known[place[there]]
        rows = place[there]
        return there, {name: codes[rows] for name, codes in remembered.columns.items()}

    def with_reports(
        self, draw: str, keys: Keys, columns: Mapping[str, Codes], *, replacing: bool = False
    ) -> Memory:
        """Return the memory with the reports that some records got by a draw.

        Args:
            draw: the draw's identity.
            keys: N pseudonyms, ascending.
            columns: N codes of each variable of the draw's block.
            replacing: whether these reports take the place of others of the same records.

        Raises:
            Conflict: a record was reported differently by the same draw, unless `replacing`.
        """
        wider = self._with_rows(keys)
        place, _ = locate(keys, wider.keys)
        before = wider.draws.get(draw)
        known = np.zeros(len(wider.keys), dtype=np.bool_) if before is None else before.known.copy()
        stored: dict[str, Codes] = {}
        for name, codes in columns.items():
            old = np.zeros(len(known), codes.dtype) if before is None else before.columns[name]
            if not replacing and bool((known[place] & (old[place] != codes)).any()):
                raise Conflict(
                    f"Some records were reported otherwise in {name!r} by the same draw, since"
                    " these reports were made.",
                    where=name,
                    remedy="Start again; it goes on from what has left.",
                )
            stored[name] = old.copy()
            stored[name][place] = codes
        known[place] = True
        return replace(wider, draws={**wider.draws, draw: Remembered(known, stored)})

    def with_release(self, content: str) -> Memory:
        """Return the memory with a release of this content noted as known."""
        return replace(self, releases=self.releases | {content})

    def _with_rows(self, keys: Keys) -> Memory:
        """Return the memory with a row for each of some pseudonyms."""
        _, there = locate(keys, self.keys)
        if there.all():
            return self
        joined = np.concatenate([self.keys, keys[~there]])
        halves = key_words(joined)
        order = np.lexsort((halves[:, 1], halves[:, 0]))

        added = int((~there).sum())

        def grown(codes: Codes) -> Codes:
            return np.concatenate([codes, np.zeros(added, codes.dtype)])[order]

        draws = {
            draw: Remembered(
                np.concatenate([one.known, np.zeros(added, dtype=np.bool_)])[order],
                {name: grown(codes) for name, codes in one.columns.items()},
            )
            for draw, one in self.draws.items()
        }
        return replace(self, keys=joined[order], draws=draws)


def locate(keys: Keys, among: Keys) -> tuple[npt.NDArray[np.intp], Mask]:
    """Return where each pseudonym stands among ascending ones, and whether it is there at all."""
    # Bytes of one length compare as text does; that only text ignores zeros at the end is no harm.
    wanted = np.ascontiguousarray(keys).view(f"S{KEY_BYTES}")
    held = np.ascontiguousarray(among).view(f"S{KEY_BYTES}")
    place = np.searchsorted(held, wanted)
    if not len(held):
        return place, np.zeros(len(wanted), dtype=np.bool_)
    there: Mask = held[np.minimum(place, len(held) - 1)] == wanted
    return place, there


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
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise StoreCorrupt(
            f"{path} is not the memory of reports that was written there.",
            where=str(path),
            remedy="Restore it from your backup, with the ledger of the same day.",
        ) from error


def save_memory(state: Path, study: str, memory: Memory) -> None:
    """Write what is remembered of a study, durably, in place of what was there."""
    path = _path(state, study)
    private_directory(private_directory(state) / FOLDER)
    sink = pa.BufferOutputStream()
    table = _table(memory)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    write_replacing(path, sink.getvalue())


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
    draws: dict[str, Remembered] = {}
    for column in combined.column_names[1:]:
        draw, _, name = column.partition(_SEPARATOR)
        held = combined.column(column)
        known = held.is_valid().to_numpy()
        codes = held.fill_null(0).to_numpy()
        before = draws.get(draw, Remembered(known, {}))
        draws[draw] = Remembered(known, {**before.columns, name: codes})
    return Memory(
        key_array(combined.column(KEY_COLUMN)), draws, frozenset(json.loads(metadata[b"releases"]))
    )
