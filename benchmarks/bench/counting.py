"""Records counted: beside a C loop compiled here, DuckDB, polars and plain numpy; and in files."""

from __future__ import annotations

import ctypes
import itertools
import math
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.bench.measuring import MOST_MEMORY, Bench, Comparison, Spent
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import NotInstalled
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.kernels.compiled import load
from pramana_core.kernels.counting import Codes, count_tables
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

LOOP = r"""
#include <stdint.h>
#include <string.h>
#define BLOCK 4096

/* Cells of a block of records first, then four histograms in turn. */
void count(const uint8_t *const *restrict columns, const uint16_t *restrict sizes, int axes,
           int64_t records, int64_t number, uint32_t *restrict often, int64_t *restrict counts) {
  uint16_t cells[BLOCK];
  uint32_t *a = often, *b = a + number, *c = b + number, *d = c + number;
  memset(often, 0, 4 * number * sizeof(uint32_t));
  for (int64_t start = 0; start < records; start += BLOCK) {
    int m = records - start < BLOCK ? (int)(records - start) : BLOCK, i = 0;
    const uint8_t *restrict first = columns[0] + start;
    for (int j = 0; j < m; j++) cells[j] = first[j];
    for (int axis = 1; axis < axes; axis++) {
      const uint8_t *restrict at = columns[axis] + start;
      const uint16_t size = sizes[axis];
      for (int j = 0; j < m; j++) cells[j] = (uint16_t)(cells[j] * size + at[j]);
    }
    for (; i + 4 <= m; i += 4) {
      uint64_t four;
      memcpy(&four, cells + i, 8);
      a[four & 65535]++; b[four >> 16 & 65535]++; c[four >> 32 & 65535]++; d[four >> 48]++;
    }
    for (; i < m; i++) a[cells[i]]++;
  }
  for (int64_t j = 0; j < number; j++) counts[j] = (int64_t)a[j] + b[j] + c[j] + d[j];
}
"""
FLAGS = ("-O3", "-march=native", "-funroll-loops")
SIZES = (3, 4, 5, 2, 5)
"""Of three columns with 60 cells, of five with 600; the others have as many codes, in turn."""


