"""The reports of a table some of whose records were reported before, perhaps with other values.

Of two differing reports of one record everybody would know that its value changed, whatever the
channel. So a record never gets two by one draw: it keeps its first report, and one epsilon bounds
what is learned of all its values. Or the custodian begins a new epoch (see `memory`), in which all
records are drawn anew, independently, and epsilons add for everybody.

Also here:

* The memory of releases that left without being remembered, from their folders in the outbox.
* Reports that are sorted by pseudonym and do not fit into memory: sorted runs on disk, merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.draws import draw_id
from owner_agent.randomize.reports import Randomized, SortedReports, randomize
from owner_agent.release.composition import require_reported
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.release.memory import Memory, load_memory, save_memory
from owner_agent.release.outbox import OUTBOX, PreparedRelease, reopen
from owner_agent.site.corrections import CorrectionChoice
from owner_agent.state.keys import Secrets
from owner_agent.state.scratch import ScratchFile, filled_file
from pramana_core.errors import (
    DuplicateRecordId,
    KeyFileError,
    PramanaError,
    RecordsCorrected,
    RecordsExchanged,
    StorageFull,
    StoreCorrupt,
)
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block, Plan
from pramana_core.progress import Progress
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import (
    Column,
    Pseudonyms,
    RecordSchema,
    code_dtype,
    decode_part,
    key_order,
)

# Reports that are sorted by pseudonym and do not fit into memory: sorted runs on disk, merged.
#
# Only pseudonyms and reports are written, in private files without a name, so that a crash leaves
# nothing of them. Pseudonyms are MACs, spread evenly: runs are merged range by range of
# pseudonyms,
# each range with what all runs have in it.


_RANGE_BITS = 12
"""Where each of so many ranges of pseudonyms begins in a run is known."""


class ScratchReports:
    """The reports of N records in a file without a name, put there piece by piece."""

    def __init__(self, file: ScratchFile, plan: Plan, records: int):
        """Take the next place in a file; nothing is written yet."""
        sizes = plan.reported_sizes.items()
        self.keys = file.column(f"V{KEY_BYTES}", records)
        self.columns = {name: file.column(code_dtype(size), records) for name, size in sizes}
        self._plan = plan
        self._filled = 0

    def append(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> int:
        """Put records after the last, and return how many there are. Raises StorageFull."""
        rows = slice(self._filled, self._filled + len(keys))
        self.keys[rows] = keys
        for name, codes in columns.items():
            self.columns[name][rows] = codes
        self._filled = rows.stop
        return self._filled

    @property
    def reports(self) -> SortedReports:
        """What was put there, of which every pseudonym was above the one before."""
        return SortedReports(self._plan, self.keys, self.columns)


class SortedRuns:
    """Runs of reports, each sorted by pseudonym; of a table that is wrong, of pseudonyms alone."""

    def __init__(self, folder: Path, plan: Plan):
        """Begin; `folder` is where the files lie."""
        self._folder = folder
        self._plan = plan
        self._file = ScratchFile(folder)
        self._runs: list[ScratchReports] = []
        self._bounds: list[npt.NDArray[np.uint32]] = []

    def __len__(self) -> int:
        """Return how many records there are."""
        return sum(len(run.keys) for run in self._runs)

    def add(self, keys: Pseudonyms, columns: Mapping[str, Codes]) -> None:
        """Add a run. Raises StorageFull.

        Args:
            keys: pseudonyms, ascending; some may be repeated.
            columns: the reports; none, from the run on with which something was wrong.
        """
        high = keys.view(">u2")[:: KEY_BYTES // 2] >> (16 - _RANGE_BITS)
        bounds = np.searchsorted(high, np.arange((1 << _RANGE_BITS) + 1))
        self._bounds.append(bounds.astype(np.uint32))
        run = ScratchReports(self._file, self._plan, len(keys))
        run.append(keys, columns)
        self._runs.append(run)

    def merged(self, rows: int, progress: Progress) -> SortedReports:
        """Return all reports in one piece.

        Args:
            rows: about so many are in memory.
            progress: told how many records are merged.

        Raises:
            DuplicateRecordId: a pseudonym is there more than once; `repeated` has which.
            StorageFull: there is no room.
        """
        whole = ScratchReports(ScratchFile(self._folder), self._plan, len(self))
        for places in self._ranges(rows):
            keys = np.concatenate([run.keys[inside] for run, inside in places])
            order = key_order(keys)
            columns = {
                name: np.concatenate([run.columns[name][inside] for run, inside in places])[order]
                for name in whole.columns
            }
            progress(whole.append(keys[order], columns), len(self))
        return whole.reports

    def repeated(self, rows: int) -> Pseudonyms:
        """Return the pseudonyms that are there more than once, ascending; `rows` as in `merged`."""
        found = [np.empty(0, dtype=f"S{KEY_BYTES}")]
        for places in self._ranges(rows):
            keys = np.concatenate([run.keys[inside] for run, inside in places])
            try:
                key_order(keys)
            except DuplicateRecordId:
                ordered = np.sort(keys.view(f"S{KEY_BYTES}"))
                found.append(np.unique(ordered[1:][ordered[1:] == ordered[:-1]]))
        return np.concatenate(found).view(f"V{KEY_BYTES}")

    def _ranges(self, rows: int) -> Iterator[list[tuple[ScratchReports, slice]]]:
        """Yield the runs with the rows they have in a range of pseudonyms, range by range."""
        ends = np.asarray(np.sum(self._bounds, axis=0, dtype=np.int64))[1:]
        first = 0
        while first < len(ends):
            before = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + rows, side="right")))
            if ends[last - 1] > before:
                yield [
                    (run, slice(int(bounds[first]), int(bounds[last])))
                    for run, bounds in zip(self._runs, self._bounds, strict=True)
                ]
            first = last


# The memory of releases that left without being remembered, from their folders in the outbox.
#
# Releases that a restored backup does not have yet are known in this way.


def rebuilt(
    memory: Memory, state: Path, missing: Sequence[Entry], secrets: Secrets, study: str
) -> Memory:
    """Return a memory with those of some releases, oldest first, that the outbox still has.

    A release that is not there whole, as it left, is passed over.

    Raises:
        StorageFull, KeyFileError: as `scratch_file`; nothing is known then of what is there.
    """
    for entry in missing:
        try:
            prepared = reopen(state / OUTBOX, entry.name)
            made = None if prepared is None else _read(state, prepared)
        except (StorageFull, KeyFileError):  # Not the release is damaged.
            raise
        except (PramanaError, ValueError):  # Parts may hold more records than are told, or fewer.
            continue
        if made is not None and made.digest == entry.content:
            memory = _added(memory, state, made, entry, secrets, study)
    return memory


def _read(state: Path, prepared: PreparedRelease) -> SortedReports:
    plan = prepared.manifest.content.to_plan()
    schema = RecordSchema.of(plan)
    scratch = ScratchReports(ScratchFile(state), plan, prepared.manifest.records)
    filled = 0
    for number in range(len(prepared.manifest.parts)):
        filled = scratch.append(*decode_part(schema, prepared.part(number)))
    if filled != prepared.manifest.records:
        raise ValueError(f"{filled} records are there, not {prepared.manifest.records}")
    return scratch.reports


def _added(
    memory: Memory, state: Path, made: SortedReports, entry: Entry, secrets: Secrets, study: str
) -> Memory:
    draws = {draw.variable: draw for draw in entry.draws}
    reports = {}
    for block in made.plan.blocks:
        draw = draws[block.names[0]]
        if not draw.randomized:
            continue
        # The margin of a joint draw, sent to a peer, is not the whole of what was drawn.
        if draw.draw_id != draw_id(secrets, study, block, draw.epoch):
            return memory
        reports[draw.draw_id] = {name: made.columns[name] for name in block.names}

    def write(to: IO[bytes]) -> None:
        memory.write(to, made.keys, reports, entry.content, replacing=True)

    return Memory(filled_file(state, write))


CHOICES = (
    "Choose what happens to them: `--corrections keep` leaves every record the report it was given"
    ' first, which costs nothing and stays as it is; `corrections = "keep"` in the site file'
    " chooses it for good. Or `owner-agent new-epoch --yes` has all records drawn anew, which adds"
    " their epsilon for everybody."
)

Content = Callable[[SortedReports], str]
"""Returns the digest under which the ledger would have reports."""


class Records(Protocol):
    """An owner's records in a study, wherever they are."""

    @property
    def secrets(self) -> Secrets:
        """The owner's secrets."""

    @property
    def study(self) -> str:
        """The study."""

    def drawn(self, plan: Plan, epochs: Mapping[str, int]) -> SortedReports:
        """Return the records' reports by their own draws, sorted by pseudonym.

        The columns are the caller's, who may change them.

        Args:
            plan: what is done to which variables.
            epochs: by a block's name, the epoch in which it is drawn anew.
        """


