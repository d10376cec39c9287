"""What the ledger keeps of a column's values, so that it knows them again under any name.

Of the records of a release some are sampled by a keyed hash of their ids, the same ones whatever
the study. Kept is which of them share a category, and not which category that is; all of it is
encrypted under a key that follows from the draw key: the ledger alone tells no value.

Also here:

* Columns known again by their values, whatever their column and variable are called.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from owner_agent.release.ledger import Draw, Entry
from pramana_core.errors import StoreCorrupt
from pramana_core.marginals.counts import Codes
from pramana_core.mixed import CategoricalColumn, Column

BINS = 8
"""Numeric columns are known again by which of so many groups of ranks a record is in."""

SAMPLED = 512
"""So many records of a release are sampled: all of them if they are few."""

_PURPOSE = b"pramana/fingerprint/1"
_KEY_LENGTH = 64
_MARK_BYTES = 8

Names = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Values:
    """A table's true codes by column, with a keyed name of each record: never written as it is."""

    names: Names
    columns: Mapping[str, Codes]
    key: bytes = field(repr=False)

    def sampled(self, known: Names) -> Values:
        """Return the values of the records that a sample is of: all that the ledger needs.

        Args:
            known: names of records that are in the ledger's samples.
        """
        few = np.isin(self.names, known)
        few[_smallest(self.names)] = True
        rows = np.flatnonzero(few)
        columns = {name: codes[rows] for name, codes in self.columns.items()}
        return replace(self, names=self.names[rows], columns=columns)

    def joined(self, other: Values) -> Values:
        """Return these records and others of the same table."""
        columns = {n: np.concatenate([c, other.columns[n]]) for n, c in self.columns.items()}
        names = np.concatenate([self.names, other.names])
        return replace(self, names=names, columns=columns)


@dataclass(frozen=True, eq=False)
class Sample:
    """Some records of a release: ascending names and, by column, which have the same category."""

    names: Names
    columns: Mapping[str, Codes]


def values_of(
    draw_key: bytes,
    record_ids: Iterable[str],
    columns: Mapping[str, Codes],
    sources: Mapping[str, str],
) -> Values:
    """Return a table's values.

    Args:
        draw_key: the owner's draw key.
        record_ids: the records' ids, in the order of the codes.
        columns: true codes by variable.
        sources: the table's column of each variable.
    """
    keyed = hashlib.blake2b(key=_derived(draw_key, b"names", 32), digest_size=8)
    hashed = bytearray()
    for record in record_ids:
        one = keyed.copy()  # the key is absorbed once and not for every record
        one.update(record.encode())
        hashed += one.digest()
    return Values(
        np.frombuffer(bytes(hashed), dtype="<u8").astype(np.uint64),
        {sources[name]: codes for name, codes in columns.items()},
        _derived(draw_key, b"values", _KEY_LENGTH),
    )


def groups_of(column: Column) -> Codes:
    """Return a column as codes: its categories, or groups of ranks of about the same size."""
    if isinstance(column, CategoricalColumn):
        return column.codes.astype(np.uint16)
    edges = np.quantile(column.values, np.arange(1, BINS) / BINS)
    return np.searchsorted(edges, column.values, side="right").astype(np.uint16)


def sample_of(values: Values, columns: Iterable[str]) -> Sample:
    """Return the records of the smallest names, with some of their columns."""
    few = _smallest(values.names)
    few = few[np.argsort(values.names[few])]
    chosen = {column: numbered(values.columns[column][few]) for column in columns}
    return Sample(values.names[few], chosen)


def _smallest(names: Names) -> npt.NDArray[np.intp]:
    """Return where the smallest names are that are sampled; all of them if they are few."""
    if len(names) <= SAMPLED:
        return np.arange(len(names))
    return np.argpartition(names, SAMPLED)[:SAMPLED]


def known_names(draw_key: bytes, entries: Iterable[Entry]) -> Names:
    """Return the names of the records in a ledger's samples.

    Raises:
        StoreCorrupt: a fingerprint in the ledger is damaged.
    """
    key = _derived(draw_key, b"values", _KEY_LENGTH)
    samples = (read_fingerprint(key, entry.fingerprint) for entry in entries if entry.left)
    found = [sample.names for sample in samples if sample is not None]
    return np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *found]))


def fingerprint_of(values: Values, columns: Iterable[str]) -> bytes:
    """Return the encrypted sample of some columns, for the ledger; nothing for no columns."""
    sample = sample_of(values, columns)
    if not sample.columns:
        return b""
    codes = np.array([codes.astype("<u2") for codes in sample.columns.values()])
    body = b"\n".join(
        [
            json.dumps(list(sample.columns)).encode(),
            sample.names.astype("<u8").tobytes() + codes.astype("<u2").tobytes(),
        ]
    )
    return _mark(values.key) + AESSIV(values.key).encrypt(body, [_PURPOSE])


def read_fingerprint(key: bytes, fingerprint: bytes) -> Sample | None:
    """Return the sample in a fingerprint; None if there is none, or another draw key made it.

    Raises:
        StoreCorrupt: it is damaged.
    """
    if not fingerprint or fingerprint[:_MARK_BYTES] != _mark(key):
        return None
    try:
        body = AESSIV(key).decrypt(fingerprint[_MARK_BYTES:], [_PURPOSE])
    except InvalidTag:
        raise StoreCorrupt(
            "The ledger's sample of a release's values is damaged.",
            where="ledger",
            remedy="Restore the ledger from your backup.",
        ) from None
    head, _, numbers = body.partition(b"\n")
    columns: Sequence[str] = json.loads(head)
    count = len(numbers) // (8 + 2 * len(columns))
    names = np.frombuffer(numbers[: 8 * count], dtype="<u8").astype(np.uint64)
    codes = np.frombuffer(numbers[8 * count :], dtype="<u2").reshape(len(columns), count)
    return Sample(names, dict(zip(columns, codes.astype(np.uint16), strict=True)))


