"""The state of the audit log, for whoever wants to remember it."""

from __future__ import annotations

from fastapi import APIRouter, Depends

from miner_service.http.access.deps import ServicesDep, get_caller
from miner_service.http.access.problems import problem_responses
from shared.wire.audit import AuditAnchor

router = APIRouter(tags=["audit"])


@router.get("/audit", dependencies=[Depends(get_caller)], responses=problem_responses(507))
def read_audit(services: ServicesDep) -> AuditAnchor:
    """Tell how many lines the audit log has, and the hash of the last. Roles: any."""
    return AuditAnchor.of(services.audit.anchor())
