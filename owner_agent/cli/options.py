"""Options that several commands take, and their environment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from owner_agent.site.corrections import CorrectionChoice
from owner_agent.state.environment import Environment
from pramana_core.terminal import console

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
