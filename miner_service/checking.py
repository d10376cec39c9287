"""Checking a store, and deleting a study with its rows and files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy import select

from miner_service.backup import Progress, StoredFile, files_of
from miner_service.intake.withdrawing import orphans, states_of_releases
from miner_service.services import Services
from miner_service.store.people import find_study
from miner_service.store.releases import content_of, release_exists
from miner_service.store.report_rows import miscounted
from miner_service.store.schema import ReleaseRow
from miner_service.store.tables import damaged_database, delete_rows
from pramana_core.errors import PramanaError, StoreCorrupt


@dataclass(frozen=True)
class Finding:
    """A fault of the store. `code` is the kind of fault, and `where` is an id or a file."""

    code: str
    where: str
    what: str


@dataclass(frozen=True)
class CheckResult:
    """The findings of a check, and the counts of checked releases and files."""

    releases: int
    files: int
    findings: tuple[Finding, ...]


def check(services: Services, progress: Progress) -> CheckResult:
    """Check the whole store without changing it. Raises NotReady."""
    with services.database.read() as session:
        findings = [Finding("database", "database", line) for line in damaged_database(session)]
        releases = session.scalars(select(ReleaseRow).order_by(ReleaseRow.seq)).all()
        files = list(files_of(session))
        for row in releases:
            findings += _check_release(row)
        findings += [Finding("reports", study, what) for study, what in miscounted(session)]
    for done, file in enumerate(files):
        progress(done, len(files))
        findings += _check_file(services, file)
    for name in orphans(services):
        findings.append(Finding("orphan", name, "No release needs it; the next start removes it."))
    return CheckResult(len(releases), len(files), tuple(findings))


def _check_release(row: ReleaseRow) -> Iterator[Finding]:
    try:
        content = content_of(row)
    except (PramanaError, ValidationError, KeyError, ValueError):
        yield Finding("release", row.id, "Its content cannot be read.")
        return
    if row.state != "withdrawn" and content.digest != row.content_digest:
        yield Finding("release", row.id, "Its content does not have the announced digest.")


def _check_file(services: Services, file: StoredFile) -> Iterator[Finding]:
    try:
        if file.number is None:
            services.segments.verify_data(file.release, file.sha256)
        else:
            services.segments.read_part(file.release, file.number, file.sha256)
    except StoreCorrupt:
        wanted = "sealed" if file.number is None else "open"
        if states_of_releases(services).get(file.release) == wanted:
            yield Finding(
                "file", file.path, "It is missing, or differs from the acknowledged file."
            )


def delete_study(services: Services, name: str) -> tuple[int, bool]:
    """Delete a study. On the disk, only its name in the audit log remains.

    Return the count of deleted releases, and whether the rows were erased from the database's
    files. Raises NotFound, NotReady.
    """
    with services.database.write() as session:
        find_study(session, name)
        releases = delete_rows(session, name)
    erased = services.database.erase()
    for release in releases:
        # No release can be announced while this transaction has the write lock.
        with services.database.write() as session:
            if not release_exists(session, release):
                services.segments.drop_parts(release)
                services.segments.drop_data(release)
    return len(releases), erased
