"""The state of the audit log, for whoever wants to remember it."""

from __future__ import annotations

from miner_service.http.access.deps import ServicesDep
from miner_service.http.access.entering import RuledRouter
from miner_service.http.access.problems import problem_responses
from shared.wire.audit import AuditAnchor

router = RuledRouter(tags=["audit"])


@router.get("/audit", responses=problem_responses(507))
def read_audit(services: ServicesDep) -> AuditAnchor:
    """Tell how many lines the audit log has, and the hash of the last."""
    return AuditAnchor.of(services.audit.anchor())
