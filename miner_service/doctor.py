"""The checks of `miner-service doctor`. A new check is a function and its entry in `CHECKS`.

Nothing is changed but a scratch file, which is removed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import select

from miner_service.alignment.cluster import require_scheduler
from miner_service.backup import files_of
from miner_service.healthcheck import require_healthy
from miner_service.intake.agreement import require_within
from miner_service.services import Services
from miner_service.settings import Settings
from miner_service.store.address import address_of
from miner_service.store.identity import require_one_store
from miner_service.store.people import ADMIN, find_study_plan
from miner_service.store.schema import StudyRow, TokenRow
from miner_service.store.tables import damaged_database
from miner_service.store.tokens import admin_token_exists, tokens_ending
from pramana_core.alike import first_few
from pramana_core.doctor import (
    LEAST_FREE,
    NotChecked,
    check_certificate,
    check_clock,
    check_disk,
    check_end,
    check_limits,
    check_modes,
    free_bytes,
)
from pramana_core.errors import (
    NotReady,
    PramanaError,
    StoreCorrupt,
    Unauthenticated,
)
from pramana_core.opening import require_tls_files

_NAMED = 5


@dataclass(frozen=True)
class ExaminedMiner:
    """A miner: its settings, its store or the error of opening it, and the time."""

    settings: Settings
    services: Services | PramanaError
    now: datetime
    free: Callable[[Path], int] = free_bytes

    def store(self) -> Services:
        """Return the open store. Raises the error of opening it."""
        if isinstance(self.services, PramanaError):
            raise self.services
        return self.services

    def date(self) -> str | None:
        """Return the Date header of the ready service. Raises NotReady."""
        try:
            return require_healthy(f"{address_of(self.settings, None).rstrip('/')}/readyz")
        except PramanaError as error:
            raise NotReady(
                error.message,
                where="service",
                remedy="Start `miner-service serve`, and check public_url and the proxy. The"
                " service's log has the reason.",
            ) from None


def data_folder(examined: ExaminedMiner) -> str:
    """Check that nobody else may write to the data directory."""
    return check_modes(examined.settings.data_dir, 0o022)


def database(examined: ExaminedMiner) -> str:
    """Check that the database opens and is undamaged."""
    services = examined.store()
    with services.database.read() as session:
        damage = damaged_database(session)
    if damage:
        raise StoreCorrupt(
            f"The database is damaged: {damage[0]}.",
            where="database",
            remedy="Restore a backup into a new data directory (`miner-service restore`).",
        )
    return f"The database {services.database.place} is undamaged."


def one_store(examined: ExaminedMiner) -> str:
    """Check that database and files are a pair."""
    services = examined.store()
    if not require_one_store(services.database, services.segments):
        raise NotReady(
            "The store has no identity yet: no service has started on it.",
            where="files",
            remedy="Start `miner-service serve` once.",
        )
    return f"The database and the files in {services.segments.root} are one store."


def records(examined: ExaminedMiner) -> str:
    """Check that the files of all releases exist, and that the folder can be written."""
    services = examined.store()
    with services.database.read() as session:
        files = [file.path for file in files_of(session)]
    missing = [path for path in files if not (services.segments.root / path).is_file()]
    if missing:
        raise StoreCorrupt(
            f"{len(missing)} of {len(files)} files are missing: {first_few(missing, _NAMED)}.",
            where=missing[0],
            remedy="Mount the disk of the records, or restore a backup. `miner-service check` lists"
            " all damage.",
        )
    services.segments.check()
    return f"All {len(files)} files exist; `miner-service check` compares their content."


def disk(examined: ExaminedMiner) -> str:
    """Check the space for two more releases as large as the largest, and for the audit log."""
    root = examined.settings.storage.files or examined.settings.data_dir
    sizes = [path.stat().st_size for path in (root / "columns").glob("*.arrow")]
    needed = max(LEAST_FREE, 2 * max(sizes, default=0))
    return check_disk(root, needed, examined.store().audit, examined.free)


def limits(examined: ExaminedMiner) -> str:
    """Check the limits of this shell, which a service started from it would have."""
    settings = examined.settings
    return check_limits(settings.web.connections, settings.limits.part_bytes)


def certificate(examined: ExaminedMiner) -> str:
    """Check the TLS files and the certificate's end."""
    web = examined.settings.web
    if web.certificate is None:
        raise NotChecked("the service uses no TLS of its own.")
    require_tls_files(web.certificate, web.private_key, web.client_authority)
    named = {"certificate": web.certificate, "client authority": web.client_authority}
    return " ".join(
        check_certificate(path.read_bytes(), examined.now, f"The {what} {path}")
        for what, path in named.items()
        if path is not None
    )


def admin_token(examined: ExaminedMiner) -> str:
    """Check that an admin token is valid."""
    with examined.store().database.read() as session:
        error = Unauthenticated(
            "No admin token exists.",
            where="admin",
            remedy="Issue one with `miner-service admin-token --rotate`.",
        )
        if not admin_token_exists(session):
            raise error
        query = select(TokenRow.expires).where(TokenRow.role == ADMIN, TokenRow.revoked.is_(False))
        end = session.scalars(query).first()
    return (
        "The admin token has no end."
        if end is None
        else check_end(end, examined.now, "The admin token", error)
    )


def tokens(examined: ExaminedMiner) -> str:
    """Check that no token of a study ends soon."""
    days = examined.settings.tokens.warn_days
    with examined.store().database.read() as session:
        found = tokens_ending(session, examined.now, days=days, study=None, owner=None)
    ending = [f"{one.name} ({one.study}, {one.expires:%Y-%m-%d})" for one in found if one.study]
    if ending:
        raise Unauthenticated(
            f"Tokens end within {days} days: {first_few(ending, _NAMED)}.",
            where=found[0].study,
            remedy="Issue new tokens; remove owners and invite them again.",
        )
    return f"No token ends within {days} days."


def budgets(examined: ExaminedMiner) -> str:
    """Check each study's plan against its budget."""
    services = examined.store()
    with services.database.read() as session:
        studies = list(session.scalars(select(StudyRow).order_by(StudyRow.seq)))
        for study in studies:
            plan, limit = find_study_plan(session, study.name), study.max_epsilon_record
            if plan is not None:
                require_within(limit, plan)
    return f"The plans of {len(studies)} studies fit their budgets."


def service(examined: ExaminedMiner) -> str:
    """Check that the service answers at its public address and is ready."""
    examined.date()
    return f"The service at {address_of(examined.settings, None)} is ready."


def clock(examined: ExaminedMiner) -> str:
    """Compare this machine's clock with the service's, or its proxy's."""
    return check_clock(examined.date(), examined.now, "the service")


def scheduler(examined: ExaminedMiner) -> str:
    """Check that the cluster's scheduler answers."""
    if examined.settings.cluster.scheduler is None:
        raise NotChecked("no scheduler is configured.")
    require_scheduler(examined.settings.cluster)
    return "The scheduler answers."


CHECKS: tuple[Callable[[ExaminedMiner], str], ...] = (
    data_folder,
    database,
    one_store,
    records,
    disk,
    limits,
    certificate,
    admin_token,
    tokens,
    budgets,
    service,
    clock,
    scheduler,
)
"""The checks, in the order of the report."""
