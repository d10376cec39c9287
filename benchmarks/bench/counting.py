"""Columns randomized by their owners, counted, and estimated, compared with ways that do less.

Draws and pseudonyms are keyed and repeatable, those of the other ways are neither.
"""

from __future__ import annotations

import hmac
import itertools
from collections.abc import Sequence
from functools import partial
from hashlib import sha256

import numpy as np
import pandas as pd

from benchmarks.bench.measuring import Bench, Comparison
from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import Randomizer
from owner_agent.state.keys import Secrets
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.kernels.compiled import load
from pramana_core.kernels.counting import Codes, count_tables
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import Pseudonyms

SIZES = (3, 4, 5, 2, 5)
"""Of three columns with 60 cells, of five with 600; the others have as many codes, in turn."""

SECRETS = Secrets(sha256(b"a benchmark's draw key").digest(), sha256(b"its linkage").digest())


def independent(domain: Domain, gamma: float) -> Plan:
    """Return the plan that randomizes each variable alone."""
    return Plan(tuple(Block((v,), Symmetric.from_gamma(v.size, gamma)) for v in domain))


def keys_of(records: int) -> Pseudonyms:
    """Return pseudonyms, as random as real ones."""
    return np.frombuffer(np.random.default_rng(8).bytes(16 * records), dtype="V16")


def reported(plan: Plan, keys: Pseudonyms, clean: dict[str, Codes]) -> dict[str, Codes]:
    """Return the reports of records by keyed draws, in one thread."""
    return Randomizer(plan, SECRETS, "study", threads=1).reports(keys, clean)


def joint_counts(bench: Bench) -> list[Comparison]:
    """Count the table of 3 and of 5 out of 20 columns."""
    load()
    records, rng = bench.size(10_000_000), np.random.default_rng(1)
    sizes = SIZES * 4
    columns = {f"c{i}": rng.integers(0, k, records, np.uint8) for i, k in enumerate(sizes)}
    folder = bench.saved(**dict(itertools.islice(columns.items(), 5)))
    found = []
    for axes in (3, 5):
        ours = partial(count_tables, list(columns.values()), sizes, [range(axes)], threads=1)
        names = list(columns)[:axes]
        what = f"joint counts of {axes} of 20 columns, {bench.label(10_000_000)} records"
        for peer in ("duckdb", "polars"):
            theirs = bench.peer(f"{peer}_counts", folder=folder, names=names)
            found.append(Comparison(what, peer, ours, theirs, aim=1 / 8))
    return found


def all_pairs(bench: Bench) -> list[Comparison]:
    """Count all pairs of 100 columns and estimate them with their errors."""
    load()
    records, rng = bench.size(1_000_000), np.random.default_rng(2)
    domain = Domain.of(**{f"v{i}": "0123" for i in range(100)})
    columns = {v.name: rng.integers(0, 4, records).astype(np.uint8) for v in domain}
    wide = [column.astype(np.int64) for column in columns.values()]
    pairs = list(itertools.combinations(range(100), 2))
    plan = independent(domain, 19.0)
    what = f"4,950 pairs of 100 columns of 4 categories, {bench.label(1_000_000)} records"
    return [
        Comparison(
            f"errors of {what}",
            "numpy's bincount of each pair",
            partial(_with_errors, columns, plan),
            lambda: [np.bincount(wide[a] * 4 + wide[b], minlength=16) for a, b in pairs],
            aim=1 / 3,
            rounds=1,
        )
    ]


def _with_errors(reports: dict[str, Codes], plan: Plan) -> None:
    """Estimate all pairs, each column by its own channel, with the errors of every cell."""
    counts = ReportedCounts(reports, plan.reported_sizes)
    marginals = EstimatedMarginals(counts, plan)
    pairs: Sequence[tuple[str, str]] = list(itertools.combinations(plan.domain.names, 2))
    counts.tables(pairs)
    for pair in pairs:
        marginals.marginal(pair).standard_error(population=True)


def randomizing(bench: Bench) -> list[Comparison]:
    """Randomize a column of five categories, and make pseudonyms of record ids."""
    rng = np.random.default_rng(1)
    records = bench.size(1_000_000)
    keys, codes = keys_of(records), rng.integers(0, 5, records).astype(np.uint8)
    plan = independent(Domain.of(v="abcde"), 9.0)
    ids = [f"P{i:07d}" for i in range(records)]

    def unkeyed() -> np.ndarray:
        keep = rng.random(records) < 9 / 13
        return np.where(keep, codes, (codes + rng.integers(1, 5, records)) % 5)

    ours = partial(reported, plan, keys, {"v": codes})
    theirs = bench.peer("pure_ldp", folder=bench.saved(v=codes), name="v", categories=5, gamma=9.0)
    size = bench.label(1_000_000)
    return [
        Comparison(
            f"randomize a 5-category column, {size} records",
            "numpy's generator, not keyed, not secure",
            ours,
            unkeyed,
            aim=0.7,
        ),
        Comparison(
            "the same column and pure-ldp",
            "pure-ldp's direct encoding",
            ours,
            theirs,
            aim=0.1,
            rounds=3,
        ),
        Comparison(
            f"pseudonyms of {size} records",
            "hmac.digest, one call a record",
            lambda: pseudonyms(SECRETS, "study", ids),
            lambda: [hmac.digest(SECRETS.linkage, i.encode(), "sha256")[:16] for i in ids],
            rounds=3,
        ),
    ]


def tables_with_errors(bench: Bench) -> list[Comparison]:
    """Count five columns of five categories, invert, and give standard errors."""
    rng = np.random.default_rng(2)
    domain = Domain.of(**{f"v{i}": "abcde" for i in range(5)})
    plan = independent(domain, 9.0)
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


GROUPS = (joint_counts, all_pairs, randomizing, tables_with_errors)