@dataclass(frozen=True, eq=False)
class OwnRecords:
    """Records in memory: N pseudonyms, and N true codes of each variable."""

    secrets: Secrets
    study: str
    keys: Pseudonyms
    columns: dict[str, Codes]

    def drawn(self, plan: Plan, epochs: Mapping[str, int]) -> Randomized:
        """Return their reports, in memory as well."""
        return randomize(plan, self.secrets, self.study, self.keys, self.columns, epochs)


@dataclass(frozen=True, eq=False)
class ReleaseHistory:
    """What left before: the ledger's entries, and what is remembered of the study's reports."""

    state: Path
    entries: tuple[Entry, ...]
    memory: Memory
    study: str
    beginning: int = 0

    @classmethod
    def of(
        cls, state: Path, entries: Sequence[Entry], secrets: Secrets, study: str
    ) -> ReleaseHistory:
        """Read the memory of a study, and add from the outbox what it lacks.

        Raises:
            StoreCorrupt: the memory cannot be read.
            StorageFull, KeyFileError: what it lacks cannot be put beside it.
            HistoryLost: it holds releases that the ledger does not.
        """
        memory, ledger = load_memory(state, study), Ledger(state)
        require_reported(study, memory.releases, entries)
        left = tuple(entry for entry in entries if entry.left)
        missing = [
            e
            for e in left
            if e.study == study and e.follows_plan and e.content not in memory.releases
        ]
        memory = rebuilt(memory, state, missing, secrets, study)
        return cls(state, left, memory, study, ledger.beginning)

    def epoch(self, records: Records, block: Block) -> int:
        """Return the epoch of a block's newest draws that left."""
        return newest_epoch(self.entries, records.secrets, records.study, block, self.beginning)

    @property
    def last_of_memory(self) -> Entry | None:
        """The last release to the study, if the memory has it."""
        released = (e for e in self.entries if e.study == self.study and e.follows_plan and e.draws)
        last = next(reversed([*released]), None)
        return None if last is None or last.content not in self.memory.releases else last

    def forgotten(self, identity: str, content: str = "") -> list[str]:
        """Return the releases made by a draw of which the memory does not have the reports.

        Args:
            identity: the draw's.
            content: that of the reports at hand; a release of exactly these is not forgotten.
        """
        return [
            entry.name
            for entry in self.entries
            if entry.content not in self.memory.releases
            and entry.content != content
            and any(draw.draw_id == identity for draw in entry.draws)
        ]


