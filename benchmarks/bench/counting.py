"""Columns randomized by their owners, counted, and estimated: beside ways that do less.

Draws and pseudonyms are keyed and repeatable, the ways beside them neither; counts are beside a C
loop compiled here, DuckDB and polars, and in files; estimates are beside pandas, and beside EM
alone. Learners are in `learning.py`."""

from __future__ import annotations

import ctypes
import hmac
import itertools
import math
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.bench.measuring import MOST_MEMORY, Bench, Comparison, Spent
from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import Randomizer
from owner_agent.state.keys import Secrets
from pramana_core.channels import Symmetric
from pramana_core.design.families import Requirements, independent, sampled
from pramana_core.discretize import mgas
from pramana_core.domain import Domain, Variable
from pramana_core.errors import NotInstalled
from pramana_core.estimation.axes import Stratum
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.likelihood import FactoredModel, Maximum, climb, maximize, start
from pramana_core.kernels.compiled import load
from pramana_core.kernels.counting import Codes, count_tables
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import Pseudonyms

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
        what = f"joint counts of {axes} of 20 columns, {bench.label(10_000_000)} records"
        found.append(Comparison(what, "C loop, one thread", one, loop, aim=1.3))
        every = partial(count_tables, *asked, threads=bench.cores)
        found.append(
            Comparison(
                f"{what}, all cores", "C loop, one thread, elapsed", every, loop, clock="elapsed"
            )
        )
        names = list(columns)[:axes]
        for peer in ("duckdb", "polars"):
            theirs = bench.peer(f"{peer}_counts", folder=folder, names=names)
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
        what = f"4,950 pairs of 100 columns of {kinds} categories, {bench.label(1_000_000)} records"
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


SECRETS = Secrets(sha256(b"a benchmark's draw key").digest(), sha256(b"its linkage").digest())
CENSUS = Domain.of(a="1234", b="12345", c="12345", d="12345", e="12", f="12")
"""The sizes of FRAPP's CENSUS table: 2,000 cells."""


def keys_of(records: int) -> Pseudonyms:
    """Return pseudonyms, as random as real ones."""
    return np.frombuffer(np.random.default_rng(8).bytes(16 * records), dtype="V16")


def reported(plan: Plan, keys: Pseudonyms, clean: dict[str, Codes]) -> dict[str, Codes]:
    """Return the reports of records by keyed draws, in one thread."""
    return Randomizer(plan, SECRETS, "study", threads=1).reports(keys, clean)


def columns(bench: Bench) -> list[Comparison]:
    """Randomize a column of five categories; and six, all or a random pair of each record."""
    rng = np.random.default_rng(1)
    records = bench.size(1_000_000)
    keys, codes = keys_of(records), rng.integers(0, 5, records).astype(np.uint8)
    channel = Symmetric.from_gamma(5, 9.0)
    plan = Plan((Block(Domain.of(v="abcde").variables, channel),))

    def unkeyed() -> np.ndarray:
        keep = rng.random(records) < channel.keep_units / 2**32
        return np.where(keep, codes, (codes + rng.integers(1, 5, records)) % 5)

    one = partial(reported, plan, keys, {"v": codes})
    folder = bench.saved(v=codes)
    pure_ldp = bench.peer("pure_ldp", folder=folder, name="v", categories=5, gamma=9.0)
    clean = {v.name: rng.integers(0, v.size, records).astype(np.uint8) for v in CENSUS}
    needs = Requirements(CENSUS, dict.fromkeys(CENSUS.names, 19.0), 19.0)
    pairs = sampled(list(itertools.combinations(CENSUS.names, 2)))(needs)
    return [
        Comparison(
            f"randomize a 5-category column, {bench.label(1_000_000)} records",
            "numpy's generator, not keyed, not secure",
            one,
            unkeyed,
            aim=0.7,
        ),
        Comparison(
            "the same column beside pure-ldp",
            "pure-ldp's direct encoding",
            one,
            pure_ldp,
            aim=0.1,
            rounds=3,
        ),
        Comparison(
            f"randomize one random pair of six columns, {bench.label(1_000_000)} records",
            "all six columns by channels of their own",
            partial(reported, pairs, keys, clean),
            partial(reported, independent(needs), keys, clean),
            aim=1.0,
        ),
    ]


