"""Publishing: read, randomize, write down, send, seal; each step safe to repeat after any crash.

The order is the promise: the release is whole in the outbox and its cost is in the ledger before
the first record leaves. Since draws are a function of keys and records, publishing again finds the
same bytes under the same name and sends only what the miner does not have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from owner_agent.corrections.permanent import OwnRecords, Past, Settled, settle
from owner_agent.departures.composition import planned_draws
from owner_agent.departures.fingerprints import fingerprint_of, recognized, values_of
from owner_agent.departures.ledger import Draw, Entry, Ledger
from owner_agent.departures.outbox import (
    OUTBOX,
    Outgoing,
    ToldDraws,
    discard,
    prepare,
    reopen,
)
from owner_agent.departures.refusals import (
    known_entries,
    population_of,
    refuse_conflicts,
    sketch_of,
)
from owner_agent.randomize.draws import pseudonyms, random_epoch
from owner_agent.randomize.stream import Randomized
from owner_agent.release.client import Miner
from owner_agent.release.delivery import Delivery, withdrawn
from owner_agent.release.left import remember
from owner_agent.release.options import PublishOptions
from owner_agent.site.planning import Planned, planned
from owner_agent.site.site import Site
from owner_agent.state.keys import Keys, KeyStore, linkage_fingerprint
from owner_agent.state.lock import publishing_alone
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tokens import TokenStore
from owner_agent.table.encode import Encoded, encode
from pramana_core.errors import NotFound, NotReady
from pramana_core.plan import Plan
from pramana_core.progress import Progress, StagedProgress
from pramana_core.wire.releases import Consistency, Release, ReleaseCreate, RepeatedReports


@dataclass(frozen=True)
class PublishOutcome:
    """A sealed release; `already` if nothing had to be sent.

    `asked` is false where the miner could not be asked whether it still has a release that it
    sealed before, because the release's folder was removed from the outbox. `stale` is how many
    records of a block, at most, keep a report of a value that was corrected since; `renewed` names
    the blocks of which all records were drawn anew. `consistency` is what the miner says of the
    reports against the plan, and `repeated` of those against earlier reports by the same draws,
    where it was asked and says something. `log_warning` is what is wrong with the state of the
    miner's audit log, compared with what it was before.
    """

    name: str
    release_id: str
    records: int
    parts: int
    digest: str
    already: bool
    asked: bool = True
    stale: int = 0
    renewed: tuple[str, ...] = ()
    consistency: Consistency | None = None
    repeated: tuple[RepeatedReports, ...] = ()
    log_warning: str | None = None


def publish(
    site: Site,
    surroundings: Surroundings,
    options: PublishOptions,
    watch: StagedProgress = lambda _stage, _done, _total: None,
) -> PublishOutcome:
    """Publish the site's table under its plan, or continue where an earlier attempt ended.

    Raises:
        InputError: the site file or the table is wrong; PlanConflict if a column would be
            randomized a second time in a different way, or other records under the same draws;
            RecordsCorrected if records would be reported differently and nothing is chosen.
        StoreCorrupt: what left before is not remembered; HistoryLost if that is so of releases.
        KeyFileError: a secret is absent or unsafe.
        Unauthenticated: the site has not joined the study.
        Conflict: another publication of this site is running.
        StudyPlanNotFollowed: the miner holds the study's owners to another plan.
        LinkageDiffers: other owners have another linkage secret; nothing was sent.
        ReleaseNotOpen: this release was withdrawn.
        Refused: the miner said no.
        Unreachable: the miner did not answer; the release is safe in the outbox.
    """
    with publishing_alone(site.state):
        plan = planned(site)
        token = TokenStore(site.state).load(site.miner.study)
        secrets = KeyStore(site.state).load()
        ledger, entries = Ledger(site.state), known_entries(site.state)
        reading = partial(watch, "pseudonyms")
        records, table = read_records(site, site.miner.study, plan, secrets, reading)
        past = Past.of(site.state, entries, secrets, site.miner.study)
        choice = options.corrections or site.file.corrections
        epoch = random_epoch(surroundings.random_bytes)
        settled = settle(plan.plan, records, past, choice, epoch)
        values = values_of(secrets.draw, table.record_ids, table.columns, plan.columns)
        among = partial(population_of, records.keys, entries=entries)
        blocks = plan.plan.blocks
        draws = planned_draws(blocks, plan.columns, settled.identities, among, settled.epochs)
        draws = recognized(draws, values, entries)
        if not options.accept_added_loss:
            refuse_conflicts(draws, entries, settled.renewed)
        entry = ledger.find_content(site.miner.url, site.miner.study, settled.randomized.digest)
        if entry is not None and entry.state == "withdrawn":
            raise withdrawn(entry, f"on {entry.changed:%Y-%m-%d}")
        outbox = site.state / OUTBOX
        prepared = None if entry is None else reopen(outbox, entry.name)
        if prepared is None and entry is not None and entry.state == "sealed":
            return _outcome(entry, str(entry.release_id), settled, already=True)
        if prepared is None:
            ledger.begin()
            told = told_draws(plan.plan, draws)
            linkage = linkage_fingerprint(secrets.linkage, site.miner.study)
            made = Outgoing.of(settled.randomized, linkage, told)
            prepared = prepare(outbox, made, options.part_records)
        known = fingerprint_of(values, [draw.column for draw in draws])
        left = (settled.randomized, draws, known, surroundings.now())
        new = replace(_entry(site, prepared.manifest, *left), beginning=past.beginning)
        entry = entered(ledger, new, outbox)
        with Miner.of(site, token, surroundings) as miner:
            delivery = Delivery(miner, prepared, entry, ledger, surroundings.now)
            # A miner that is not there hears of nothing, and nothing is written down for it.
            delivery.require_known()
            delivery.require_agreed(plan.adopted)
            outcome = _sent(delivery, entry, settled, past, watch)
            return replace(outcome, log_warning=remember(site.state, miner, surroundings))


def _sent(
    delivery: Delivery, entry: Entry, settled: Settled, past: Past, watch: StagedProgress
) -> PublishOutcome:
    """Send what of a release the miner does not have yet, and have it sealed."""
    # The manifest holds digests of the reports: who guesses them could check the guess.
    settled.remember(past, entry.content)
    release = delivery.announce()
    already = release.state == entry.state == "sealed" and release.id == entry.release_id
    if not already:
        release = delivery.complete(release, lambda done, total: watch("parts", done, total))
    return _outcome(entry, release.id, settled, already=already, release=release)


def withdraw(site: Site, name: str, surroundings: Surroundings) -> Entry:
    """Ask the miner to use a release no more; what left stays in the ledger.

    Raises:
        NotFound: the ledger has no such release in the site's study.
        NotReady: the release never left.
        Refused: the miner said no.
        Unreachable: the miner did not answer.
    """
    with publishing_alone(site.state):
        ledger = Ledger(site.state)
        entry = ledger.find(site.miner.url, site.miner.study, name)
        if entry is None:
            raise NotFound(
                f"No release {name!r} was made for study {site.miner.study!r} at {site.miner.url}.",
                where=name,
                remedy="`owner-agent ledger` lists them.",
            )
        if entry.release_id is None:
            raise NotReady(
                f"The miner never confirmed release {name!r}; there is nothing to withdraw.",
                where=name,
            )
        token = TokenStore(site.state).load(site.miner.study)
        with Miner.of(site, token, surroundings) as miner:
            miner.withdraw(entry.release_id)
            ledger.mark(entry, "withdrawn", surroundings.now())
            remember(site.state, miner, surroundings)
        return entry


def told_draws(plan: Plan, draws: Sequence[Draw]) -> ToldDraws:
    """Return what the miner is told of the draws: two opaque identities per block, in order.

    Those of the draws are equal in two releases exactly if every record's draw is the same, so that
    the second adds nothing to what the study tells. The population is part of them: the same people
    under other record ids have other draws. Which population it is the ledger knows, so an agent
    that lost its ledger tells others. The keyed ones hang on the key, the block and the epoch
    alone: records of two releases that have them in common can be compared.
    """
    by_variable = {draw.variable: draw for draw in draws}
    firsts = [by_variable[block.names[0]] for block in plan.blocks]
    return ToldDraws(
        tuple(_told(b"pramana/told/1", *draw.identity) for draw in firsts),
        tuple(_told(b"pramana/told-keyed/1", draw.draw_id) for draw in firsts),
    )


def _told(about: bytes, *parts: str) -> str:
    return hashlib.sha256(about + b"\x00" + "\x00".join(parts).encode()).hexdigest()


def read_records(
    site: Site, study: str, plan: Planned, secrets: Keys, progress: Progress
) -> tuple[OwnRecords, Encoded]:
    """Return the table, and its records with their pseudonyms in a study, in the table's order.

    Raises:
        InputError: the table is wrong.
    """
    table = encode(site, plan)
    keys = pseudonyms(secrets, study, table.record_ids, progress)
    return OwnRecords(secrets, study, keys, table.columns), table


def _entry(
    site: Site,
    manifest: ReleaseCreate,
    randomized: Randomized,
    draws: tuple[Draw, ...],
    fingerprint: bytes,
    now: datetime,
) -> Entry:
    """Return the ledger entry of a release that was prepared now."""
    return Entry(
        miner=site.miner.url,
        study=site.miner.study,
        name=manifest.name,
        content=randomized.digest,
        digest=manifest.digest,
        plan_digest=randomized.plan.digest,
        records=manifest.records,
        parts=len(manifest.parts),
        state="prepared",
        prepared=now,
        changed=now,
        release_id=None,
        draws=draws,
        sketch=sketch_of(randomized.keys),
        fingerprint=fingerprint,
    )


def entered(ledger: Ledger, new: Entry, outbox: Path) -> Entry:
    """Return the entry of a release, written down if it was not; discard others that never left."""
    for other in ledger.entries():
        here = (other.miner, other.study, other.kind) == (new.miner, new.study, new.kind)
        if here and other.state == "prepared" and other.name != new.name:
            ledger.mark(other, "discarded", new.changed)
            discard(outbox, other.name)
    found = ledger.find(new.miner, new.study, new.name)
    if found is None:
        ledger.add(new)
        return new
    if found.left:
        return found
    return ledger.renew(found, new.draws, new.changed, new.beginning)


def _outcome(
    entry: Entry,
    release_id: str,
    settled: Settled,
    *,
    already: bool,
    release: Release | None = None,
) -> PublishOutcome:
    return PublishOutcome(
        entry.name,
        release_id,
        entry.records,
        entry.parts,
        entry.digest,
        already,
        release is not None,
        stale=settled.kept,
        renewed=() if already else tuple(c.block for c in settled.corrections if c.renewed),
        consistency=None if release is None else release.consistency,
        repeated=() if release is None else tuple(release.repeated or ()),
    )
