"""A test of whether two releases are about the same records, by a sample of pseudonyms.

People with new record ids count as other records: their draws are new, so the losses add.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from owner_agent.release.ledger import Entry
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Column, Pseudonyms, key_words, slices_of

SKETCH_RECORDS = 256

TOLERATED_SHARE = 0.1
"""Largest share of a sample that may be gone, or new, in the same population."""


def sketch_of(keys: Column) -> bytes:
    """Return a sample of fixed size: the smallest of the ascending pseudonyms, as bytes."""
    return bytes(keys[:SKETCH_RECORDS].tobytes())


def same_records(earlier: Entry, keys: Column) -> bool:
    """Whether an earlier release has mostly the same records as these ascending pseudonyms."""
    sampled = np.frombuffer(earlier.sketch, dtype=f"V{KEY_BYTES}")
    return _same(sampled, earlier.records, keys)


def same_people(earlier: Column, keys: Column) -> bool:
    """Whether two ascending lists of pseudonyms contain mostly the same records."""
    return _same(np.frombuffer(sketch_of(earlier), dtype=f"V{KEY_BYTES}"), len(earlier), keys)


def _same(sketch: Pseudonyms, records: int, keys: Column) -> bool:
    sampled = _first_words(sketch)
    last = sampled.max() if records > len(sampled) else None
    found = present = 0
    for rows in slices_of(len(keys)):
        first = _first_words(keys[rows])
        inside = first if last is None else first[: np.searchsorted(first, last, side="right")]
        # Half a pseudonym suffices: two records share it with a probability of 1 in 10^19.
        found += int(np.isin(sampled, inside).sum())
        present += len(inside)
        if len(inside) < len(first):
            break
    tolerated = TOLERATED_SHARE * len(sampled)
    return len(sampled) - found <= tolerated or present - found <= tolerated


def population_of(keys: Column, draw_id: str, entries: Iterable[Entry]) -> str:
    """Return the name of the set of records with these ascending pseudonyms, known or new."""
    populations: dict[str, bool] = {}
    for entry in entries:
        draw = next((d for d in entry.draws if d.draw_id == draw_id), None)
        if entry.left and draw is not None:
            fits = populations.pop(draw.population, True) and same_records(entry, keys)
            populations[draw.population] = fits
    fitting = [name for name, fits in populations.items() if fits]
    return fitting[-1] if fitting else hashlib.sha256(sketch_of(keys)).hexdigest()[:16]


def _first_words(keys: Pseudonyms) -> npt.NDArray[np.uint64]:
    return key_words(keys)[:, 0]
