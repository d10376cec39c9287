"""Who asks, and what that caller may see.

What a caller may not see is answered exactly as if it did not exist: that something is there is
information. Only of what it may see is it told that its role may not do something with it.

Also here:

* Who may use which route: the one table of roles and scopes.
* The way into every route: its rule is asked before anything of the request is looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute, iter_route_contexts
from fastapi.security import HTTPBearer
from sqlalchemy import Select, bindparam, false, select
from sqlalchemy.orm import Session
from starlette.routing import BaseRoute

from miner_service.alignment.align import shown_to_owner
from miner_service.services import Services
from miner_service.store.people import (
    ADMIN,
    ANALYST,
    GATEWAY,
    MONITOR,
    OWNER,
    find_study,
    no_such,
)
from miner_service.store.queue import find_job
from miner_service.store.schema import InvitationRow, JobRow, ModelRow, ReleaseRow, TokenRow
from miner_service.store.sessions import must_be_noted, note_session, token_of_session
from miner_service.store.tokens import KnownToken, find_invitation, find_token, note_use
from pramana_core.errors import Forbidden, NotReady, PramanaError, StorageFull, Unauthenticated
from pramana_core.wire.jobs import Job
from pramana_core.wire.releases import Alignment, Release
from pramana_core.wire.services import ProblemDetail

if TYPE_CHECKING:
    from miner_service.http.access.gate import Gate

log = logging.getLogger(__name__)


_STAFFS_ONLY = ("worker", "runs", "heartbeat_age")
"""What an owner is not told of a job, besides its log."""


@dataclass(frozen=True)
class Caller:
    """Who sent a request: the token's id, role, study (none for the admin) and name."""

    token: str
    role: str
    study: str | None
    name: str

    @property
    def as_owner(self) -> str | None:
        """The name of the owner that this caller is; None for others."""
        return self.name if self.role == OWNER else None

    def sees_study(self, study: str) -> bool:
        """Whether this caller takes part in a study."""
        return self.role == ADMIN or self.study == study

    def sees_release(self, study: str, owner: str) -> bool:
        """Whether this caller may read a release of an owner in a study."""
        mine = self.role == OWNER and self.name == owner
        return self.sees_study(study) and (mine or self.role in STAFF)

    def view_release(self, release: Release) -> Release:
        """Return what this caller may see of a release that it may read.

        By the fingerprint of a linkage secret guesses of it can be tried: it is its owner's alone.
        """
        return release if self.role == OWNER else release.model_copy(update={"linkage": None})

    def view_alignment(self, alignment: Alignment) -> Alignment:
        """Return what this caller may see of the alignment of its study."""
        return shown_to_owner(alignment, self.name) if self.role == OWNER else alignment

    def visible_jobs(self, query: Select[Any]) -> Select[Any]:
        """Return those jobs of a query that this caller may know of.

        That a job on other than identical records could run tells an owner who published one
        person's record whether others know that person. A gateway knows of none.
        """
        if self.role in STAFF:
            return query
        if self.role == GATEWAY:
            return query.where(false())
        return query.where(JobRow.records == "identical")

    def view_inconsistent(self, session: Session, found: dict[str, float]) -> dict[str, float]:
        """Return which inconsistent releases this caller may know of: an owner, its own."""
        if self.role != OWNER or not found:
            return found
        query = select(ReleaseRow).where(ReleaseRow.id.in_(found))
        seen = {row.id for row in session.scalars(query) if self.sees_release(row.study, row.owner)}
        return {release: p_value for release, p_value in found.items() if release in seen}

    def view_job(self, session: Session, job: Job) -> Job:
        """Return what this caller may see of a job that it may know of.

        Why a job failed may tell how many records owners share, or whether they share one: an
        owner learns only the kind of the failure, and nothing of its log. How other owners'
        reports look is not its business either.
        """
        if self.role != OWNER:
            return job
        seen = self.view_inconsistent(session, job.inconsistent)
        hidden = dict.fromkeys(_STAFFS_ONLY)
        job = job.model_copy(update={**hidden, "log": [], "inconsistent": seen})
        if job.problem is None:
            return job
        problem = ProblemDetail(
            **job.problem.model_dump(include={"type", "title", "status", "code"}),
            detail="The job failed.",
            remedy="Ask whoever runs the study for the cause.",
        )
        return job.model_copy(update={"problem": problem})

    def require_role(self, *roles: str) -> None:
        """Raises Forbidden unless the caller has one of the roles."""
        if self.role not in roles:
            raise Forbidden(
                f"A token of role {self.role} may not do this.",
                where="role",
                remedy=f"It takes one of {list(roles)}.",
            )


