"""Groups of comparisons with other libraries that do the same work on generated records.

Our code counts and learns from randomized records, the other library from clean records. The time
in which the other library reads its table is not measured.
"""

from __future__ import annotations

import itertools
from functools import partial
from hashlib import sha256

import numpy as np

from benchmarks.bench.measuring import Bench, Comparison
from benchmarks.bench_peers import misplaced
from owner_agent.randomize.reports import Randomizer
from owner_agent.state.keys import Secrets
from pramana_core.channels import SubsetSelection, Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.kernels.compiled import load
from pramana_core.kernels.counting import Codes, count_tables
from pramana_core.learn.common.options import RuleOptions, Search, TreeOptions
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan

SECRETS = Secrets(sha256(b"a benchmark's draw key").digest(), sha256(b"its linkage").digest())

FULLY = TreeOptions(significance=None, least_records=0, prune=False, shrinkage=None)
"""Options for a tree grown fully, like the tree of scikit-learn."""


def randomized(plan: Plan, clean: dict[str, Codes], study: str = "study") -> dict[str, Codes]:
    records = len(next(iter(clean.values())))
    keys = np.frombuffer(np.random.default_rng(8).bytes(16 * records), dtype="V16")
    return Randomizer(plan, SECRETS, study, threads=1).reports(keys, clean)


def each(domain: Domain, p: float) -> Plan:
    return Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in domain))


def marginals_of(plan: Plan, columns: dict[str, Codes]) -> EstimatedMarginals:
    """Return an object that estimates counts from reports and has estimated none yet."""
    return EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan)


def joint_counts(bench: Bench) -> list[Comparison]:
    """Compare the counting of a table of 5 out of 20 columns, with 600 cells."""
    load()
    records, rng = bench.size(10_000_000), np.random.default_rng(1)
    sizes = (3, 4, 5, 2, 5) * 4
    columns = {f"c{i}": rng.integers(0, k, records, np.uint8) for i, k in enumerate(sizes)}
    names = list(columns)[:5]
    folder = bench.saved(**{name: columns[name] for name in names})
    return [
        Comparison(
            f"joint counts of 5 of 20 columns, {bench.label(10_000_000)} records",
            "duckdb",
            partial(count_tables, list(columns.values()), sizes, [range(5)], threads=1),
            bench.peer("duckdb_counts", folder=folder, names=names),
            aim=1 / 8,
        )
    ]


def randomizing(bench: Bench) -> list[Comparison]:
    """Compare the randomization of a column of five categories."""
    codes = np.random.default_rng(1).integers(0, 5, bench.size(1_000_000)).astype(np.uint8)
    plan = Plan((Block(Domain.of(v="abcde").variables, Symmetric.from_gamma(5, 9.0)),))
    given = {"folder": bench.saved(v=codes), "name": "v", "categories": 5, "gamma": 9.0}
    return [
        Comparison(
            f"randomize a 5-category column, {bench.label(1_000_000)} records",
            "pure-ldp's direct encoding",
            partial(randomized, plan, {"v": codes}),
            bench.peer("pure_ldp", **given),
            aim=0.1,
            rounds=3,
        )
    ]


def many_categories(bench: Bench) -> list[Comparison]:
    """Compare a column of 256 categories at gamma 19: its counts, and the time to estimate them."""
    records, size, gamma = bench.size(20_000), f"{bench.label(20_000)} records", 19.0
    domain = Domain.of(v=[str(k) for k in range(256)])
    drawn = np.random.default_rng(1).zipf(1.5, records * 4)
    codes = (drawn[drawn <= 256][:records] - 1).astype(np.uint8)
    plan = Plan((Block(domain.variables, SubsetSelection.from_gamma(256, gamma)),))
    studies = itertools.count()  # each run draws anew

    def ours() -> float:
        reports = randomized(plan, {"v": codes}, f"study {next(studies)}")
        return misplaced(marginals_of(plan, reports).marginal(["v"]).counts, codes)

    given = {"folder": bench.saved(v=codes), "name": "v", "categories": 256, "gamma": gamma}
    return [
        Comparison(f"{what}, 256 categories, {size}", label, ours, peer, unit, aim, rounds=15)
        for label, name in {
            "multi-freq-ldpy's subset selection": "multi_freq_ldpy",
            "pure-ldp's optimized unary encoding": "pure_ldp_unary",
        }.items()
        for peer in [bench.peer(name, **given)]
        for what, unit, aim in (("misplaced records", "%", 1.05), ("randomize and count", "s", 1.0))
    ]


