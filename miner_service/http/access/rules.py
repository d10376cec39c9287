"""Who may use which route: the one table of roles and scopes. The scope is checked first."""

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
    """What a caller must be able to see: where it is in the address, the parameter of that name."""

    OPEN = "open"
    """Nothing: no token is needed."""
    TOKENS_OWN = "own"
    """Nothing: a token is enough, and the answer holds only what it may see."""
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
    Scope.RELEASE: " of the study; an owner only of its own releases",
    Scope.JOB: " of the study; an owner only of jobs on identical records",
    Scope.MODEL: " of the study; an owner only of models of identical records",
    Scope.CREDENTIAL: "; others than the admin only of their own token",
}


@dataclass(frozen=True)
class Rule:
    """Which roles may use a route, on what."""

    roles: tuple[str, ...]
    scope: Scope

    @property
    def told(self) -> str:
        """The rule in words, for the description of the route."""
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
"""The rule of each route, by the name of its function. A page has that of what it shows."""

OPEN_PAGES = frozenset({"show_start", "show_sign_in", "sign_in", "sign_out", "read_static"})
"""The pages that ask for no token: the way in and out."""


def rule_of(route: str) -> Rule:
    """Return the rule of a route. Raises TypeError: it has none, and so cannot be served."""
    if route in OPEN_PAGES:
        return _OPEN
    if route not in ACCESS:
        raise TypeError(f"the route {route} has no row in miner_service/http/access/rules.py")
    return ACCESS[route]
