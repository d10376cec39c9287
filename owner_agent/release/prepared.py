"""A release that is prepared and shown but not sent yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from owner_agent.release.composition import refuse_conflicts
from owner_agent.release.corrections import Exchange
from owner_agent.release.delivery import Delivery
from owner_agent.release.ledger import Draw, Entry
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import Outgoing
from owner_agent.release.populations import sketch_of
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from pramana_core.errors import OptionError
from pramana_core.progress import StagedProgress
from pramana_core.wire.parts import Column
from pramana_core.wire.release_kinds import ReleaseKindName


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PreparedRelease(ABC):
    """A release before it is sent: the content's `identity`, the ledger's `draws`, and `records`.

    `records` is their count and `dropped` that of omitted records. `keys` are ascending pseudonyms,
    and `beginning` is the epoch. `groups` are the groups of categories that the site file states,
    by variable. `stale` counts the records that keep the report of a corrected value, in the block
    with the most such records.
    """

    kind: ClassVar[ReleaseKindName]
    section: ClassVar[str] = ""
    """The section of the site file that configures the release."""

    identity: str
    draws: tuple[Draw, ...]
    entries: tuple[Entry, ...]
    records: int
    keys: Column | None = None
    method: str = ""
    dropped: int = 0
    leaves: int = 0
    groups: Mapping[str, Any] | None = None
    beginning: int = 0
    stale: int = 0

    @classmethod
    @abstractmethod
    def of(
        cls, site: Site, watch: StagedProgress, options: PublishOptions, environment: Environment, /
    ) -> Self:
        """Prepare a site's release. Raises InputError, KeyFileError, StoreCorrupt, HistoryLost."""

    @abstractmethod
    def outgoing(self) -> Outgoing:
        """Return the content to send."""

    def require_allowed(self, options: PublishOptions) -> None:
        """Check that the release does not conflict with earlier releases. Raises PlanConflict."""
        if not options.accept_added_loss:
            refuse_conflicts(self.draws, self.entries)

    @property
    def large_exchange(self) -> Exchange | None:
        """The records exchanged since the last release, if the exchange needs a separate approval.

        Otherwise None.
        """
        return None

    def before_announcing(self, delivery: Delivery) -> None:
        """Check the release against the study's plan. Raises the errors of `Delivery`."""
        delivery.require_beside_plan([draw.column for draw in self.draws], self.section)

    def file_content(self) -> bytes:
        """Return the release as a file for use without a miner. Raises OptionError."""
        raise OptionError(f"A {self.kind} release can only be sent to a miner.", where="out")

    def entry(
        self, to: tuple[str, str], digest: str, plan_digest: str, parts: int, now: datetime
    ) -> Entry:
        """Return a "prepared" ledger entry. `to` is the miner or the file, and the study."""
        return Entry(
            miner=to[0],
            study=to[1],
            name=f"r-{digest[:12]}",
            content=self.identity,
            digest=digest,
            plan_digest=plan_digest,
            records=self.records,
            parts=parts,
            state="prepared",
            prepared=now,
            changed=now,
            release_id=None,
            draws=self.draws,
            sketch=b"" if self.keys is None else sketch_of(self.keys),
            kind=self.kind,
            method=self.method,
            beginning=self.beginning,
        )
