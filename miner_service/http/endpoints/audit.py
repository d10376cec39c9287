"""The state of the audit log, for whoever wants to remember it."""

from __future__ import annotations

from miner_service.http.access.access import RuledRouter
from miner_service.http.access.deps import CallerDep, ServicesDep
from miner_service.http.access.problems import problem_responses
from miner_service.store.people import ADMIN
from pramana_core.wire.audit import AuditAnchor

router = RuledRouter(tags=["audit"])


@router.get("/audit", responses=problem_responses(507))
def read_audit(services: ServicesDep, caller: CallerDep) -> AuditAnchor:
    """Tell how many lines the audit log has, and the hash of the last.

    The admin is told its present state, all others that at the last full hour: from how the number
    of lines grows one could tell when others send how much.
    """
    hour = services.now().replace(minute=0, second=0, microsecond=0)
    return AuditAnchor.of(services.audit.anchor(None if caller.role == ADMIN else hour))