@dataclass(frozen=True)
class Correction:
    """A block of which some records were reported before and would be reported differently now.

    Attributes:
        block: the block's name.
        reported: how many of the records were reported by the same draw before.
        differing: how many of those would get another report, because their values changed.
        forgotten: names of earlier releases that the memory does not have.
    """

    block: str
    reported: int
    differing: int
    forgotten: tuple[str, ...] = ()


EXCHANGED_SHARE, EXCHANGED_FEWEST = 0.02, 5
"""From how many of the last release's records on an exchange is large, by share and by number;
fewer new ones need no question."""

GROWN_SHARE = 0.5
"""New records are many where they are so large a share of the last release's, or a larger one."""


@dataclass(frozen=True)
class Exchange:
    """How the records of a study differ from those of the last release to it.

    The same people under other record ids are gone and new at once, or only new where both forms of
    their ids are there. They would be randomized a second time.

    Attributes:
        earlier: how many records the last release had.
        gone: how many of them are not there now, at least.
        new: how many records were never reported in the study.
    """

    earlier: int
    gone: int
    new: int

    @property
    def is_large(self) -> bool:
        """Whether it needs a yes of its own."""
        exchanged = min(self.gone, self.new)
        return self.new >= EXCHANGED_FEWEST and (
            exchanged >= max(EXCHANGED_FEWEST, EXCHANGED_SHARE * self.earlier)
            or self.new >= GROWN_SHARE * self.earlier
        )

    def __str__(self) -> str:
        """Say it in a sentence."""
        return (
            f"Of the {self.earlier:,} records of the last release {self.gone:,} are gone, and"
            f" {self.new:,} records are new."
        )

    def require_small(self, option: str) -> None:
        """Refuse a large exchange, to which `option` says yes. Raises RecordsExchanged."""
        if self.is_large:
            raise RecordsExchanged(
                f"{self} If they are the same people under other record ids, these people would"
                " be randomized a second time, and lose as much again without being counted.",
                where="record_id",
                remedy="Give people the record ids that they were reported under. If the new"
                f" records are people who were never reported, say so with {option}.",
            )


