"""Publishing: made, written down, sent, sealed; each step safe to repeat after any crash.

The order is the promise: the release is whole in the outbox and its cost is in the ledger before
the first record leaves. What left before is not made another time: publishing again finds the same
bytes under the same name and sends only what the miner does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from owner_agent.release.approval import Approval
from owner_agent.release.client import Miner
from owner_agent.release.delivery import Delivery, withdrawn
from owner_agent.release.leaving import Leaving
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import OUTBOX, discard, prepare, reopen
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.private_files import TokenStore, publishing_alone
from pramana_core.alike import did_you_mean
from pramana_core.errors import NotFound, NotReady
from pramana_core.progress import StagedProgress
from pramana_core.wire.releases import Consistency, Release, RepeatedReports

Made = TypeVar("Made", bound=Leaving)


@dataclass(frozen=True)
class PublishOutcome:
    """A sealed release; `already` if nothing had to be sent.

    What was made of the table is as `Leaving` has it.

    Attributes:
        asked: false where the miner could not be asked whether it still has a release that it
            sealed before, because the release's folder was removed from the outbox.
        consistency: what the miner says of randomized reports against the plan.
        repeated: what it says of them against earlier reports by the same draws.
    """

    kind: str
    name: str
    release_id: str
    records: int
    parts: int
    digest: str
    already: bool
    asked: bool = True
    method: str = ""
    dropped: int = 0
    leaves: int = 0
    stale: int = 0
    consistency: Consistency | None = None
    repeated: tuple[RepeatedReports, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        said = self.consistency
        return {
            **asdict(replace(self, repeated=())),
            "consistency": said.model_dump(mode="json") if said else None,
            "repeated": [one.model_dump(mode="json") for one in self.repeated],
        }


def publish(
    kind: type[Made],
    site: Site,
    environment: Environment,
    options: PublishOptions,
    watch: StagedProgress = lambda _stage, _done, _total: None,
    show: Callable[[Made], object] = lambda _now: None,
    approval: Approval | None = None,
) -> PublishOutcome:
    """Publish what a site releases of a kind, or continue where an earlier attempt ended.

    Args:
        kind: what is made of the site's table.
        site: the site.
        environment: how the miner is reached.
        options: the size of parts, and what is chosen where privacy would be lost.
        watch: told of the progress.
        show: called with what is about to leave, before it is in the outbox or sent.
        approval: what somebody said yes to; None where nobody was shown anything before.

    Raises:
        InputError: the site file or the table is wrong; PlanConflict if a column left before in
            another form, or other records under the same draws; RecordsCorrected if records would
            be reported differently and nothing is chosen.
        ChangedSinceShown: the site file, the table or a file that they need changed since.
        BudgetExceeded: columns would have lost more than the site file allows.
        StoreCorrupt: what left before is not remembered; HistoryLost if that is so of releases.
        KeyFileError: a secret is absent or unsafe.
        Unauthenticated: the site has not joined the study.
        Conflict: another publication of this site is running.
        StudyPlanNotFollowed: the miner holds the study's owners to another plan, or to one that
            randomizes a column of a release beside it.
        LinkageDiffers: other owners have another linkage secret; nothing was sent.
        ReleaseNotOpen: this release was withdrawn.
        Refused: the miner said no.
        Unreachable: the miner did not answer; the release is safe in the outbox.
    """
    with publishing_alone(site.state):
        token = TokenStore(site.state).load(site.miner.study)
        if approval is not None:
            approval.require(site)
        now = kind.of(site, watch, options, environment)
        if approval is not None:  # Meanwhile its table was read.
            approval.require(site)
        now.require_allowed(options)
        show(now)
        ledger, outbox = Ledger(site.state), site.state / OUTBOX
        entry = ledger.find_content(site.miner.url, site.miner.study, now.identity)
        if entry is not None and entry.state == "withdrawn":
            raise withdrawn(entry, f"on {entry.changed:%Y-%m-%d}")
        prepared = None if entry is None else reopen(outbox, entry.name)
        if prepared is None and entry is not None and entry.state == "sealed":
            return _outcome(now, entry, str(entry.release_id), None, already=True)
        if prepared is None:
            ledger.begin()
            prepared = prepare(outbox, now.outgoing(), options.part_records)
        entry = upsert_entry(ledger, now.entry(site, prepared.manifest, environment.now()), outbox)
        with Miner.of(site, token, environment) as miner:
            delivery = Delivery(miner, prepared, entry, ledger, environment.now, now.command)
            # A miner that is not there hears of nothing, and nothing is written down for it.
            delivery.require_known()
            now.before_announcing(delivery)
            release = delivery.announce()
            already = release.state == entry.state == "sealed" and release.id == entry.release_id
            if not already:
                release = delivery.complete(release, partial(watch, "parts"))
            return _outcome(now, entry, release.id, release, already=already)


def _outcome(
    now: Leaving, entry: Entry, release_id: str, release: Release | None, *, already: bool
) -> PublishOutcome:
    return PublishOutcome(
        kind=now.kind,
        name=entry.name,
        release_id=release_id,
        records=entry.records,
        parts=entry.parts,
        digest=entry.digest,
        already=already,
        asked=release is not None,
        method=now.method,
        dropped=now.dropped,
        leaves=now.leaves,
        stale=now.stale,
        consistency=None if release is None else release.consistency,
        repeated=() if release is None else tuple(release.repeated or ()),
    )


def withdraw(site: Site, name: str, environment: Environment) -> Entry:
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
            made = [e.name for e in ledger.entries() if e.study == site.miner.study]
            raise NotFound(
                f"No release {name!r} was made for study {site.miner.study!r} at"
                f" {site.miner.url}{did_you_mean([name], made)}.",
                where=name,
                remedy="`owner-agent ledger` lists them.",
            )
        if entry.release_id is None:
            raise NotReady(
                f"The miner never confirmed release {name!r}; there is nothing to withdraw.",
                where=name,
            )
        token = TokenStore(site.state).load(site.miner.study)
        with Miner.of(site, token, environment) as miner:
            miner.withdraw(entry.release_id)
            ledger.mark(entry, "withdrawn", environment.now())
        return entry


def upsert_entry(ledger: Ledger, new: Entry, outbox: Path) -> Entry:
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
