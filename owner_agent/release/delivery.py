"""Bringing the miner from whatever it has of a prepared release to all of it, sealed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime

from owner_agent.release.agreement import require_agreed, require_beside, require_one_secret
from owner_agent.release.client import Miner
from owner_agent.release.history import require_known
from owner_agent.release.ledger import Entry, EntryState, Ledger
from owner_agent.release.outbox import StoredRelease
from owner_agent.site.adopting import AdoptedPlan
from owner_agent.state.ledger_file import WAYS_OUT
from pramana_core.errors import (
    Conflict,
    HistoryLost,
    Refused,
    TransportError,
    Unreachable,
)
from pramana_core.progress import Progress
from pramana_core.wire.release_kinds import SHARED_TREE
from pramana_core.wire.releases import Release, ReleaseCreate


class Delivery:
    """A release on its way; the ledger has each step before or as soon as it is taken.

    Every method raises Refused where the miner said no, Unreachable where it did not answer, and
    TransportError where it answers of another release.
    """

    def __init__(
        self,
        miner: Miner,
        prepared: StoredRelease,
        entry: Entry,
        ledger: Ledger,
        now: Callable[[], datetime],
        command: str,
    ):
        """Take a release and what is known of it; `command` is the one that continues it."""
        self._miner = miner
        self._prepared = prepared
        self._entry = entry
        self._ledger = ledger
        self._now = now
        self._command = command
        self._arrived = ""

    def require_known(self) -> None:
        """Check that the ledger has all that the miner has of this owner in the study.

        Raises HistoryLost: it does not.
        """
        with self._resumable():
            found = self._miner.releases(self._entry.study)
        require_known(found, self._ledger.entries(), self._miner.url)

    def require_agreed(self, adopted: AdoptedPlan | None) -> None:
        """Check that the miner is there, takes the token, and has the plan that this owner adopted.

        And that no other owner has another linkage secret. Unless it has heard of the release: then
        it was so.

        Raises StudyPlanNotFollowed or LinkageDiffers.
        """
        with self._resumable():
            if self._entry.state == "prepared":
                require_agreed(adopted, self._miner, self._entry.study)
                self._require_one_secret()

    def require_beside_plan(self, columns: Collection[str], section: str) -> None:
        """Check that the miner is there, and that its plan randomizes none of these columns.

        Unless it has heard of the release: then it did not. `section` of the site file names them.

        Raises StudyPlanNotFollowed or LinkageDiffers.
        """
        with self._resumable():
            if self._entry.state == "prepared":
                require_beside(columns, self._miner, self._entry.study, section)
                self._require_one_secret()

    def announce(self) -> Release:
        """Return what the miner has of the release, which it has heard of from here on.

        Raises Conflict or HistoryLost.
        """
        with self._resumable():
            if self._entry.state in {"prepared", "sending"}:
                # Again after a crash: it may have come before the audit log's line.
                self._mark("sending")
                self._prepared.mark_leaving()
            left, study = self._ledger.entries(), self._entry.study
            known = [entry.digest for entry in left if entry.left and entry.study == study]
            manifest = self._prepared.manifest.model_copy(update={"builds_on": known})
            release = self._announced(manifest)
        self._require_same(release)
        if release.state == "withdrawn":
            self._mark("withdrawn", release.id)
            raise withdrawn(self._entry, "at the miner")
        return release

    def complete(self, release: Release, progress: Progress) -> Release:
        """Send the parts that the miner does not have, and seal the release."""
        self._mark("sending", release.id)
        with self._resumable():
            self._tell(len(release.parts_received), progress)
            if release.state == "open":
                total = len(self._prepared.manifest.parts)
                absent = sorted(set(range(total)) - set(release.parts_received))
                for sent, number in enumerate(absent, len(release.parts_received) + 1):
                    self._miner.put_part(release.id, number, self._prepared.part(number))
                    self._tell(sent, progress)
                release = self._miner.seal(release.id)
        self._require_same(release)
        if release.state != "sealed":
            raise TransportError(
                f"The miner was asked to seal release {self._entry.name} and calls it"
                f" {release.state}."
            )
        self._mark("sealed", release.id)
        return release

    def _announced(self, manifest: ReleaseCreate) -> Release:
        try:
            return self._miner.create_release(self._entry.study, manifest)
        except Refused as refused:
            if refused.problem_code != HistoryLost.code:
                raise
            raise HistoryLost(
                refused.message, where=refused.where, remedy=f"{refused.remedy} {WAYS_OUT}"
            ) from None

    def _require_one_secret(self) -> None:
        require_one_secret(self._prepared.manifest.linkage, self._miner, self._entry.study)

    def _tell(self, acknowledged: int, progress: Progress) -> None:
        total = len(self._prepared.manifest.parts)
        self._arrived = f"{acknowledged} of {total} parts have arrived"
        progress(acknowledged, total)

    def _mark(self, state: EntryState, release_id: str | None = None) -> None:
        self._ledger.mark(self._entry, state, self._now(), release_id)

    @contextmanager
    def _resumable(self) -> Iterator[None]:
        """Say what a miner that does not answer has so far, and how to go on."""
        try:
            yield
        except Unreachable as error:
            arrived = self._arrived or (
                "the miner sealed it before, and could not be asked whether it still has it"
                if self._entry.state == "sealed"
                else "the miner could not be asked what it has of it"
            )
            raise Unreachable(
                f"{error.message} Release {self._entry.name} is safe in the outbox; {arrived}.",
                where=error.where,
                remedy=f"`{self._command}` continues it with the same bytes.",
            ) from None

    def _require_same(self, release: Release) -> None:
        digest = self._prepared.manifest.digest
        if release.digest != digest:
            raise TransportError(
                f"The miner has release {release.name} with digest {release.digest[:12]}, not"
                f" {digest[:12]}.",
                where=release.name,
                remedy="Tell the study; nothing more was sent.",
            )


def withdrawn(entry: Entry, where: str) -> Conflict:
    """Return the error of publishing what was withdrawn `where`."""
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
