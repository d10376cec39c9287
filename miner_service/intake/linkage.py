"""Whether a release's linkage secret is that of the study's other owners, by the fingerprints.

Where owners may hold the same people, a release under another secret costs privacy and joins with
nothing: it is refused before anything of it is stored. The refusal says that secrets differ, and of
whose; nothing of any record. Whoever announced first may be the one with the wrong secret: once
that release is withdrawn it does not count.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from miner_service.alignment.align import LinkageSecrets
from miner_service.store.people import find_study, study_message
from miner_service.store.releases import linkages_now
from pramana_core.wire.releases.linkage import LinkageCheck


def check_linkage(session: Session, study: str, owner: str, linkage: str | None) -> LinkageCheck:
    """Compare an owner's fingerprint with those of the other owners' newest releases."""
    people = study_message(find_study(session, study)).people
    known = {o: told for o, told in linkages_now(session, study).items() if o != owner}
    others = [o for o, told in known.items() if linkage and told is not None and told != linkage]
    agree = LinkageSecrets.of([(owner, linkage), *known.items()]).state if known else "unknown"
    return LinkageCheck(
        study=study,
        people=people,
        # The others may differ among themselves: the question is about this one.
        secrets="different" if others else "unknown" if agree == "different" else agree,
        others=others,
        refused=bool(others) and people != "different",
    )


def require_one_secret(session: Session, study: str, owner: str, linkage: str | None) -> None:
    """Check that a release may be announced under a secret. Raises LinkageDiffers."""
    check_linkage(session, study, owner, linkage).require_accepted()
