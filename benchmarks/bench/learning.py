"""Learners on randomized records, compared with kept libraries on clean ones.

What a library takes to read its table is not counted; each is in an environment of its own.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.bench.counting import keys_of, reported
from benchmarks.bench.measuring import Bench, Comparison
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions, Search, TreeOptions
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Block, Plan

SURVEY_SIZES = (4, 3, 3, 3, 2, 3, 2, 3, 2, 3, 2)
"""Eleven variables with thirty categories, as Ma 7.1.4 takes from the Adult table."""

FULLY = TreeOptions(significance=None, least_records=0, prune=False, shrinkage=None)
"""A tree grown until nothing is left to split, as scikit-learn's is."""


def marginals_of(plan: Plan, columns: dict[str, Codes]) -> EstimatedMarginals:
    """Return estimates that nothing was counted for yet."""
    return EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan)


def networks(bench: Bench) -> list[Comparison]:
    """A structure of twenty four-valued variables, their order given."""
    network, order = _random_network(20, 4, np.random.default_rng(6))
    records = bench.size(1_000_000)
    clean = network.sample(records, np.random.default_rng(7))
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(4, 0.1)) for v in network.domain))
    reports = reported(plan, keys_of(records), clean)
    given = {"folder": bench.saved(**clean), "parents": 3}
    what = f"network of 20 variables, {bench.label(1_000_000)} randomized records, against"
    peers = {
        "pyAgrum's K2 on clean ones": bench.peer("pyagrum_k2", order=order, **given),
        "PyBNesian's climbing on clean ones": bench.peer("pybnesian_climb", **given),
    }
    return [
        Comparison(
            f"{what} {name.split()[0]}",
            name,
            lambda: learn_structure(marginals_of(plan, reports), search=Search(order), draws=0),
            theirs,
            aim=1.0,
            rounds=2,
        )
        for name, theirs in peers.items()
    ]


def patterns(bench: Bench) -> list[Comparison]:
    """Frequent itemsets and trees of eleven variables."""
    domain, clean, reports, plan = _survey(bench.size(1_000_000))
    folder = bench.saved(**clean)
    *_, target = domain.names
    tree = partial(bench.peer, "sklearn_tree", folder=folder, target=target)
    size = bench.label(1_000_000)

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


def _survey(records: int) -> tuple[Domain, dict[str, Codes], dict[str, Codes], Plan]:
    """Draw records of three kinds of people, and randomize each column by keyed draws, p = 0.3."""
    rng = np.random.default_rng(1)
    domain = Domain.of(**{f"v{i}": [str(k) for k in range(s)] for i, s in enumerate(SURVEY_SIZES)})
    kind = rng.integers(0, 3, records)
    clean: dict[str, Codes] = {}
    for variable in domain:
        chances = rng.dirichlet(np.full(variable.size, 0.8), size=3)
        chances = 0.75 * chances + 0.25 * np.eye(variable.size)[0]
        drawn = (rng.random(records)[:, None] > chances.cumsum(axis=1)[kind]).sum(axis=1)
        clean[variable.name] = np.minimum(drawn, variable.size - 1).astype(np.uint8)
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.3)) for v in domain))
    return domain, clean, reported(plan, keys_of(records), clean), plan


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


GROUPS = (networks, patterns)