def _c_loop(
    folder: Path, columns: Sequence[Codes], sizes: Sequence[int]
) -> Callable[[], np.ndarray]:
    """Compile the loop; return what counts the table of all these columns by it."""
    if shutil.which("gcc") is None:
        raise NotInstalled("There is no gcc.", remedy="Install it, or leave this comparison out.")
    source, library = folder / "loop.c", folder / "loop.so"
    source.write_text(LOOP, encoding="utf-8")
    command = ["gcc", *FLAGS, "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True)  # noqa: S603 our own source
    count = ctypes.CDLL(str(library)).count
    cells = math.prod(sizes)
    where = (ctypes.c_void_p * len(columns))(*(column.ctypes.data for column in columns))
    widths = (ctypes.c_uint16 * len(sizes))(*sizes)

    def run() -> np.ndarray:
        often, counts = np.empty(4 * cells, np.uint32), np.empty(cells, np.int64)
        into = (ctypes.c_void_p(array.ctypes.data) for array in (often, counts))
        records = ctypes.c_int64(len(columns[0]))
        count(where, widths, len(sizes), records, ctypes.c_int64(cells), *into)
        return counts

    return run


def joint_counts(bench: Bench) -> list[Comparison]:
    """Count the table of 3 and of 5 out of 20 columns, by one thread and by all."""
    load()
    records, rng = bench.size(10_000_000), np.random.default_rng(1)
    sizes = SIZES * 4
    columns = {f"c{i}": rng.integers(0, k, records, np.uint8) for i, k in enumerate(sizes)}
    folder = bench.saved(**dict(itertools.islice(columns.items(), 5)))
    found = []
    for axes in (3, 5):
        asked = (list(columns.values()), sizes, [range(axes)])
        one = partial(count_tables, *asked, threads=1)
        loop = _c_loop(bench.folder, asked[0][:axes], sizes[:axes])
        if not np.array_equal(one()[0].ravel(), loop()):
            raise AssertionError
        what = f"joint counts of {axes} of 20 columns, 10M records"
        found.append(Comparison(what, "C loop, one thread", one, loop, aim=1.3))
        every = partial(count_tables, *asked, threads=bench.cores)
        found.append(
            Comparison(
                f"{what}, all cores", "C loop, one thread, elapsed", every, loop, clock="elapsed"
            )
        )
        names = list(columns)[:axes]
        for peer in ("duckdb", "polars"):
            theirs = bench.peer(f"counting.{peer}_counts", folder=folder, names=names)
            found.append(Comparison(what, peer, one, theirs, aim=1 / 8))
    return found


def all_pairs(bench: Bench) -> list[Comparison]:
    """Count all pairs of 100 columns, and estimate them with their errors."""
    load()
    records, rng = bench.size(1_000_000), np.random.default_rng(2)
    found = []
    for least, most in ((4, 4), (2, 30)):
        sizes = rng.integers(least, most + 1, 100).tolist()
        names = [f"v{i}" for i in range(len(sizes))]
        columns = [rng.integers(0, k, records).astype(np.uint8) for k in sizes]
        domain = Domain(
            tuple(Variable(n, tuple(map(str, range(k)))) for n, k in zip(names, sizes, strict=True))
        )
        channels = (Block((v,), Symmetric.from_gamma(v.size, 19.0)) for v in domain)
        plan = Plan(tuple(channels))
        reports = dict(zip(names, columns, strict=True))
        pairs = list(itertools.combinations(range(100), 2))
        wide = [column.astype(np.int64) for column in columns]
        kinds = str(most) if least == most else f"{least} to {most}"
        what = f"4,950 pairs of 100 columns of {kinds} categories, 1M records"
        theirs = partial(_bincounts, wide, sizes, pairs)
        by = "numpy's bincount of each pair"
        ours = partial(count_tables, columns, sizes, pairs, threads=1)
        count_tables([column[:1000] for column in columns], sizes, pairs)  # compiled, if it was not
        found.append(Comparison(f"counts of {what}", by, ours, theirs, rounds=1))
        errors = partial(_with_errors, reports, plan)
        found.append(Comparison(f"errors of {what}", by, errors, theirs, aim=1 / 3, rounds=1))
    return found


def out_of_core(bench: Bench) -> list[Comparison]:
    """Count tables of mapped files that are longer than memory should hold, chunk by chunk."""
    large = bench.size(100_000_000)
    small = large // 10
    _write_columns(bench.folder, large)
    counted = cache(partial(_in_a_process, bench.folder))
    found = [
        Comparison(
            f"{what} of 20 columns in files, {large:,} records",
            f"the same seconds a record as {small:,}",
            lambda place=place: Spent(*[counted(large)[place]] * 2),
            lambda place=place: Spent(*[10 * counted(small)[place]] * 2),
            aim=1.1,
            rounds=1,
            shown=False,
        )
        for place, what in enumerate(ASKED)
    ]
    memory = Comparison(
        f"memory of counting 20 columns in files, {large:,} records",
        "what it may hold",
        lambda: counted(large)[-1],
        lambda: MOST_MEMORY,
        unit="MiB",
        aim=1.0,
        rounds=1,
    )
    return [*found, memory]


ASKED = {
    "a table of 3": [range(3)],
    "a table of 5": [range(5)],
    "all 190 pairs": list(itertools.combinations(range(20), 2)),
}


def _write_columns(folder: Path, records: int) -> None:
    """Write the codes of 20 columns, a million records at a time."""
    rng = np.random.default_rng(3)
    for place, size in enumerate(SIZES * 4):
        with (folder / f"c{place}").open("wb") as file:
            for start in range(0, records, 1 << 20):
                file.write(rng.integers(0, size, min(1 << 20, records - start), np.uint8))


def _in_a_process(folder: Path, records: int) -> tuple[float, ...]:
    """Count in a new process: its seconds for each of `ASKED`, and the most MiB that it held."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_count_files, (folder, records))


def _count_files(folder: Path, records: int) -> tuple[float, ...]:
    load()
    sizes = SIZES * 4
    columns = [np.memmap(folder / f"c{i}", np.uint8, "r", shape=records) for i in range(20)]
    seconds = []
    for tables in ASKED.values():
        count_tables([column[: 1 << 20] for column in columns], sizes, tables)  # loads the loops
        began = time.process_time()
        count_tables(columns, sizes, tables)
        seconds.append(time.process_time() - began)
    return *seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _bincounts(
    wide: Sequence[np.ndarray], sizes: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> None:
    for one, other in pairs:
        size = sizes[other]
        np.bincount(wide[one] * size + wide[other], minlength=sizes[one] * size)


def _with_errors(reports: dict[str, Codes], plan: Plan) -> None:
    """Estimate all pairs, each column by its own channel, with the errors of every cell."""
    counts = ReportedCounts(reports, plan.reported_sizes)
    marginals = EstimatedMarginals(counts, plan)
    pairs = list(itertools.combinations(plan.domain.names, 2))
    counts.tables(pairs)
    for pair in pairs:
        marginals.marginal(pair).standard_error(population=True)


GROUPS = (joint_counts, all_pairs, out_of_core)
