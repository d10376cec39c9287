"""The commands about the store as a whole: backup, restore, check."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from miner_service.cli.opening import (
    DEFAULT_DATA,
    DatabaseAddress,
    DataDir,
    SettingsFile,
    existing,
    note,
    opened,
    settings_of,
)
from pramana_core.terminal import console, print_json, progress_bar

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
    from miner_service.operations.backup import back_up

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
    from miner_service.http.server import exclusive
    from miner_service.operations.restoring import restore

    wanted = settings_of(data, database, settings)
    with (
        exclusive(data),
        opened(wanted, upgrade=True) as services,
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
    from miner_service.operations.checking import check

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
