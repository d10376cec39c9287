"""Learners on randomized records, beside kept libraries on clean ones; and a wide table.

What a library takes to read its table is not counted unless it is said; they are in an environment
of their own, but for pgmpy, whose score is ours.

The wide table has a hundred columns and a million records under one bound for the whole record:
each reports one pair of its columns at gamma 19 and withholds the rest. Measured are the design,
the owner's randomization, all pairs with their errors, and a classifier, each beside numpy's
counting of all 4,950 pairs of the clean table, in processor time. Each step runs in a process of
its own, so that none finds what another remembers.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

from benchmarks.bench.counting import keys_of, reported
from benchmarks.bench.measuring import Bench, Comparison, Spent
from owner_agent.randomize.reports import randomize
from owner_agent.state.keys import Secrets
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric, most_accurate
from pramana_core.design import Learn, Problem, Requirements, compare, goal, reference
from pramana_core.domain import Domain, Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.options import BayesClassifierOptions, RuleOptions
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.scores import PlainJudge
from pramana_core.learn.networks.structure import Scoring, Search, Structure
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import mine_itemsets
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

    k2 = partial(bench.peer, "pyagrum_k2", order=order, **given)
    what = f"network of 20 variables, {bench.label(1_000_000)} randomized records"
    peers = {
        "pyAgrum's K2 on clean ones": k2(loading=False),
        "pyAgrum's K2 with its loading": k2(loading=True),
        "PyBNesian's climbing on clean ones": bench.peer("pybnesian_climb", **given),
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
            f"network of 12 variables, {bench.size(10_000):,} clean records, no order",
            "pgmpy's GES, with our counting",
            lambda: learn_structure(marginals_of(plan, clean), draws=0),
            lambda: GES(scoring_method=Kept(frame), return_type="dag").fit(frame),
            rounds=1,
        )
    ]


def patterns(bench: Bench) -> list[Comparison]:
    """Frequent itemsets and trees of eleven variables."""
    domain, clean, reports, plan = _survey(bench.size(1_000_000))
    folder = bench.saved(**clean)
    *_, target = domain.names
    tree = partial(bench.peer, "sklearn_tree", folder=folder, target=target)

    def grown(options: TreeOptions) -> Callable[[], object]:
        return lambda: learn_tree(marginals_of(plan, reports), target, None, options)

    def itemsets() -> object:
        options = RuleOptions(minimum_support=0.05)
        return mine_itemsets(marginals_of(plan, reports), all_items(domain), options)

    return [
        Comparison(
            f"itemsets with errors, support 5 %, {bench.label(1_000_000)} randomized records",
            "pyfim on distinct clean ones with their numbers",
            itemsets,
            bench.peer("pyfim_itemsets", folder=folder, support=0.05),
            aim=1.0,
            rounds=3,
        ),
        Comparison(
            f"tree of 11 variables, {bench.label(1_000_000)} randomized records",
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
            "sklearn_tree", folder=bench.saved(**clean), target=target, distinct=False
        )
        learners: dict[str, Callable[[EstimatedMarginals], object]] = {
            "tree": partial(learn_tree, target=target),
            "network": learn_structure,
        }
        comparisons += [
            Comparison(
                f"{what} of 11 variables on a hidden one, {math.prod(sizes):,} cells,"
                f" {bench.label(1_000_000)} records",
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


RECORDS, COLUMNS, GAMMA = 1_000_000, 100, 19.0
SECRETS = Secrets(sha256(b"a wide table's draw key").digest(), sha256(b"its linkage").digest())


@dataclass(frozen=True)
class Table:
    """A made table: `name` begins its columns' names, of `least` to `most` categories each.

    Records are of three kinds, which alone make columns go together; the first column is the class.
    """

    name: str
    least: int
    most: int
    seed: int

    @property
    def plan(self) -> Plan:
        """Every pair alike, each at the whole gamma."""
        rng = np.random.default_rng(self.seed)
        sizes = rng.integers(self.least, self.most + 1, COLUMNS).tolist()
        own = tuple(
            Variable(f"{self.name}-{i}", tuple(map(str, range(size))))
            for i, size in enumerate(sizes)
        )
        pairs = list(itertools.combinations(range(COLUMNS), 2))
        weight = RESOLUTION // len(pairs)
        choices = (
            Choice(axes, weight, most_accurate(math.prod(sizes[a] for a in axes), GAMMA))
            for axes in pairs
        )
        return Plan((Block(own, Sampled(tuple(sizes), tuple(choices))),))

    def records(self, records: int) -> dict[str, Codes]:
        """Draw so many true records."""
        rng = np.random.default_rng(self.seed + 1)
        kind = rng.integers(0, 3, records)
        columns: dict[str, Codes] = {}
        for variable in self.plan.domain:
            ends = rng.dirichlet(np.full(variable.size, 0.8), size=3).cumsum(axis=1)
            drawn, where = np.zeros(records, dtype=np.uint8), rng.random(records)
            for one in range(3):
                own = kind == one
                drawn[own] = np.minimum(np.searchsorted(ends[one], where[own]), variable.size - 1)
            columns[variable.name] = drawn
        return columns


Step: TypeAlias = Callable[["Table", Path, int], float]
"""Does something with a table, so many of its records, and returns seconds of the processor."""

TABLES = (
    Table("question", 4, 4, 1),
    Table("survey", 2, 10, 2),
    Table("register", 2, 30, 3),
)


def questions(bench: Bench) -> list[Comparison]:
    """Measure the steps with columns of four categories."""
    return _steps(bench, TABLES[0])


def surveys(bench: Bench) -> list[Comparison]:
    """Measure the steps with columns of two to ten categories."""
    return _steps(bench, TABLES[1])


def registers(bench: Bench) -> list[Comparison]:
    """Measure the steps with columns of two to thirty categories."""
    return _steps(bench, TABLES[2])


WIDE = (questions, surveys, registers)


def _steps(bench: Bench, table: Table) -> list[Comparison]:
    """Compare each step with numpy's counting, which is done once."""
    records = bench.size(RECORDS)
    run = partial(_alone, table, bench.folder, records)
    counting = cache(partial(run, _counting))
    steps = {
        "design": (_designing, None),
        "randomize": (_randomizing, None),
        "all 4,950 pairs with errors": (_pairs, 1 / 3),
        "naive Bayes": (_classifier, None),
    }
    about = (
        f"100 columns of {table.least} to {table.most} categories, {bench.label(1_000_000)} records"
    )
    counting()  # it writes the table down that the others read
    return [
        Comparison(
            f"{what}, {about}",
            "numpy's bincount of all 4,950 pairs of the clean table",
            partial(run, step),
            counting,
            aim=aim,
            rounds=1,
        )
        for what, (step, aim) in steps.items()
    ]


