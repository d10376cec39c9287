"""The conditions for announcing a release: a common linkage secret, and the owner's quota."""

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


# If owners may have the same people, a release under a different secret costs privacy and joins
# with no other release, so it is rejected before anything is stored. The error names the owners
# whose secrets differ and reveals nothing about records. The first release may be the one with the
# wrong secret; it no longer counts once it is withdrawn.
def check_linkage(session: Session, study: str, owner: str, linkage: str | None) -> LinkageCheck:
    """Compare an owner's linkage fingerprint with those of the other owners' newest releases.

    For another owner without releases, the fingerprint that it last checked is used. A difference
    from such an owner never causes a rejection.
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
        # The other owners may differ among themselves; the result is about this owner only.
        secrets="different" if others else "unknown" if agree == "different" else agree,
        others=others,
        refused=people != "different" and any(released.get(o) is not None for o in others),
    )


def require_one_secret(session: Session, study: str, owner: str, linkage: str | None) -> None:
    """Check that an owner's linkage secret is that of the other owners. Raises LinkageDiffers."""
    check_linkage(session, study, owner, linkage).require_accepted()


def require_within_quota(session: Session, quotas: Quotas, study: str, owner: str) -> None:
    """Check an owner's quota in a study, including uncommitted releases. Raises LimitExceeded."""
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
    # Parts may be compressed and thus smaller than their columns.
    larger = case((sizes.c.columns > sizes.c.parts, sizes.c.columns), else_=sizes.c.parts)
    stored = int(session.scalar(select(func.sum(larger))) or 0)
    require_at_most(
        opened,
        quotas.open_releases,
        f"open releases of {owner}",
        "open releases",
        "Seal or withdraw an open release; `owner-agent ledger` lists them.",
    )
    require_at_most(
        stored,
        quotas.stored_bytes,
        f"bytes of releases of {owner}",
        "bytes",
        "Withdraw releases that are no longer used, or publish fewer records at once.",
    )
