"""A custodian's approval, limited by a digest to the release that the custodian saw."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from owner_agent.release.ledger import Ledger
from owner_agent.site.site import Site
from pramana_core.errors import ChangedSinceShown, HistoryLost


@dataclass(frozen=True)
class Approval:
    """The approval of a release, by SHA-256 of site file, table, categories, plan and history."""

    digest: str

    @classmethod
    def of(cls, site: Site) -> Self:
        """Return the approval of a site's current state. Call this before reading the table."""
        running = hashlib.sha256(site.file.model_dump_json().encode())
        for path in _files(site):
            running.update(b"\0%b\0" % bytes(path))
            if path.exists():  # Its reader reports a missing file.
                with path.open("rb") as file:
                    running.update(hashlib.file_digest(file, "sha256").digest())
        running.update(repr(_before(site)).encode())
        return cls(running.hexdigest())

    def require(self, site: Site) -> None:
        """Check that a site is unchanged since the release was shown. Raises ChangedSinceShown."""
        if self != self.of(site):
            raise ChangedSinceShown(
                "Nothing was sent: the site file, a list of categories, the study's plan, the table"
                " or the ledger changed since the release was shown to you.",
                where="site file",
                remedy="Review the release as it is now, and confirm again.",
            )


def _before(site: Site) -> tuple[int, list[str]] | None:
    ledger = Ledger(site.state)
    try:
        return ledger.beginning, sorted(entry.name for entry in ledger.entries() if entry.left)
    except HistoryLost:
        return None


def _files(site: Site) -> list[Path]:
    named = (name for v in site.file.variables for name in (v.categories_from, v.groups))
    lists = [name for name in named if isinstance(name, str)]
    plan = site.file.study_plan
    # A database has no file to digest; its table is read only once before sending.
    table = [] if site.table.database else site.table.parts
    read = [*table, *(site.folder / path for path in lists)]
    return read if plan is None else [*read, site.folder / plan.file]
