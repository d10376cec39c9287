"""The miner's data as its own commands open them, and what they note of it.

What the command line says holds, before the environment, before the settings file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pramana_core.errors import NotFound, OptionError

if TYPE_CHECKING:
    from miner_service.services import Services
    from miner_service.settings import Settings

DataDir = Annotated[
    Path, typer.Option("--data", help="The data directory; made if it is not there.")
]
DEFAULT_DATA = Path("miner-data")
PASSWORD_FILE = "PRAMANA_DATABASE_PASSWORD_FILE"  # noqa: S105 - a name
"""The variable that names the file of the database's password."""

DatabaseAddress = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="PRAMANA_DATABASE",
        help="A PostgreSQL database, as postgresql://USER@HOST/NAME, instead of a file in the data"
        " directory. Its password is in the file that PRAMANA_DATABASE_PASSWORD_FILE names; others"
        " can read one that is given here.",
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        envvar="PRAMANA_MINER_SETTINGS",
        help="A file of settings; deploy/miner.toml shows all there are.",
    ),
]


def settings_of(
    data: Path,
    database: str | None,
    file: Path | None,
    *,
    said: Mapping[str, Mapping[str, Any]] | None = None,
    **given: Any,
) -> Settings:
    """Return the settings that a command was given.

    `said` is what its options say of the sections of the settings; None is what they leave out.

    Raises:
        ConfigError: the file of settings is wrong.
        OptionError: an option is.
    """
    from miner_service.settings import Settings
    from miner_service.settings.reading import SECTIONS, read_settings

    sections = read_settings(file) if file is not None else {}
    password = os.environ.get(PASSWORD_FILE)
    storage = {
        "database": database,
        "database_password_file": Path(password) if password else None,
    }
    for name, options in {"storage": storage, **(said or {})}.items():
        told = {option: value for option, value in options.items() if value is not None}
        sections[name] = replace(sections.get(name) or SECTIONS[name](), **told)
    return Settings(data, **sections, **given)


@contextmanager
def opened(settings: Settings, *, upgrade: bool = False) -> Iterator[Services]:
    """Open the services on a miner's data, and close the database after use.

    Only a process that is alone with them may `upgrade` what an earlier version made.
    """
    from miner_service.services import open_services
    from miner_service.settings import utc_now

    services = open_services(settings, utc_now, upgrade=upgrade)
    try:
        yield services
    finally:
        services.database.close()


@contextmanager
def existing(settings: Settings, *, files: bool = False) -> Iterator[Services]:
    """Open the services on a miner's data that must be there.

    `files` says that they are used, too, and must be those of the database.

    Raises:
        OptionError: there are none.
        StoreMismatch: the files are another store's.
    """
    from miner_service.store.databases.identity import require_one_store
    from miner_service.store.databases.opening import FILE

    if settings.storage.database is None and not (settings.data_dir / FILE).exists():
        raise OptionError(
            f"There is no miner's data in {settings.data_dir}.",
            where="data",
            remedy="Look at --data and --database.",
        )
    with opened(settings) as services:
        if files:
            require_one_store(services.database, services.segments)
        try:
            yield services
        except NotFound as error:  # Whoever is at the machine has no token that may see less.
            raise NotFound(
                f"There is no such {error.where}.",
                where=error.where,
                remedy="Look at its name, and at --data and --database.",
            ) from error


def note(services: Services, action: str, study: str | None, outcome: int) -> None:
    """Write into the audit log what was done on the miner's own machine, without a token."""
    services.audit.write(
        {
            "token": None,
            "role": "command",
            "name": None,
            "study": study,
            "action": action,
            "resource": "/v1/studies" if study is None else f"/v1/studies/{study}",
            "outcome": outcome,
        }
    )
