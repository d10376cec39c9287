"""Options that several commands take, and their environment."""

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
        help="For records that left before and have other values now: keep their reports."
    ),
]


def environment_of(context: typer.Context) -> Environment:
    """Return the environment that the application was built in."""
    found = context.find_object(Environment)
    assert found is not None  # noqa: S101 - `build` gives them to every command
    return found


def show_lines(lines: Iterable[str]) -> None:
    """Print sentences, each on one line, however narrow the terminal: it may be copied."""
    for line in lines:
        console().print(line, markup=False, soft_wrap=True)


def write_changes(extended: ExtendedSite, *, yes: bool, show: bool = True) -> bool:
    """Show what changes in a site file, ask, and write it; return whether it was written.

    Raises OptionError: nobody can be asked.
    """
    if not (yes or at_terminal()):
        raise OptionError(
            f"{extended.path} would change, and nobody confirmed it; nothing was written.",
            where="yes",
            remedy="Run it at a terminal, which shows the lines and asks; or say --yes.",
        )
    if show:
        show_lines(extended.diff.splitlines())
    agreed = yes or typer.confirm(f"Write this into {extended.path}?")
    if agreed:
        extended.write()
    return agreed
