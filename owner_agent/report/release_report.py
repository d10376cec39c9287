"""The parts common to all reports of releases: earlier losses, omitted records, refusals."""

from __future__ import annotations

from owner_agent.release.prepared import PreparedRelease
from owner_agent.report.losses import Losses, compare
from pramana_core.report.numbers import plural


def losses_by(now: PreparedRelease) -> Losses | None:
    """Return the losses of columns before and after a release; None if nothing has left."""
    left = [entry for entry in now.entries if entry.left]
    return compare(now.draws, left) if left else None


def left_out(now: PreparedRelease, what: str) -> list[str]:
    """Say how many records are left out of what would leave."""
    if not now.dropped:
        return []
    records, one = plural(now.dropped, "record"), now.dropped == 1
    return [
        (
            f"{records} {'has' if one else 'have'} empty cells and {'is' if one else 'are'} left"
            f" out of the {what}."
        )
    ]


def refusals(losses: Losses | None) -> list[str]:
    """Say which columns publishing would be refused for."""
    if losses is None or not losses.refused:
        return []
    return [
        (
            f"{', '.join(losses.refused)} left before in another form: publishing is refused"
            " unless the added loss is accepted."
        )
    ]
