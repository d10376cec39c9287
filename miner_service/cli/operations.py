"""Commands for the whole store: backup, restore, check, doctor."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miner_service.cli.opening import (
    DEFAULT_DATA,
    DatabaseAddress,
    DataDir,
    SettingsFile,
    existing,
    noted,
    on_store,
    opened,
    say,
    settings_of,
)
from pramana_core.errors import PramanaError
from pramana_core.terminal import print_json, progress_bar

if TYPE_CHECKING:
    from miner_service.services import Services

FOUND = 4
"""The exit code of a check that found faults."""


@on_store(files=True)
def backup_command(
    services: Services,
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
) -> None:
    """Copy the whole store, in one consistent state, into a folder, also while the service runs.

    The backup contains the records, the hashes of all tokens and the service's key: protect it.
    """
    from miner_service.backup import back_up

    with noted(services, "back_up", None, 200), progress_bar("Backing up") as bar:
        made = back_up(services, folder, bar)
    say(f"{made.rows} rows and {made.files} files are in {folder}.")


def restore_command(
    folder: Annotated[Path, typer.Argument(help="A folder written by `backup`.")],
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Copy a backup into an empty store, SQLite or PostgreSQL, on which no service runs.

    Later changes are lost: tokens revoked after the backup are valid again.
    """
    from miner_service.backup import restore
    from miner_service.http.server import exclusive

    wanted = settings_of(data, database, settings)
    with (
        exclusive(data),
        opened(wanted) as services,
        noted(services, "restore", None, 200),
        progress_bar("Restoring") as bar,
    ):
        found = restore(services, folder, bar)
    say(f"The backup of {found.made} was restored: {found.rows} rows and {found.files} files.")


@on_store(files=True)
def check_command(
    services: Services,
    as_json: Annotated[bool, typer.Option("--json", help="Write the findings as JSON.")] = False,
) -> None:
    """Check that all stored data is present and undamaged; exit code 4 if not."""
    from miner_service.checking import check

    with progress_bar("Checking") as bar:
        found = check(services, bar)
    if as_json:
        print_json(asdict(found))
    else:
        for finding in found.findings:
            say(f"{finding.code} {finding.where}: {finding.what}")
        many = (
            "1 finding" if len(found.findings) == 1 else f"{len(found.findings) or 'no'} findings"
        )
        say(f"{found.releases} releases, {found.files} files: {many}.")
    if found.findings:
        raise typer.Exit(FOUND)


def doctor_command(
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the findings as JSON.")] = False,
) -> None:
    """Examine store, disk, TLS, tokens, budgets, clock and service.

    The exit code is the largest code of a fault.
    """
    from miner_service.doctor import CHECKS, ExaminedMiner
    from miner_service.settings import utc_now
    from pramana_core.doctor import examine, show_findings

    wanted = settings_of(data, database, settings)
    with ExitStack() as stack:
        try:
            store: Services | PramanaError = stack.enter_context(existing(wanted))
        except PramanaError as error:
            store = error
        findings = examine(ExaminedMiner(wanted, store, utc_now()), CHECKS)
    raise typer.Exit(show_findings(findings, as_json=as_json))
