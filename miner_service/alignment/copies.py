"""Releases of two owners that are the same, or nearly so: sent twice, by one agent or of one table.

Reports of the same people under the same plan differ where two owners drew them: equal reports of
nearly everybody are copies, or were hardly randomized. Either way these people count twice.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from miner_service.alignment.repeating import Reports, repeated
from shared.wire.releases import SameReleases

log = logging.getLogger(__name__)

NEARLY = 0.95
"""Releases are the same if so large a share of the larger one's records is."""

FEWEST = 20
"""Of fewer records nothing is concluded, and nobody told: they may agree by chance."""

Load = Callable[[str, Sequence[str]], Reports]
"""Returns pseudonyms and columns of a sealed release."""

_CACHED = 1024


@dataclass(frozen=True)
class Sent:
    """A release in use: its content's digest and that of its file, and the columns of its records.

    A knowledge model has no records and no file.
    """

    owner: str
    release: str
    content: str
    data: str | None
    records: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Copies:
    """Compares releases, remembering what it found: sealed releases never change."""

    load: Load
    _known: dict[tuple[str, str], int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def among(self, sent: Sequence[Sent]) -> list[SameReleases]:
        """Return which two of some releases of one kind, of different owners, are the same."""
        found = []
        for one, other in itertools.combinations(sent, 2):
            most = max(one.records, other.records)
            same = self._same(one, other)
            if same is not None and (not one.columns or same >= max(FEWEST, NEARLY * most)):
                found.append(
                    SameReleases(
                        owners=[one.owner, other.owner],
                        releases=[one.release, other.release],
                        same=same,
                        of=most,
                    )
                )
        return found

    def _same(self, one: Sent, other: Sent) -> int | None:
        """Return how many records are the same, as far as it matters; None if none can be."""
        if one.data == other.data and one.content == other.content:
            return one.records
        fewest, most = sorted((one.records, other.records))
        if not one.columns or set(one.columns) != set(other.columns) or fewest < NEARLY * most:
            return None
        pair = (one.release, other.release)
        with self._lock:
            if pair not in self._known:
                if len(self._known) >= _CACHED:
                    self._known.pop(next(iter(self._known)))
                self._known[pair] = self._compared(one, other)
            return self._known[pair]

    def _compared(self, one: Sent, other: Sent) -> int:
        try:
            new, known = (self.load(sent.release, one.columns) for sent in (one, other))
        except Exception:  # withdrawn meanwhile, or not as it was sealed
            log.exception("releases %s and %s could not be compared", one.release, other.release)
            return 0
        (found,) = repeated(new, [(known, {"all": one.columns})]).values()
        return found.records - found.changed