@dataclass(frozen=True, eq=False)
class CorrectedRelease:
    """Reports that may leave, and by which draws they were made.

    Attributes:
        randomized: the reports.
        identities: the identity of each block's draws, by the block's name.
        epochs: the epoch of the draws of each block that is drawn, by the block's name.
        corrections: what was found of blocks with records that were reported before.
        exchange: how the records differ from those of the last release, if that is known.
    """

    randomized: SortedReports
    identities: dict[str, str]
    epochs: dict[str, int]
    corrections: tuple[Correction, ...] = ()
    exchange: Exchange | None = None

    @property
    def kept(self) -> int:
        """The most records of one block that keep a report of a value they no longer have."""
        return max((c.differing for c in self.corrections), default=0)

    @property
    def reports(self) -> dict[str, dict[str, Column]]:
        """The codes of each variable that is drawn, by the identity of its block's draws."""
        columns = self.randomized.columns
        return {
            self.identities[block.name]: {name: columns[name] for name in block.names}
            for block in self.randomized.plan.blocks
            if is_drawn(block)
        }

    def remember(self, past: ReleaseHistory, content: str) -> None:
        """Write down, durably and before anything of them leaves, what these reports are.

        Args:
            past: what left before, read under the lock that is still held.
            content: that of the release.

        Raises:
            Conflict: records were reported differently by the same draws meanwhile.
            StateError: it cannot be written.
        """
        if content not in past.memory.releases:
            keys = self.randomized.keys
            save_memory(past.state, past.study, past.memory, keys, self.reports, content)


def newest_epoch(
    entries: Iterable[Entry], secrets: Secrets, study: str, block: Block, beginning: int
) -> int:
    """Return the epoch of a block's newest draws that left.

    Args:
        entries: the ledger's, oldest first.
        secrets: the owner's secrets.
        study: the study.
        block: the block.
        beginning: the epoch from which on everything is drawn: what left before is not repeated.
    """
    left = [d for e in entries if e.left and e.beginning == beginning for d in e.draws]
    ids = {epoch: draw_id(secrets, study, block, epoch) for epoch in {d.epoch for d in left}}
    found = [draw.epoch for draw in left if draw.draw_id == ids[draw.epoch]]
    return found[-1] if found else beginning


def is_drawn(block: Block) -> bool:
    """Whether a record's report of a block is random."""
    return not (block.channel.is_identity or block.channel.withheld)


