"""The miner's data as its own commands open them, and what they note of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shared.errors import OptionError

if TYPE_CHECKING:
    from miner_service.services import Services
    from miner_service.settings import Settings

DataDir = Annotated[
    Path, typer.Option("--data", help="The data directory; made if it is not there.")
]
DEFAULT_DATA = Path("miner-data")


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


def require_data(data: Path) -> None:
    """Check that a miner's data are there. Raises OptionError."""
    if not (data / "miner.sqlite").exists():
        raise OptionError(
            f"There is no miner's data in {data}.", where="data", remedy="Look at --data."
        )


def note(services: Services, action: str, study: str, outcome: int) -> None:
    """Write into the audit log what was done on the miner's own machine, without a token."""
    services.audit.write(
        {
            "token": None,
            "role": "command",
            "name": None,
            "study": study,
            "action": action,
            "resource": f"/v1/studies/{study}",
            "outcome": outcome,
        }
    )
