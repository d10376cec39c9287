"""Where a study stands: its alignment and the dashboard."""

from __future__ import annotations

from miner_service.http.access.access import RuledRouter
from miner_service.http.access.deps import CallerDep, ServicesDep, StudyPath
from miner_service.http.endpoints.dashboard import dashboard
from pramana_core.wire.learning.dashboard import Dashboard
from pramana_core.wire.releases import Alignment

router = RuledRouter(tags=["results"])


@router.get("/studies/{study}/alignment")
def read_alignment(study: StudyPath, services: ServicesDep, caller: CallerDep) -> Alignment:
    """Say which records are at which owners, from their releases in use.

    An owner sees its own row and whether the records are the same everywhere; how many are not,
    only the others see.
    """
    with services.database.read() as session:
        return caller.view_alignment(services.alignment(session, study))


@router.get("/dashboard")
def read_dashboard(services: ServicesDep, caller: CallerDep) -> Dashboard:
    """See at one moment all that the caller may see."""
    with services.database.read() as session:
        return dashboard(services, session, caller)
