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

import numpy as np

from miner_service.alignment.repeating import Reports, repeated
from pramana_core.wire.releases import SameReleases

log = logging.getLogger(__name__)

NEARLY = 0.95
"""Releases are the same if so large a share of the larger one's records is."""

FEWEST = 20
"""Of fewer records nothing is concluded, and nobody told: they may agree by chance."""

Load = Callable[[str, Sequence[str]], Reports]
"""Returns pseudonyms and columns of a sealed release."""

SAMPLED = 512
"""So many records are looked at before all are; of most pairs they are enough."""

_GOLDEN = (5**0.5 - 1) / 2
"""Steps by this share of the records fall all over them, and in step with no pattern in them."""

_LIKELY = 0.8
"""Of a sample of copies at least so large a share is the same, but for a chance below 1e-30: no
sample has fewer than `SAMPLED` records, or it has them all."""

_CACHED = 1 << 16


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
    """Compares releases, remembering what it found: sealed releases never change.

    Nobody waits for another one's comparison; two that ask at once for the same may both make it.
    """

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
        known = self._known.get(pair)
        if known is not None:
            return known
        try:
            found = self._compared(one, other)
        except Exception:  # withdrawn meanwhile, or not as it was sealed: next time it may be read
            log.exception("releases %s and %s could not be compared", *pair)
            return None
        with self._lock:
            if len(self._known) >= _CACHED:
                self._known.pop(next(iter(self._known)))
            self._known[pair] = found
        return found

    def _compared(self, one: Sent, other: Sent) -> int:
        new, known = (self.load(sent.release, one.columns) for sent in (one, other))
        sample = _sample(new)
        if _equal(sample, known, one.columns) < _LIKELY * len(sample.keys):
            return 0
        return _equal(new, known, one.columns)


def _sample(reports: Reports) -> Reports:
    """Return some records from all over a release, the same each time; all of a small one."""
    records = len(reports.keys)
    if records <= 4 * SAMPLED:
        return reports
    here = np.sort(np.arange(SAMPLED) * _GOLDEN % 1.0 * records).astype(np.intp)
    return Reports(
        reports.keys[here], {name: column[here] for name, column in reports.columns.items()}
    )


def _equal(new: Reports, known: Reports, columns: tuple[str, ...]) -> int:
    """Return how many records of one release another has with the same values."""
    (found,) = repeated(new, [(known, {"all": columns})]).values()
    return found.records - found.changed