def networks(bench: Bench) -> list[Comparison]:
    """Compare structure learning for twenty ordered variables of four categories."""
    network, order = _random_network(20, 4, np.random.default_rng(6))
    clean = network.sample(bench.size(1_000_000), np.random.default_rng(7))
    plan = each(network.domain, 0.1)
    reports = randomized(plan, clean)
    return [
        Comparison(
            f"network of 20 variables, {bench.label(1_000_000)} randomized records",
            "PyBNesian's climbing on clean ones",
            lambda: learn_structure(marginals_of(plan, reports), search=Search(order), draws=0),
            bench.peer("pybnesian_climb", folder=bench.saved(**clean), parents=3),
            aim=1.0,
            rounds=2,
        )
    ]


def patterns(bench: Bench) -> list[Comparison]:
    """Compare the mining of itemsets and the growing of trees, for eleven variables and p = 0.3."""
    domain, clean = _survey(bench.size(1_000_000))
    plan = each(domain, 0.3)
    reports = randomized(plan, clean)
    folder, size = bench.saved(**clean), bench.label(1_000_000)
    *_, target = domain.names
    tree = partial(bench.peer, "sklearn_tree", folder=folder, target=target)

    def grown(options: TreeOptions) -> object:
        return learn_tree(marginals_of(plan, reports), target, None, options)

    def itemsets() -> object:
        options = RuleOptions(minimum_support=0.05)
        return mine_itemsets(marginals_of(plan, reports), items_of(domain), options)

    return [
        Comparison(
            f"itemsets with errors, support 5 %, {size} randomized records",
            "pyfim on distinct clean ones with their numbers",
            itemsets,
            bench.peer("pyfim_itemsets", folder=folder, support=0.05),
            aim=1.0,
            rounds=3,
        ),
        Comparison(
            f"tree of 11 variables, {size} randomized records",
            "scikit-learn on distinct clean ones, weighted",
            partial(grown, TreeOptions()),
            tree(distinct=True),
            aim=1.0,
            rounds=3,
        ),
        Comparison(
            "the same tree, fully grown",
            "scikit-learn on all clean ones, one-hot",
            partial(grown, FULLY),
            tree(distinct=False),
            aim=1.0,
            rounds=2,
        ),
    ]


def _survey(records: int) -> tuple[Domain, dict[str, Codes]]:
    rng = np.random.default_rng(1)
    sizes = (4, 3, 3, 3, 2, 3, 2, 3, 2, 3, 2)
    domain = Domain.of(**{f"v{i}": [str(k) for k in range(s)] for i, s in enumerate(sizes)})
    kind = rng.integers(0, 3, records)
    clean: dict[str, Codes] = {}
    for variable in domain:
        chances = rng.dirichlet(np.full(variable.size, 0.8), size=3)
        chances = 0.75 * chances + 0.25 * np.eye(variable.size)[0]
        drawn = (rng.random(records)[:, None] > chances.cumsum(axis=1)[kind]).sum(axis=1)
        clean[variable.name] = np.minimum(drawn, variable.size - 1).astype(np.uint8)
    return domain, clean


def _random_network(
    size: int, categories: int, rng: np.random.Generator
) -> tuple[BayesNet, tuple[str, ...]]:
    names = [f"v{i}" for i in range(size)]
    parents = {
        name: [names[j] for j in sorted(rng.choice(i, min(i, int(rng.integers(4))), replace=False))]
        for i, name in enumerate(names)
    }
    tables = {
        name: rng.dirichlet(np.full(categories, 0.7), size=(categories,) * len(given))
        for name, given in parents.items()
    }
    domain = Domain.of(**{name: [str(k) for k in range(categories)] for name in names})
    return BayesNet(domain, Structure.of(parents), tables), tuple(names)


GROUPS = (joint_counts, randomizing, many_categories, networks, patterns)
