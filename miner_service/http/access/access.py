"""Who may do what: a caller's role and study against what is asked.

What a caller may not see is answered exactly as if it did not exist: that something is there is
information. Only of what it may see is it told that its role may not do something with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from miner_service.alignment.align import shown_to_owner
from miner_service.store.people import ADMIN, find_study, find_token, no_such
from miner_service.store.schema import InvitationRow, JobRow, ReleaseRow
from shared.errors import Forbidden, Unauthenticated
from shared.wire.learning.jobs import Job
from shared.wire.problems import ProblemDetail
from shared.wire.releases import Alignment

ANALYST = "analyst"
OWNER = "owner"
STAFF = (ADMIN, ANALYST)
ANYONE = (ADMIN, ANALYST, OWNER)


@dataclass(frozen=True)
class Caller:
    """Who sent a request: the token's id, role, study (none for the admin) and name."""

    token: str
    role: str
    study: str | None
    name: str

    def sees_study(self, study: str) -> bool:
        """Whether this caller takes part in a study."""
        return self.role == ADMIN or self.study == study

    def sees_release(self, row: ReleaseRow) -> bool:
        """Whether this caller may read a release."""
        return self.sees_study(row.study) and (self.role != OWNER or self.name == row.owner)

    def sees_invitation(self, row: InvitationRow) -> bool:
        """Whether this caller may know of an invitation."""
        return self.sees_study(row.study) and self.role in STAFF

    @property
    def sees_tokens(self) -> bool:
        """Whether this caller may know which tokens there are."""
        return self.role == ADMIN

    def view_alignment(self, alignment: Alignment) -> Alignment:
        """Return what this caller may see of the alignment of its study."""
        return shown_to_owner(alignment, self.name) if self.role == OWNER else alignment

    def visible_jobs(self, query: Select[Any]) -> Select[Any]:
        """Return those jobs of a query that this caller may know of.

        That a job on other than identical records could run tells an owner who published one
        person's record whether others know that person.
        """
        if self.role != OWNER:
            return query
        return query.where(JobRow.records == "identical")

    def view_inconsistent(self, session: Session, found: dict[str, float]) -> dict[str, float]:
        """Return which inconsistent releases this caller may know of: an owner, its own."""
        if self.role != OWNER or not found:
            return found
        query = select(ReleaseRow).where(ReleaseRow.id.in_(found))
        seen = {row.id for row in session.scalars(query) if self.sees_release(row)}
        return {release: p_value for release, p_value in found.items() if release in seen}

    def view_job(self, session: Session, job: Job) -> Job:
        """Return what this caller may see of a job that it may know of.

        Why a job failed may tell how many records owners share, or whether they share one: an
        owner learns only the kind of the failure. How other owners' reports look is not its
        business either.
        """
        if self.role != OWNER:
            return job
        seen = self.view_inconsistent(session, job.inconsistent)
        job = job.model_copy(update={"inconsistent": seen})
        if job.problem is None:
            return job
        told = ProblemDetail(
            **job.problem.model_dump(include={"type", "title", "status", "code"}),
            detail="The job failed.",
            remedy="Ask whoever runs the study for the cause.",
        )
        return job.model_copy(update={"problem": told})

    def require_role(self, *roles: str) -> None:
        """Raises Forbidden unless the caller has one of the roles."""
        if self.role not in roles:
            raise Forbidden(
                f"A token of role {self.role} may not do this.",
                where="role",
                remedy=f"It takes one of {list(roles)}.",
            )


def authenticate(session: Session, text: str | None) -> Caller:
    """Return who holds a token. Raises Unauthenticated."""
    if not text:
        raise Unauthenticated(
            "The request has no bearer token.",
            where="Authorization",
            remedy="Send the header `Authorization: Bearer <token>`.",
        )
    row = find_token(session, text)
    if row is None:
        raise Unauthenticated(
            "The token is wrong or was revoked.",
            where="Authorization",
            remedy="Ask whoever runs the study for a new invitation or token.",
        )
    return Caller(row.id, row.role, row.study, row.name)


def enter_study(session: Session, caller: Caller, study: str, *roles: str) -> None:
    """Check that a caller may act in a study that exists.

    Raises:
        NotFound: there is no such study, or the caller is not of it.
        Forbidden: the caller's role may not do this.
    """
    if not caller.sees_study(study):
        raise no_such("study")
    find_study(session, study)
    caller.require_role(*roles)
