"""Who asks, and what that caller may see; the rest is answered as if it did not exist."""

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

_STAFFS_ONLY = ("worker", "runs")
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
        """Return what this caller may see; by a fingerprint secrets could be guessed."""
        return release if self.role == OWNER else release.model_copy(update={"linkage": None})

    def view_alignment(self, alignment: Alignment) -> Alignment:
        """Return what this caller may see of the alignment of its study."""
        return shown_to_owner(alignment, self.name) if self.role == OWNER else alignment

    def visible_jobs(self, query: Select[Any]) -> Select[Any]:
        """Return the jobs of a query that this caller may know of.

        That a job on other than identical records can run tells an owner who published one person's
        record whether others know that person.
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
        """Return what this caller may see of a job: an owner, of a failure, only its kind."""
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
            remedy="Ask whoever runs the study for a new invitation or token.",
        )
    return row


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
                note_use(session, row.id, now)
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
    """Check that the caller may know of a model's job. Raises NotFound."""
    query = select(ModelRow.study).join(JobRow, JobRow.id == ModelRow.job)
    study = session.scalar(caller.visible_jobs(query.where(ModelRow.id == identifier)))
    if study is None or not caller.sees_study(study):
        raise no_such("model")


def visible_token(_session: Session, caller: Caller, identifier: str) -> None:
    """Check that the caller may know of a token: its own, or the admin any. Raises NotFound."""
    if caller.role != ADMIN and caller.token != identifier:
        raise no_such("token")