def numbered(codes: Codes) -> Codes:
    """Return codes numbered by first appearance: which records share a category, and no more."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.uint16)
    ranks[np.argsort(first)] = np.arange(len(first))
    return ranks[inverse]


def _derived(draw_key: bytes, what: bytes, length: int) -> bytes:
    info = _PURPOSE + b"\x00" + what
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=info).derive(draw_key)


def _mark(key: bytes) -> bytes:
    """Return bytes that tell keys apart and do not reveal them."""
    return hashlib.sha256(_PURPOSE + b"\x00mark\x00" + key).digest()[:_MARK_BYTES]


# Columns known again by their values, whatever their column and variable are called.
#
# Two columns are one secret if, on the records that are known of both, the categories of one are
# those of the other under other labels, up to a few corrections. Losses of one secret add.

Rows = npt.NDArray[np.intp]
Table = npt.NDArray[np.intp]

LEAST_KAPPA = 0.8
"""Cohen's kappa of the best one-to-one matching of categories: 0 by chance, 1 for a relabelling."""

LEAST_COMMON = 30
"""Columns are compared on at least so many records."""

CHANCE = 1e-6
"""Independent columns are taken for one at most this often, times the categories of one."""


def same_values(one: Codes, other: Codes) -> bool:
    """Whether two columns are one under other labels, up to a few records.

    The best one-to-one matching of their categories (the assignment problem) agrees with a kappa of
    at least `LEAST_KAPPA`; and so many records have the most frequent category of the one together
    with its match as chance would bring about with a probability below `CHANCE` (hypergeometric:
    Fisher's exact test). The first alone would take two columns for one in which a single record
    differs from all others; the second alone would take any two that go together.

    Args:
        one: codes of N records.
        other: codes of the same records, in the same order.
    """
    records = len(one)
    if records < LEAST_COMMON:
        return False
    (kinds, rows), (others, columns) = (np.unique(c, return_inverse=True) for c in (one, other))
    if min(len(kinds), len(others)) < 2:
        return False
    shape = len(kinds), len(others)
    table = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1]).reshape(shape)
    mine, theirs = table.sum(axis=1), table.sum(axis=0)
    if table.max(axis=1).sum() < LEAST_KAPPA * records:
        return False  # No matching agrees on more, and a kappa is never above its agreement.
    # Most commands compare nothing, and the library takes long to load.
    from scipy.optimize import linear_sum_assignment

    matched, match = linear_sum_assignment(table, maximize=True)
    agreement = table[matched, match].sum() / records
    expected = (mine[matched] * theirs[match]).sum() / records**2
    if agreement - expected < LEAST_KAPPA * (1 - expected):
        return False
    largest = int(mine.argmax())
    partners = match[matched == largest]
    return len(partners) == 1 and _chance(table, largest, int(partners[0])) < CHANCE


def _chance(table: Table, row: int, column: int) -> float:
    """Return how probably so many records or more fall into a cell if its margins are given."""
    records, ours, theirs = (
        int(n) for n in (table.sum(), table[row].sum(), table[:, column].sum())
    )
    ways = sum(
        comb(ours, both) * comb(records - ours, theirs - both)
        for both in range(int(table[row, column]), min(ours, theirs) + 1)
    )
    return ways / comb(records, theirs)


def recognized(draws: Sequence[Draw], values: Values, entries: Iterable[Entry]) -> tuple[Draw, ...]:
    """Return planned draws, each with the columns whose values its column has.

    These are columns that left before, on the records sampled then that are still in the table, and
    other columns of the same plan. At least one of the two must be randomized, for what both tell
    openly is no loss.

    Raises:
        StoreCorrupt: a fingerprint in the ledger is damaged.
    """
    now = sample_of(values, [draw.column for draw in draws])
    sources = [(now.columns, now.columns, _randomized(draws))]
    place = np.argsort(values.names)
    ordered = values.names[place]
    for entry in entries:
        sample = read_fingerprint(values.key, entry.fingerprint) if entry.left else None
        if sample is not None:
            rows, known = _together(ordered, place, sample)
            mine = {draw.column: values.columns[draw.column][rows] for draw in draws}
            theirs = {column: codes[known] for column, codes in sample.columns.items()}
            sources.append((mine, theirs, _randomized(entry.draws)))
    return tuple(replace(draw, same_as=tuple(sorted(_alike(draw, sources)))) for draw in draws)


Compared = tuple[Mapping[str, Codes], Mapping[str, Codes], frozenset[str]]
"""Planned and other columns over the same records, and which of the others are randomized."""


def _alike(draw: Draw, sources: Iterable[Compared]) -> set[str]:
    found: set[str] = set()
    for mine, theirs, randomized in sources:
        for column, codes in theirs.items():
            matters = draw.randomized or column in randomized
            if column != draw.column and column not in found and matters:
                found |= {column} if same_values(mine[draw.column], codes) else set()
    return found


def _together(ordered: Names, place: Rows, sample: Sample) -> tuple[Rows, Rows]:
    """Return where the records that a table and a sample have in common are in each."""
    found = np.minimum(np.searchsorted(ordered, sample.names), len(ordered) - 1)
    known = np.flatnonzero(ordered[found] == sample.names)
    return place[found[known]], known


def _randomized(draws: Iterable[Draw]) -> frozenset[str]:
    return frozenset(draw.column for draw in draws if draw.randomized)
