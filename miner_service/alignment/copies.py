"""Comparison of releases record by record, to find repeated reports and copies."""

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
"""Records per step, which limits the memory."""

Blocks = Mapping[str, tuple[str, ...]]
"""The variables of each block, by the id of the block's draws."""


@dataclass(frozen=True)
class Reports:
    """The records of a release: ascending pseudonyms and columns. Both may be memory-mapped."""

    keys: Pseudonyms | npt.NDArray[np.bytes_]
    columns: Mapping[str, Values]


@dataclass
class RepeatCount:
    """The result of comparing a block's reports with earlier reports that used the same draws.

    `records` of the release are also in an earlier one, and `changed` of these are reported
    differently. `differing` has the indices of the earlier releases with a different report. `anew`
    means that some record differs from all its earlier reports.
    """

    records: int = 0
    changed: int = 0
    differing: set[int] = field(default_factory=set)
    anew: bool = False


def repeated(
    new: Reports, earlier: Sequence[tuple[Reports, Blocks]], *, chunk: int = CHUNK
) -> dict[str, RepeatCount]:
    """Compare each block with earlier blocks that used the same draws, by the ids of the draws."""
    found = {draw: RepeatCount() for _, blocks in earlier for draw in blocks}
    for start in range(0, len(new.keys), chunk):
        here = slice(start, start + chunk)
        keys = new.keys[here]
        # By block: the records that an earlier release has, reports differently, reports alike.
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
"""Releases can be copies if this share of the larger one's records is in both."""

FEWEST = 20
"""Minimum records for a conclusion, because fewer records may agree by chance."""

Load = Callable[[str, Sequence[str]], Reports]
"""A function that returns the pseudonyms and the named columns of a sealed release."""

SAMPLED = 512
"""Records in the sample that is compared first, which decides most pairs of releases."""

_GOLDEN = (5**0.5 - 1) / 2
"""Step between sampled records, as a share of all records. This step spreads the sample evenly."""

_LIKELY = 0.8
"""Minimum share of equal records in a sample of two copies.

Samples of copies fall below it with a probability under 1e-30. A sample has at least `SAMPLED`
records, or all records.
"""

_CACHED = 1 << 16


@dataclass(frozen=True)
class ReleaseInUse:
    """A release in use; `content` and `data` are digests. Shared trees have no columns or file."""

    owner: str
    release: str
    content: str
    data: str | None
    records: int
    columns: tuple[str, ...]


class Copies:
    """Finds equal releases. It caches results, because sealed releases never change."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._equal_records = lru_cache(_CACHED)(self._count_equal)

    def among(self, releases: Sequence[ReleaseInUse]) -> list[SameReleases]:
        """Return the pairs of equal releases by different owners."""
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
        """Return how many records are equal; None if the releases cannot be copies."""
        if one.data == other.data and one.content == other.content:
            return one.records
        fewest, most = sorted((one.records, other.records))
        if not one.columns or set(one.columns) != set(other.columns) or fewest < NEARLY * most:
            return None
        try:
            return self._equal_records(one, other)
        except Exception:  # withdrawn meanwhile, or damaged: a later comparison may succeed
            log.exception("releases %s and %s could not be compared", one.release, other.release)
            return None

    def _count_equal(self, one: ReleaseInUse, other: ReleaseInUse) -> int:
        new, known = (self._load(each.release, one.columns) for each in (one, other))
        sample = _sample(new)
        if _equal(sample, known, one.columns) < _LIKELY * len(sample.keys):
            return 0
        return _equal(new, known, one.columns)


def _sample(reports: Reports) -> Reports:
    """Return an evenly spread sample of a release, or all records of a small release."""
    records = len(reports.keys)
    if records <= 4 * SAMPLED:
        return reports
    here = np.sort(np.arange(SAMPLED) * _GOLDEN % 1.0 * records).astype(np.intp)
    return Reports(
        reports.keys[here], {name: column[here] for name, column in reports.columns.items()}
    )


def _equal(new: Reports, known: Reports, columns: tuple[str, ...]) -> int:
    (found,) = repeated(new, [(known, {"all": columns})]).values()
    return found.records - found.changed
