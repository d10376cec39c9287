"""The compiled loops of `counting`: importing it loads numba.

Columns are handed over as addresses and widths, so that one compiled form serves any number of
columns. They must be contiguous, of one byte a code or of four, and stay where they are meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.kernels.compiled import compiled, memory_access

Addresses = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

BLOCK = 1 << 12
"""So many records' cells are computed before they are counted: they stay in the nearest cache."""
RUN = 1 << 16
"""So many records are counted in one table before the next: their codes stay in the second."""
BITS = 1 << 14
"""So many records are compared at once as patterns of bits."""
SPREAD_CELLS = 1 << 12
"""Tables of so many cells are counted four times over, so that no count waits for the last."""

_carray, _at, _ones = memory_access()


@compiled
def _extend(cells: Any, codes: Any, size: Any, first: bool) -> int:
    """Add an axis of a table to the numbers of the records' cells; return the highest code."""
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
    """Add the records of a range to the counts of tables.

    Args:
        addresses, widths, sizes: of the columns: where they are, bytes of a code, number of codes.
        members: the columns of the first table, of the second, and so on.
        ends: where each table's begin in `members`, and where the last one's end.
        places: likewise, where each table's cells are in `counts`.
        start, stop: the records.
        counts: all tables' cells, C order.

    Returns:
        (-1, 0), or a column with a code outside its size, and the code: then counts are worthless.
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


@compiled
def _patterns(narrow: Any, words: int, size: int, planes: Any, bits: Any) -> None:
    """Write for each code but 0 which records have it, a bit a record.

    The planes are the binary digits of the codes; a code is where all its digits are right.
    """
    eights = _carray(_at(np.uint64(narrow.ctypes.data)), words * 8, np.uint64)
    digits = 0
    while (1 << digits) < size:
        for word in range(words):
            made = np.uint64(0)
            for part in range(8):
                eight = (eights[8 * word + part] >> np.uint64(digits)) & np.uint64(
                    0x0101010101010101
                )
                made |= ((eight * np.uint64(0x0102040810204080)) >> np.uint64(56)) << np.uint64(
                    8 * part
                )
            planes[digits, word] = made
        digits += 1
    for code in range(1, size):
        for word in range(words):
            bits[code - 1, word] = ~np.uint64(0)
        for digit in range(digits):
            other = np.uint64(0) if (code >> digit) & 1 else ~np.uint64(0)
            for word in range(words):
                bits[code - 1, word] &= planes[digit, word] ^ other


@compiled
def _rows(sizes: Counts) -> Counts:
    """Return where the patterns of each column begin: it has one for each code but 0."""
    rows = np.zeros(len(sizes) + 1, np.int64)
    for column in range(len(sizes)):
        rows[column + 1] = rows[column] + sizes[column] - 1
    return rows


@compiled
def count_pairs(
    addresses: Addresses,
    sizes: Counts,
    firsts: Counts,
    seconds: Counts,
    places: Counts,
    start: int,
    stop: int,
    counts: Counts,
    alone: Counts,
) -> tuple[int, int]:
    """Add the records of a range to the counts of pairs of columns, by patterns of bits.

    A cell of codes other than 0 is counted by the bits that both codes' patterns have; the others
    are left to `complete_pairs`. Arguments and results are those of `count`, but that a table's
    columns are `firsts` and `seconds`, that codes are of one byte, and that `alone` has the counts
    of each column's codes but 0.
    """
    columns, words, rows = len(addresses), BITS // 64, _rows(sizes)
    bits = np.empty((rows[columns], words), np.uint64)
    planes, narrow = np.empty((8, words), np.uint64), np.empty(BITS, np.uint8)
    for low in range(start, stop, BITS):
        high = min(low + BITS, stop)
        used = (high - low + 63) // 64
        for column in range(columns):
            narrow[high - low :] = 0
            codes = _carray(_at(addresses[column] + np.uint64(low)), high - low, np.uint8)
            code = _extend(narrow, codes, np.uint8(0), True)
            if code >= sizes[column]:
                return column, code
            own = bits[rows[column] : rows[column + 1]]
            _patterns(narrow, used, sizes[column], planes, own)
            for code in range(len(own)):
                found = np.uint64(0)
                for word in range(used):
                    found += _ones(own[code, word])
                alone[rows[column] + code] += np.int64(found)
        for table in range(len(firsts)):
            first, second = firsts[table], seconds[table]
            width = sizes[second]
            for one in range(sizes[first] - 1):
                left = bits[rows[first] + one]
                for other in range(width - 1):
                    right = bits[rows[second] + other]
                    found = np.uint64(0)
                    for word in range(used):
                        found += _ones(left[word] & right[word])
                    cell = places[table] + (one + 1) * width + other + 1
                    counts[cell] += np.int64(found)
    return -1, 0


@compiled
def complete_pairs(
    sizes: Counts,
    firsts: Counts,
    seconds: Counts,
    places: Counts,
    alone: Counts,
    records: int,
    counts: Counts,
) -> None:
    """Fill in the cells of a code 0: what is left of the margins. See `count_pairs`."""
    rows = _rows(sizes)
    for table in range(len(firsts)):
        first, second = firsts[table], seconds[table]
        height, width = sizes[first], sizes[second]
        own = counts[places[table] : places[table + 1]]
        rest = records
        for one in range(1, height):
            left = alone[rows[first] + one - 1]
            rest -= left
            for other in range(1, width):
                left -= own[one * width + other]
            own[one * width] = left
        for other in range(1, width):
            left = alone[rows[second] + other - 1]
            for one in range(1, height):
                left -= own[one * width + other]
            own[other] = left
            rest -= left
        own[0] = rest
