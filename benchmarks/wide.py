"""A wide table under one bound for the whole record: a hundred columns, a million records.

Every record reports one pair of its columns at gamma 19 and withholds the rest. Measured are the
design, the owner's randomization, all pairs with their errors, and a classifier, each beside
numpy's counting of all 4,950 pairs of the clean table. Each step runs in a process of its own, so
that its largest memory is its own; times are those of the processor, one core, for both sides.
"""

from __future__ import annotations

import itertools
import math
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measuring import Measured, record
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
from pramana_core.terminal import console

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

    def records(self) -> dict[str, Codes]:
        """Draw the true records."""
        rng = np.random.default_rng(self.seed + 1)
        kind = rng.integers(0, 3, RECORDS)
        columns: dict[str, Codes] = {}
        for variable in self.plan.domain:
            ends = rng.dirichlet(np.full(variable.size, 0.8), size=3).cumsum(axis=1)
            drawn, where = np.zeros(RECORDS, dtype=np.uint8), rng.random(RECORDS)
            for one in range(3):
                own = kind == one
                drawn[own] = np.minimum(np.searchsorted(ends[one], where[own]), variable.size - 1)
            columns[variable.name] = drawn
        return columns


TABLES = (
    Table("question", 4, 4, 1),
    Table("survey", 2, 10, 2),
    Table("register", 2, 30, 3),
)


def main() -> None:
    """Measure all steps, print them, and write them to results.json."""
    named = sys.argv[1:]
    record([m for table in TABLES if not named or table.name in named for m in measured(table)])


def measured(table: Table) -> list[Measured]:
    """Return the ratios of a table's steps."""
    about = f"10^6 records of 100 columns of {table.least} to {table.most} categories"
    if table.least == table.most:
        about = f"10^6 records of 100 columns of {table.least} categories"
    with TemporaryDirectory() as folder:
        counting = _alone(_counting, table, Path(folder))
        steps = {
            f"design for pairs, a tree or a classifier, the slowest, of {about}": _alone(
                _designing, table, Path(folder)
            ),
            f"randomize {about}, each by one pair": _alone(_randomizing, table, Path(folder)),
            f"all 4,950 pairs with errors from {about}": _alone(_pairs, table, Path(folder)),
            f"naive Bayes of 99 attributes from {about}": _alone(_classifier, table, Path(folder)),
        }
    for what, (seconds, mebibytes) in steps.items():
        console().print(f"{what}: {seconds:.1f} s, at most {mebibytes:,.0f} MiB")
    return [
        Measured(
            what,
            round(1e3 * seconds, 2),
            "numpy's bincount of all 4,950 pairs of the clean table",
            round(1e3 * counting[0], 2),
            round(seconds / counting[0], 3),
            round(mebibytes),
        )
        for what, (seconds, mebibytes) in steps.items()
    ]


def _alone(step: Callable[[Table, Path], float], table: Table, folder: Path) -> tuple[float, float]:
    """Run a step in a new process; return its seconds and the most memory of it, in MiB."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_told, (step, table, folder))


def _told(step: Callable[[Table, Path], float], table: Table, folder: Path) -> tuple[float, float]:
    seconds = step(table, folder)
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _write(path: Path, columns: Mapping[str, Codes]) -> None:
    path.mkdir()
    for name, codes in columns.items():
        np.save(path / f"{name}.npy", codes)


def _read(path: Path, plan: Plan) -> dict[str, Codes]:
    return {name: np.load(path / f"{name}.npy") for name in plan.domain.names}


def _counting(table: Table, folder: Path) -> float:
    """Draw the clean table, write it down and count all its pairs."""
    columns, plan = table.records(), table.plan
    _write(folder / "clean", columns)
    wide = [column.astype(np.int64) for column in columns.values()]
    sizes = [v.size for v in plan.domain]
    began = time.process_time()
    for one, other in itertools.combinations(range(COLUMNS), 2):
        cells = sizes[one] * sizes[other]
        np.bincount(wide[one] * sizes[other] + wide[other], minlength=cells)
    return time.process_time() - began


def _designing(table: Table, folder: Path) -> float:  # noqa: ARG001
    """Design for all pairs, for a tree and for a classifier of the first column; the slowest."""
    domain = table.plan.domain
    needs = Requirements(domain, dict.fromkeys(domain.names, GAMMA), GAMMA)
    taken = []
    kinds: tuple[tuple[Learn, str | None], ...]
    kinds = (("pairs", None), ("tree", domain.names[0]), ("classifier", domain.names[0]))
    for learn, target in kinds:
        began = time.process_time()
        compare(Problem(needs, goal(domain, learn, target=target), reference(domain), RECORDS))
        taken.append(time.process_time() - began)
    return max(taken)


def _randomizing(table: Table, folder: Path) -> float:
    """Randomize the records by keyed draws, and write the reports down."""
    plan = table.plan
    columns = _read(folder / "clean", plan)
    keys = np.frombuffer(np.random.default_rng(table.seed + 2).bytes(16 * RECORDS), dtype="V16")
    began = time.process_time()
    made = randomize(plan, SECRETS, "wide", keys, columns)
    seconds = time.process_time() - began
    _write(folder / "reported", made.columns)
    return seconds


def _marginals(table: Table, folder: Path) -> EstimatedMarginals:
    plan = table.plan
    counts = ReportedCounts(_read(folder / "reported", plan), plan.reported_sizes)
    return EstimatedMarginals(counts, plan, estimator="pooled")


def _pairs(table: Table, folder: Path) -> float:
    """Estimate every pair's table and its standard errors."""
    marginals = _marginals(table, folder)
    began = time.process_time()
    for pair in itertools.combinations(marginals.domain.names, 2):
        marginals.marginal(pair).standard_error(population=True)
    return time.process_time() - began


def _classifier(table: Table, folder: Path) -> float:
    """Learn naive Bayes, the first column the class."""
    marginals = _marginals(table, folder)
    began = time.process_time()
    target = marginals.domain.names[0]
    options = BayesClassifierOptions(model="naive-bayes")
    learn_bayes_classifier(marginals, target, options=options)
    return time.process_time() - began


if __name__ == "__main__":
    main()
