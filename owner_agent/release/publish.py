"""Publishing the records of an owner's table at the miner, in thirteen steps.

1 read, 2 encode, 3 compute pseudonyms, 4 draw, 5 sort (`draw_table`); 6 insert earlier reports, 7
compute the loss (`PreparedRecords.of`); 8 show, 9 obtain approval, 10 store in the outbox, 11 enter
into the ledger, 12 announce, 13 send and seal (`publish`). Each step may be repeated after a crash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow.compute as pc

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.record_ids import normalized_ids
from owner_agent.randomize.reports import Randomizer, SortedReports
from owner_agent.release.approval import Approval
from owner_agent.release.client import Miner
from owner_agent.release.composition import joined, left_draws, planned_draws
from owner_agent.release.corrections import (
    CorrectedRelease,
    Exchange,
    ReleaseHistory,
    overlay_reported,
)
from owner_agent.release.delivery import Delivery, withdrawn
from owner_agent.release.history import known_entries
from owner_agent.release.ledger import FILE, Draw, Entry, Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import OUTBOX, Outgoing, discard, prepare, reopen
from owner_agent.release.populations import population_of
from owner_agent.release.prepared import PreparedRelease
from owner_agent.release.sorting import SortedRuns
from owner_agent.site.planning import PlannedSite, planned, raise_together
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore, Secrets, linkage_fingerprint
from owner_agent.state.lock import publishing_alone
from owner_agent.state.private_files import COMMON_MODE, require_absent, save
from owner_agent.state.tokens import TokenStore
from owner_agent.table.csv_format import add_first_line
from owner_agent.table.encode import (
    FoundRows,
    TableEncoder,
    id_problems,
    needed_columns,
    table_changed,
)
from owner_agent.table.table import CHUNK_ROWS, read_chunks
from pramana_core.errors import DuplicateRecordId, OptionError, PramanaError, StoreCorrupt
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.progress import StagedProgress
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Pseudonyms, locate
from pramana_core.wire.release_kinds import KINDS, RANDOMIZED
from pramana_core.wire.releases import Consistency, Release, RepeatedReports

Made = TypeVar("Made", bound=PreparedRelease)


@dataclass(frozen=True, eq=False)
class DrawnTable:
    """A table's reports sorted by pseudonym.

    `one_secret` maps a column to the other columns that determine its values, or vice versa.
    """

    reports: SortedReports
    one_secret: Mapping[str, tuple[str, ...]]


def draw_table(
    site: Site,
    study: str,
    plan: PlannedSite,
    secrets: Secrets,
    epoch: int,
    watch: StagedProgress,
    rows: int = CHUNK_ROWS,
) -> DrawnTable:
    """Read a site's table once, `rows` at a time, and return its sorted reports (steps 1 to 5).

    Raises TableError, UnknownCategory, UnprotectedVariable or StorageFull.
    """
    encoder, missing = TableEncoder(site, plan), FoundRows()
    runs = SortedRuns(site.state, plan.plan)
    randomizer = Randomizer(plan.plan, secrets, study, epoch)
    start, repeated = 0, False
    for text in read_chunks(site.table, needed_columns(site), rows=rows):
        ids = normalized_ids(text.columns[site.file.record_id])
        missing.add(pc.equal(ids, "").to_numpy(zero_copy_only=False), start)
        start += text.rows
        codes, keys = encoder.add(text), pseudonyms(secrets, study, ids.to_pylist())
        reports: Mapping[str, Codes] = {}
        if encoder.well and not (missing or repeated):
            try:
                drawn = randomizer.randomized(keys, codes)
                keys, reports = drawn.keys, drawn.columns
            except DuplicateRecordId:
                repeated = True
        if not reports:
            keys = np.sort(keys.view(f"S{KEY_BYTES}")).view(f"V{KEY_BYTES}")
        runs.add(keys, reports)
        watch("randomizing", *text.read)
    if encoder.well and not (missing or repeated):
        raise_together(encoder.revealing_columns())
        with suppress(DuplicateRecordId):  # Reported below with all other problems.
            return DrawnTable(runs.merged(rows, partial(watch, "sorting")), encoder.one_secret())
    named = partial(pseudonyms, secrets, study)
    problems = _id_problems(site, named, runs, missing, rows) + encoder.problems()
    add_first_line(problems, site.table, start)
    raise_together(problems)
    raise table_changed()


def _id_problems(
    site: Site,
    named: Callable[[Sequence[str]], Pseudonyms],
    runs: SortedRuns,
    missing: FoundRows,
    rows: int,
) -> list[PramanaError]:
    """Return the problems of record ids. A second pass over the table finds repeated ids."""
    column, duplicates, start = site.file.record_id, FoundRows(), 0
    # Rows without an id are a separate problem, not duplicates.
    repeated = runs.repeated(rows)
    repeated = repeated[repeated != named([""])]
    if len(repeated):
        for text in read_chunks(site.table, [column], rows=rows):
            _, there = locate(named(text.columns[column].to_pylist()), repeated)
            duplicates.add(there, start)
            start += text.rows
    return id_problems(column, missing, len(repeated), duplicates)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PreparedRecords(PreparedRelease):
    """A randomized table before it is sent. `linkage` is the fingerprint of the linkage secret."""

    kind = RANDOMIZED

    plan: PlannedSite
    corrected: CorrectedRelease
    past: ReleaseHistory
    linkage: str
    one_secret: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(
        cls, site: Site, watch: StagedProgress, options: PublishOptions, environment: Environment, /
    ) -> Self:
        """Randomize a site's table, keeping earlier reports of records. Raises HistoryLost."""
        plan, section = planned(site), site.file.miner or site.file.peer
        study = site.miner.study if not options.preview else section.study if section else ""
        store = KeyStore(site.state)
        secrets = None if options.preview else store.load()
        entries = known_entries(site.state)
        if secrets is None:
            passing = environment.random_bytes
            secrets = store.load() if entries else store.load_or_passing(passing)
        past = ReleaseHistory.of(site.state, entries, study)
        table = draw_table(site, study, plan, secrets, past.beginning, watch)
        # 6: insert earlier reports.
        corrected = overlay_reported(table.reports, past.identities(plan.plan, secrets), past)
        # 7: compute the loss.
        keys = corrected.randomized.keys
        among = partial(population_of, keys, entries=entries)
        draws = planned_draws(plan.plan.blocks, plan.columns, corrected.identities, among)
        return cls(
            identity=corrected.randomized.digest,
            draws=joined(draws, table.one_secret),
            entries=entries,
            records=len(keys),
            keys=keys,
            groups=plan.groups or None,
            beginning=past.beginning,
            stale=corrected.kept,
            plan=plan,
            corrected=corrected,
            past=past,
            linkage=linkage_fingerprint(secrets.linkage, study),
            one_secret=table.one_secret,
        )

    def outgoing(self) -> Outgoing:
        """Return the reports, with the opaque identities of their draws."""
        draws, keyed = draws_for_miner(self.plan.plan, self.draws)
        return Outgoing.of(
            self.corrected.randomized, linkage=self.linkage, draws=draws, keyed_draws=keyed
        )

    def require_allowed(self, options: PublishOptions) -> None:
        """Check also the choice of how to report corrections. Raises RecordsCorrected."""
        self.corrected.require_chosen(options.corrections)
        super().require_allowed(options)

    @property
    def large_exchange(self) -> Exchange | None:
        """The records exchanged since the last release, if the exchange needs a separate approval.

        Otherwise None.
        """
        counted_once = {old.identity for old in left_draws(self.entries)}
        repeated = any(draw.randomized and draw.identity in counted_once for draw in self.draws)
        exchange = self.corrected.exchange
        return exchange if exchange is not None and exchange.is_large and repeated else None

    def before_announcing(self, delivery: Delivery) -> None:
        """Check the plan that this owner adopted, and store the reports in the memory."""
        delivery.require_agreed(self.plan.adopted)
        # The manifest contains digests of the reports, against which a guess could be checked.
        self.corrected.remember(self.past, self.identity)


