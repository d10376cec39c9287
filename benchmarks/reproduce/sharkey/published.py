"""What (c, l) the paper asks for, and the levels at which anjana publishes tables that meet it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.reproduce.sharkey.recorded import Recorded
from pramana_core.model_sharing.anonymity.requirements import Requirement

PUBLISHED = Path(__file__).with_name("published.json")

REQUIREMENTS = tuple(
    Requirement(c=c, l=diverse) for diverse in (2, 3, 4, 5) for c in (20.0, 15.0, 10.0, 5.0)
)
"""Every (c, l) of section 4.2, from the weakest on."""


def recorded(table: str) -> Recorded:
    """Return the levels at which anjana published a table (`make publishing-peer`)."""
    return Recorded.read(PUBLISHED, table)