SESSION = "session"
"""The scheme under which pages pass on the cookie of a session."""


def valid_token(session: Session, header: str | None, now: datetime) -> KnownToken:
    """Return the token in an `Authorization` header. Raises Unauthenticated."""
    scheme, _, text = (header or "").partition(" ")
    scheme, text = scheme.lower(), text.strip()
    if scheme not in ("bearer", SESSION) or not text:
        raise Unauthenticated(
            "The request has no bearer token.",
            where="Authorization",
            remedy="Send the header `Authorization: Bearer <token>`.",
        )
    row = token_of_session(session, text, now) if scheme == SESSION else find_token(session, text)
    if row is None:
        raise Unauthenticated(
            "The token is wrong or was revoked, or the session has ended.",
            where="Authorization",
            remedy="Ask whoever runs the study for a new invitation or token.",
        )
    if row.expires is not None and row.expires <= now:
        raise Unauthenticated(
            f"The token expired at {row.expires:%Y-%m-%d %H:%M} UTC.",
            where="Authorization",
            remedy="Use the token it was rotated into, or ask whoever runs the study for a new"
            " invitation or token.",
        )
    return row


def still_good(session: Session, caller: Caller, now: datetime) -> bool:
    """Whether the token of a caller was not revoked and has not expired since it was let in."""
    row = session.scalar(select(TokenRow).where(TokenRow.id == caller.token))
    return row is not None and not row.revoked and (row.expires is None or row.expires > now)


def note_used(services: Services, row: KnownToken, now: datetime, cookie: str | None) -> None:
    """Note that a token is used, and the session of a cookie; rarely, so that reads stay reads."""
    settings = services.settings.tokens
    used = row.last_used
    fresh = used is not None and (now - used).total_seconds() < settings.noted_seconds
    if fresh and cookie is None:
        return
    try:
        with services.database.write() as session:
            if not fresh:
                note_use(session, row.id, now, overlap=settings.overlap_seconds)
            if cookie is not None:
                note_session(session, cookie, now)
    except (StorageFull, NotReady) as error:
        # What only reads is answered all the same.
        log.warning("the use of a token could not be noted: %s", error.code)


def require_study(session: Session, caller: Caller, study: str) -> None:
    """Check that a study exists and the caller takes part in it. Raises NotFound."""
    if not caller.sees_study(study):
        raise no_such("study")
    find_study(session, study)


def visible_invitation(session: Session, caller: Caller, identifier: str) -> InvitationRow:
    """Return an invitation that the caller may know of. Raises NotFound."""
    row = find_invitation(session, identifier)
    if not caller.sees_study(row.study) or caller.role not in STAFF:
        raise no_such("invitation")
    return row


_release = ReleaseRow.__table__.c
_HOLDER = select(_release.study, _release.owner).where(_release.id == bindparam("wanted"))


def visible_release(session: Session, caller: Caller, identifier: str) -> None:
    """Check that the caller may read a release. Raises NotFound."""
    # Its row is not loaded: the text of a plan is long.
    found = session.execute(_HOLDER, {"wanted": identifier}).first()
    if found is None or not caller.sees_release(found.study, found.owner):
        raise no_such("release")


def visible_job(session: Session, caller: Caller, identifier: str) -> JobRow:
    """Return a job that the caller may know of. Raises NotFound."""
    row = find_job(session, identifier)
    known = session.scalar(caller.visible_jobs(select(JobRow.id).where(JobRow.id == identifier)))
    if known is None or not caller.sees_study(row.study):
        raise no_such("job")
    return row


def visible_model(session: Session, caller: Caller, identifier: str) -> None:
    """Check that the caller may know of a model: of the job that learned it. Raises NotFound.

    Whoever published one person's record only would read that person's others in a model of
    records that are not the same at all owners. And of a model of two owners' trees an owner that
    knows its own can tell the other's.
    """
    query = select(ModelRow.study).join(JobRow, JobRow.id == ModelRow.job)
    study = session.scalar(caller.visible_jobs(query.where(ModelRow.id == identifier)))
    if study is None or not caller.sees_study(study):
        raise no_such("model")


def visible_token(_session: Session, caller: Caller, identifier: str) -> None:
    """Check that the caller may know of a token: the admin of any, others of their own.

    Raises NotFound.
    """
    if caller.role != ADMIN and caller.token != identifier:
        raise no_such("token")


