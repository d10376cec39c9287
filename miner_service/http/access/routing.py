"""Routes that check their access rule before anything else in the request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from inspect import cleandoc
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.security import HTTPBearer
from sqlalchemy.orm import Session
from starlette.routing import BaseRoute

from miner_service.http.access.access import (
    SESSION,
    Caller,
    note_used,
    require_study,
    valid_token,
    visible_invitation,
    visible_job,
    visible_model,
    visible_release,
    visible_token,
)
from miner_service.http.access.figures import MEDIA_TYPE, WITHOUT_STORE
from miner_service.http.access.gate import Gate
from miner_service.http.access.rules import ACCESS, Rule, Scope, rule_of
from miner_service.services import Services
from miner_service.store.people import no_such
from miner_service.store.sessions import must_be_noted
from pramana_core.errors import PramanaError

_LONGEST = 200

bearer = HTTPBearer(
    auto_error=False,
    scheme_name="token",
    description="A token of 256 random bits. The first start prints the admin's token. The admin"
    " issues tokens to analysts. An owner receives a token by accepting an invitation.",
)

_VISIBLE: dict[Scope, Callable[[Session, Caller, str], object]] = {
    Scope.STUDY: require_study,
    Scope.INVITATION: visible_invitation,
    Scope.RELEASE: visible_release,
    Scope.JOB: visible_job,
    Scope.MODEL: visible_model,
    Scope.CREDENTIAL: visible_token,
}


def enter(
    services: Services, header: str | None, rule: Rule, parameters: Mapping[str, str]
) -> tuple[Caller, PramanaError | None]:
    """Identify the sender of a request by its `Authorization` header, and apply an access rule.

    Return the caller and the error, if any. The error is returned because a rejected request also
    counts against the caller's rate. Raises Unauthenticated.
    """
    now = services.now()
    with services.database.read() as session:
        token = valid_token(session, header, now)
        cookie = (header or "").removeprefix(f"{SESSION} ")
        old = cookie != header and must_be_noted(session, cookie, now)
        caller = Caller(token.id, token.role, token.study, token.name)
        refused: PramanaError | None = None
        try:
            require_rule(session, caller, rule, parameters)
        except PramanaError as error:
            refused = error
    note_used(services, token, now, cookie if old else None)
    return caller, refused


def require_rule(
    session: Session, caller: Caller, rule: Rule, parameters: Mapping[str, str]
) -> None:
    """Check that a rule admits a caller to the objects in the path. Raises NotFound, Forbidden."""
    visible = _VISIBLE.get(rule.scope)
    if visible is not None:
        what = rule.scope.value
        name = parameters[what]
        if not name.isprintable() or len(name) > _LONGEST:
            raise no_such(what)  # such names do not exist, and some databases reject them
        visible(session, caller, name)
    caller.require_role(*rule.roles)


class RuledRoute(APIRoute):
    """A route that checks its rule first. Every route except `put_part` has a JSON body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler that checks the rule."""
        rule, handler = rule_of(str(self.name)), super().get_route_handler()
        takes_part, probe = self.name == "put_part", self.name == "read_metrics"

        async def answer(request: Request) -> Response:
            gate: Gate = request.app.state.gate
            if rule.scope is Scope.OPEN:
                return await gate.pass_open(request, handler)
            header = request.headers.get("authorization")
            pool = gate.pools.probing if probe else gate.pools.entering
            try:
                caller, refused = await pool.run(
                    enter, gate.services, header, rule, request.path_params
                )
            except PramanaError as error:
                if probe and error.where == "database":  # nobody can be identified without it
                    return Response(WITHOUT_STORE, media_type=MEDIA_TYPE)
                raise
            request.state.caller = caller
            if not probe:
                gate.take_rate(caller.token)
            if refused is not None:
                raise refused
            if takes_part:
                return await handler(request)
            return await gate.pass_json(request, handler, caller.token)

        return answer


class RuledRouter(APIRouter):
    """A router for routes with access rules, which the descriptions of the routes state."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=RuledRoute, **options)

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route. Raises TypeError if it has no rule."""
        rule = rule_of(options.get("name") or endpoint.__name__)
        description = options.get("description") or (endpoint.__doc__ or "")
        options["description"] = f"{cleandoc(description)}\n\n{rule.description}"
        if rule.scope is not Scope.OPEN:  # only for the OpenAPI document
            options["dependencies"] = [Depends(bearer), *(options.get("dependencies") or ())]
        super().add_api_route(path, endpoint, **options)


def require_ruled(routes: Iterable[BaseRoute]) -> None:
    """Check that each route has a rule, and that each rule has a route. Raises TypeError."""
    found = list(iter_route_contexts(list(routes)))
    for route in found:
        if not isinstance(route.route, RuledRoute):
            raise TypeError(f"the route {route.name} was not added by a RuledRouter")
    if unused := set(ACCESS) - {str(route.name) for route in found}:
        raise TypeError(f"the rules {sorted(unused)} have no routes")
