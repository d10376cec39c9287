"""What an interruption left: files that no release needs, removed at the start and on demand."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import select

from miner_service.services import Services
from miner_service.store.schema import ReleaseRow
from shared.errors import NotReady


def recover(services: Services) -> None:
    """Make the directories, and remove files left by an interruption that no release needs.

    Where the store does not answer nothing is removed: readiness says so, and the next start does.
    """
    services.segments.prepare()
    with suppress(NotReady):
        sweep(services)


def sweep(services: Services) -> list[str]:
    """Remove the files that no release needs, also while services run; return their names."""
    return services.segments.sweep(lambda: states_of_releases(services))


def orphans(services: Services) -> list[str]:
    """Return the names of the files that no release needs."""
    return services.segments.orphans(lambda: states_of_releases(services))


def states_of_releases(services: Services) -> dict[str, str]:
    """Return the state of every release there is, by its id."""
    with services.database.read() as session:
        found = session.execute(select(ReleaseRow.id, ReleaseRow.state))
        return {name: state for name, state in found}  # noqa: C416
