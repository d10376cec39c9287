"""Options that several commands share, and the commands' environment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.site.corrections import CorrectionChoice
from owner_agent.state.environment import Environment
from pramana_core.errors import OptionError
from pramana_core.terminal import at_terminal, console

if TYPE_CHECKING:
    from owner_agent.site.writing import ExtendedSite

SITE = Path("site.toml")
SiteOption = Annotated[Path, typer.Option("--site", help="The site file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")]
CorrectionsOption = Annotated[
    CorrectionChoice | None,
    typer.Option(
        help="For records whose values changed after their first report: keep the first report."
    ),
]


def environment_of(context: typer.Context) -> Environment:
    """Return the environment in which the application runs."""
    found = context.find_object(Environment)
    assert found is not None  # noqa: S101 - `build` sets it for every command
    return found


def show_lines(lines: Iterable[str]) -> None:
    """Print each sentence on one line without wrapping it, so that it can be copied."""
    for line in lines:
        console().print(line, markup=False, soft_wrap=True)


def write_changes(extended: ExtendedSite, *, yes: bool, show: bool = True) -> bool:
    """Show the changes to a site file, ask for confirmation, and write the file.

    Return whether the file was written. Raises OptionError without a terminal.
    """
    if not (yes or at_terminal()):
        raise OptionError(
            f"The changes to {extended.path} were not confirmed. Nothing was written.",
            where="yes",
            remedy="Run the command at a terminal to review the changes, or add --yes.",
        )
    if show:
        show_lines(extended.diff.splitlines())
    confirmed = yes or typer.confirm(f"Write these changes into {extended.path}?")
    if confirmed:
        extended.write()
    return confirmed
