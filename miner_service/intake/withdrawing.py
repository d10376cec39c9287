"""Withdrawing a release: its records are deleted, and unfinished jobs on it fail."""

from __future__ import annotations

from sqlalchemy import delete, select

from miner_service.services import Services
from miner_service.store.identity import require_one_store
from miner_service.store.queue import drop_models_with, fail_jobs_on
from miner_service.store.releases import content_of, find_release, kind_of_release, release_message
from miner_service.store.schema import PartRow, ReleaseRow
from pramana_core.errors import Conflict
from pramana_core.wire.releases import Release
from pramana_core.wire.services import ProblemDetail, problem_of


def closing(release: str) -> str:
    """Return the name of the lock under which a release is sealed or withdrawn."""
    return f"closing {release}"


def withdraw(services: Services, release: str) -> Release:
    """Withdraw a release: delete its records, keep its row, and fail unfinished jobs on it.

    A shared tree is deleted, too, with the models that contain it. The call can be repeated.
    """
    with services.database.exclusive(closing(release)):
        with services.database.write() as session:
            row = find_release(session, release)
            row.state = "withdrawn"
            kind = kind_of_release(row)
            absent = delete(PartRow).where(PartRow.release == row.id, PartRow.received.is_(None))
            session.execute(absent)
            row.content = kind.remainder(content_of(row)).canonical_json().decode()
            problem = gone(row, "withdrawn")
            fail_jobs_on(session, row.id, problem, services.now())
            if not kind.has_records:
                drop_models_with(session, row.id, problem, services.now())
            message = release_message(session, row)
        services.segments.drop_parts(release)
        services.segments.drop_data(release)
    return message


def gone(row: ReleaseRow, how: str) -> ProblemDetail:
    """Return the error of a job with a release that is gone; `how` says what happened to it."""
    return problem_of(
        Conflict(
            f"Release {row.name} of {row.owner} was {how} before the job finished.",
            where=row.id,
            remedy="Create the job again; it will use the current releases.",
        )
    )


def recover(services: Services) -> None:
    """Create the folders and remove files that no release needs. Raises StoreCorrupt, NotReady."""
    services.segments.prepare()
    require_one_store(services.database, services.segments, begin=True)
    sweep(services)


def sweep(services: Services) -> list[str]:
    """Remove the files that no release needs, even while services run; return their names."""
    return services.segments.sweep(lambda: states_of_releases(services))


def orphans(services: Services) -> list[str]:
    """Return the names of the files that no release needs."""
    return services.segments.orphans(lambda: states_of_releases(services))


def states_of_releases(services: Services) -> dict[str, str]:
    """Return the state of every release, by id."""
    with services.database.read() as session:
        found = session.execute(select(ReleaseRow.id, ReleaseRow.state))
        return {name: state for name, state in found}  # noqa: C416
