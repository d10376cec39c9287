"""The sender of a request, and the objects that it sees. Invisible objects count as missing."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, bindparam, false, select
from sqlalchemy.orm import Session

from miner_service.alignment.align import shown_to_owner
from miner_service.http.access.rules import STAFF
from miner_service.services import Services
from miner_service.store.jobs import find_job
from miner_service.store.owners import find_invitation
from miner_service.store.people import ADMIN, GATEWAY, OWNER, find_study, no_such
from miner_service.store.schema import InvitationRow, JobRow, ModelRow, ReleaseRow
from miner_service.store.sessions import note_session, token_of_session
from miner_service.store.tokens import KnownToken, find_token, note_use
from pramana_core.errors import Forbidden, NotReady, StorageFull, Unauthenticated
from pramana_core.wire.jobs import Job
from pramana_core.wire.releases import Alignment, Release
from pramana_core.wire.services import ProblemDetail

log = logging.getLogger(__name__)

_STAFF_ONLY = ("worker", "runs")
"""Fields of a job that owners do not see, in addition to its log."""


@dataclass(frozen=True)
class Caller:
    """The sender of a request: its token's id, role, study (None for the admin) and name."""

    token: str
    role: str
    study: str | None
    name: str

    @property
    def as_owner(self) -> str | None:
        """The owner's name if the caller is an owner, else None."""
        return self.name if self.role == OWNER else None

    def sees_study(self, study: str) -> bool:
        """Whether this caller belongs to a study."""
        return self.role == ADMIN or self.study == study

    def sees_release(self, study: str, owner: str) -> bool:
        """Whether this caller may read an owner's release in a study."""
        mine = self.role == OWNER and self.name == owner
        return self.sees_study(study) and (mine or self.role in STAFF)

    def view_release(self, release: Release) -> Release:
        """Return this caller's view of a release. Only its owner sees the linkage fingerprint."""
        return release if self.role == OWNER else release.model_copy(update={"linkage": None})

    def view_alignment(self, alignment: Alignment) -> Alignment:
        """Return this caller's view of its study's alignment."""
        return shown_to_owner(alignment, self.name) if self.role == OWNER else alignment

    def visible_jobs(self, query: Select[Any]) -> Select[Any]:
        """Restrict a query to the jobs that this caller may see.

        An owner sees only jobs on identical records. A job on other records shows whether other
        owners have a given person, because the owner could publish that person's record alone.
        """
        if self.role in STAFF:
            return query
        if self.role == GATEWAY:
            return query.where(false())
        return query.where(JobRow.records == "identical")

    def view_inconsistent(self, session: Session, found: dict[str, float]) -> dict[str, float]:
        """Return the inconsistent releases that this caller may see; an owner sees only its own."""
        if self.role != OWNER or not found:
            return found
        query = select(ReleaseRow).where(ReleaseRow.id.in_(found))
        seen = {row.id for row in session.scalars(query) if self.sees_release(row.study, row.owner)}
        return {release: p_value for release, p_value in found.items() if release in seen}

    def view_job(self, session: Session, job: Job) -> Job:
        """Return this caller's view of a job; owners see only the kind of a failure."""
        if self.role != OWNER:
            return job
        seen = self.view_inconsistent(session, job.inconsistent)
        hidden = dict.fromkeys(_STAFF_ONLY)
        job = job.model_copy(update={**hidden, "log": [], "inconsistent": seen})
        if job.problem is None:
            return job
        problem = ProblemDetail(
            **job.problem.model_dump(include={"type", "title", "status", "code"}),
            detail="The job failed.",
            remedy="Ask the analyst or the operator for the cause.",
        )
        return job.model_copy(update={"problem": problem})

    def require_role(self, *roles: str) -> None:
        """Check that the caller has one of the roles. Raises Forbidden."""
        if self.role not in roles:
            raise Forbidden(
                f"A token with role {self.role} does not permit this.",
                where="role",
                remedy=f"Use a token with one of the roles {list(roles)}.",
            )


SESSION = "session"
"""The authorization scheme under which a page passes on the cookie of a session."""


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
            "The token is invalid or revoked, or the session has ended.",
            where="Authorization",
            remedy="Ask the operator for a new invitation or token.",
        )
    if row.expires is not None and row.expires <= now:
        raise Unauthenticated(
            f"The token expired at {row.expires:%Y-%m-%d %H:%M} UTC.",
            where="Authorization",
            remedy="Ask the operator for a new invitation or token.",
        )
    return row


def note_used(services: Services, row: KnownToken, now: datetime, cookie: str | None) -> None:
    """Store when a token and its session were used, but not at every request."""
    settings = services.settings.tokens
    used = row.last_used
    fresh = used is not None and (now - used).total_seconds() < settings.noted_seconds
    if fresh and cookie is None:
        return
    try:
        with services.database.write() as session:
            if not fresh:
                note_use(session, row.id, now)
            if cookie is not None:
                note_session(session, cookie, now)
    except (StorageFull, NotReady) as error:
        # Read requests are served without this note.
        log.warning("the use of a token could not be noted: %s", error.code)


def require_study(session: Session, caller: Caller, study: str) -> None:
    """Check that a study exists and the caller belongs to it. Raises NotFound."""
    if not caller.sees_study(study):
        raise no_such("study")
    find_study(session, study)


def visible_invitation(session: Session, caller: Caller, identifier: str) -> InvitationRow:
    """Return an invitation that the caller may see. Raises NotFound."""
    row = find_invitation(session, identifier)
    if not caller.sees_study(row.study) or caller.role not in STAFF:
        raise no_such("invitation")
    return row


_release = ReleaseRow.__table__.c
_HOLDER = select(_release.study, _release.owner).where(_release.id == bindparam("wanted"))


def visible_release(session: Session, caller: Caller, identifier: str) -> None:
    """Check that the caller may read a release. Raises NotFound."""
    # Only two columns are read, because the text of a plan is long.
    found = session.execute(_HOLDER, {"wanted": identifier}).first()
    if found is None or not caller.sees_release(found.study, found.owner):
        raise no_such("release")


def visible_job(session: Session, caller: Caller, identifier: str) -> JobRow:
    """Return a job that the caller may see. Raises NotFound."""
    row = find_job(session, identifier)
    known = session.scalar(caller.visible_jobs(select(JobRow.id).where(JobRow.id == identifier)))
    if known is None or not caller.sees_study(row.study):
        raise no_such("job")
    return row


def visible_model(session: Session, caller: Caller, identifier: str) -> None:
    """Check that the caller may see a model's job. Raises NotFound."""
    query = select(ModelRow.study).join(JobRow, JobRow.id == ModelRow.job)
    study = session.scalar(caller.visible_jobs(query.where(ModelRow.id == identifier)))
    if study is None or not caller.sees_study(study):
        raise no_such("model")


def visible_token(_session: Session, caller: Caller, identifier: str) -> None:
    """Check that a token is the caller's own or the caller is the admin. Raises NotFound."""
    if caller.role != ADMIN and caller.token != identifier:
        raise no_such("token")