def draws_for_miner(plan: Plan, draws: Sequence[Draw]) -> tuple[list[str], list[str]]:
    """Return two lists with an opaque identity per block, by which the miner recognizes draws.

    If two releases have an identity of the first list in common, every record's draw is the same,
    and the second release adds no loss. An identity of the second list depends only on key, block
    and epoch, and serves to compare records.
    """
    by_variable = {draw.variable: draw for draw in draws}
    firsts = [by_variable[block.names[0]] for block in plan.blocks]
    return (
        [_digest(b"pramana/told/1", *draw.identity) for draw in firsts],
        [_digest(b"pramana/told-keyed/1", draw.draw_id) for draw in firsts],
    )


def _digest(about: bytes, *parts: str) -> str:
    return hashlib.sha256(about + b"\x00" + "\x00".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class PublishOutcome:
    """A sealed release. `already` is true if nothing had to be sent.

    Some fields are from `PreparedRelease`. `consistency` and `repeated` are the miner's checks.
    `asked` is true if the miner replied. `file` is the name of the file if the release was written
    to one.
    """

    kind: str
    name: str
    release_id: str
    records: int
    parts: int
    digest: str
    already: bool
    file: str | None = None
    asked: bool = True
    method: str = ""
    dropped: int = 0
    leaves: int = 0
    stale: int = 0
    consistency: Consistency | None = None
    repeated: tuple[RepeatedReports, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        found = self.consistency
        return {
            **asdict(replace(self, repeated=())),
            "consistency": found.model_dump(mode="json") if found else None,
            "repeated": [one.model_dump(mode="json") for one in self.repeated],
        }


def publish(
    kind: type[Made],
    site: Site,
    environment: Environment,
    options: PublishOptions,
    watch: StagedProgress = lambda _stage, _done, _total: None,
    show: Callable[[Made], PublishOptions | None] = lambda _now: None,
    approval: Approval | None = None,
) -> PublishOutcome:
    """Publish a site's release of some kind, or continue an interrupted publication.

    `show` presents the release before it is in the outbox, and may return other options. `approval`
    is the approval of an earlier view of the release. Raises InputError, ChangedSinceShown,
    Refused, Unreachable and others.
    """
    with publishing_alone(site.state):
        token = TokenStore(site.state).load(site.miner.study)
        now, options = _shown(kind, site, environment, options, watch, show, approval)
        ledger, outbox = Ledger(site.state), site.state / OUTBOX
        entry = ledger.find_content(site.miner.url, site.miner.study, now.identity)
        if entry is not None and entry.state == "withdrawn":
            raise withdrawn(entry, f"on {entry.changed:%Y-%m-%d}")
        if entry is not None and entry.plan_digest != now.outgoing().content.digest:
            raise _other_content(entry)
        # 10: outbox; 11: ledger.
        stored = None if entry is None else reopen(outbox, entry.name)
        if stored is None and entry is not None and entry.state == "sealed":
            return _outcome(now, entry, str(entry.release_id), None, already=True)
        if stored is None:
            ledger.begin()
            stored = prepare(outbox, now.outgoing(), options.part_records)
        manifest, to = stored.manifest, (site.miner.url, site.miner.study)
        plan_digest = manifest.release_kind.read(manifest.content).digest
        made = now.entry(to, manifest.digest, plan_digest, len(manifest.parts), environment.now())
        entry = upsert_entry(ledger, made, outbox)
        with Miner.of(site, token, environment) as miner:
            command = KINDS[now.kind].command
            delivery = Delivery(miner, stored, entry, ledger, environment.now, command)
            with delivery.resumable():
                # An unreachable miner must leave no trace in outbox and ledger.
                delivery.require_known()
                now.before_announcing(delivery)
                # 12: announce.
                release = delivery.announce(now.groups)
                already = (release.state, release.id) == ("sealed", entry.release_id)
                if not already or entry.state != "sealed":
                    # 13: send and seal.
                    already, release = False, delivery.complete(release, partial(watch, "parts"))
            return _outcome(now, entry, release.id, release, already=already)


def _shown(
    kind: type[Made],
    site: Site,
    environment: Environment,
    options: PublishOptions,
    watch: StagedProgress,
    show: Callable[[Made], PublishOptions | None],
    approval: Approval | None,
) -> tuple[Made, PublishOptions]:
    """Prepare a release, check that it may be sent, show it, and obtain approval."""
    options = replace(options, corrections=options.corrections or site.file.corrections)
    if approval is not None:
        approval.require(site)
    now = kind.of(site, watch, options, environment)
    if approval is not None:  # The site may have changed while its table was read.
        approval.require(site)
    now.require_allowed(options)
    # 8: show; 9: approve.
    options = show(now) or options
    if now.large_exchange is not None and not options.accept_new_people:
        now.large_exchange.require_small("--accept-new-people")
    return now, options


def release_to_file(
    kind: type[Made],
    path: Path,
    site: Site,
    environment: Environment,
    options: PublishOptions,
    watch: StagedProgress = lambda _stage, _done, _total: None,
    show: Callable[[Made], PublishOptions | None] = lambda _now: None,
) -> PublishOutcome:
    """Release into a new file instead of to a miner. The ledger records the file's digest first.

    A file with the same content is not written again. Each path has a separate entry in the ledger.
    Arguments and errors are as in `publish`.
    """
    with publishing_alone(site.state):
        now, _ = _shown(kind, site, environment, options, watch, show, None)
        content = now.file_content()
        path = path.resolve()
        if not path.parent.is_dir():
            raise OptionError(
                f"The folder {path.parent} does not exist; nothing was written.",
                where="out",
                remedy="Create the folder, or name a file in an existing folder.",
            )
        if path.exists() and (not path.is_file() or path.read_bytes() != content):
            require_absent(path, "out")
        ledger, time = Ledger(site.state), environment.now()
        ledger.begin()
        digest, plan_digest = hashlib.sha256(content).hexdigest(), now.outgoing().content.digest
        entry = now.entry((f"{FILE}{path}", ""), digest, plan_digest, 1, time)
        found = ledger.find(*entry.key)
        already = found is not None and found.state == "sealed" and path.exists()
        if not already:
            ledger.put(replace(entry, state="sending"))
            save(path, content, "out", COMMON_MODE)
            ledger.mark(entry, "sealed", time, entry.digest)
        return _outcome(now, entry, entry.digest, None, already=already, asked=True)


def _other_content(entry: Entry) -> StoreCorrupt:
    return StoreCorrupt(
        f"The ledger lists release {entry.name} with other content than shown now.",
        where=entry.name,
        remedy="Publish it with the version of the agent that prepared it.",
    )


def _outcome(
    now: PreparedRelease,
    entry: Entry,
    release_id: str,
    release: Release | None,
    *,
    already: bool,
    asked: bool = False,
) -> PublishOutcome:
    return PublishOutcome(
        kind=now.kind,
        name=entry.name,
        release_id=release_id,
        file=entry.miner.removeprefix(FILE) if entry.miner.startswith(FILE) else None,
        records=entry.records,
        parts=entry.parts,
        digest=entry.digest,
        already=already,
        asked=asked or release is not None,
        method=now.method,
        dropped=now.dropped,
        leaves=now.leaves,
        stale=now.stale,
        consistency=None if release is None else release.consistency,
        repeated=() if release is None else tuple(release.repeated or ()),
    )


def upsert_entry(ledger: Ledger, new: Entry, outbox: Path) -> Entry:
    """Return a release's ledger entry, adding it if needed.

    Other entries of the same miner, study and kind that were prepared but never sent are discarded.
    """
    for other in ledger.entries():
        here = (other.miner, other.study, other.kind) == (new.miner, new.study, new.kind)
        if here and other.state == "prepared" and other.name != new.name:
            ledger.mark(other, "discarded", new.changed)
            discard(outbox, other.name)
    found = ledger.find(new.miner, new.study, new.name)
    if found is not None and found.left:
        return found
    ledger.put(new)
    return new
