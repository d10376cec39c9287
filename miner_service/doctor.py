"""The checks of `miner-service doctor`. A new check is a function and its entry in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select

from miner_service.backup import files_of
from miner_service.healthcheck import require_healthy
from miner_service.intake.study_privacy import require_budget_covers
from miner_service.services import Services
from miner_service.settings import Settings
from miner_service.store.address import address_of
from miner_service.store.identity import require_one_store
from miner_service.store.people import ADMIN
from miner_service.store.schema import StudyRow, TokenRow
from miner_service.store.tables import damaged_database
from miner_service.store.tokens import admin_token_exists
from pramana_core.alike import first_few
from pramana_core.doctor import (
    LEAST_FREE,
    NotChecked,
    check_certificates,
    check_clock,
    check_disk,
    check_limits,
    check_modes,
)
from pramana_core.errors import PramanaError, StoreCorrupt, Unauthenticated
from pramana_core.opening import require_tls_files


@dataclass(frozen=True)
class ExaminedMiner:
    """A miner to examine: its settings, the time, and its open store or the error of opening it."""

    settings: Settings
    services: Services | PramanaError
    now: datetime
    least_free: int = LEAST_FREE

    def store(self) -> Services:
        """Return the open store. Raises the error that opening it raised."""
        if isinstance(self.services, PramanaError):
            raise self.services
        return self.services

    def date(self) -> str | None:
        """Return the Date header of the service if it is ready. Raises NotReady, OptionError."""
        return require_healthy(f"{address_of(self.settings, None).rstrip('/')}/readyz")


def _data_folder(examined: ExaminedMiner) -> str:
    return check_modes(examined.settings.data_dir, 0o022)


def _database(examined: ExaminedMiner) -> str:
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


def _one_store(examined: ExaminedMiner) -> str:
    services = examined.store()
    begun = require_one_store(services.database, services.segments)
    files = services.segments.root
    return f"The database and the files in {files} are {'one' if begun else 'a new'} store."


def _records(examined: ExaminedMiner) -> str:
    services = examined.store()
    with services.database.read() as session:
        files = [file.path for file in files_of(session)]
    missing = [path for path in files if not (services.segments.root / path).is_file()]
    if missing:
        raise StoreCorrupt(
            f"{len(missing)} of {len(files)} files are missing: {first_few(missing, 5)}.",
            where=missing[0],
            remedy="Mount the disk of the records, or restore a backup. `miner-service check` lists"
            " all damage.",
        )
    services.segments.check()
    return f"All {len(files)} files exist; `miner-service check` compares their content."


def _disk(examined: ExaminedMiner) -> str:
    root = examined.settings.storage.files or examined.settings.data_dir
    sizes = [path.stat().st_size for path in (root / "columns").glob("*.arrow")]
    needed = max(examined.least_free, 2 * max(sizes, default=0))
    examined.store().audit.require_room()
    return check_disk(root, needed)


def _limits(examined: ExaminedMiner) -> str:
    settings = examined.settings
    return check_limits(settings.web.connections, settings.limits.part_bytes)


def _certificate(examined: ExaminedMiner) -> str:
    web = examined.settings.web
    if web.certificate is None:
        raise NotChecked("the service uses no TLS of its own.")
    require_tls_files(web.certificate, web.private_key, web.client_authority)
    named = {"certificate": web.certificate, "client authority": web.client_authority}
    return check_certificates(named, examined.now)


def _tokens(examined: ExaminedMiner) -> str:
    days, admin = examined.settings.tokens.warn_days, TokenRow.role == ADMIN
    query = select(TokenRow).where(
        TokenRow.revoked.is_(False),
        TokenRow.expires <= examined.now + timedelta(days=days),
        (TokenRow.expires > examined.now) | admin,
    )
    with examined.store().database.read() as session:
        ending = [f"{t.name} ({t.study or t.role})" for t in session.scalars(query)]
        if not admin_token_exists(session):
            ending.append("admin (missing)")
    if ending:
        raise Unauthenticated(
            f"Tokens are missing or end within {days} days: {first_few(ending, 5)}.",
            where=ending[0],
            remedy="Issue new tokens (`miner-service admin-token --rotate`, `miner-service study"
            " analyst`); remove owners and invite them again.",
        )
    return f"No token ends within {days} days."


def _budgets(examined: ExaminedMiner) -> str:
    services = examined.store()
    with services.database.read() as session:
        studies = list(session.scalars(select(StudyRow).order_by(StudyRow.seq)))
        for study in studies:
            require_budget_covers(session, study)
    return f"The budgets of {len(studies)} studies cover their plans and releases."


def _service(examined: ExaminedMiner) -> str:
    examined.date()
    return f"The service at {address_of(examined.settings, None)} is ready."


def _clock(examined: ExaminedMiner) -> str:
    return check_clock(examined.date(), examined.now, "the service")


CHECKS: tuple[Callable[[ExaminedMiner], str], ...] = (
    _data_folder, _database, _one_store, _records, _disk, _limits, _certificate, _tokens, _budgets,
    _service, _clock,
)  # fmt: skip
"""The checks, in the order in which the report lists them."""
