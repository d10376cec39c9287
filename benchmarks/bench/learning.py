"""Learners on randomized records, beside kept libraries on clean ones.

What a library takes to read its table is not counted unless it is said; they are in an environment
of their own, but for pgmpy, whose score is ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.bench.measuring import Bench, Comparison
from benchmarks.bench.randomizing import keys_of, reported
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.search.scores import PlainJudge
from pramana_core.learn.networks.search.structure_learning import learn_structure
from pramana_core.learn.networks.structure import Scoring, Search, Structure
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.options import RuleOptions
from pramana_core.learn.tree.growth import TreeOptions, learn_tree
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Block, Plan

SURVEY_SIZES = (4, 3, 3, 3, 2, 3, 2, 3, 2, 3, 2)
"""Eleven variables with thirty categories, as Ma 7.1.4 takes from the Adult table."""

HIDDEN_SIZES = ((2, 3, 4, 5, 2, 3, 4, 5, 2, 3, 4), (4, 3, 5, 4, 3, 4, 5, 3, 4, 5, 2))
"""Categories of eleven variables that hang on a hidden one."""

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

    def ours() -> object:
        return learn_structure(marginals_of(plan, reports), search=Search(order), draws=0)

    k2 = partial(bench.peer, "learning.pyagrum_k2", order=order, **given)
    what = "network of 20 variables, 1M randomized records"
    peers = {
        "pyAgrum's K2 on clean ones": k2(loading=False),
        "pyAgrum's K2 with its loading": k2(loading=True),
        "PyBNesian's climbing on clean ones": bench.peer("learning.pybnesian_climb", **given),
    }
    return [
        Comparison(f"{what}, beside {name.split()[0]}{' loading' * ('with' in name)}", name, ours,
                   theirs, aim=1.0, rounds=2)
        for name, theirs in peers.items()
    ]  # fmt: skip


def search_without_order(bench: Bench) -> list[Comparison]:
    """Twelve variables that nearly determine each other, clean: ours and a kept library's GES."""
    from pgmpy.causal_discovery import GES
    from pgmpy.structure_score import BIC

    network, _ = _random_network(12, 3, np.random.default_rng(9), concentration=0.1)
    clean = network.sample(bench.size(10_000), np.random.default_rng(10))
    plan = Plan.unrandomized(network.domain)
    frame = pd.DataFrame({name: column.astype(str) for name, column in clean.items()})
    score = PlainJudge(marginals_of(plan, clean), Scoring("bic")).score

    class Kept(BIC):
        """Their score, counted by us once for each family."""

        def local_score(self, variable: str, parents: tuple[str, ...]) -> float:
            return score(variable, frozenset(parents))

    return [
        Comparison(
            "network of 12 variables, 10,000 clean records, no order",
            "pgmpy's GES, with our counting",
            lambda: learn_structure(marginals_of(plan, clean), search=Search(tabu=0), draws=0),
            lambda: GES(scoring_method=Kept(frame), return_type="dag").fit(frame),
            rounds=1,
        )
    ]


def patterns(bench: Bench) -> list[Comparison]:
    """Frequent itemsets and trees of eleven variables."""
    domain, clean, reports, plan = _survey(bench.size(1_000_000))
    folder = bench.saved(**clean)
    *_, target = domain.names
    tree = partial(bench.peer, "learning.sklearn_tree", folder=folder, target=target)

    def grown(options: TreeOptions) -> Callable[[], object]:
        return lambda: learn_tree(marginals_of(plan, reports), target, None, options)

    def itemsets() -> object:
        options = RuleOptions(minimum_support=0.05)
        return mine_itemsets(marginals_of(plan, reports), all_items(domain), options)

    return [
        Comparison(
            "itemsets with errors, support 5 %, 1M randomized records",
            "pyfim on distinct clean ones with their numbers",
            itemsets,
            bench.peer("learning.pyfim_itemsets", folder=folder, support=0.05),
            aim=1.0,
            rounds=3,
        ),
        Comparison(
            "tree of 11 variables, 1M randomized records",
            "scikit-learn on distinct clean ones, weighted",
            grown(TreeOptions()),
            tree(distinct=True),
            aim=1.0,
            rounds=3,
        ),
        Comparison(
            "the same tree, fully grown",
            "scikit-learn on all clean ones, one-hot",
            grown(FULLY),
            tree(distinct=False),
            aim=1.0,
            rounds=2,
        ),
    ]


