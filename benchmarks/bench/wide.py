"""A wide table under one bound for the whole record: a hundred columns, a million records.

Every record reports one pair of its columns at gamma 19 and withholds the rest. Measured are the
design, the owner's randomization, all pairs with their errors, and a classifier, each beside
numpy's counting of all 4,950 pairs of the clean table, in processor time. Each step runs in a
process of its own, so that none finds what another remembers.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.bench.measuring import Bench, Comparison, Spent
from owner_agent.randomize.reports import randomize
from owner_agent.state.keys import Secrets
from pramana_core.channels import RESOLUTION, Choice, Sampled, most_accurate
from pramana_core.design import Learn, Problem, Requirements, compare, goal, reference
from pramana_core.domain import Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.bayes_classifier.options import BayesClassifierOptions
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Block, Plan

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


GROUPS = (questions, surveys, registers)


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
    about = f"100 columns of {table.least} to {table.most} categories, 1M records"
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
