"""The command `miner-service releases`: what owners announced and never finished."""

from __future__ import annotations

from typing import Annotated

import typer

from miner_service.cli.opening import (
    DEFAULT_DATA,
    DatabaseAddress,
    DataDir,
    SettingsFile,
    existing,
    note,
    settings_of,
)
from pramana_core.terminal import console


def release_commands() -> typer.Typer:
    """Return the commands about releases."""
    app = typer.Typer(help="Tend releases, also while the service runs.", no_args_is_help=True)
    app.callback()(_releases)
    app.command()(expire)
    return app


def _releases() -> None:
    """Keep `expire` a command of its own name while it is the only one."""


def expire(
    days: Annotated[
        int, typer.Option(min=1, help="How long nobody may have touched an open release.")
    ],
    study: Annotated[str | None, typer.Option(help="Of this study only.")] = None,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings_file: SettingsFile = None,
) -> None:
    """Withdraw open releases of which nothing arrived for some days.

    They stop holding back quotas and budgets. What arrived of them is deleted, and stays told.
    """
    from datetime import timedelta

    from miner_service.intake.withdrawing import withdraw_abandoned

    with (
        existing(settings_of(data, database, settings_file), files=True) as services,
        services.audit.room(),
    ):
        before = services.now() - timedelta(days=days)
        gone = withdraw_abandoned(services, before, study)
        for release in gone:
            note(services, "expire_release", release.study, 200)
    for release in gone:
        said = f"Withdrawn: {release.name} of {release.owner} in study {release.study}"
        console().print(f"{said} ({release.id}).", markup=False, soft_wrap=True)
    if not gone:
        console().print(f"No open release is untouched for {days} days.", markup=False)
