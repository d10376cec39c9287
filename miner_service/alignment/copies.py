"""Releases that report the same records, compared record by record."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pramana_core.wire.parts import Pseudonyms, Values, locate
from pramana_core.wire.releases import SameReleases

CHUNK = 1 << 16
"""Records compared at once, which bounds the memory."""

Blocks = Mapping[str, tuple[str, ...]]
"""The variables of blocks, by what identifies the blocks."""


@dataclass(frozen=True)
class Reports:
    """The records of a release: pseudonyms, ascending, and columns; all may be memory-mapped."""

    keys: Pseudonyms | npt.NDArray[np.bytes_]
    columns: Mapping[str, Values]


@dataclass
class RepeatCount:
    """A block's reports compared with those of earlier releases by the same draws.

    `differing` has the indices of releases that report some record differently. `anew`: some record
    is reported as in none of them.
    """

    records: int = 0
    changed: int = 0
    differing: set[int] = field(default_factory=set)
    anew: bool = False


def repeated(
    new: Reports, earlier: Sequence[tuple[Reports, Blocks]], *, chunk: int = CHUNK
) -> dict[str, RepeatCount]:
    """Compare a release, by block, with earlier ones and the blocks that share its draws."""
    found = {draw: RepeatCount() for _, blocks in earlier for draw in blocks}
    for start in range(0, len(new.keys), chunk):
        here = slice(start, start + chunk)
        keys = new.keys[here]
        # Of each block: the records that an earlier release has, that one reports differently,
        # and that one reports the same.
        seen = {draw: np.zeros((3, len(keys)), dtype=np.bool_) for draw in found}
        for place, (other, blocks) in enumerate(earlier):
            at, there = locate(keys, other.keys)
            at = at[there]
            for draw, names in blocks.items():
                differs = np.zeros(len(at), dtype=np.bool_)
                for name in names:
                    differs |= other.columns[name][at] != new.columns[name][here][there]
                known, changed, same = seen[draw]
                known |= there
                changed[there] |= differs
                same[there] |= ~differs
                if differs.any():
                    found[draw].differing.add(place)
        for draw, (known, changed, same) in seen.items():
            tally = found[draw]
            tally.records += int(np.count_nonzero(known))
            tally.changed += int(np.count_nonzero(changed))
            tally.anew |= bool(np.any(known & ~same))
    return found


log = logging.getLogger(__name__)

NEARLY = 0.95
"""Releases are the same if so large a share of the larger one's records is."""

FEWEST = 20
"""Of fewer records nothing is concluded, and nobody tally: they may agree by chance."""

Load = Callable[[str, Sequence[str]], Reports]
"""Returns pseudonyms and columns of a sealed release."""

SAMPLED = 512
"""Records compared before all are; for most pairs they are enough."""

_GOLDEN = (5**0.5 - 1) / 2
"""Steps by this share of the records fall all over them, and in step with no pattern in them."""

_LIKELY = 0.8
"""Of a sample of copies at least so large a share is the same, but for a chance below 1e-30: no
sample has fewer than `SAMPLED` records, or it has them all."""

_CACHED = 1 << 16


@dataclass(frozen=True)
class ReleaseInUse:
    """A release in use; `content` and `data` are digests. A shared tree has no columns or file."""

    owner: str
    release: str
    content: str
    data: str | None
    records: int
    columns: tuple[str, ...]


class Copies:
    """Compares releases, and remembers the results: sealed releases never change."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._equal_records = lru_cache(_CACHED)(self._compared)

    def among(self, releases: Sequence[ReleaseInUse]) -> list[SameReleases]:
        """Return the pairs of equal releases of one kind, of different owners."""
        found = []
        for one, other in itertools.combinations(releases, 2):
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

    def _same(self, one: ReleaseInUse, other: ReleaseInUse) -> int | None:
        """Return the number of equal records; None if the releases cannot be copies."""
        if one.data == other.data and one.content == other.content:
            return one.records
        fewest, most = sorted((one.records, other.records))
        if not one.columns or set(one.columns) != set(other.columns) or fewest < NEARLY * most:
            return None
        try:
            return self._equal_records(one, other)
        except Exception:  # withdrawn meanwhile, or not as it was sealed: next time it may be read
            log.exception("releases %s and %s could not be compared", one.release, other.release)
            return None

    def _compared(self, one: ReleaseInUse, other: ReleaseInUse) -> int:
        new, known = (self._load(each.release, one.columns) for each in (one, other))
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
