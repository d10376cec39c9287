"""The access rules. Each route has a scope, which is checked first, and roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from miner_service.store.people import ADMIN, ANALYST, GATEWAY, MONITOR, OWNER

STAFF = (ADMIN, ANALYST)
ANYONE = (ADMIN, ANALYST, OWNER)
HOLDERS = (*ANYONE, MONITOR, GATEWAY)


class Scope(Enum):
    """The kind of object in a route's path that the caller must be allowed to see.

    The value is the name of the path parameter.
    """

    OPEN = "open"
    """No object, and no token is needed."""
    TOKENS_OWN = "own"
    """No object: any token suffices, and the response has only the data that this token may see."""
    STUDY = "study"
    INVITATION = "invitation"
    RELEASE = "release"
    JOB = "job"
    MODEL = "model"
    CREDENTIAL = "token"


_OF = {
    Scope.TOKENS_OWN: "",
    Scope.STUDY: " of the study",
    Scope.INVITATION: " of the study",
    Scope.RELEASE: " of the study; an owner only for its own releases",
    Scope.JOB: " of the study; an owner only for jobs on identical records",
    Scope.MODEL: " of the study; an owner only for models of identical records",
    Scope.CREDENTIAL: "; other roles only for their own token",
}


@dataclass(frozen=True)
class Rule:
    """The roles that may use a route, and the scope of the route."""

    roles: tuple[str, ...]
    scope: Scope

    @property
    def description(self) -> str:
        """The rule as a sentence for the route's description."""
        if self.scope is Scope.OPEN:
            return "No token is needed."
        return f"Roles: {', '.join(self.roles)}{_OF[self.scope]}."


_OPEN = Rule((), Scope.OPEN)
_ADMIN = Rule((ADMIN,), Scope.TOKENS_OWN)
_ALL = Rule(ANYONE, Scope.TOKENS_OWN)
_STUDY_ADMIN = Rule((ADMIN,), Scope.STUDY)
_STUDY_STAFF = Rule(STAFF, Scope.STUDY)
_STUDY = Rule(ANYONE, Scope.STUDY)
_OWN_RELEASE = Rule((OWNER,), Scope.RELEASE)
_JOB = Rule(ANYONE, Scope.JOB)
_MODEL = Rule(ANYONE, Scope.MODEL)

ACCESS: Mapping[str, Rule] = MappingProxyType(
    {
        "read_health": _OPEN,
        "read_readiness": _OPEN,
        "read_metrics": Rule((ADMIN, MONITOR), Scope.TOKENS_OWN),
        "create_study": _ADMIN,
        "list_studies": _ALL,
        "read_study": _STUDY,
        "compare_linkage": Rule((OWNER,), Scope.STUDY),
        "issue_token": _STUDY_ADMIN,
        "list_tokens": _STUDY_ADMIN,
        "revoke_token": Rule(HOLDERS, Scope.CREDENTIAL),
        "create_invitation": _STUDY_STAFF,
        "list_invitations": _STUDY_STAFF,
        "revoke_invitation": Rule(STAFF, Scope.INVITATION),
        "accept_invitation": _OPEN,
        "list_owners": _STUDY,
        "remove_owner": _STUDY_STAFF,
        "put_study_plan": _STUDY_STAFF,
        "read_study_plan": _STUDY,
        "delete_study_plan": _STUDY_STAFF,
        "put_report_plan": _STUDY_ADMIN,
        "read_report_plan": Rule((*ANYONE, GATEWAY), Scope.STUDY),
        "send_reports": Rule((GATEWAY,), Scope.STUDY),
        "read_reports": _STUDY_STAFF,
        "release_reports": _STUDY_STAFF,
        "close_reports": _STUDY_ADMIN,
        "withdraw_reports": _STUDY_ADMIN,
        "create_release": Rule((OWNER,), Scope.STUDY),
        "list_releases": _STUDY,
        "read_release": Rule(ANYONE, Scope.RELEASE),
        "put_part": _OWN_RELEASE,
        "seal_release": _OWN_RELEASE,
        "withdraw_release": _OWN_RELEASE,
        "read_privacy": _STUDY,
        "forecast_privacy": _STUDY,
        "read_alignment": _STUDY,
        "create_job": _STUDY_STAFF,
        "list_jobs": _STUDY,
        "read_job": _JOB,
        "rename_job": Rule(STAFF, Scope.JOB),
        "cancel_job": Rule(STAFF, Scope.JOB),
        "read_model": _MODEL,
        "read_model_form": _MODEL,
        "read_dashboard": _ALL,
    }
)
"""The rule of each route, by the name of the route's function. A page has its content's rule."""

OPEN_PAGES = frozenset({"show_start", "show_sign_in", "sign_in", "sign_out", "read_static"})
"""Pages that need no token: pages for signing in and out, and static files."""


def rule_of(route: str) -> Rule:
    """Return the rule of a route. Raises TypeError for a route without a rule."""
    if route in OPEN_PAGES:
        return _OPEN
    if route not in ACCESS:
        raise TypeError(f"the route {route} has no row in miner_service/http/access/rules.py")
    return ACCESS[route]
