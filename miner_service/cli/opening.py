"""Opening the miner's store for commands: the common options, and entries in the audit log."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from miner_service.logs import LogFormat
from pramana_core.errors import NotFound, OptionError
from pramana_core.terminal import console

if TYPE_CHECKING:
    from fastapi import Response

    from miner_service.services import Services
    from miner_service.settings import Settings

DataDir = Annotated[
    Path,
    typer.Option(
        "--data",
        envvar="PRAMANA_DATA",
        help="The data directory; `serve` and `restore` create it.",
    ),
]
LogForm = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        envvar="PRAMANA_LOG_FORMAT",
        help="The form of the log's lines on standard error.",
    ),
]
DEFAULT_DATA = Path("miner-data")
PASSWORD_FILE = "PRAMANA_DATABASE_PASSWORD_FILE"  # noqa: S105 - a name
"""The environment variable that names the file with the database's password."""

DatabaseAddress = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="PRAMANA_DATABASE",
        help="A PostgreSQL database, as postgresql://USER@HOST/NAME, instead of a file in the data"
        " directory. Write its password into a file, named in PRAMANA_DATABASE_PASSWORD_FILE; a"
        " password in this option is visible to other users.",
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        envvar="PRAMANA_MINER_SETTINGS",
        help="A file of settings; deploy/miner.toml describes all settings.",
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
    """Return a command's settings; its options take precedence over environment and file."""
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
def opened(settings: Settings, *, begin: bool = True) -> Iterator[Services]:
    """Open the services on a miner's data, and close the database at the end.

    Only a caller with the exclusive lock of the data may `begin` or upgrade the tables.
    """
    from miner_service.services import open_services
    from miner_service.settings import utc_now

    services = open_services(settings, utc_now, begin=begin)
    try:
        yield services
    finally:
        services.database.close()


@contextmanager
def existing(settings: Settings, *, files: bool = False) -> Iterator[Services]:
    """Open a miner's existing data. With `files`, also check that the files belong to the database.

    Raises OptionError, SchemaUnsupported, StoreCorrupt.
    """
    from miner_service.store.identity import require_one_store
    from miner_service.store.people import no_such
    from miner_service.store.sqlite import FILE

    embedded = settings.storage.database is None
    if not (settings.data_dir / FILE if embedded else settings.data_dir).exists():
        raise OptionError(
            f"{settings.data_dir} contains no miner's data.",
            where="data",
            remedy="Check --data and --database.",
        )
    with opened(settings, begin=False) as services:
        if files:
            require_one_store(services.database, services.segments)
        try:
            yield services
        except NotFound as error:  # The message for clients mentions tokens.
            if error.message != no_such(str(error.where)).message:
                raise
            raise NotFound(
                f"The {error.where} does not exist.",
                where=error.where,
                remedy="Check its name, --data and --database.",
            ) from error


_STORE_OPTIONS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    for name, default, kind in (
        ("data", DEFAULT_DATA, DataDir),
        ("database", None, DatabaseAddress),
        ("settings", None, SettingsFile),
    )
]


def on_store(*, files: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the store's options to a command. The command's first argument is the open services."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, localns={"Services": object}, include_extras=True)
        (_, *own) = inspect.signature(command).parameters.values()
        parameters = [
            *(one.replace(annotation=hints[one.name], kind=one.KEYWORD_ONLY) for one in own),
            *_STORE_OPTIONS,
        ]

        @wraps(command)
        def run(data: Path, database: str | None, settings: Path | None, **options: Any) -> None:
            with existing(settings_of(data, database, settings), files=files) as services:
                command(services, **options)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return decorate


def require_study(services: Services, name: str) -> None:
    """Check that a study exists. Raises NotFound."""
    from miner_service.store.people import find_study

    with services.database.read() as session:
        find_study(session, name)


@contextmanager
def noted(
    services: Services, action: str, study: str | None, outcome: int, part: str = ""
) -> Iterator[Response]:
    """Record a command, as `note` does, with the status that the yielded response ends with."""
    from fastapi import Response

    answer = Response(status_code=outcome)
    with services.audit.room():
        yield answer
        note(services, action, study, answer.status_code, part)


def note(services: Services, action: str, study: str | None, outcome: int, part: str = "") -> None:
    """Write a command to the audit log, with the changed part of the study, like /owners/NAME."""
    services.audit.write(
        {
            "token": None,
            "role": "command",
            "name": None,
            "study": study,
            "action": action,
            "resource": "/v1/studies" if study is None else f"/v1/studies/{study}{part}",
            "outcome": outcome,
        }
    )


def say_next(services: Services, study: str) -> None:
    """Print the next steps of a study and who takes them."""
    from miner_service.intake.next_steps import study_now
    from miner_service.store.people import find_study

    with services.database.read() as session:
        row = find_study(session, study)
        steps = study_now(session, row, services.now(), for_owner=False).next
    for step in steps:
        say(step.line)


def say(text: str) -> None:
    """Print a sentence."""
    console().print(text, markup=False, soft_wrap=True)
