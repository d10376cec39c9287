"""What must agree with the miner before publishing: the study's plan, and the linkage secret."""

from __future__ import annotations

from collections.abc import Collection

from owner_agent.release.client import Miner
from owner_agent.site.adopting import FETCH, AdoptedPlan, short
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import StudyPlanNotFollowed


def require_agreed_by(site: Site, adopted: AdoptedPlan | None, environment: Environment) -> None:
    """Ask a site's miner, and check that `require_agreed` and `require_one_secret` hold.

    Raises StudyPlanNotFollowed, LinkageDiffers, Unauthenticated, Refused or Unreachable.
    """
    token = TokenStore(site.state).load(site.miner.study)
    with Miner.of(site, token, environment) as miner:
        require_agreed(adopted, miner, site.miner.study)
        linkage = KeyStore(site.state).linkage_fingerprint(site.miner.study)
        require_one_secret(linkage, miner, site.miner.study)


def require_one_secret(linkage: str | None, miner: Miner, study: str) -> None:
    """Check that the fingerprint of a linkage secret is that of the other owners.

    Raises LinkageDiffers, Refused or Unreachable.
    """
    if linkage is not None:
        miner.linkage(study, linkage).require_accepted()


def require_agreed(adopted: AdoptedPlan | None, miner: Miner, study: str) -> None:
    """Check that the miner's study plan is the one that this owner follows.

    Raises StudyPlanNotFollowed, Refused or Unreachable.
    """
    plan = miner.study_plan(study)
    if adopted is None and plan is not None:
        raise StudyPlanNotFollowed(
            f"Study {study!r} has the study plan {short(plan.digest)}, and the site file names"
            " none: this release would add to the loss that the plan states for a record.",
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
        remedy="Ask whoever runs the study which plan its owners agreed on."
        " `owner-agent join` shows the miner's.",
    )


def require_beside(columns: Collection[str], miner: Miner, study: str, section: str) -> None:
    """Check that a release which is no part of the study's plan has none of the plan's columns.

    Raises StudyPlanNotFollowed, Refused or Unreachable.
    """
    plan = miner.study_plan(study)
    if plan is None:
        return
    planned = {variable.name for _, owned in plan.owners for variable in owned}
    if both := [name for name in columns if name in planned]:
        raise StudyPlanNotFollowed(
            f"The study plan {short(plan.digest)} of study {study!r} randomizes"
            f" {', '.join(both)}; this release would add to the loss that the plan states. Nothing"
            " was sent.",
            where=section,
            remedy=f"Leave these columns out of [{section}]: what the study's plan states of them"
            " must stay true.",
        )
