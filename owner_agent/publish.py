"""Publishing: read, randomize, write down, send, seal; each step safe to repeat after any crash.

The order is the promise: the release is whole in the outbox and its cost is in the ledger before
the first record leaves. Since draws are a function of keys and records, publishing again finds the
same bytes under the same name and sends only what the miner does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from owner_agent.client import Miner
from owner_agent.composition import refuse_conflicts
from owner_agent.draws import draw_id, pseudonyms
from owner_agent.encode import encode
from owner_agent.keys import Keys, KeyStore
from owner_agent.ledger import Draw, Entry, Ledger
from owner_agent.lock import publishing_alone
from owner_agent.outbox import OUTBOX, Prepared, discard, prepare, reopen
from owner_agent.planning import Planned, planned
from owner_agent.populations import population_of, sketch_of
from owner_agent.protection import require_protected
from owner_agent.randomize import Randomized, randomize
from owner_agent.site import Site
from owner_agent.surroundings import Surroundings
from owner_agent.tokens import TokenStore
from shared.counts import Codes
from shared.errors import (
    NotFound,
    NotReady,
    ReleaseNotOpen,
    TransportError,
    Unreachable,
)
from shared.parts import Keys as Pseudonyms
from shared.privacy import epsilon
from shared.wire import Consistency, Release

PART_RECORDS = 100_000

Columns = dict[str, Codes]

Watch = Callable[[str, int, int], None]
"""Called with a stage (`pseudonyms` or `parts`), how much of it is done, and of how much."""


@dataclass(frozen=True)
class Options:
    """How to publish: the size of parts, and whether a further loss of privacy is accepted."""

    part_records: int = PART_RECORDS
    accept_added_loss: bool = False


@dataclass(frozen=True)
class Outcome:
    """A sealed release; `already` if nothing had to be sent.

    `asked` is false where the miner could not be asked whether it still has a release that it
    sealed before, because the release's folder was removed from the outbox. `consistency` is what
    the miner says of the reports against the plan, where it was asked and says something.
    """

    name: str
    release_id: str
    records: int
    parts: int
    digest: str
    already: bool
    asked: bool = True
    consistency: Consistency | None = None


def unwatched(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""


def publish(
    site: Site, surroundings: Surroundings, options: Options, watch: Watch = unwatched
) -> Outcome:
    """Publish the site's table under its plan, or continue where an earlier attempt ended.

    Raises:
        InputError: the site file or the table is wrong; PlanConflict if a column would be
            randomized a second time in a different way, or other records under the same draws.
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
        keys, columns = _encoded(site, plan, secrets, watch)
        draws = planned_draws(
            site, plan, secrets, lambda draw_id: population_of(keys, draw_id, entries)
        )
        if not options.accept_added_loss:
            refuse_conflicts(draws, entries)
        randomized = randomize(plan.plan, secrets, site.miner.study, keys, columns)
        entry = ledger.find_content(site.miner.url, site.miner.study, randomized.digest)
        if entry is not None and entry.state == "withdrawn":
            raise _withdrawn(entry, f"on {entry.changed:%Y-%m-%d}")
        outbox = site.state / OUTBOX
        prepared = reopen(outbox, entry.name) if entry is not None else None
        if prepared is None and entry is not None and entry.state == "sealed":
            return _outcome(entry, str(entry.release_id), already=True, asked=False)
        if prepared is None:
            ledger.begin()
            prepared = prepare(outbox, randomized, options.part_records)
        entry = _entered(site, ledger, prepared, _New(randomized, draws, surroundings.now()))
        with Miner(site.miner.url, token, surroundings) as miner:
            return _send(miner, prepared, entry, _Sending(ledger, surroundings, watch))


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
            raise NotReady(f"Release {name!r} never left; nothing is to be withdrawn.", where=name)
        token = TokenStore(site.state).load(site.miner.study)
        with Miner(site.miner.url, token, surroundings) as miner:
            miner.withdraw(entry.release_id)
        ledger.mark(entry, "withdrawn", surroundings.now())
        return entry


def planned_draws(
    site: Site, plan: Planned, secrets: Keys, population: Callable[[str], str]
) -> tuple[Draw, ...]:
    """Return what publishing would cost each column, as the ledger writes it.

    Args:
        site: the site.
        plan: its plan.
        secrets: its secrets.
        population: names the population the records are of, by the identity of a draw.
    """
    return tuple(
        Draw(
            column=plan.columns[name],
            variable=name,
            draw_id=identity,
            epsilon=epsilon(block.channel),
            randomized=not block.channel.is_identity,
            population="" if block.channel.is_identity else population(identity),
        )
        for block in plan.plan.blocks
        for identity in (draw_id(secrets, site.miner.study, block),)
        for name in block.names
    )


def _encoded(site: Site, plan: Planned, secrets: Keys, watch: Watch) -> tuple[Pseudonyms, Columns]:
    """Return the records' pseudonyms and true codes, in the table's order."""
    for block in plan.plan.blocks:
        require_protected(block, plan.sensitive)
    table = encode(site, plan)
    keys = pseudonyms(
        secrets,
        site.miner.study,
        table.record_ids,
        lambda done, total: watch("pseudonyms", done, total),
    )
    return keys, table.columns


@dataclass(frozen=True)
class _New:
    randomized: Randomized
    draws: tuple[Draw, ...]
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
    )
    ledger.add(entry)
    return entry


@dataclass(frozen=True)
class _Sending:
    ledger: Ledger
    surroundings: Surroundings
    watch: Watch


def _send(miner: Miner, prepared: Prepared, entry: Entry, to: _Sending) -> Outcome:
    """Bring the miner from whatever it has of a release to all of it, sealed."""
    arrived = ""
    total = len(prepared.manifest.parts)
    try:
        release = miner.create_release(entry.study, prepared.manifest)
        _require_same(release, prepared)
        if release.state == "withdrawn":
            to.ledger.mark(entry, "withdrawn", to.surroundings.now(), release.id)
            raise _withdrawn(entry, "at the miner")
        if (release.state, release.id, entry.state) == ("sealed", entry.release_id, "sealed"):
            return _outcome(entry, release.id, already=True, consistency=release.consistency)
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
    return _outcome(entry, release.id, already=False, consistency=release.consistency)


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
        remedy="A table with more, fewer or corrected records makes a new release, in which the"
        " other records are reported as before.",
    )


def _outcome(
    entry: Entry,
    release_id: str,
    *,
    already: bool,
    asked: bool = True,
    consistency: Consistency | None = None,
) -> Outcome:
    return Outcome(
        entry.name,
        release_id,
        entry.records,
        entry.parts,
        entry.digest,
        already,
        asked,
        consistency,
    )
