"""What an interruption left: files that no release needs, removed at the start and on demand."""

from __future__ import annotations

from contextlib import suppress

from sqlalchemy import select

from miner_service.services import Services
from miner_service.store.databases.identity import require_one_store
from miner_service.store.schema import ReleaseRow
from pramana_core.errors import NotReady, StoreMismatch


def recover(services: Services) -> None:
    """Make the directories, and remove files left by an interruption that no release needs.

    Where the store does not answer nothing is removed: readiness says so, and the next start does.

    Raises:
        StoreMismatch: the files are not this database's; nothing was removed.
    """
    services.segments.prepare()
    with suppress(NotReady):
        require_compared(services)
        sweep(services)


def require_compared(services: Services) -> None:
    """Compare database and files once, when both answer: what is found then holds for good.

    Raises:
        StoreMismatch: the files are not this database's.
        NotReady: one of them does not answer.
    """
    if not services.compared.done():
        try:
            require_one_store(services.database, services.segments, begin=True)
        except StoreMismatch as error:
            services.compared.set_exception(error)
        else:
            services.compared.set_result(None)
    services.compared.result()


def mismatch_of(services: Services) -> BaseException | None:
    """Return why this service may never serve, if its files were found to be another store's."""
    return services.compared.exception() if services.compared.done() else None


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
