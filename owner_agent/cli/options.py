"""Options that several commands take, and their environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from owner_agent.site.corrections import HELP, CorrectionChoice
from owner_agent.state.environment import Environment
from pramana_core.errors import OptionError

SITE = Path("site.toml")
SiteOption = Annotated[Path, typer.Option("--site", help="The site file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")]
RecordsOption = Annotated[
    int | None, typer.Option(help="The number of records, instead of the table's.")
]
CorrectionsOption = Annotated[CorrectionChoice | None, typer.Option(help=HELP)]


def require_countable(records: int | None) -> None:
    """Refuse more records than a release may have. Raises OptionError."""
    from pramana_core.wire.base import MAX_RECORDS

    if records is not None and records > MAX_RECORDS:
        raise OptionError(
            f"A release has at most {MAX_RECORDS} records.",
            where="records",
            remedy="Give --records a smaller number.",
        )


def environment_of(context: typer.Context) -> Environment:
    """Return the environment that the application was built in."""
    found = context.find_object(Environment)
    assert found is not None  # noqa: S101 - `build` gives them to every command
    return found