def record_ids(bench: Bench) -> list[Comparison]:
    """Make pseudonyms of record ids."""
    ids = [f"P{i:07d}" for i in range(bench.size(1_000_000))]
    return [
        Comparison(
            f"pseudonyms of {bench.label(1_000_000)} records",
            "hmac.digest, one call a record",
            lambda: pseudonyms(SECRETS, "study", ids),
            lambda: [hmac.digest(SECRETS.linkage, i.encode(), "sha256")[:16] for i in ids],
            rounds=3,
        )
    ]


RANDOMIZING = (columns, record_ids)


def tables_with_errors(bench: Bench) -> list[Comparison]:
    """Count five columns of five categories, invert, and give both standard errors."""
    rng = np.random.default_rng(2)
    domain = Domain.of(**{f"v{i}": "abcde" for i in range(5)})
    plan = Plan(tuple(Block((v,), Symmetric.from_gamma(5, 9.0)) for v in domain))
    records = bench.size(1_000_000)
    columns = {v.name: rng.integers(0, 5, records).astype(np.uint8) for v in domain}
    frame = pd.DataFrame(columns)

    def ours() -> object:
        marginals = EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan)
        table = marginals.marginal(domain.names)
        return table.counts, table.standard_error(population=True)

    return [
        Comparison(
            f"count, invert, errors: 3,125 cells, {bench.label(1_000_000)} records",
            "pandas' groupby of the same cells, nothing inverted",
            ours,
            lambda: frame.groupby(list(domain.names), observed=False).size(),
        )
    ]


def maximum_likelihood(bench: Bench) -> list[Comparison]:
    """Eight binary variables at p = 0.4, where EM crawls; and fourteen, EM given a quarter."""
    eight = [_binary_reports(8, bench.size(100_000))]
    comparisons = [
        Comparison(
            "maximum likelihood of 256 cells at p = 0.4",
            "accelerated EM to the same certificate",
            partial(maximize, eight),
            partial(_by_em_alone, eight),
            rounds=3,
        )
    ]
    if not bench.quick:
        twelve, fourteen = ([_binary_reports(n, 50_000)] for n in (12, 14))
        comparisons.append(
            Comparison(
                "maximum likelihood of 16,384 cells at p = 0.4",
                "accelerated EM on 4,096 cells to the same certificate",
                partial(maximize, fourteen),
                partial(_by_em_alone, twelve),
                rounds=1,
            )
        )
    return comparisons


def _binary_reports(variables: int, records: int) -> Stratum:
    """Draw reports at p = 0.4 of a distribution with many rare cells."""
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.full(2**variables, 0.3)).reshape((2,) * variables)
    channels = (Symmetric.from_probability(2, 0.4),) * variables
    law = Stratum(theta, channels).expected(theta[..., None])[:, 0]
    reports = rng.multinomial(records, law / law.sum()).reshape(theta.shape)
    return Stratum(reports.astype(float), channels)


def _by_em_alone(strata: Sequence[Stratum]) -> Maximum:
    model, begin = FactoredModel(strata[0].shape), start(strata)[0]
    return climb(strata, model, begin, tolerance=1e-4, steps=100_000)


def discretizing(bench: Bench) -> list[Comparison]:
    """MGAS of distinct values, in no particular order, on a grid of 1/64 of the granularity."""
    values = np.random.default_rng(4).normal(50.0, 10.0, bench.size(1_000_000))
    least = len(values) // 1000
    return [
        Comparison(
            f"MGAS of {bench.label(1_000_000)} values to groups of at least 1,000",
            "pandas.qcut in 200 groups, which promises no width",
            lambda: mgas(values, minimum_count=least, granularity=0.25),
            lambda: pd.qcut(values, 200),
        )
    ]


ESTIMATING = (tables_with_errors, maximum_likelihood, discretizing)
