"""Pseudo-data as Parquet, drawn again from the released trees and written piece by piece."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pramana_core.mixed.table import CategoricalColumn, MixedTable


class _Pipe:
    """A file that is only written, and read as it grows."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> int:
        """Take bytes."""
        self._pieces.append(bytes(data))
        return len(self._pieces[-1])

    def flush(self) -> None:
        """Do nothing: there is nothing behind it."""

    def close(self) -> None:
        """Note that nothing more comes."""
        self.closed = True

    def taken(self) -> bytes:
        """Return what was written since it was last asked."""
        found = b"".join(self._pieces)
        self._pieces.clear()
        return found


def parquet_pieces(chunks: Iterator[MixedTable]) -> Iterator[bytes]:
    """Return tables of the same columns as one Parquet file, a row group for each, piece by piece.

    Categories are written as dictionaries. The first chunk is drawn at once, so that what is wrong
    is said before anything is sent.
    """
    first = next(chunks)
    return _pieces(first, chunks)


def _pieces(first: MixedTable, rest: Iterator[MixedTable]) -> Iterator[bytes]:
    pipe = _Pipe()
    table = _arrow(first)
    with pq.ParquetWriter(pa.PythonFile(pipe, mode="w"), table.schema) as writer:
        for one in itertools.chain([table], map(_arrow, rest)):
            writer.write_table(one)
            yield pipe.taken()
    yield pipe.taken()


def _arrow(table: MixedTable) -> pa.Table:
    columns = {}
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            labels = pa.array(list(column.categories), pa.string())
            codes = pa.array(np.asarray(column.codes, dtype=np.int32))
            columns[column.name] = pa.DictionaryArray.from_arrays(codes, labels)
        else:
            columns[column.name] = pa.array(column.values)
    return pa.table(columns)
