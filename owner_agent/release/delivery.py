"""Sending a prepared release, checking it against the study beforehand, and withdrawing it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from owner_agent.release.client import Miner
from owner_agent.release.history import require_known
from owner_agent.release.ledger import Entry, EntryState, Ledger
from owner_agent.release.outbox import StoredRelease
from owner_agent.site.adopting import FETCH, AdoptedPlan, short
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.state.ledger_file import WAYS_OUT
from owner_agent.state.lock import publishing_alone
from owner_agent.state.tokens import TokenStore
from pramana_core.alike import did_you_mean
from pramana_core.errors import (
    Conflict,
    HistoryLost,
    NotFound,
    NotReady,
    Refused,
    StudyPlanNotFollowed,
    TransportError,
    Unreachable,
)
from pramana_core.progress import Progress
from pramana_core.wire.release_kinds import SHARED_TREE
from pramana_core.wire.releases import Release


@dataclass
class Delivery:
    """A release on its way to the miner; the ledger records each step.

    Methods raise Refused and Unreachable.
    """

    miner: Miner
    stored: StoredRelease
    entry: Entry
    ledger: Ledger
    now: Callable[[], datetime]
    command: str
    arrived: str = ""

    @contextmanager
    def resumable(self) -> Iterator[None]:
        """Add to an Unreachable error the progress, and the command that resumes the release."""
        try:
            yield
        except Unreachable as error:
            arrived = self.arrived or (
                "the miner sealed it before, but did not confirm that the release still exists"
                if self.entry.state == "sealed"
                else "the miner did not report which parts have arrived"
            )
            raise Unreachable(
                f"{error.message} Release {self.entry.name} is safe in the outbox; {arrived}.",
                where=error.where,
                remedy=f"`{self.command}` continues the release with the same bytes.",
            ) from None

    def require_known(self) -> None:
        """Check that the ledger lists this owner's releases at the miner. Raises HistoryLost."""
        found = self.miner.releases(self.entry.study)
        require_known(found, self.ledger.entries(), self.miner.url)

    def require_agreed(self, adopted: AdoptedPlan | None) -> None:
        """Check plan and linkage before announcing. Raises StudyPlanNotFollowed, LinkageDiffers."""
        if self.entry.state == "prepared":
            require_agreed(adopted, self.miner, self.entry.study)
            require_one_secret(self.stored.manifest.linkage, self.miner, self.entry.study)

    def require_beside_plan(self, columns: Collection[str], section: str) -> None:
        """Check that a release by [mask] or [share_model] has no column of the study's plan.

        Raises the errors of `require_agreed`.
        """
        if self.entry.state == "prepared":
            require_beside(columns, self.miner, self.entry.study, section)
            require_one_secret(self.stored.manifest.linkage, self.miner, self.entry.study)

    def announce(self, groups: Mapping[str, Any] | None) -> Release:
        """Announce the release, with the stated groups of categories, and return the miner's copy.

        Raises Conflict, HistoryLost.
        """
        entry = self.entry
        if entry.state in {"prepared", "sending"}:
            # Repeated, as a crash may have come before the audit log's line.
            self._mark("sending")
            self.stored.mark_leaving()
        known = [e.digest for e in self.ledger.entries() if e.left and e.study == entry.study]
        more = {"builds_on": known, "groups": groups}
        manifest = self.stored.manifest.model_copy(update=more)
        try:
            release = self.miner.create_release(entry.study, manifest)
        except Refused as refused:
            if refused.problem_code != HistoryLost.code:
                raise
            raise HistoryLost(
                refused.message, where=refused.where, remedy=f"{refused.remedy} {WAYS_OUT}"
            ) from None
        self._require_same(release)
        if release.state == "withdrawn":
            self._mark("withdrawn", release.id)
            raise withdrawn(entry, "at the miner")
        return release

    def complete(self, release: Release, progress: Progress) -> Release:
        """Send the parts that the miner lacks, and seal the release."""
        self._mark("sending", release.id)
        total, sent = len(self.stored.manifest.parts), len(release.parts_received)
        absent = sorted(set(range(total)) - set(release.parts_received))
        for number in (None, *(absent if release.state == "open" else ())):
            if number is not None:
                self.miner.put_part(release.id, number, self.stored.part(number))
                sent += 1
            self.arrived = f"{sent} of {total} parts have arrived"
            progress(sent, total)
        if release.state == "open":
            release = self.miner.seal(release.id)
        self._require_same(release)
        if release.state != "sealed":
            raise TransportError(
                f"The miner did not seal release {self.entry.name}: its state is {release.state}."
            )
        self._mark("sealed", release.id)
        return release

    def _mark(self, state: EntryState, release_id: str | None = None) -> None:
        self.ledger.mark(self.entry, state, self.now(), release_id)

    def _require_same(self, release: Release) -> None:
        digest = self.stored.manifest.digest
        if release.digest != digest:
            raise TransportError(
                f"The miner has release {release.name} with digest {release.digest[:12]}, not"
                f" {digest[:12]}.",
                where=release.name,
                remedy="Report this to the study's operator. Nothing more was sent.",
            )


