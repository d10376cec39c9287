"""What jobs take beside what was predicted of them; `--fit` prints the rates that fit best.

A spread of kinds of jobs and of sizes runs with the learners themselves, each in a process of its
own, so that its largest memory is its own. Times are those of the processor, one core. Jobs run for
some seconds each; what runs for hours is told from these.
"""

from __future__ import annotations

import itertools
import math
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import TimeoutError as TooSlow
from multiprocessing import get_context
from typing import Any, cast

import numpy as np
from pydantic import TypeAdapter
from scipy.optimize import minimize

from miner_service.kinds import kind_of
from miner_service.kinds.base import RATES, Cost, Unit, Work, duration, size
from miner_service.kinds.counting import Extent, RecordLayout
from miner_service.kinds.counts import CountsKind
from miner_service.kinds.masked import MaskedTables, RecordsKind, TableExtent
from pramana_core.channels import RESOLUTION, Choice, Identity, Sampled, Symmetric, most_accurate
from pramana_core.domain import Variable
from pramana_core.errors import PramanaError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.mixed import MixedTable, NumericColumn
from pramana_core.plan import Block, Plan
from pramana_core.progress import unwatched
from pramana_core.terminal import console
from pramana_core.wire.jobs import JobSpec
from pramana_core.wire.release_kinds import TableColumn

_SPEC: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)