def settle(
    plan: Plan,
    records: Records,
    past: ReleaseHistory,
    choice: CorrectionChoice | None,
    content: Content = lambda made: made.digest,
) -> CorrectedRelease:
    """Return the reports of records as they may leave, given what left before.

    Args:
        plan: the plan.
        records: the records as they are now.
        past: what left before.
        choice: what to do where reports would differ; None refuses.
        content: the digest under which the ledger would have the reports.

    Raises:
        RecordsCorrected: reports would differ, and nothing was chosen.
        StoreCorrupt: it is not remembered what earlier releases reported.
    """
    found = examine(plan, records, past, content)
    _refuse_forgotten(found.corrections)
    if choice is None:
        _refuse_differing(found.corrections)
    return found


def examine(
    plan: Plan,
    records: Records,
    past: ReleaseHistory,
    content: Content = lambda made: made.digest,
) -> CorrectedRelease:
    """Return reports in which every record keeps the one it had, and where that is another.

    Args:
        plan: the plan.
        records: the records as they are now.
        past: what left before.
        content: the digest under which the ledger would have the reports.
    """
    drawn = [block for block in plan.blocks if is_drawn(block)]
    epochs = {block.name: past.epoch(records, block) for block in drawn}
    made = records.drawn(plan, epochs)
    identities = {
        b.name: draw_id(records.secrets, records.study, b, epochs.get(b.name, 0))
        for b in plan.blocks
    }
    of_drawn = {block.name: identities[block.name] for block in drawn}
    # The digest is of all reports: it is made only where it can matter, and before any is replaced.
    suspected = any(past.forgotten(identity) for identity in of_drawn.values())
    as_drawn = content(made) if suspected else ""
    reported, differing, known = _keep_reported(made, drawn, of_drawn, past.memory)
    corrections = [
        Correction(name, reported[name], differing[name], forgotten)
        for name, identity in of_drawn.items()
        for forgotten in [tuple(past.forgotten(identity, as_drawn))]
        if reported[name] or forgotten
    ]
    last, exchange = past.last_of_memory, None
    if last is not None and drawn:
        exchange = Exchange(last.records, max(0, last.records - known), len(made.keys) - known)
    return CorrectedRelease(made, identities, epochs, tuple(corrections), exchange)


def _keep_reported(
    made: SortedReports, blocks: Sequence[Block], identities: Mapping[str, str], memory: Memory
) -> tuple[Counter[str], Counter[str], int]:
    """Put reports that are remembered in the place of others, range by range.

    Returns:
        by the name of a block, how many records were reported before, and how many would differ;
        and how many records are remembered at all.
    """
    reported, differing, records = Counter[str](), Counter[str](), 0
    known_blocks = [block for block in blocks if identities[block.name] in memory.draws]
    for held, rows in memory.beside(made.keys) if memory.releases else ():
        remembered = held.of(made.keys[rows])
        records += int(remembered.there.sum())
        for block in known_blocks:
            known, before = remembered.by(identities[block.name])
            differs = np.zeros(int(known.sum()), dtype=np.bool_)
            reported[block.name] += len(differs)
            for name in block.names:
                codes = made.columns[name][rows].copy()
                others = codes[known] != before[name]
                if others.any():
                    codes[known] = before[name]
                    made.columns[name][rows] = codes
                    differs |= others
            differing[block.name] += int(differs.sum())
    return reported, differing, records


def _refuse_differing(corrections: Sequence[Correction]) -> None:
    changed = [c for c in corrections if c.differing]
    if not changed:
        return
    listed = ", ".join(f"{c.block!r} {c.differing:,} of {c.reported:,}" for c in changed)
    raise RecordsCorrected(
        f"Records that were reported before would be reported differently now ({listed}): their"
        " values were corrected, and whoever compares the two reports would know whose.",
        where=", ".join(c.block for c in changed),
        remedy=CHOICES,
    )


def _refuse_forgotten(corrections: Sequence[Correction]) -> None:
    names = sorted({name for c in corrections for name in c.forgotten})
    if not names:
        return
    raise StoreCorrupt(
        f"Releases {', '.join(names)} left this site, and it is not remembered what each record"
        " was reported as: records corrected since could not be found.",
        where="reported",
        remedy="Restore the folder `reported` of the state directory from your backup (or the"
        " releases' folders in the outbox). Without them `owner-agent new-epoch --yes` has all"
        " records drawn anew, and adds their epsilon for everybody.",
    )
