"""The commands about the store as a whole: backup, restore, check.

Also here:

* The miner's data as its own commands open them, and what they note of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pramana_core.errors import NotFound, OptionError
from pramana_core.terminal import console, print_json, progress_bar

if TYPE_CHECKING:
    from miner_service.services import Services
    from miner_service.settings import Settings


# The miner's data as its own commands open them, and what they note of it.
#
# What the command line says holds, before the environment, before the settings file.

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
    given: Mapping[str, Mapping[str, Any]] | None = None,
    **others: Any,
) -> Settings:
    """Return the settings that a command was given.

    `given` has the options of the command for each section; None is left out.

    Raises:
        ConfigError: the file of settings is wrong.
        OptionError: an option is.
    """
    from miner_service.settings import SECTIONS, Settings, read_settings

    sections = read_settings(file) if file is not None else {}
    password = os.environ.get(PASSWORD_FILE)
    storage = {
        "database": database,
        "database_password_file": Path(password) if password else None,
    }
    for name, options in {"storage": storage, **(given or {})}.items():
        set_here = {option: value for option, value in options.items() if value is not None}
        sections[name] = replace(sections.get(name) or SECTIONS[name](), **set_here)
    return Settings(data, **sections, **others)


@contextmanager
def opened(settings: Settings) -> Iterator[Services]:
    """Open the services on a miner's data, and close the database after use."""
    from miner_service.services import open_services
    from miner_service.settings import utc_now

    services = open_services(settings, utc_now)
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
    from miner_service.store.identity import require_one_store
    from miner_service.store.sqlite import FILE

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


def write_secret(path: Path, text: str) -> None:
    """Write a secret into a file of mode 0600, in place of what was there. Raises OptionError."""
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise OptionError(
            f"{path} cannot be written: {error.strerror}. Nothing was issued.",
            where="token-file",
            remedy="Name a file in a directory that can be written.",
        ) from error


FOUND = 4
"""The exit code of a check that found something."""

_MEBIBYTE = 1 << 20


def add_operations(app: typer.Typer) -> None:
    """Add the commands to the miner's."""
    app.command("backup")(backup_command)
    app.command("restore")(restore_command)
    app.command("check")(check_command)


def backup_command(
    folder: Annotated[Path, typer.Argument(help="A folder that is not there yet.")],
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Copy everything into a folder, as of one moment, also while the service runs.

    It holds the records, the hashes of all tokens and the service's own key: keep it as safe as the
    store.
    """
    from miner_service.backup import back_up

    with (
        existing(settings_of(data, database, settings), files=True) as services,
        services.audit.room(),
        progress_bar("Backing up") as bar,
    ):
        made = back_up(services, folder, bar)
        note(services, "back_up", None, 200)
    _say(
        f"{made.rows} rows and {made.files} files, {made.bytes / _MEBIBYTE:.1f} MiB, are in"
        f" {folder}."
    )


def restore_command(
    folder: Annotated[Path, typer.Argument(help="A folder that `backup` made.")],
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Bring a backup into an empty store, of whatever kind; no service may run on it.

    What happened after the backup is forgotten: tokens that were revoked since are good again.
    """
    from miner_service.backup import restore
    from miner_service.http.server import exclusive

    wanted = settings_of(data, database, settings)
    with (
        exclusive(data),
        opened(wanted) as services,
        progress_bar("Restoring") as bar,
    ):
        found = restore(services, folder, bar)
        note(services, "restore", None, 200)
    _say(f"The backup of {found.made} is restored: {found.rows} rows and {found.files} files.")


def check_command(
    data: DataDir = DEFAULT_DATA,
    as_json: Annotated[bool, typer.Option("--json", help="Write what was found as JSON.")] = False,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Look whether everything stored is there as it was acknowledged; exit code 4 if not."""
    from miner_service.checking import check

    wanted = settings_of(data, database, settings)
    with existing(wanted, files=True) as services, progress_bar("Checking") as bar:
        found = check(services, bar)
    if as_json:
        print_json(asdict(found))
    else:
        for finding in found.findings:
            _say(f"{finding.code} {finding.where}: {finding.what}")
        _say(
            f"{found.releases} releases, {found.files} files, {found.jobs} jobs, {found.models}"
            f" models: {len(found.findings) or 'no'} findings."
        )
    if found.findings:
        raise typer.Exit(FOUND)


def _say(text: str) -> None:
    console().print(text, markup=False, soft_wrap=True)
