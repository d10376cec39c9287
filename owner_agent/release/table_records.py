"""An owner's records as they are read from the table: randomized chunk by chunk, never held whole.

Reading, pseudonyms and draws of three chunks go on at once. What is wrong with the table is told
once, when all of it was read; nothing of it leaves then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import Randomizer, SortedReports
from owner_agent.release.ahead import ahead
from owner_agent.release.fingerprints import Names, Values, values_of
from owner_agent.release.sorted_runs import SortedRuns
from owner_agent.site.planning import PlannedSite, raise_together
from owner_agent.site.site import Site
from owner_agent.state.keys import Secrets
from owner_agent.table.encode import (
    FoundRows,
    TableEncoder,
    id_problems,
    needed_columns,
    records_text,
    table_changed,
)
from owner_agent.table.table import read_chunks
from pramana_core.errors import DuplicateRecordId, PramanaError
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.progress import StagedProgress
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Pseudonyms, locate


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Some records of the table, in its order.

    `wrong` says whether anything was wrong with the table so far; their codes may be anything then.
    """

    ids: pa.Array
    columns: dict[str, Codes]
    wrong: bool
    read: tuple[int, int]


class TableRecords:
    """The records of a site's table in a study.

    Attributes:
        values: by what the ledger knows the table's columns again, once they were drawn.
    """

    def __init__(
        self,
        site: Site,
        study: str,
        plan: PlannedSite,
        secrets: Secrets,
        watch: StagedProgress,
        rows: int,
        known: Names | None = None,
    ):
        """Take the table; nothing is read yet.

        Args:
            site: the site.
            study: the study that the pseudonyms are for.
            plan: the site's plan.
            secrets: the owner's secrets.
            watch: told of the progress.
            rows: so many are read at a time.
            known: names of records that are in the ledger's samples.
        """
        self.secrets = secrets
        self.study = study
        none = {name: np.empty(0, dtype=np.uint8) for name in plan.variables}
        self.values = self._none = values_of(secrets.draw, (), none, plan.columns)
        self._site = site
        self._plan = plan
        self._watch = watch
        self._known = np.empty(0, dtype=np.uint64) if known is None else known
        self._rows = rows
        self._first_reading: bytes | None = None

    def drawn(self, plan: Plan, epochs: Mapping[str, int]) -> SortedReports:
        """Read the table, and return its reports sorted by pseudonym.

        Read again, it must hold the same records and values in the same order.

        Args:
            plan: what is done to which of its variables.
            epochs: by a block's name, the epoch in which it is drawn anew.

        Raises:
            TableError: the table cannot be read, record ids are missing or repeated, cells are
                wrong, or it changes meanwhile.
            UnknownCategory: a cell holds no category of its variable.
            StorageFull: there is no room for the reports.
        """
        encoder, missing = TableEncoder(self._site, self._plan), FoundRows()
        runs, sampled = SortedRuns(self._site.state, plan), self._none
        randomizer = Randomizer(plan, self.secrets, self.study, epochs)
        wrong, reading = False, hashlib.sha256()
        named = ahead(self._named(ahead(self._encoded(encoder, missing))))
        with closing(named):
            for chunk, keys, values in named:
                sampled = sampled.joined(values).sampled(self._known)
                made: Mapping[str, Codes] = {}
                for column in (keys, *chunk.columns.values()):
                    reading.update(column.tobytes())
                ordered = keys
                if not (wrong := wrong or chunk.wrong):
                    try:
                        reports = randomizer.randomized(keys, chunk.columns)
                        ordered, made = reports.keys, reports.columns
                    except DuplicateRecordId:
                        wrong = True
                if wrong:
                    ordered = np.sort(keys.view(f"S{KEY_BYTES}")).view(f"V{KEY_BYTES}")
                runs.add(ordered, made)
                self._watch("randomizing", *chunk.read)
        if not wrong:
            try:
                merged = runs.merged(self._rows, partial(self._watch, "sorting"))
            except DuplicateRecordId:
                pass  # Which they are is told with all else that is wrong.
            else:
                self._first_reading = self._first_reading or reading.digest()
                if reading.digest() != self._first_reading:
                    raise table_changed()
                self.values = sampled
                return merged
        raise_together(self._id_problems(runs, missing) + encoder.problems(records_text))
        raise table_changed()

    def _encoded(self, encoder: TableEncoder, missing: FoundRows) -> Iterator[_Chunk]:
        """Read the table, and note what is wrong with it."""
        id_column, start = self._site.file.record_id, 0
        columns = needed_columns(self._site)
        for text in read_chunks(self._site.table, columns, rows=self._rows):
            ids = text.columns[id_column]
            missing.add(pc.equal(ids, "").to_numpy(zero_copy_only=False), start)
            start += text.rows
            codes = encoder.add(text)
            yield _Chunk(ids, codes, bool(missing) or not encoder.well, text.read)

    def _named(self, chunks: Generator[_Chunk]) -> Iterator[tuple[_Chunk, Pseudonyms, Values]]:
        """Give the records their pseudonyms, and the names by which the ledger samples them."""
        with closing(chunks):
            for chunk in chunks:
                ids: list[str] = chunk.ids.to_pylist()
                keys = pseudonyms(self.secrets, self.study, ids)
                values = values_of(self.secrets.draw, ids, chunk.columns, self._plan.columns)
                yield chunk, keys, values.sampled(self._known)

    def _id_problems(self, runs: SortedRuns, missing: FoundRows) -> list[PramanaError]:
        """Return what is wrong with the record ids; rows of repeated ones are looked up again."""
        column, duplicates, start = self._site.file.record_id, FoundRows(), 0
        # Rows without an id are no duplicates: they are told of as what they are.
        nobody = pseudonyms(self.secrets, self.study, [""])
        repeated = runs.repeated(self._rows)
        repeated = repeated[repeated != nobody]
        if len(repeated):
            for text in read_chunks(self._site.table, [column], rows=self._rows):
                ids: list[str] = text.columns[column].to_pylist()
                _, there = locate(pseudonyms(self.secrets, self.study, ids), repeated)
                duplicates.add(there, start)
                start += text.rows
        return id_problems(column, missing, len(repeated), duplicates)
