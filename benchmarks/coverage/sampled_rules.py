"""Rules from sampled reports: their measures under the plan that the designer makes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

import pramana as pm
from benchmarks.coverage.learned import LEAST, MEASURES, of_measure
from benchmarks.coverage.log_linear import domain_of, interacting, sampled_pairs
from benchmarks.coverage.setting import Interval, Numbers, Setting, estimated
from pramana_core.domain import Domain
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.marginals.support_counts import Item
from pramana_core.plan import Plan

SUPPORT = 0.05
"""Rules are counted whose support in the population is at least this."""

Population = Callable[[], tuple[Domain, Numbers]]


@cache
def skewed() -> tuple[Domain, Numbers]:
    """Return a law of 3 x 2 x 2 x 3 cells, some of them rare."""
    domain = Domain.of(a="012", b="01", c="01", d="012")
    return domain, np.random.default_rng(5).dirichlet(np.full(36, 0.5)).reshape(domain.shape)


@cache
def people_of(name: Literal["titanic", "berkeley"]) -> tuple[Domain, Numbers]:
    """Return the shares of the cells of a public table."""
    frame = pm.example(name)
    domain = Domain.of(**{str(column): sorted(frame[column].unique()) for column in frame})
    law = np.zeros(domain.shape)
    np.add.at(law, tuple(frame[v.name].map(v.code).to_numpy() for v in domain), 1.0)
    return domain, law / law.sum()


@cache
def _designed(domain: Domain, records: int) -> Plan:
    return pm.design(domain, records=records, gamma=19, learn="itemsets").plan


@dataclass(frozen=True)
class SampledRules:
    """Confidence, lift and leverage of rules of some lengths, mined of sampled reports.

    Args:
        population: the variables and their law.
        records: their number.
        plan: how they are reported; by default the designer's for itemsets at gamma 19.
        lengths: how many items the rules have.
    """

    population: Population
    records: int
    plan: Callable[[Domain, int], Plan] = _designed
    lengths: tuple[int, ...] = (2,)

    def __call__(self, rng: np.random.Generator) -> Interval:
        domain, law = self.population()
        plan = self.plan(domain, self.records)
        marginals = estimated(plan, law, self.records, rng, estimator="pooled")
        options = RuleOptions(LEAST, against="population", max_length=max(self.lengths))
        found = mine_itemsets(marginals, all_items(domain), options)
        rules = {(r.antecedent, r.consequent): r for r in derive_rules(found, marginals, 0.0)}
        truth, ends = [], []
        for left, right, supports in self._frequent(domain, law):
            for measure in MEASURES:
                truth.append(of_measure(measure, *supports))
                rule = rules.get((left, right))
                ends.append(getattr(rule, f"{measure}_interval", (np.nan, np.nan)))
        low, high = np.array(ends).T
        return Interval(truth, low, high)

    def _frequent(
        self, domain: Domain, law: Numbers
    ) -> Iterator[tuple[tuple[Item, ...], tuple[Item, ...], tuple[float, float, float]]]:
        for length in self.lengths:
            for whole in itertools.combinations(all_items(domain), length):
                several = len({name for name, _ in whole}) == length
                if not several or _share(domain, law, whole) < SUPPORT:
                    continue
                for size in range(1, length):
                    for left in itertools.combinations(whole, size):
                        right = tuple(item for item in whole if item not in left)
                        of_all, *of_sides = (_share(domain, law, p) for p in (whole, left, right))
                        yield left, right, (of_all, of_sides[0], of_sides[1])


def _share(domain: Domain, law: Numbers, items: tuple[Item, ...]) -> float:
    chosen = {domain.axis(name): code for name, code in items}
    return float(law[tuple(chosen.get(axis, slice(None)) for axis in range(law.ndim))].sum())


def _settings() -> Iterator[Setting]:
    populations: dict[str, tuple[Population, tuple[int, int], tuple[int, ...]]] = {
        "titanic": (lambda: people_of("titanic"), (2201, 10_000), (2, 3)),
        "berkeley": (lambda: people_of("berkeley"), (4526, 20_000), (2,)),
        "a skewed 3 x 2 x 2 x 3": (skewed, (1500, 5000), (2, 3)),
    }
    seed = itertools.count(1440)
    for name, (population, sizes, lengths) in populations.items():
        for records in sizes:
            yield Setting(
                f"measures of rules of {' and '.join(map(str, lengths))} items, from sampled sets",
                f"{name}, designed for itemsets at gamma 19, N = {records:,}",
                next(seed),
                SampledRules(population, records, lengths=lengths),
                worst=0.9,
                short=30,
            )
    mixed = domain_of(3, 2, 4)
    yield Setting(
        "measures of rules of 3 items, made of pairs",
        "3 x 2 x 4 with interactions of two, pairs sampled at gamma 19, N = 10,000",
        next(seed),
        SampledRules(
            lambda: (mixed, interacting(mixed, 0.4)),
            10_000,
            lambda domain, _: sampled_pairs(domain, 19.0),
            (3,),
        ),
        worst=0.87,
        why="the pairs are shrunk, so that the smallest measures come out larger than they are",
        short=30,
    )


SETTINGS: tuple[Setting, ...] = tuple(_settings())
