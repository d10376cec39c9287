"""Publishing: read, randomize, write down, send, seal; each step safe to repeat after any crash.

The order is the promise: the release is whole in the outbox and its cost is in the ledger before
the first record leaves. Since draws are a function of keys and records, publishing again finds the
same bytes under the same name and sends only what the miner does not have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from owner_agent.corrections.permanent import Past, Records, Settled, settle
from owner_agent.departures.composition import refuse_conflicts
from owner_agent.departures.fingerprints import fingerprint_of, values_of
from owner_agent.departures.ledger import Draw, Entry, Ledger
from owner_agent.departures.outbox import OUTBOX, Prepared, discard, prepare, reopen
from owner_agent.departures.populations import population_of, sketch_of
from owner_agent.departures.recognition import recognized
from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import Randomized
from owner_agent.release.client import Miner
from owner_agent.release.options import Options
from owner_agent.site.planning import Planned, planned
from owner_agent.site.protection import require_protected
from owner_agent.site.site import Site
from owner_agent.state.keys import Keys, KeyStore
from owner_agent.state.lock import publishing_alone
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tokens import TokenStore
from owner_agent.table.encode import Encoded, encode
from shared.errors import (
    NotFound,
    NotReady,
    ReleaseNotOpen,
    TransportError,
    Unreachable,
)
from shared.plan import Plan
from shared.privacy import epsilon
from shared.wire.releases import Consistency, Release

Watch = Callable[[str, int, int], None]
"""Called with a stage (`pseudonyms` or `parts`), how much of it is done, and of how much."""


@dataclass(frozen=True)
class Outcome:
    """A sealed release; `already` if nothing had to be sent.

    `asked` is false where the miner could not be asked whether it still has a release that it
    sealed before, because the release's folder was removed from the outbox. `stale` is how many
    records of a block, at most, keep a report of a value that was corrected since; `renewed` names
    the blocks of which all records were drawn anew. `consistency` is what the miner says of the
    reports against the plan, where it was asked and says something.
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


