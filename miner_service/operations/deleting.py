"""A study deleted with everything of it: rows, records, models, tokens; also while services run."""

from __future__ import annotations

from dataclasses import dataclass

from miner_service.operations.rows import delete_rows
from miner_service.services import Services
from miner_service.store.people import find_study
from pramana_core.errors import NotReady


@dataclass(frozen=True)
class Deleted:
    """How much was deleted."""

    releases: int
    erased: bool
    """Whether the rows are gone from the database's files, too: nobody was reading them."""
    removed: bool
    """Whether the records are gone; what an object store kept is removed by the next start."""


def delete_study(services: Services, name: str) -> Deleted:
    """Delete a study; nothing of it stays on the disk but its name in the audit log.

    Its jobs end, as those whose rows are gone; what an owner is just sending is refused and
    removed. Rows go first: should the rest be interrupted, the next start removes the files, and
    deleting again is refused as of a study that does not exist.

    Raises:
        NotFound: there is no such study.
        NotReady: the database does not answer.
    """
    with services.database.write() as session:
        find_study(session, name)
        releases = delete_rows(session, name)
    erased = services.database.erase()
    removed = True
    for release in releases:
        try:
            services.segments.drop_parts(release)
            services.segments.drop_data(release)
        except NotReady:
            removed = False
    return Deleted(len(releases), erased, removed)