def _alone(table: Table, folder: Path, records: int, step: Step) -> Spent:
    """Run a step in a new process; return what it took there."""
    with get_context("spawn").Pool(1) as pool:
        return Spent(*[pool.apply(step, (table, folder, records))] * 2)


def _write(path: Path, columns: Mapping[str, Codes]) -> None:
    path.mkdir()
    for name, codes in columns.items():
        np.save(path / f"{name}.npy", codes)


def _read(path: Path, plan: Plan) -> dict[str, Codes]:
    return {name: np.load(path / f"{name}.npy") for name in plan.domain.names}


def _counting(table: Table, folder: Path, records: int) -> float:
    """Draw the clean table, write it down and count all its pairs."""
    columns, plan = table.records(records), table.plan
    _write(folder / "clean", columns)
    wide = [column.astype(np.int64) for column in columns.values()]
    sizes = [v.size for v in plan.domain]
    began = time.process_time()
    for one, other in itertools.combinations(range(COLUMNS), 2):
        cells = sizes[one] * sizes[other]
        np.bincount(wide[one] * sizes[other] + wide[other], minlength=cells)
    return time.process_time() - began


def _designing(table: Table, folder: Path, records: int) -> float:  # noqa: ARG001
    """Design for all pairs, for a tree and for a classifier of the first column; the slowest."""
    domain = table.plan.domain
    needs = Requirements(domain, dict.fromkeys(domain.names, GAMMA), GAMMA)
    taken = []
    kinds: tuple[tuple[Learn, str | None], ...]
    kinds = (("pairs", None), ("tree", domain.names[0]), ("classifier", domain.names[0]))
    for learn, target in kinds:
        began = time.process_time()
        compare(Problem(needs, goal(domain, learn, target=target), reference(domain), records))
        taken.append(time.process_time() - began)
    return max(taken)


def _randomizing(table: Table, folder: Path, records: int) -> float:
    """Randomize the records by keyed draws, and write the reports down."""
    plan = table.plan
    columns = _read(folder / "clean", plan)
    keys = np.frombuffer(np.random.default_rng(table.seed + 2).bytes(16 * records), dtype="V16")
    began = time.process_time()
    made = randomize(plan, SECRETS, "wide", keys, columns)
    seconds = time.process_time() - began
    _write(folder / "reported", made.columns)
    return seconds


def _marginals(table: Table, folder: Path) -> EstimatedMarginals:
    plan = table.plan
    counts = ReportedCounts(_read(folder / "reported", plan), plan.reported_sizes)
    return EstimatedMarginals(counts, plan, estimator="pooled")


def _pairs(table: Table, folder: Path, records: int) -> float:  # noqa: ARG001
    """Estimate every pair's table and its standard errors."""
    marginals = _marginals(table, folder)
    began = time.process_time()
    for pair in itertools.combinations(marginals.domain.names, 2):
        marginals.marginal(pair).standard_error(population=True)
    return time.process_time() - began


def _classifier(table: Table, folder: Path, records: int) -> float:  # noqa: ARG001
    """Learn naive Bayes, the first column the class."""
    marginals = _marginals(table, folder)
    began = time.process_time()
    target = marginals.domain.names[0]
    options = BayesClassifierOptions(model="naive-bayes")
    learn_bayes_classifier(marginals, target, options=options)
    return time.process_time() - began
