"""Who has given no sign of life for too long, by the clock of the one who watches.

No agreement of clocks is needed: a sign is a number that changes, and only the watcher's own time
between two looks counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)


class Watch(Generic[KeyT]):
    """Remembers when each sign was first seen.

    Args:
        seconds: for how long a sign holds.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: dict[KeyT, tuple[int, float]] = {}

    def look(self, signs: Mapping[KeyT, int], now: float) -> set[KeyT]:
        """Take note of all signs there are; return whose last one is older than it may be."""
        before = self._seen
        self._seen = {
            key: before[key] if key in before and before[key][0] == sign else (sign, now)
            for key, sign in signs.items()
        }
        return {key for key, (_, first) in self._seen.items() if now - first >= self._seconds}
