"""How much one owner may keep here at once, asked in the transaction that announces."""

from __future__ import annotations

from sqlalchemy import Subquery, func, select
from sqlalchemy.orm import Session

from miner_service.settings import MEBIBYTE, Quotas
from miner_service.store.schema import PartRow, ReleaseRow
from pramana_core.errors import QuotaExceeded

_OPEN = "Seal or withdraw one that is open; the owner's agent lists them (`owner-agent status`)."
_STORED = "Withdraw releases that are not used any more, or publish less at once."


def require_within_quota(session: Session, quotas: Quotas, study: str, owner: str) -> None:
    """Check what an owner has in a study, with what the session is about to add.

    Raises:
        QuotaExceeded: it is more than one may keep here; it says how much there is, how much may
            be, and what makes room.
    """
    announced = session.scalar(select(func.count()).select_from(_of(study, owner, "open"))) or 0
    parts, held = _parts(session, study, owner, "open")
    _, stored = _parts(session, study, owner, "open", "sealed")
    for what, found, allowed, remedy in (
        ("open releases", announced, quotas.open_releases, _OPEN),
        ("parts of open releases", parts, quotas.announced_parts, _OPEN),
        ("bytes of open releases", held, quotas.announced_bytes, _OPEN),
        ("bytes of releases that are not withdrawn", stored, quotas.stored_bytes, _STORED),
    ):
        if found > allowed:
            raise QuotaExceeded(
                f"With this release {owner} would have {_told(found, what)} in study {study};"
                f" {_told(allowed, 'bytes' if 'bytes' in what else '')} are allowed.",
                where=what,
                remedy=remedy,
            )


def _of(study: str, owner: str, *states: str) -> Subquery:
    query = select(ReleaseRow.id).where(
        ReleaseRow.study == study, ReleaseRow.owner == owner, ReleaseRow.state.in_(states)
    )
    return query.subquery()


def _parts(session: Session, study: str, owner: str, *states: str) -> tuple[int, int]:
    """Return how many parts releases in some states announced, and their bytes."""
    query = select(func.count(), func.coalesce(func.sum(PartRow.bytes), 0))
    some = _of(study, owner, *states)
    number, size = session.execute(
        query.select_from(PartRow).join(some, some.c.id == PartRow.release)
    ).one()
    return int(number), int(size)


def _told(number: int, what: str) -> str:
    shown = f" ({number / MEBIBYTE:,.0f} MiB)" if "bytes" in what and number >= MEBIBYTE else ""
    return f"{number:,} {what}{shown}".strip()
