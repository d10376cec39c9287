"""Randomized records as a release: the table's records, coded, drawn and sorted.

Also here:

* An owner's records as they are read from the table: randomized chunk by chunk, never held
  whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.record_ids import normalized_ids
from owner_agent.randomize.reports import Randomizer, SortedReports
from owner_agent.release.composition import (
    joined,
    known_entries,
    left_draws,
    planned_draws,
    population_of,
)
from owner_agent.release.corrections import CorrectedRelease, ReleaseHistory, SortedRuns, settle
from owner_agent.release.delivery import Delivery
from owner_agent.release.leaving import Leaving
from owner_agent.release.ledger import Draw
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import DrawIdentities, Outgoing, ahead
from owner_agent.site.planning import PlannedSite, planned, raise_together
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore, Secrets, linkage_fingerprint
from owner_agent.table.encode import (
    FoundRows,
    TableEncoder,
    id_problems,
    needed_columns,
    table_changed,
)
from owner_agent.table.table import CHUNK_ROWS, read_chunks
from pramana_core.errors import DuplicateRecordId, PramanaError
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.progress import StagedProgress
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Pseudonyms, locate
from pramana_core.wire.release_kinds import RANDOMIZED

# An owner's records as they are read from the table: randomized chunk by chunk, never held whole.
#
# Reading, pseudonyms and draws of three chunks go on at once. What is wrong with the table is told
# once, when all of it was read; nothing of it leaves then.


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
        one_secret: by column, the other randomized columns that tell its values.
    """

    def __init__(
        self,
        site: Site,
        study: str,
        plan: PlannedSite,
        secrets: Secrets,
        watch: StagedProgress,
        rows: int,
    ):
        """Take the table; nothing is read yet.

        Args:
            site: the site.
            study: the study that the pseudonyms are for.
            plan: the site's plan.
            secrets: the owner's secrets.
            watch: told of the progress.
            rows: so many are read at a time.
        """
        self.secrets = secrets
        self.study = study
        self.one_secret: Mapping[str, tuple[str, ...]] = {}
        self._site = site
        self._plan = plan
        self._watch = watch
        self._rows = rows

    def drawn(self, plan: Plan, epochs: Mapping[str, int]) -> SortedReports:
        """Read the table, and return its reports sorted by pseudonym.

        Args:
            plan: what is done to which of its variables.
            epochs: by a block's name, the epoch in which it is drawn anew.

        Raises:
            TableError: the table cannot be read, record ids are missing or repeated, cells are
                wrong, or it changes meanwhile.
            UnknownCategory: a cell holds no category of its variable.
            UnprotectedVariable: a column would leave as it is and gives another away.
            StorageFull: there is no room for the reports.
        """
        encoder, missing = TableEncoder(self._site, self._plan), FoundRows()
        runs = SortedRuns(self._site.state, plan)
        randomizer = Randomizer(plan, self.secrets, self.study, epochs)
        wrong = False
        named = ahead(self._named(ahead(self._encoded(encoder, missing))))
        with closing(named):
            for chunk, keys in named:
                made: Mapping[str, Codes] = {}
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
            raise_together(encoder.given_away())
            self.one_secret = encoder.one_secret()
            with suppress(DuplicateRecordId):  # Which they are is told with all else that is wrong.
                return runs.merged(self._rows, partial(self._watch, "sorting"))
        raise_together(self._id_problems(runs, missing) + encoder.problems())
        raise table_changed()

    def _encoded(self, encoder: TableEncoder, missing: FoundRows) -> Iterator[_Chunk]:
        """Read the table, and note what is wrong with it."""
        id_column, start = self._site.file.record_id, 0
        columns = needed_columns(self._site)
        for text in read_chunks(self._site.table, columns, rows=self._rows):
            ids = normalized_ids(text.columns[id_column])
            missing.add(pc.equal(ids, "").to_numpy(zero_copy_only=False), start)
            start += text.rows
            codes = encoder.add(text)
            yield _Chunk(ids, codes, bool(missing) or not encoder.well, text.read)

    def _named(self, chunks: Generator[_Chunk]) -> Iterator[tuple[_Chunk, Pseudonyms]]:
        """Give the records their pseudonyms."""
        with closing(chunks):
            for chunk in chunks:
                ids: list[str] = chunk.ids.to_pylist()
                yield chunk, pseudonyms(self.secrets, self.study, ids)

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


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PreparedRecords(Leaving):
    """A table randomized under its plan; `past` is what left before, `linkage` names the secret."""

    kind = RANDOMIZED
    command = "owner-agent publish"

    plan: PlannedSite
    settled: CorrectedRelease
    past: ReleaseHistory
    linkage: str

    @classmethod
    def of(
        cls,
        site: Site,
        watch: StagedProgress,
        options: PublishOptions,
        _environment: Environment,
        /,
    ) -> Self:
        """Randomize a site's table; what was reported before is reported again.

        Raises:
            RecordsCorrected: records would be reported differently and nothing is chosen.
            HistoryLost: what left before is not remembered.
        """
        plan = planned(site)
        secrets, study = KeyStore(site.state).load(), site.miner.study
        entries = known_entries(site.state)
        records = TableRecords(site, study, plan, secrets, watch, CHUNK_ROWS)
        past = ReleaseHistory.of(site.state, entries, secrets, study)
        choice = options.corrections or site.file.corrections
        settled = settle(plan.plan, records, past, choice)
        keys = settled.randomized.keys
        among = partial(population_of, keys, entries=entries)
        draws = planned_draws(
            plan.plan.blocks, plan.columns, settled.identities, among, settled.epochs
        )
        return cls(
            identity=settled.randomized.digest,
            draws=joined(draws, records.one_secret),
            entries=entries,
            records=len(keys),
            keys=keys,
            beginning=past.beginning,
            stale=settled.kept,
            plan=plan,
            settled=settled,
            past=past,
            linkage=linkage_fingerprint(secrets.linkage, study),
        )

    def outgoing(self) -> Outgoing:
        """Return the reports, and what is said of their draws."""
        draws = told_draws(self.plan.plan, self.draws)
        return Outgoing.of(self.settled.randomized, self.linkage, draws)

    def require_allowed(self, options: PublishOptions) -> None:
        """Check as for all, and that no people are taken for others, whose losses do not count."""
        super().require_allowed(options)
        counted_once = {old.identity for old in left_draws(self.entries)}
        repeated = any(draw.randomized and draw.identity in counted_once for draw in self.draws)
        if self.settled.exchange is not None and repeated and not options.accept_new_people:
            self.settled.exchange.require_small("--accept-new-people")

    def before_announcing(self, delivery: Delivery) -> None:
        """Check that the miner has the plan that this owner adopted, and remember the reports."""
        delivery.require_agreed(self.plan.adopted)
        # The manifest holds digests of the reports: who guesses them could check the guess.
        self.settled.remember(self.past, self.identity)


def told_draws(plan: Plan, draws: Sequence[Draw]) -> DrawIdentities:
    """Return what tells the miner which draws these are: two opaque identities per block, in order.

    Those of the draws are equal in two releases exactly if every record's draw is the same, so that
    the second adds nothing to what the study tells. The population is part of them: the same people
    under other record ids have other draws. Which population it is the ledger knows, so an agent
    that lost its ledger tells others. The keyed ones hang on the key, the block and the epoch
    alone: records of two releases that have them in common can be compared.
    """
    by_variable = {draw.variable: draw for draw in draws}
    firsts = [by_variable[block.names[0]] for block in plan.blocks]
    return DrawIdentities(
        tuple(_told(b"pramana/told/1", *draw.identity) for draw in firsts),
        tuple(_told(b"pramana/told-keyed/1", draw.draw_id) for draw in firsts),
    )


def _told(about: bytes, *parts: str) -> str:
    return hashlib.sha256(about + b"\x00" + "\x00".join(parts).encode()).hexdigest()
