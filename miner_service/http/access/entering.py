"""The way into every route: its rule is asked before anything of the request is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.routing import iter_route_contexts
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session
from starlette.routing import BaseRoute

from miner_service.http.access.access import (
    Caller,
    require_study,
    visible_invitation,
    visible_job,
    visible_model,
    visible_release,
    visible_token,
)
from miner_service.http.access.deps import ServicesDep
from miner_service.http.access.protocol import VersionedRoute
from miner_service.http.access.rules import ACCESS, Rule, Scope, rule_of
from miner_service.store.people import no_such

_LONGEST = 200

bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token of 256 random bits: the admin's is printed at the first start, an"
    " analyst's is issued by the admin, an owner's by taking up an invitation.",
)

_VISIBLE: dict[Scope, Callable[[Session, Caller, str], object]] = {
    Scope.STUDY: require_study,
    Scope.INVITATION: visible_invitation,
    Scope.RELEASE: visible_release,
    Scope.JOB: visible_job,
    Scope.MODEL: visible_model,
    Scope.CREDENTIAL: visible_token,
}


@dataclass(frozen=True)
class Entering:
    """Lets in who may use a route by its rule."""

    rule: Rule

    def __call__(
        self,
        request: Request,
        services: ServicesDep,
        _credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    ) -> None:
        """Let a request in, or raise Unauthenticated, NotFound, Forbidden."""
        caller: Caller = request.state.caller
        visible = _VISIBLE.get(self.rule.scope)
        if visible is not None:
            what = self.rule.scope.value
            name = str(request.path_params[what])
            if not name.isprintable() or len(name) > _LONGEST:
                raise no_such(what)  # no store has such a name, and some cannot look for it
            with services.database.read() as session:
                visible(session, caller, name)
        caller.require_role(*self.rule.roles)


class RuledRouter(APIRouter):
    """Routes that are entered by the rule that each has in the table, and that say so."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route. Raises TypeError: it has no rule."""
        rule = rule_of(options.get("name") or endpoint.__name__)
        told = options.get("description") or (endpoint.__doc__ or "")
        options["description"] = f"{_unindented(told)}\n\n{rule.told}"
        if rule.scope is not Scope.OPEN:
            options["dependencies"] = [
                Depends(Entering(rule)),
                *(options.get("dependencies") or ()),
            ]
        options.setdefault("route_class_override", VersionedRoute)
        super().add_api_route(path, endpoint, **options)


def require_ruled(routes: Iterable[BaseRoute]) -> None:
    """Check that each route is entered by its rule, and that each rule is of a route.

    Raises TypeError.
    """
    found = list(iter_route_contexts(list(routes)))
    for route in found:
        entries = [one.dependency for one in getattr(route, "dependencies", ())]
        rule = rule_of(str(route.name))
        if rule.scope is not Scope.OPEN and Entering(rule) not in entries:
            raise TypeError(f"the route {route.name} is not added by a RuledRouter")
    if unused := set(ACCESS) - {str(route.name) for route in found}:
        raise TypeError(f"there are rules of {sorted(unused)}, and no such routes")


def _unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())
