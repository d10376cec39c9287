"""What the ledger keeps of a column's values, so that it knows them again under any name.

Of the records of a release some are sampled by a keyed hash of their ids, the same ones whatever
the study. Kept is which of them share a category, and not which category that is; all of it is
encrypted under a key that follows from the draw key: the ledger alone tells no value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pramana_core.errors import StoreCorrupt
from pramana_core.marginals.counts import Codes
from pramana_core.mixed.table import CategoricalColumn, Column

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
    few = np.arange(len(values.names))
    if len(few) > SAMPLED:
        few = np.argpartition(values.names, SAMPLED)[:SAMPLED]
    few = few[np.argsort(values.names[few])]
    chosen = {column: numbered(values.columns[column][few]) for column in columns}
    return Sample(values.names[few], chosen)


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
    except InvalidTag as error:
        raise StoreCorrupt(
            "The ledger's sample of a release's values is damaged.",
            where="ledger",
            remedy="Restore the ledger from your backup.",
        ) from error
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
