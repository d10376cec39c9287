"""Publishing: read, randomize, write down, send, seal; each step safe to repeat after any crash.

The order is the promise: the release is whole in the outbox and its cost is in the ledger before
the first record leaves. Since draws are a function of keys and records, publishing again finds the
same bytes under the same name and sends only what the miner does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from owner_agent.client import Miner
from owner_agent.draws import draw_id, pseudonyms
from owner_agent.encode import encode
from owner_agent.keys import Keys, KeyStore
from owner_agent.ledger import Draw, Entry, Ledger, conflicting, losses, spent
from owner_agent.lock import publishing_alone
from owner_agent.outbox import Prepared, discard, prepare, reopen
from owner_agent.planning import Planned, planned, require_protected
from owner_agent.randomize import Randomized, randomize
from owner_agent.site import Site
from owner_agent.surroundings import Surroundings
from owner_agent.tokens import TokenStore
from shared.errors import (
    NotFound,
    NotReady,
    PlanConflict,
    ReleaseNotOpen,
    TransportError,
    Unreachable,
)
from shared.privacy import epsilon
from shared.wire import Release

PART_RECORDS = 100_000

Watch = Callable[[str, int, int], None]
"""Called with a stage (`pseudonyms` or `parts`), how much of it is done, and of how much."""


@dataclass(frozen=True)
class Options:
    """How to publish: the size of parts, and whether a further loss of privacy is accepted."""

    part_records: int = PART_RECORDS
    accept_added_loss: bool = False


@dataclass(frozen=True)
class Outcome:
    """A sealed release; `already` if nothing had to be sent."""

    name: str
    release_id: str
    records: int
    parts: int
    digest: str
    already: bool


def unwatched(stage: str, done: int, total: int) -> None:
    """Report progress to nobody."""


def publish(
    site: Site, surroundings: Surroundings, options: Options, watch: Watch = unwatched
) -> Outcome:
    """Publish the site's table under its plan, or continue where an earlier attempt ended.

    Raises:
        InputError: the site file or the table is wrong; PlanConflict if a column would be
            randomized a second time in a different way.
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
        draws = planned_draws(site, plan, secrets)
        ledger = Ledger(site.state)
        if not options.accept_added_loss:
            refuse_conflicts(draws, ledger.entries())
        randomized = _randomized(site, plan, secrets, watch)
        entry = ledger.find_content(site.miner.url, site.miner.study, randomized.digest)
        if entry is not None and entry.state == "withdrawn":
            raise _withdrawn(entry)
        if entry is not None and entry.state == "sealed" and entry.release_id is not None:
            return _outcome(entry, entry.release_id, already=True)
        outbox = site.state / "outbox"
        prepared = reopen(outbox, entry.name) if entry is not None else None
        if prepared is None:
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


def planned_draws(site: Site, plan: Planned, secrets: Keys) -> tuple[Draw, ...]:
    """Return what publishing would cost each column, as the ledger writes it."""
    return tuple(
        Draw(
            column=plan.columns[name],
            variable=name,
            draw_id=draw_id(secrets, site.miner.study, block),
            epsilon=epsilon(block.channel),
            randomized=not block.channel.is_identity,
        )
        for block in plan.plan.blocks
        for name in block.names
    )


def refuse_conflicts(draws: tuple[Draw, ...], entries: tuple[Entry, ...]) -> None:
    """Check that no column would be randomized a second time in a different way.

    Raises:
        PlanConflict: one would; the message holds the loss before and after.
    """
    conflicts = conflicting(draws, entries)
    if not conflicts:
        return
    before = spent(entries)
    after = losses([*(d for e in entries if e.left for d in e.draws), *draws])
    listed = "; ".join(
        f"column {draw.column!r}: epsilon {before[draw.column]:.4g} would become"
        f" {after[draw.column]:.4g}"
        for draw in conflicts
    )
    raise PlanConflict(
        f"These columns left before under another randomization ({listed}).",
        where=", ".join(draw.column for draw in conflicts),
        remedy="Keep the channel, study and keys they left with, or accept the added loss with"
        " --accept-added-loss.",
    )


def _randomized(site: Site, plan: Planned, secrets: Keys, watch: Watch) -> Randomized:
    for block in plan.plan.blocks:
        require_protected(block, plan.sensitive)
    table = encode(site, plan)
    keys = pseudonyms(
        secrets,
        site.miner.study,
        table.record_ids,
        lambda done, total: watch("pseudonyms", done, total),
    )
    return randomize(plan.plan, secrets, site.miner.study, keys, table.columns)


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
        if found.state == "discarded":
            ledger.mark(found, "prepared", new.now)
        return found
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
    )
    ledger.add(entry)
    return entry


@dataclass(frozen=True)
class _Sending:
    ledger: Ledger
    surroundings: Surroundings
    watch: Watch


def _send(miner: Miner, prepared: Prepared, entry: Entry, to: _Sending) -> Outcome:
    acknowledged = 0
    total = len(prepared.manifest.parts)
    try:
        release = miner.create_release(entry.study, prepared.manifest)
        _require_same(release, prepared)
        to.ledger.mark(entry, "sending", to.surroundings.now(), release.id)
        acknowledged = len(release.parts_received)
        to.watch("parts", acknowledged, total)
        if release.state == "open":
            for number in sorted(set(range(total)) - set(release.parts_received)):
                miner.put_part(release.id, number, prepared.part(number))
                acknowledged += 1
                to.watch("parts", acknowledged, total)
            release = miner.seal(release.id)
    except Unreachable as error:
        raise Unreachable(
            f"{error.message} Release {entry.name} is safe in the outbox; {acknowledged} of"
            f" {total} parts have arrived.",
            where=error.where,
            remedy="`owner-agent publish` continues it with the same bytes.",
        ) from error
    if release.state == "withdrawn":
        to.ledger.mark(entry, "withdrawn", to.surroundings.now())
        raise _withdrawn(replace(entry, changed=to.surroundings.now()))
    _require_same(release, prepared)
    if release.state != "sealed":
        raise TransportError(f"The miner sealed release {entry.name} but calls it open.")
    to.ledger.mark(entry, "sealed", to.surroundings.now(), release.id)
    return _outcome(entry, release.id, already=False)


def _require_same(release: Release, prepared: Prepared) -> None:
    if release.digest != prepared.manifest.digest:
        raise TransportError(
            f"The miner has release {release.name} with digest {release.digest[:12]}, not"
            f" {prepared.manifest.digest[:12]}.",
            where=release.name,
            remedy="Tell the study; nothing more was sent.",
        )


def _withdrawn(entry: Entry) -> ReleaseNotOpen:
    return ReleaseNotOpen(
        f"These records were withdrawn as release {entry.name} on {entry.changed:%Y-%m-%d}, and"
        " stay so.",
        where=entry.name,
        remedy="More or corrected records make a new release.",
    )


def _outcome(entry: Entry, release_id: str, *, already: bool) -> Outcome:
    return Outcome(entry.name, release_id, entry.records, entry.parts, entry.digest, already)
