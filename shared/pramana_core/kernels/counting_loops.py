"""The compiled loops of `counting`; importing this module loads numba.

Columns are passed as addresses and widths, so that one compiled form serves any number of columns.
They must be contiguous, with one or four bytes per code, and must not move during the count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.kernels.compiled import compiled, memory_access

Addresses = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

BLOCK = 1 << 12
"""The records whose cells are computed before they are counted, to fit the nearest cache."""
RUN = 1 << 16
"""The records counted in one table before the next, so that codes stay in the second cache."""
SPREAD_CELLS = 1 << 12
"""Maximum number of cells of a table whose counts have four copies, so that none must wait."""

_carray, _at = memory_access()


@compiled
def _extend(cells: Any, codes: Any, size: Any, first: bool) -> int:
    """Add an axis of a table to the cell indices of records, and return the highest code."""
    highest = codes[0]
    if first:
        for i in range(len(codes)):
            cells[i] = codes[i]
            highest = max(highest, codes[i])
    else:
        for i in range(len(codes)):
            cells[i] = cells[i] * size + codes[i]
            highest = max(highest, codes[i])
    return int(highest)


@compiled
def _place(cells: Any, number: int, address: Any, width: int, size: Any, first: bool) -> int:
    at = _at(address)
    if width == 1:
        return _extend(cells, _carray(at, number, np.uint8), size, first)
    return _extend(cells, _carray(at, number, np.uint32), size, first)


@compiled
def _spread(cells: Any, number: int, first: Any, second: Any, third: Any, fourth: Any) -> None:
    one = np.uint32(1)
    even = number - number % 4
    for i in range(0, even, 4):
        first[cells[i]] += one
        second[cells[i + 1]] += one
        third[cells[i + 2]] += one
        fourth[cells[i + 3]] += one
    for i in range(even, number):
        first[cells[i]] += one


@compiled
def _straight(cells: Any, number: int, counts: Any) -> None:
    for i in range(number):
        counts[cells[i]] += 1


@compiled
def count(
    addresses: Addresses,
    widths: Counts,
    sizes: Counts,
    members: Counts,
    ends: Counts,
    places: Counts,
    start: int,
    stop: int,
    counts: Counts,
) -> tuple[int, int]:
    """Add the records `start` to `stop` to the counts of all tables, in C order.

    Columns have `addresses`, `widths` in bytes and `sizes`. `members` lists the columns of each
    table, split at `ends`, and `places` has the offsets of its cells. Returns (-1, 0), or (column,
    code) for a code outside its column's size; the counts are then invalid.
    """
    small, large = np.empty(BLOCK, np.uint16), np.empty(BLOCK, np.uint32)
    often = np.empty(4 * SPREAD_CELLS, np.uint32)
    for low in range(start, stop, RUN):
        high = min(low + RUN, stop)
        for table in range(len(ends) - 1):
            size = places[table + 1] - places[table]
            own = counts[places[table] : places[table + 1]]
            four = size <= SPREAD_CELLS
            if four:
                often[: 4 * size] = 0
            first, second = often[:size], often[size : 2 * size]
            third, fourth = often[2 * size : 3 * size], often[3 * size : 4 * size]
            for at in range(low, high, BLOCK):
                number = min(BLOCK, high - at)
                for member in range(ends[table], ends[table + 1]):
                    column, begins = members[member], member == ends[table]
                    width = widths[column]
                    address = addresses[column] + np.uint64(at * width)
                    if size <= 65536:
                        few = np.uint16(sizes[column])
                        code = _place(small, number, address, width, few, begins)
                    else:
                        many = np.uint32(sizes[column])
                        code = _place(large, number, address, width, many, begins)
                    if code >= sizes[column]:
                        return column, code
                if four:
                    _spread(small, number, first, second, third, fourth)
                elif size <= 65536:
                    _straight(small, number, own)
                else:
                    _straight(large, number, own)
            if four:
                for cell in range(size):
                    own[cell] += (
                        np.int64(first[cell])
                        + np.int64(second[cell])
                        + np.int64(third[cell])
                        + np.int64(fourth[cell])
                    )
    return -1, 0