def unwatched(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""


def publish(
    site: Site, surroundings: Surroundings, options: Options, watch: Watch = unwatched
) -> Outcome:
    """Publish the site's table under its plan, or continue where an earlier attempt ended.

    Raises:
        InputError: the site file or the table is wrong; PlanConflict if a column would be
            randomized a second time in a different way, or other records under the same draws;
            RecordsCorrected if records would be reported differently and nothing is chosen.
        StoreCorrupt: what left before is not remembered.
        KeyFileError: a secret is absent or unsafe.
        Unauthenticated: the site has not joined the study.
        Conflict: another publication of this site is running.
        ReleaseNotOpen: this release was withdrawn.
        Refused: the miner said no.
        Unreachable: the miner did not answer; the release is safe in the outbox.
    """
    with publishing_alone(site.state):
        plan = planned(site)
        token = TokenStore(site.state).load(site.miner.study)
        secrets = KeyStore(site.state).load()
        ledger = Ledger(site.state)
        entries = ledger.entries()
        records, table = read_records(site, site.miner.study, plan, secrets, watch)
        values = values_of(secrets.draw, table.record_ids, table.columns, plan.columns)
        past = Past.of(site.state, entries, secrets, site.miner.study)
        settled = settle(plan.plan, records, past, options.corrections or site.file.corrections)
        randomized = settled.randomized
        draws = planned_draws(
            plan, settled.identities, lambda draw_id: population_of(records.keys, draw_id, entries)
        )
        draws = recognized(draws, values, entries)
        if not options.accept_added_loss:
            refuse_conflicts(draws, entries, settled.renewed)
        entry = ledger.find_content(site.miner.url, site.miner.study, randomized.digest)
        if entry is not None and entry.state == "withdrawn":
            raise _withdrawn(entry, f"on {entry.changed:%Y-%m-%d}")
        outbox = site.state / OUTBOX
        prepared = reopen(outbox, entry.name) if entry is not None else None
        if prepared is None and entry is not None and entry.state == "sealed":
            return _outcome(entry, str(entry.release_id), settled, already=True)
        if prepared is None:
            ledger.begin()
            prepared = prepare(
                outbox, randomized, options.part_records, told_draws(plan.plan, draws)
            )
        fingerprint = fingerprint_of(values, [draw.column for draw in draws])
        new = _New(randomized, draws, fingerprint, surroundings.now())
        entry = _entered(site, ledger, prepared, new)
        with Miner(site.miner.url, token, surroundings) as miner:
            to = _Sending(ledger, past, settled, surroundings, watch)
            return _send(miner, prepared, entry, to)


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
        with Miner(site.miner.url, token, surroundings) as miner:
            miner.withdraw(entry.release_id)
        ledger.mark(entry, "withdrawn", surroundings.now())
        return entry


def planned_draws(
    plan: Planned, identities: Mapping[str, str], population: Callable[[str], str]
) -> tuple[Draw, ...]:
    """Return what publishing would cost each column, as the ledger writes it.

    Args:
        plan: the site's plan.
        identities: the identity of each block's draws, by the block's name.
        population: names the population the records are of, by the identity of a draw.
    """
    return tuple(
        Draw(
            column=plan.columns[name],
            variable=name,
            draw_id=identities[block.name],
            epsilon=epsilon(block.channel),
            randomized=not block.channel.is_identity,
            population="" if block.channel.is_identity else population(identities[block.name]),
        )
        for block in plan.plan.blocks
        for name in block.names
    )


def told_draws(plan: Plan, draws: Sequence[Draw]) -> tuple[str, ...]:
    """Return what the miner is told of the draws: an opaque identity per block, in order.

    Equal in two releases exactly if every record's draw is the same, so that the second adds
    nothing to what the study tells. The population is part of it: the same people under other
    record ids have other draws.
    """
    by_variable = {draw.variable: draw.identity for draw in draws}
    texts = ("\x00".join(by_variable[block.names[0]]) for block in plan.blocks)
    return tuple(hashlib.sha256(b"pramana/told/1\x00" + t.encode()).hexdigest() for t in texts)


def read_records(
    site: Site, study: str, plan: Planned, secrets: Keys, watch: Watch = unwatched
) -> tuple[Records, Encoded]:
    """Return the table, and its records with their pseudonyms in a study, in the table's order.

    Raises:
        InputError: the table is wrong, or a sensitive variable would leave unprotected.
    """
    for block in plan.plan.blocks:
        require_protected(block, plan.sensitive)
    table = encode(site, plan)
    keys = pseudonyms(
        secrets,
        study,
        table.record_ids,
        lambda done, total: watch("pseudonyms", done, total),
    )
    return Records(secrets, study, keys, table.columns), table


@dataclass(frozen=True)
class _New:
    randomized: Randomized
    draws: tuple[Draw, ...]
    fingerprint: bytes
    now: datetime


def _entered(site: Site, ledger: Ledger, prepared: Prepared, new: _New) -> Entry:
    """Return the release's ledger entry, writing it if there is none; discard unsent ones."""
    manifest = prepared.manifest
    for other in ledger.entries():
        here = (other.miner, other.study) == (site.miner.url, site.miner.study)
        if here and other.state == "prepared" and other.name != manifest.name:
            ledger.mark(other, "discarded", new.now)
            discard(prepared.folder.parent, other.name)
    found = ledger.find(site.miner.url, site.miner.study, manifest.name)
    if found is not None:
        if found.left:
            return found
        return ledger.renew(found, new.draws, new.now)
    entry = Entry(
        miner=site.miner.url,
        study=site.miner.study,
        name=manifest.name,
        content=new.randomized.digest,
        digest=manifest.digest,
        plan_digest=new.randomized.plan.digest,
        records=manifest.records,
        parts=len(manifest.parts),
        state="prepared",
        prepared=new.now,
        changed=new.now,
        release_id=None,
        draws=new.draws,
        sketch=sketch_of(new.randomized.keys),
        fingerprint=new.fingerprint,
    )
    ledger.add(entry)
    return entry


@dataclass(frozen=True)
class _Sending:
    ledger: Ledger
    past: Past
    settled: Settled
    surroundings: Surroundings
    watch: Watch


def _send(miner: Miner, prepared: Prepared, entry: Entry, to: _Sending) -> Outcome:
    """Bring the miner from whatever it has of a release to all of it, sealed."""
    arrived = ""
    total = len(prepared.manifest.parts)
    try:
        if entry.state == "prepared":
            # A miner that is not there hears of nothing, and nothing is written down for it.
            miner.study(entry.study)
        # The manifest holds digests of the reports: who guesses them could check the guess.
        to.settled.remember(to.past, entry.content)
        if entry.state == "prepared":
            to.ledger.mark(entry, "sending", to.surroundings.now())
        release = miner.create_release(entry.study, prepared.manifest)
        _require_same(release, prepared)
        if release.state == "withdrawn":
            to.ledger.mark(entry, "withdrawn", to.surroundings.now(), release.id)
            raise _withdrawn(entry, "at the miner")
        if (release.state, release.id, entry.state) == ("sealed", entry.release_id, "sealed"):
            return _outcome(entry, release.id, to.settled, already=True, release=release)
        to.ledger.mark(entry, "sending", to.surroundings.now(), release.id)
        acknowledged = len(release.parts_received)
        arrived = f"{acknowledged} of {total} parts have arrived"
        to.watch("parts", acknowledged, total)
        if release.state == "open":
            for number in sorted(set(range(total)) - set(release.parts_received)):
                miner.put_part(release.id, number, prepared.part(number))
                acknowledged += 1
                arrived = f"{acknowledged} of {total} parts have arrived"
                to.watch("parts", acknowledged, total)
            release = miner.seal(release.id)
    except Unreachable as error:
        raise _interrupted(error, entry, arrived) from error
    _require_same(release, prepared)
    if release.state != "sealed":
        raise TransportError(
            f"The miner was asked to seal release {entry.name} and calls it {release.state}."
        )
    to.ledger.mark(entry, "sealed", to.surroundings.now(), release.id)
    return _outcome(entry, release.id, to.settled, already=False, release=release)


def _interrupted(error: Unreachable, entry: Entry, arrived: str) -> Unreachable:
    if not arrived and entry.state == "sealed":
        arrived = "the miner sealed it before, and could not be asked whether it still has it"
    arrived = arrived or "the miner could not be asked what it has of it"
    return Unreachable(
        f"{error.message} Release {entry.name} is safe in the outbox; {arrived}.",
        where=error.where,
        remedy="`owner-agent publish` continues it with the same bytes.",
    )


def _require_same(release: Release, prepared: Prepared) -> None:
    if release.digest != prepared.manifest.digest:
        raise TransportError(
            f"The miner has release {release.name} with digest {release.digest[:12]}, not"
            f" {prepared.manifest.digest[:12]}.",
            where=release.name,
            remedy="Tell the study; nothing more was sent.",
        )


def _withdrawn(entry: Entry, where: str) -> ReleaseNotOpen:
    return ReleaseNotOpen(
        f"Release {entry.name}, which holds exactly these records, was withdrawn {where}; the same"
        " content cannot be published again under that name.",
        where=entry.name,
        remedy="A table with more or fewer records makes a new release, in which the others are"
        " reported as before.",
    )


def _outcome(
    entry: Entry,
    release_id: str,
    settled: Settled,
    *,
    already: bool,
    release: Release | None = None,
) -> Outcome:
    return Outcome(
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
    )
