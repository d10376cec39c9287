"""Whose records a release holds: known again by a few pseudonyms, without a look at the records.

Under other record ids the same people are other records, with draws of their own: their losses
add, and nothing but the pseudonyms tells. Pseudonyms are MACs, so the smallest of a release are a
random sample of its records, and most of them are in every later release of the same table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from owner_agent.ledger import Entry
from shared.parts import Keys, key_words
from shared.wire import KEY_BYTES

SKETCH_RECORDS = 256


def sketch_of(keys: Keys) -> bytes:
    """Return the smallest pseudonyms, ascending and joined: all of them if they are few."""
    first = key_words(keys)[:, 0]
    if len(keys) > SKETCH_RECORDS:
        limit = np.partition(first, SKETCH_RECORDS - 1)[SKETCH_RECORDS - 1]
        keys = keys[first <= limit]
    return b"".join(sorted(bytes(key) for key in keys)[:SKETCH_RECORDS])


def same_records(sketch: bytes, keys: Keys) -> bool:
    """Whether at least half of a release's sketch is among some pseudonyms."""
    sampled = _first_words(np.frombuffer(sketch, dtype=f"V{KEY_BYTES}"))
    # Half a pseudonym is enough: two records have the same once in 10^19.
    found = int(np.isin(sampled, _first_words(keys)).sum())
    return found > 0 and 2 * found >= len(sampled)


def population_of(keys: Keys, entries: Iterable[Entry]) -> str:
    """Return the name of the population that records belong to.

    It is that of the newest release that left with the same records, or else a new name.

    Args:
        keys: the records' pseudonyms, in any order.
        entries: the ledger's, oldest first.
    """
    for entry in reversed(tuple(entries)):
        if entry.left and same_records(entry.sketch, keys):
            return entry.population
    return hashlib.sha256(sketch_of(keys)).hexdigest()[:16]


def _first_words(keys: Keys) -> npt.NDArray[np.uint64]:
    return key_words(keys)[:, 0]
