"""Sending what the miner lacks of a prepared release, until it is sealed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from owner_agent.release.agreement import require_agreed, require_beside, require_one_secret
from owner_agent.release.client import Miner
from owner_agent.release.history import require_known
from owner_agent.release.ledger import Entry, EntryState, Ledger
from owner_agent.release.outbox import StoredRelease
from owner_agent.site.adopting import AdoptedPlan
from owner_agent.state.ledger_file import WAYS_OUT
from pramana_core.errors import Conflict, HistoryLost, Refused, TransportError, Unreachable
from pramana_core.progress import Progress
from pramana_core.wire.release_kinds import SHARED_TREE
from pramana_core.wire.releases import Release


@dataclass
class Delivery:
    """A release on its way; the ledger has each step before or as soon as it is taken.

    `command` continues it. Every method raises Refused, Unreachable, and TransportError if the
    miner's answer is about another release.
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
        """Add to an Unreachable what has arrived so far, and how to go on."""
        try:
            yield
        except Unreachable as error:
            arrived = self.arrived or (
                "the miner sealed it before, and could not be asked whether it still has it"
                if self.entry.state == "sealed"
                else "the miner could not be asked what it has of it"
            )
            raise Unreachable(
                f"{error.message} Release {self.entry.name} is safe in the outbox; {arrived}.",
                where=error.where,
                remedy=f"`{self.command}` continues it with the same bytes.",
            ) from None

    def require_known(self) -> None:
        """Check that the ledger has all that the miner has of this owner. Raises HistoryLost."""
        found = self.miner.releases(self.entry.study)
        require_known(found, self.ledger.entries(), self.miner.url)

    def require_agreed(self, adopted: AdoptedPlan | None) -> None:
        """Check that plan and linkage secret are the study's, before the first announcement.

        Raises StudyPlanNotFollowed or LinkageDiffers.
        """
        if self.entry.state == "prepared":
            require_agreed(adopted, self.miner, self.entry.study)
            require_one_secret(self.stored.manifest.linkage, self.miner, self.entry.study)

    def require_beside_plan(self, columns: Collection[str], section: str) -> None:
        """Check that the study's plan has none of a section's columns; else as above."""
        if self.entry.state == "prepared":
            require_beside(columns, self.miner, self.entry.study, section)
            require_one_secret(self.stored.manifest.linkage, self.miner, self.entry.study)

    def announce(self) -> Release:
        """Announce the release; return what the miner has of it. Raises Conflict, HistoryLost."""
        entry = self.entry
        if entry.state in {"prepared", "sending"}:
            # Again after a crash: it may have come before the audit log's line.
            self._mark("sending")
            self.stored.mark_leaving()
        known = [e.digest for e in self.ledger.entries() if e.left and e.study == entry.study]
        manifest = self.stored.manifest.model_copy(update={"builds_on": known})
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
                f"The miner was asked to seal release {self.entry.name} and calls it"
                f" {release.state}."
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
                remedy="Tell the study; nothing more was sent.",
            )


def withdrawn(entry: Entry, where: str) -> Conflict:
    """Return the error of publishing a release that was withdrawn."""
    remedy = (
        "A table with more or fewer records makes a new release, in which the others are reported"
        " as before."
    )
    if not entry.follows_plan:
        remedy = (
            "What is made in another way, or from other records, is another release, and can be"
            " compared with this one: it needs --accept-added-loss."
        )
    held = "this tree" if entry.kind == SHARED_TREE else "these records"
    return Conflict(
        f"Release {entry.name}, which holds exactly {held}, was withdrawn {where}; the same"
        " content cannot be published again under that name.",
        where=entry.name,
        remedy=remedy,
    )