def hidden(bench: Bench) -> list[Comparison]:
    """Eleven variables that all hang on one of four values which nobody has; no order is given.

    In the table of all reports once of 345,600 cells and once of 1,728,000.
    """
    comparisons = []
    for sizes in HIDDEN_SIZES:
        domain, clean, reports, plan = hidden_records(bench.size(1_000_000), sizes)
        *_, target = domain.names
        theirs = bench.peer(
            "learning.sklearn_tree", folder=bench.saved(**clean), target=target, distinct=False
        )
        learners: dict[str, Callable[[EstimatedMarginals], object]] = {
            "tree": partial(learn_tree, target=target),
            "network": learn_structure,
        }
        comparisons += [
            Comparison(
                f"{what} of 11 variables on a hidden one, {math.prod(sizes):,} cells, 1M records",
                "scikit-learn's full tree on clean ones, one-hot",
                partial(_learned, learn, plan, reports),
                theirs,
                aim=1.0,
                rounds=1 if what == "network" else 3,
            )
            for what, learn in learners.items()
        ]
    return comparisons


def _learned(
    learn: Callable[[EstimatedMarginals], object], plan: Plan, reports: dict[str, Codes]
) -> object:
    return learn(marginals_of(plan, reports))


def hidden_records(
    records: int, sizes: Sequence[int]
) -> tuple[Domain, dict[str, Codes], dict[str, Codes], Plan]:
    """Draw records of a hidden variable of four values, and randomize each column at gamma 9 to 19.

    Returns the variables, clean and reported columns, and the plan.
    """
    rng = np.random.default_rng(1)
    domain = Domain.of(**{f"v{i}": [str(k) for k in range(size)] for i, size in enumerate(sizes)})
    kind = rng.integers(0, 4, records)
    clean: dict[str, Codes] = {}
    for variable in domain:
        chances = rng.dirichlet(np.full(variable.size, 0.6), size=4)
        clean[variable.name] = _by_kind(kind, chances, rng)
    gammas = itertools.cycle((9.0, 12.0, 15.0, 19.0))
    plan = Plan(tuple(Block((v,), Symmetric.from_gamma(v.size, next(gammas))) for v in domain))
    return domain, clean, reported(plan, keys_of(records), clean), plan


def _by_kind(kind: Codes, chances: np.ndarray, rng: np.random.Generator) -> Codes:
    """Draw a code for each record by the chances that its kind has."""
    drawn = (rng.random(len(kind))[:, None] > chances.cumsum(axis=1)[kind]).sum(axis=1)
    codes: Codes = np.minimum(drawn, chances.shape[1] - 1).astype(np.uint8)
    return codes


def _survey(records: int) -> tuple[Domain, dict[str, Codes], dict[str, Codes], Plan]:
    """Draw records of three kinds of people, and randomize each column by keyed draws, p = 0.3."""
    rng = np.random.default_rng(1)
    domain = Domain.of(**{f"v{i}": [str(k) for k in range(s)] for i, s in enumerate(SURVEY_SIZES)})
    kind = rng.integers(0, 3, records)
    clean: dict[str, Codes] = {}
    for variable in domain:
        chances = rng.dirichlet(np.full(variable.size, 0.8), size=3)
        chances = 0.75 * chances + 0.25 * np.eye(variable.size)[0]
        clean[variable.name] = _by_kind(kind, chances, rng)
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.3)) for v in domain))
    return domain, clean, reported(plan, keys_of(records), clean), plan


def _random_network(
    size: int, categories: int, rng: np.random.Generator, concentration: float = 0.7
) -> tuple[BayesNet, tuple[str, ...]]:
    names = [f"v{i}" for i in range(size)]
    parents = {
        name: [names[j] for j in sorted(rng.choice(i, min(i, int(rng.integers(4))), replace=False))]
        for i, name in enumerate(names)
    }
    tables = {
        name: rng.dirichlet(np.full(categories, concentration), size=(categories,) * len(given))
        for name, given in parents.items()
    }
    domain = Domain.of(**{name: [str(k) for k in range(categories)] for name in names})
    return BayesNet(domain, Structure.of(parents), tables), tuple(names)


GROUPS = (networks, search_without_order, patterns, hidden)
