"""Whether an owner may announce a release: its linkage secret, and how much it keeps here."""

from __future__ import annotations

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from miner_service.alignment.align import LinkageSecrets
from miner_service.settings import Quotas
from miner_service.store.people import find_study, study_message
from miner_service.store.releases import linkages_now, linkages_of_joined
from miner_service.store.schema import PartRow, ReleaseRow
from pramana_core.errors import require_at_most
from pramana_core.wire.releases import LinkageCheck


# Where owners may hold the same people, a release under another secret costs privacy and joins with
# nothing: it is refused before anything of it is stored. The refusal says that secrets differ, and
# of whose; nothing of any record. Whoever announced first may be the one with the wrong secret:
# once that release is withdrawn it does not count.
def check_linkage(session: Session, study: str, owner: str, linkage: str | None) -> LinkageCheck:
    """Compare an owner's linkage fingerprint with those of the other owners' newest releases.

    Owners without releases count by the fingerprint that they last asked about, but refuse nothing.
    """
    people = study_message(find_study(session, study)).people
    released = {o: mark for o, mark in linkages_now(session, study).items() if o != owner}
    known = released | {
        o: mark
        for o, mark in linkages_of_joined(session, study).items()
        if o != owner and released.get(o) is None
    }
    others = [o for o, mark in known.items() if linkage and mark is not None and mark != linkage]
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


def require_within_quota(session: Session, quotas: Quotas, study: str, owner: str) -> None:
    """Check what an owner has in a study, with what the session adds. Raises LimitExceeded."""
    owned = (ReleaseRow.study == study, ReleaseRow.owner == owner)
    opened = session.scalar(select(func.count()).where(*owned, ReleaseRow.state == "open")) or 0
    columns = ReleaseRow.records * ReleaseRow.row_bytes
    sizes = (
        select(func.sum(PartRow.bytes).label("parts"), columns.label("columns"))
        .join(ReleaseRow, ReleaseRow.id == PartRow.release)
        .where(*owned, ReleaseRow.state.in_(("open", "sealed")))
        .group_by(ReleaseRow.id, columns)
        .subquery()
    )
    # Parts may be packed more densely than the columns that they become.
    larger = case((sizes.c.columns > sizes.c.parts, sizes.c.columns), else_=sizes.c.parts)
    stored = int(session.scalar(select(func.sum(larger))) or 0)
    require_at_most(
        opened,
        quotas.open_releases,
        f"open releases of {owner}",
        "open releases",
        "Seal or withdraw one that is open; `owner-agent ledger` lists them.",
    )
    require_at_most(
        stored,
        quotas.stored_bytes,
        f"bytes of releases of {owner}",
        "bytes",
        "Withdraw releases that are not used any more, or publish less at once.",
    )