@dataclass(frozen=True)
class Case:
    """A job on made records: its specification, how they are reported, and how many there are.

    `reported` is `each` (all variables, each randomized by itself), `withheld` (each is withheld
    from two records in three), or `pairs` (each record reports two).
    """

    spec: Mapping[str, object]
    variables: int
    records: int = 20_000
    categories: int = 2
    reported: str = "each"

    def __str__(self) -> str:
        said = ", ".join(f"{k} {v}" for k, v in self.spec.items() if k not in ("kind", "variables"))
        words = f"{self.variables} variables of {self.categories}"
        return f"{self.spec['kind']} ({said or 'as it is'}) of {words}, {self.records:,} records"

    @property
    def names(self) -> list[str]:
        """The variables, the last of which is a class."""
        return [f"v{i}" for i in range(self.variables)]

    @property
    def job(self) -> JobSpec:
        """The job; a list of variables is that of all."""
        asked = dict(self.spec)
        if asked["kind"] == "contingency-table":
            asked["variables"] = self.names
        if asked["kind"] == "bayes-net-parameters":
            asked["structure"] = {
                name: self.names[max(0, i - 2) : i] for i, name in enumerate(self.names)
            }
        return _SPEC.validate_python(asked)

    @property
    def plan(self) -> Plan:
        """How records are reported."""
        labels = tuple(map(str, range(self.categories)))
        own = [Variable(name, labels) for name in self.names]
        k, n = self.categories, self.variables
        if self.reported == "pairs":
            pairs = list(itertools.combinations(range(n), 2))
            weight = RESOLUTION // len(pairs)
            best = most_accurate(k * k, 19.0)
            choices = tuple(Choice(pair, weight, best) for pair in pairs)
            return Plan((Block(tuple(own), Sampled((k,) * n, choices)),))
        if self.reported == "withheld":
            choice = Choice((0,), RESOLUTION // 3, most_accurate(k, 9.0))
            return Plan(tuple(Block((v,), Sampled((k,), (choice,))) for v in own))
        if self.reported == "clear":
            return Plan(tuple(Block((v,), Identity(k)) for v in own))
        return Plan(tuple(Block((v,), Symmetric.from_gamma(k, 9.0)) for v in own))

    def reports(self) -> dict[str, Codes]:
        """Draw records of three kinds, which make variables go together, and their reports."""
        rng = np.random.default_rng(18)
        kind = rng.integers(0, 3, self.records)
        shares = rng.dirichlet(np.full(self.categories, 1.0), size=(self.variables, 3))
        true = [
            (rng.random((self.records, 1)) > shares[i, kind].cumsum(axis=1)[:, :-1]).sum(axis=1)
            for i in range(self.variables)
        ]
        reported: dict[str, Codes] = {}
        for block in self.plan.blocks:
            found = _reported(block, [true[self.names.index(n)] for n in block.names], rng)
            reported |= dict(zip(block.names, found, strict=True))
        return reported


def _reported(block: Block, true: Sequence[Codes], rng: np.random.Generator) -> list[Codes]:
    channel, count = block.channel, len(true[0])
    if not isinstance(channel, Sampled):
        return [_drawn(channel.matrix(), true[0], rng)]
    found = [np.full(count, size, dtype=np.uint8) for size in channel.sizes]
    chances = np.array([choice.weight for choice in channel.choices]) / RESOLUTION
    picked = rng.choice(len(chances) + 1, count, p=[*chances, max(1 - chances.sum(), 0)])
    for number, choice in enumerate(channel.choices):
        rows = np.flatnonzero(picked == number)
        sizes = [channel.sizes[axis] for axis in choice.axes]
        cell = np.ravel_multi_index([true[axis][rows] for axis in choice.axes], sizes)
        drawn = np.unravel_index(_drawn(choice.channel.matrix(), cell, rng), sizes)
        for axis, codes in zip(choice.axes, drawn, strict=True):
            found[axis][rows] = codes
    return found


def _drawn(matrix: np.ndarray, cells: np.ndarray, rng: np.random.Generator) -> Codes:
    ends = matrix.cumsum(axis=1)[:, :-1]
    found: Codes = (rng.random((len(cells), 1)) > ends[cells]).sum(axis=1).astype(np.uint8)
    return found


def _table(**options: object) -> dict[str, object]:
    return {"kind": "contingency-table", **options}


def _of(kind: str, **options: object) -> dict[str, object]:
    return {"kind": kind, **options}


CASES = (
    *(Case(_table(), n, records) for n, records in ((3, 20_000), (8, 10**6), (14, 10**5))),
    *(Case(_table(estimator="ml"), n) for n in (4, 7, 10, 12, 13)),
    *(Case(_table(estimator="ml"), n, categories=4) for n in (2, 4, 5)),
    *(Case(_table(estimator="ml"), n, reported="withheld") for n in (4, 6, 8, 9, 10)),
    *(Case(_table(estimator="ml"), n, reported="pairs") for n in (3, 4)),
    *(Case(_table(estimator="log-linear"), n) for n in (4, 7, 9, 11)),
    *(Case(_table(estimator="log-linear", order=3), n) for n in (5, 8)),
    *(Case(_table(estimator="pooled"), n, 10**5, reported="pairs") for n in (3, 6, 9)),
    *(Case(_of("bayes-net-parameters"), n, 10**5) for n in (4, 12, 30)),
    *(Case(_of("bayes-net-parameters", estimator="ml"), n) for n in (4, 12, 30)),
    *(
        Case(_of("bayes-net-structure", draws=d), n)
        for n, d in ((4, 200), (6, 0), (6, 200), (9, 50))
    ),
    *(Case(_of("bayes-net-structure", draws=50), n, reported="pairs") for n in (6, 12)),
    *(
        Case(_of("bayes-net-structure", draws=50, score={"name": "bic"}), n, categories=3)
        for n in (5, 7)
    ),
    *(
        Case(_of("association-rules", minimum_support=0.05, max_length=m), n, r)
        for n, m, r in ((6, 3, 20_000), (12, 3, 10**5), (20, 4, 10**5), (40, 2, 10**5))
    ),
    Case(_of("association-rules", minimum_support=0.05, max_length=3, estimator="ml"), 7),
    *(
        Case(_of("decision-tree", target="v0"), n, r)
        for n, r in ((5, 20_000), (8, 10**6), (16, 10**5))
    ),
    *(Case(_of("decision-tree", target="v0", max_depth=3), n, categories=4) for n in (6, 12)),
    *(Case(_of("decision-tree", target="v0", estimator="ml", max_depth=3), n) for n in (5, 8)),
    Case(_of("decision-tree", target="v0", max_depth=4), 8, 10**5, reported="pairs"),
    *(Case(_of("bayes-classifier", target="v0"), n, 10**5) for n in (4, 12, 30)),
    *(Case(_of("bayes-classifier", target="v0", model="naive-bayes"), n, 10**5) for n in (6, 30)),
    Case(_of("bayes-classifier", target="v0", estimator="ml"), 10),
    Case(_of("bayes-classifier", target="v0", estimator="pooled"), 20, 10**5, reported="pairs"),
    *(Case(_of("linear-classifier", target="v0"), n) for n in (4, 8, 12, 14)),
    *(Case(_of("linear-classifier", target="v0"), n, categories=5) for n in (3, 5, 6)),
    *(
        Case(_of("linear-classifier", target="v0", loss="least-squares"), n, 10**5)
        for n in (8, 12, 25)
    ),
    *(Case(_of("linear-classifier", target="v0", loss="perceptron"), n) for n in (6, 10)),
    Case(_of("linear-classifier", target="v0"), 25, 10**5),
    *(Case(_of("regression", target="v0"), n, r) for n, r in ((5, 10**4), (20, 10**5))),
    Case(
        _of("regression", target="v0", model="polynomial", degree=2, interactions=True), 12, 10**5
    ),
    *(Case(_of("regression", target="v0", model="kernel"), 6, r) for r in (2_000, 20_000)),
    *(
        Case(_of("regression", target="v0", model="tree"), n, r)
        for n, r in ((6, 10**4), (12, 10**5))
    ),
)

MOST_SECONDS = 40.0
"""What is predicted to take longer is not run."""


def main() -> None:
    """Run all cases, or those whose words hold the argument; print them, and the rates."""
    named = [word for word in sys.argv[1:] if not word.startswith("--")]
    found: list[tuple[Work, float]] = []
    off: list[float] = []
    for case in CASES:
        work = work_of(case)
        if (
            not all(re.search(word, str(case)) for word in named)
            or work.cost().seconds > 10 * MOST_SECONDS
        ):
            continue
        with get_context("fork").Pool(1) as pool:
            waiting = pool.apply_async(run, (case,))
            try:
                seconds, held, ended = waiting.get(timeout=MOST_SECONDS)
            except TooSlow:
                console().print(f"{case}: more than {MOST_SECONDS:g} s; predicted {work.cost()}")
                continue
        cost = work.cost()
        off.append(cost.seconds / seconds)
        found.append((work, seconds))
        console().print(
            f"{case}{', ' + case.reported if case.reported != 'each' else ''}: {seconds:.2f} s,"
            f" {size(held)}; predicted {cost.seconds:.2f} s, {size(cost.bytes)};"
            f" {cost.seconds / seconds:.2f} times{ended}",
            highlight=False,
        )
    print_accuracy(off)
    if "--fit" in sys.argv:
        print_rates(found)


def work_of(case: Case) -> Work:
    """Return the work of a job as the miner tells it from the plans."""
    spec, kind = case.job, kind_of(case.job)
    if isinstance(kind, RecordsKind):
        return kind.work(spec, _extent(case))
    layout = RecordLayout((case.plan,))
    counts = cast("CountsKind[Any, Any]", kind)
    variables = counts.variables(spec, layout.domain)
    return counts.work(spec, Extent(variables, layout, case.records))


def run(case: Case) -> tuple[float, float, str]:
    """Learn; return the processor's seconds, the most memory in bytes, and how it ended."""
    spec, kind = case.job, kind_of(case.job)
    ended = ""
    if isinstance(kind, RecordsKind):
        tables = MaskedTables((_numbers(case),), ())
        learn: Callable[[], object] = lambda: kind.learn(spec, tables, unwatched)  # noqa: E731
    else:
        counts = cast("CountsKind[Any, Any]", kind)
        plan = case.plan
        reports = case.reports()
        learn = lambda: counts.learn(  # noqa: E731
            spec,
            EstimatedMarginals(
                ReportedCounts(reports, plan.reported_sizes),
                plan,
                estimator=spec.estimator,  # type: ignore[union-attr]
                order=spec.order,  # type: ignore[union-attr]
            ),
            unwatched,
        )
    before = time.process_time()
    try:
        learn()
    except PramanaError as error:
        ended = f" ({error.code})"
    seconds = time.process_time() - before
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0, ended


def _numbers(case: Case) -> MixedTable:
    rng = np.random.default_rng(18)
    values = rng.normal(size=(case.variables, case.records))
    values[0] += values[1:].sum(axis=0)
    columns = tuple(NumericColumn(n, v) for n, v in zip(case.names, values, strict=True))
    return MixedTable(columns, case.records)


def _extent(case: Case) -> TableExtent:
    columns = (TableColumn(name=name, role="masked", type="numeric") for name in case.names)
    return TableExtent(tuple(columns), case.records, 1)


def print_accuracy(off: Sequence[float]) -> None:
    """Print by what factor predictions were off."""
    factors = sorted(max(one, 1 / one) for one in off)
    console().print(
        f"{len(off)} jobs: off by a factor of {statistics.median(factors):.1f} in the median,"
        f" {factors[math.ceil(0.9 * len(factors)) - 1]:.1f} in nine of ten,"
        f" {factors[-1]:.1f} at most."
    )


def print_rates(found: Sequence[tuple[Work, float]]) -> None:
    """Print the rates that are off by the least factors."""
    names: list[Unit] = list(RATES)
    matrix = np.array(
        [[{"jobs": 1.0, **work.units}.get(name, 0.0) for name in names] for work, _ in found]
    )
    seconds = np.array([one for _, one in found])
    rates = np.array(list(RATES.values()))
    before = np.log(rates)

    def off(logs: np.ndarray) -> float:
        residuals = np.log(matrix @ np.exp(logs) / seconds)
        # A rate that no case tells stays where it was.
        return float((np.sqrt(1 + residuals**2) - 1).sum() + 0.02 * ((logs - before) ** 2).sum())

    rates = np.exp(minimize(off, before, method="L-BFGS-B").x)
    print_accuracy(list(matrix @ rates / seconds))
    for name, rate in zip(names, rates, strict=True):
        console().print(f'    "{name}": {rate:.1e},', highlight=False)


if __name__ == "__main__":
    main()


__all__ = ["CASES", "Case", "Cost", "duration", "main", "work_of"]
