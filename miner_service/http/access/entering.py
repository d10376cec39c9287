"""The way into every route: its rule is asked before anything of the request is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.routing import iter_route_contexts
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy.orm import Session
from starlette.routing import BaseRoute

from miner_service.http.access.access import (
    Caller,
    bearer_of,
    note_used,
    require_study,
    valid_token,
    visible_invitation,
    visible_job,
    visible_model,
    visible_release,
    visible_token,
)
from miner_service.http.access.protocol import VersionedRoute
from miner_service.http.access.rules import ACCESS, Rule, Scope, rule_of
from miner_service.services import Services
from miner_service.store.people import no_such
from pramana_core.errors import PramanaError

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
    """The mark of a route that `enter` lets into by its rule, before it is come to."""

    rule: Rule

    async def __call__(
        self,
        request: Request,
        _credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    ) -> None:
        """Check that a request was let in by this rule. Raises RuntimeError."""
        if request.state.entered != self.rule:
            raise RuntimeError("a request was not let in by the rule of its route")


@dataclass(frozen=True)
class Entered:
    """Who sent a request, why it is refused, if it is, and what was looked for besides."""

    caller: Caller
    refused: PramanaError | None
    found: object


Look = Callable[[Session], object]
"""Looks for something in the state of the database in which a request was let in."""


def enter(
    services: Services,
    header: str | None,
    rule: Rule,
    parameters: Mapping[str, str],
    look: Look | None = None,
) -> Entered:
    """Find out who sent a request with this `Authorization` header, and whether a rule lets it in.

    All of it is seen in one state of the database. A refusal, by the rule or by `look`, is
    returned, as who is refused is counted and noted. That the token is used is noted, too.

    Args:
        parameters: those of the address, by name.
        look: is asked, if it is there, once the request is let in.

    Raises:
        Unauthenticated: it is not known who sent it.
    """
    text, now = bearer_of(header), services.now()
    with services.database.read() as session:
        token = valid_token(session, text, now)
        caller = Caller(token.id, token.role, token.study, token.name)
        refused: PramanaError | None = None
        found: object = None
        try:
            _require(session, caller, rule, parameters)
            if look is not None:
                found = look(session)
        except PramanaError as error:
            refused = error
    note_used(services, token, now)
    return Entered(caller, refused, found)


def _require(session: Session, caller: Caller, rule: Rule, parameters: Mapping[str, str]) -> None:
    visible = _VISIBLE.get(rule.scope)
    if visible is not None:
        what = rule.scope.value
        name = parameters[what]
        if not name.isprintable() or len(name) > _LONGEST:
            raise no_such(what)  # no store has such a name, and some cannot look for it
        visible(session, caller, name)
    caller.require_role(*rule.roles)


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