# Who may use which route: the one table of roles and scopes.
#
# A route without a row cannot be added to the application. What a caller's scope does not hold is
# answered as what does not exist, before its role is looked at.

STAFF = (ADMIN, ANALYST)
ANYONE = (ADMIN, ANALYST, OWNER)
HOLDERS = (*ANYONE, MONITOR, GATEWAY)


class Scope(Enum):
    """What a caller must be able to see: where it is in the address, the parameter of that name."""

    OPEN = "open"
    """Nothing: no token is asked for."""
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
        "rotate_token": Rule(HOLDERS, Scope.TOKENS_OWN),
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
        "cancel_job": Rule(STAFF, Scope.JOB),
        "read_job_log": Rule(STAFF, Scope.JOB),
        "stream_job_events": _JOB,
        "read_model": _MODEL,
        "read_model_page": _MODEL,
        "read_model_svg": _MODEL,
        "read_model_bif": _MODEL,
        "read_model_csv": _MODEL,
        "read_model_itemsets": _MODEL,
        "read_model_rules": _MODEL,
        "read_model_text": _MODEL,
        "read_model_document": _MODEL,
        "read_pseudo_data": _MODEL,
        "predict": _MODEL,
        "ask_model": _MODEL,
        "sample_model": _MODEL,
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
        raise TypeError(f"the route {route} has no row in miner_service/http/access/access.py")
    return ACCESS[route]


# The way into every route: its rule is asked before anything of the request is looked at.

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


def enter(
    services: Services, header: str | None, rule: Rule, parameters: Mapping[str, str]
) -> tuple[Caller, PramanaError | None]:
    """Find out who sent a request with this `Authorization` header, and whether a rule lets it in.

    All of it is seen in one state of the database. A refusal by the rule is returned, as who is
    refused is counted and noted. That the token is used is noted, too.

    Raises:
        Unauthenticated: it is not known who sent it.
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
    """Check that a rule lets a caller in, on what is named by parameters of the address or query.

    Raises:
        NotFound: there is no such thing, or the caller may not know of it.
        Forbidden: its role may not do this.
    """
    visible = _VISIBLE.get(rule.scope)
    if visible is not None:
        what = rule.scope.value
        name = parameters[what]
        if not name.isprintable() or len(name) > _LONGEST:
            raise no_such(what)  # no store has such a name, and some cannot look for it
        visible(session, caller, name)
    caller.require_role(*rule.roles)


class RuledRoute(APIRoute):
    """A route that lets a request in by its rule before anything of its body is read.

    `put_part` reads its body itself; those of others are JSON.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        rule, handler = rule_of(str(self.name)), super().get_route_handler()
        takes_part = self.name == "put_part"

        async def answer(request: Request) -> Response:
            gate: Gate = request.app.state.gate
            if rule.scope is Scope.OPEN:
                return await gate.pass_open(request, handler)
            header = request.headers.get("authorization")
            caller, refused = await gate.pools.entering.run(
                enter, gate.services, header, rule, request.path_params
            )
            request.state.caller = caller
            gate.take_rate(caller.token)
            if refused is not None:
                raise refused
            if takes_part:
                return await handler(request)
            return await gate.pass_json(request, handler, caller.token)

        return answer


class RuledRouter(APIRouter):
    """Routes that are entered by the rule that each has in the table, and that say so."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=RuledRoute, **options)

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        """Add a route. Raises TypeError: it has no rule."""
        rule = rule_of(options.get("name") or endpoint.__name__)
        description = options.get("description") or (endpoint.__doc__ or "")
        options["description"] = f"{_unindented(description)}\n\n{rule.told}"
        if rule.scope is not Scope.OPEN:  # for the document of the interface alone
            options["dependencies"] = [Depends(bearer), *(options.get("dependencies") or ())]
        super().add_api_route(path, endpoint, **options)


def require_ruled(routes: Iterable[BaseRoute]) -> None:
    """Check that each route is entered by its rule, and that each rule is of a route.

    Raises TypeError.
    """
    found = list(iter_route_contexts(list(routes)))
    for route in found:
        if not isinstance(route.route, RuledRoute):
            raise TypeError(f"the route {route.name} is not added by a RuledRouter")
    if unused := set(ACCESS) - {str(route.name) for route in found}:
        raise TypeError(f"there are rules of {sorted(unused)}, and no such routes")


def _unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())
