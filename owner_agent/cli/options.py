"""Options shared by several commands, and the environment."""

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
        help="For records whose values changed after their first report: keep that report."
    ),
]


def environment_of(context: typer.Context) -> Environment:
    """Return the environment of the application."""
    found = context.find_object(Environment)
    assert found is not None  # noqa: S101 - `build` sets it for every command
    return found


def show_lines(lines: Iterable[str]) -> None:
    """Print sentences, each unwrapped on a line, so that they can be copied."""
    for line in lines:
        console().print(line, markup=False, soft_wrap=True)


def write_changes(extended: ExtendedSite, *, yes: bool, show: bool = True) -> bool:
    """Show the changes of a site file, ask, and write it; return whether it was written.

    Raises OptionError without a terminal to ask at.
    """
    if not (yes or at_terminal()):
        raise OptionError(
            f"The changes of {extended.path} were not confirmed; nothing was written.",
            where="yes",
            remedy="Run the command at a terminal to review the changes, or add --yes.",
        )
    if show:
        show_lines(extended.diff.splitlines())
    confirmed = yes or typer.confirm(f"Write these changes into {extended.path}?")
    if confirmed:
        extended.write()
    return confirmed
