"""What may be required of groups: Ma's minimum number of records K and granularity g (Ma 2.3)."""

from __future__ import annotations

import math

from pramana_core.errors import OptionError


def require_requirements(minimum_count: int, granularity: float) -> None:
    """Raise OptionError unless K is 1 or more and g is finite and not negative."""
    require_count(minimum_count)
    if not math.isfinite(granularity) or granularity < 0:
        raise OptionError(
            f"granularity must be 0 or more, not {granularity!r}.",
            where="granularity",
        )


def require_count(minimum_count: int) -> None:
    """Raise OptionError unless K is 1 or more."""
    if minimum_count < 1:
        raise OptionError(
            f"minimum_count must be at least 1, not {minimum_count}.",
            where="minimum_count",
        )


def require_groups(groups: int) -> None:
    """Raise OptionError for fewer than two groups."""
    if groups < 2:
        raise OptionError(f"groups must be at least 2, not {groups}.", where="groups")


def require_enough(records: int, minimum_count: int, groups: int = 1) -> None:
    """Raise OptionError if records are too few for so many groups of K."""
    if records < minimum_count * groups:
        raise OptionError(
            f"{records:,} records are too few for {groups} group{'s' if groups > 1 else ''} of"
            f" {minimum_count:,}.",
            where="minimum_count",
            remedy="Require fewer records in a group, or fewer groups.",
        )
