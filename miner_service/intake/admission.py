"""Whether an owner may announce a release: its linkage secret, and how much it keeps here."""

from __future__ import annotations

from sqlalchemy import Subquery, case, func, select
from sqlalchemy.orm import Session

from miner_service.alignment.align import LinkageSecrets
from miner_service.settings import MEBIBYTE, Quotas
from miner_service.store.people import find_study, study_message
from miner_service.store.releases import linkages_now, linkages_of_joined
from miner_service.store.schema import PartRow, ReleaseRow
from pramana_core.errors import LimitExceeded
from pramana_core.wire.releases import LinkageCheck


# Where owners may hold the same people, a release under another secret costs privacy and joins with
# nothing: it is refused before anything of it is stored. The refusal says that secrets differ, and
# of whose; nothing of any record. Whoever announced first may be the one with the wrong secret:
# once that release is withdrawn it does not count.
def check_linkage(session: Session, study: str, owner: str, linkage: str | None) -> LinkageCheck:
    """Compare an owner's fingerprint with those of the other owners' newest releases.

    Of an owner without releases it is compared with the one that the owner last asked about; a
    release is refused by releases alone.
    """
    people = study_message(find_study(session, study)).people
    released = {o: told for o, told in linkages_now(session, study).items() if o != owner}
    known = released | {
        o: told
        for o, told in linkages_of_joined(session, study).items()
        if o != owner and released.get(o) is None
    }
    others = [o for o, told in known.items() if linkage and told is not None and told != linkage]
    agree = LinkageSecrets.of([(owner, linkage), *known.items()]).state if known else "unknown"
    return LinkageCheck(
        study=study,
        people=people,
        # The others may differ among themselves: the question is about this one.
        secrets="different" if others else "unknown" if agree == "different" else agree,
        others=others,
        refused=people != "different" and any(released.get(o) is not None for o in others),
    )


def require_one_secret(session: Session, study: str, owner: str, linkage: str | None) -> None:
    """Check that a release may be announced under a secret. Raises LinkageDiffers."""
    check_linkage(session, study, owner, linkage).require_accepted()


_OPEN = "Seal or withdraw one that is open; the owner's agent lists them (`owner-agent status`)."


_STORED = "Withdraw releases that are not used any more, or publish less at once."


def require_within_quota(session: Session, quotas: Quotas, study: str, owner: str) -> None:
    """Check what an owner has in a study, with what the session is about to add.

    Raises LimitExceeded.
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
            raise LimitExceeded(
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
    """Return how many parts releases in some states announced, and the bytes that they may take."""
    some, columns = _of(study, owner, *states), ReleaseRow.records * ReleaseRow.row_bytes
    parts = (
        select(func.count(PartRow.number).label("number"), func.sum(PartRow.bytes).label("bytes"))
        .select_from(ReleaseRow)
        .join(some, some.c.id == ReleaseRow.id)
        .join(PartRow, PartRow.release == ReleaseRow.id)
        .group_by(ReleaseRow.id, columns)
        .add_columns(columns.label("columns"))
        .subquery()
    )
    larger = case((parts.c.columns > parts.c.bytes, parts.c.columns), else_=parts.c.bytes)
    number, size = session.execute(select(func.sum(parts.c.number), func.sum(larger))).one()
    return int(number or 0), int(size or 0)


def _told(number: int, what: str) -> str:
    shown = f" ({number / MEBIBYTE:,.0f} MiB)" if "bytes" in what and number >= MEBIBYTE else ""
    return f"{number:,} {what}{shown}".strip()