def withdrawn(entry: Entry, where: str) -> Conflict:
    """Return the error for publishing a release that was withdrawn."""
    remedy = (
        "A table with more or fewer records gives a new release, in which the remaining records "
        "keep their reports."
    )
    if not entry.follows_plan:
        remedy = (
            "A release with other options or records adds loss, because it can be compared with "
            "this release. Therefore it needs --accept-added-loss."
        )
    content = "this tree" if entry.kind == SHARED_TREE else "these records"
    return Conflict(
        f"Release {entry.name}, which contains exactly {content}, was withdrawn {where}; the same"
        " content cannot be published again under that name.",
        where=entry.name,
        remedy=remedy,
    )


def require_agreed_by(site: Site, adopted: AdoptedPlan | None, environment: Environment) -> None:
    """Check plan and linkage secret with the miner. Raises StudyPlanNotFollowed, LinkageDiffers."""
    token = TokenStore(site.state).load(site.miner.study)
    with Miner.of(site, token, environment) as miner:
        require_agreed(adopted, miner, site.miner.study)
        linkage = KeyStore(site.state).linkage_fingerprint(site.miner.study)
        require_one_secret(linkage, miner, site.miner.study)


def require_one_secret(linkage: str | None, miner: Miner, study: str) -> None:
    """Check that all owners have the same linkage secret. Raises LinkageDiffers."""
    if linkage is not None:
        miner.linkage(study, linkage).require_accepted()


def require_agreed(adopted: AdoptedPlan | None, miner: Miner, study: str) -> None:
    """Check that this owner follows the study plan at the miner. Raises StudyPlanNotFollowed."""
    plan = miner.study_plan(study)
    if adopted is None and plan is not None:
        raise StudyPlanNotFollowed(
            f"Study {study!r} has the study plan {short(plan.digest)}, but the site file names "
            "no plan. The loss from this release would add to the privacy loss stated in the plan.",
            where="study_plan",
            remedy=f"{FETCH} Then name it in [study_plan] of the site file.",
        )
    if adopted is None or (plan is not None and plan.digest == adopted.plan.digest):
        return
    here = f"the site file follows {short(adopted.plan.digest)}"
    there = "has no study plan" if plan is None else f"has the study plan {short(plan.digest)}"
    raise StudyPlanNotFollowed(
        f"Study {study!r} {there} at the miner, and {here}; nothing was sent.",
        where="study_plan",
        remedy="Ask the study's operator which plan the owners agreed on."
        " `owner-agent join` shows the miner's plan.",
    )


def require_beside(columns: Collection[str], miner: Miner, study: str, section: str) -> None:
    """Check that a release contains no column of the study's plan. Raises StudyPlanNotFollowed."""
    plan = miner.study_plan(study)
    if plan is None:
        return
    planned = {variable.name for _, owned in plan.owners for variable in owned}
    if both := [name for name in columns if name in planned]:
        raise StudyPlanNotFollowed(
            f"The study plan {short(plan.digest)} of study {study!r} randomizes "
            f"{', '.join(both)}. A release of these columns would add to the loss stated in the "
            "plan. Nothing was sent.",
            where=section,
            remedy=f"Omit these columns from [{section}], so that the loss stated by the study's"
            " plan remains correct.",
        )


def withdraw(site: Site, name: str, environment: Environment) -> Entry:
    """Withdraw a release at the miner; it stays in the ledger. Raises NotFound, NotReady."""
    with publishing_alone(site.state):
        ledger = Ledger(site.state)
        entry = ledger.find(site.miner.url, site.miner.study, name)
        if entry is None:
            made = [e.name for e in ledger.entries() if e.study == site.miner.study]
            raise NotFound(
                f"The ledger has no release {name!r} for study {site.miner.study!r} at"
                f" {site.miner.url}{did_you_mean([name], made)}.",
                where=name,
                remedy="`owner-agent ledger` lists the releases.",
            )
        if entry.release_id is None:
            raise NotReady(
                f"The miner never confirmed release {name!r}, so it cannot be withdrawn.",
                where=name,
            )
        token = TokenStore(site.state).load(site.miner.study)
        with Miner.of(site, token, environment) as miner:
            miner.withdraw(entry.release_id)
            ledger.mark(entry, "withdrawn", environment.now())
        return entry
