"""What a study's releases come to together, and what another one would add."""

from __future__ import annotations

from miner_service.http.access.access import RuledRouter
from miner_service.http.access.deps import CallerDep, ServicesDep, StudyPath
from miner_service.intake.agreement import require_followed
from miner_service.intake.intake import checked_content
from miner_service.intake.linkage import require_one_secret
from miner_service.intake.study_privacy import forecast, study_privacy, told_by_plan
from miner_service.store.people import OWNER, no_such
from miner_service.store.releases import active_owners
from pramana_core.errors import Forbidden, LinkageDiffers, OptionError, StudyPlanNotFollowed
from pramana_core.wire.privacy import PrivacyForecast, PrivacyQuestion, StudyPrivacy
from pramana_core.wire.releases.base import RANDOMIZED
from pramana_core.wire.releases.catalogue import KINDS

router = RuledRouter(tags=["privacy"])


@router.get("/studies/{study}/privacy")
def read_privacy(study: StudyPath, services: ServicesDep, caller: CallerDep) -> StudyPrivacy:
    """Tell what everything that left comes to: per column, owner and record."""
    with services.database.read() as session:
        return study_privacy(services, session, study, shown_to_owner=caller.as_owner)


@router.post("/studies/{study}/privacy")
def forecast_privacy(
    study: StudyPath, body: PrivacyQuestion, services: ServicesDep, caller: CallerDep
) -> PrivacyForecast:
    """Tell what a release would add, of the caller or of the owner named; nothing is stored.

    An owner asks for itself.
    """
    with services.database.read() as session:
        owner = caller.name if caller.role == OWNER else body.owner
        if owner is None:
            raise OptionError(
                "The question does not say whose release it is about.",
                where="owner",
                remedy="Name an owner of the study.",
            )
        if caller.role == OWNER and body.owner not in (None, caller.name):
            raise Forbidden(
                "An owner may ask for its own releases only.",
                where="owner",
                remedy="Leave `owner` out.",
            )
        if owner not in active_owners(session, study):
            raise no_such("owner")
        kind = KINDS[RANDOMIZED]
        plan = checked_content(services.settings.limits, kind, body.plan)
        refused = None
        try:
            require_followed(session, study, owner, kind, plan)
            require_one_secret(session, study, owner, body.linkage)
        except (StudyPlanNotFollowed, LinkageDiffers) as error:
            refused = error
        told = told_by_plan(owner, plan, body.draws)
        return forecast(services, session, study, told, refused, shown_to_owner=caller.as_owner)
