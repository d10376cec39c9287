"""Supports, rules and the verdicts on them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.coverage.setting import (
    Interval,
    Numbers,
    Setting,
    estimated,
    records_of,
    reports_of,
)
from benchmarks.coverage.settings.log_linear import domain_of, interacting, sampled_pairs
from pramana_core.channels import Grouped, Symmetric
from pramana_core.domain import Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.options import Against, RuleOptions
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.support_counts import Item
from pramana_core.plan import Block, Plan

Measure = Literal["confidence", "lift", "leverage"]
MEASURES: tuple[Measure, ...] = ("confidence", "lift", "leverage")
LEAST = 1e-9
"""The minimum support: every rule whose supports are estimated to be positive is listed."""


@dataclass(frozen=True)
class Rules:
    """The rules between the parts of one itemset, mined of several owners' records.

    Args:
        law: the joint distribution of the items' variables, an axis of each; item 1 or the last
            category is the item.
        flips: the probability of another category, for each owner.
        records: of each owner.
        measure: whose intervals are counted.
        against: which error.
    """

    law: Numbers
    flips: tuple[float, ...]
    records: int
    measure: Measure
    against: Against = "records"

    def __call__(self, rng: np.random.Generator) -> Interval:
        marginals, columns = drawn(self.law, self.flips, self.records, rng)
        items = tuple((name, size - 1) for name, size in zip("abcd", self.law.shape, strict=False))
        options = RuleOptions(LEAST, against=self.against)
        found = mine_itemsets(marginals, items, options)
        rules = {
            rule.antecedent: rule
            for rule in derive_rules(found, marginals, 0.0)
            if len(rule.antecedent + rule.consequent) == len(items)
        }
        truth, ends = [], []
        for left in parts(items):
            right = tuple(item for item in items if item not in left)
            whole, *sides = (self._share(part, columns) for part in (items, left, right))
            truth.append(of_measure(self.measure, whole, *sides))
            rule = rules.get(left)
            ends.append(getattr(rule, f"{self.measure}_interval", (np.nan, np.nan)))
        low, high = np.array(ends).T
        return Interval(truth, low, high)

    def _share(self, items: Sequence[Item], columns: Sequence[dict[str, Codes]]) -> float:
        """Return the true support: of the law, or of the records drawn."""
        if self.against == "population":
            chosen = {"abcd".index(name): code for name, code in items}
            cells = tuple(chosen.get(axis, slice(None)) for axis in range(self.law.ndim))
            return float(self.law[cells].sum() / self.law.sum())
        has = [np.all([own[name] == code for name, code in items], axis=0) for own in columns]
        return float(np.concatenate(has).mean())


def parts(items: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    """Return what can be the antecedent of a rule of all items."""
    sizes = range(1, len(items))
    return [part for size in sizes for part in itertools.combinations(items, size)]


def of_measure(measure: Measure, whole: float, left: float, right: float) -> float:
    """Return a measure of a rule of true supports."""
    if measure == "leverage":
        return whole - left * right
    return whole / left if measure == "confidence" else whole / (left * right)


@dataclass(frozen=True)
class Support:
    """The support of one itemset: of the last category of each variable; arguments as `Rules`."""

    law: Numbers
    flips: tuple[float, ...]
    records: int
    against: Against = "records"

    def __call__(self, rng: np.random.Generator) -> Interval:
        marginals, columns = drawn(self.law, self.flips, self.records, rng)
        items = tuple((name, size - 1) for name, size in zip("abcd", self.law.shape, strict=False))
        found = mine_itemsets(marginals, items, RuleOptions(LEAST, against=self.against))
        whole = [one for one in found.itemsets if len(one.items) == len(items)]
        has = [np.all([own[name] == code for name, code in items], axis=0) for own in columns]
        share = self.law.ravel()[-1] / self.law.sum()
        truth = share if self.against == "population" else np.concatenate(has).mean()
        low, high = whole[0].interval if whole else (np.nan, np.nan)
        return Interval(truth, low, high)


@dataclass(frozen=True)
class Itemsets:
    """The supports of all itemsets of one category of each variable.

    Args:
        plan: of the variables, in the order of the axes of
        law: their joint distribution.
        records: their number.
        against: which error.
    """

    plan: Plan
    law: Numbers
    records: int
    against: Against = "population"

    def __call__(self, rng: np.random.Generator) -> Interval:
        true = records_of(self.plan, self.law, self.records, rng)
        marginals = EstimatedMarginals(reports_of(self.plan, true, rng), self.plan)
        domain = self.plan.domain
        items = tuple((v.name, code) for v in domain for code in range(v.size))
        starts = np.cumsum([0, *domain.shape[:-1]])
        rows = np.array(list(np.ndindex(*domain.shape)), dtype=np.int64) + starts
        counts = marginals.supports(items).counts(rows)
        population = self.against == "population"
        low, high = counts.interval(normal_quantile(0.95), population=population)
        truth = self.law / self.law.sum()
        if not population:
            counted = ReportedCounts(true, dict(zip(domain.names, domain.shape, strict=True)))
            truth = counted.table(domain.names) / self.records
        return Interval(truth.ravel(), np.clip(low, 0, 1), np.clip(high, 0, 1))


def pairs_of_items(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Repeat the intervals of the supports of all pairs of items, from pooled reports."""
    marginals = estimated(plan, law, records, rng, estimator="pooled")
    domain = plan.domain
    items = tuple((v.name, code) for v in domain for code in range(v.size))
    joined = [
        (a, b)
        for a, b in itertools.combinations(range(len(items)), 2)
        if items[a][0] != items[b][0]
    ]
    counts = marginals.supports(items).counts(np.array(joined, dtype=np.int64))
    low, high = counts.interval(normal_quantile(0.95), population=True)
    truth = []
    for a, b in joined:
        cells = [slice(None)] * law.ndim
        for name, code in (items[a], items[b]):
            cells[domain.axis(name)] = slice(code, code + 1)
        truth.append(law[tuple(cells)].sum() / law.sum())
    return Interval(truth, np.clip(low, 0, 1), np.clip(high, 0, 1))


def drawn(
    law: Numbers, flips: Sequence[float], records: int, rng: np.random.Generator
) -> tuple[EstimatedMarginals, list[dict[str, Codes]]]:
    """Return the marginals of several owners' reports, and each owner's true records."""
    sources, columns = [], []
    for flip in flips:
        plan = plan_of(law.shape, flip)
        true = records_of(plan, law, records, rng)
        sources.append((reports_of(plan, true, rng), plan))
        columns.append(true)
    return EstimatedMarginals.of(sources), columns


def plan_of(shape: tuple[int, ...], flip: float) -> Plan:
    """Return a plan that changes each variable by itself."""
    blocks = []
    for name, size in zip("abcd", shape, strict=False):
        variable = Variable(name, tuple(str(code) for code in range(size)))
        blocks.append(Block((variable,), Symmetric.from_probability(size, flip)))
    return Plan(tuple(blocks))


def independent(*shares: float) -> Numbers:
    """Return the law of independent items of these supports."""
    law = np.ones(())
    for share in shares:
        law = np.multiply.outer(law, [1 - share, share])
    return law


def rare(support: float, categories: int, length: int) -> Numbers:
    """Return a law of many alike categories, with one more cell of that support."""
    law = np.full((categories,) * length, (1 - support) / (categories**length - 1))
    law.ravel()[-1] = support
    return law


DEPENDENT = np.array([[[0.30, 0.05], [0.05, 0.05]], [[0.05, 0.10], [0.10, 0.30]]])
"""The law of three items that go together."""

LISTED = (
    "a rule is listed only if its support is estimated to be positive, which leaves the estimates"
    " that are too low unseen"
)

UNEVEN: Numbers = np.random.default_rng(9).dirichlet(np.full(27, 0.7)).reshape(3, 3, 3)
"""A law of three variables of three categories, some cells rare."""


def grouped() -> Plan:
    """Return a plan of two variables changed within groups of their nine cells, and one alone."""
    a, b, c = (Variable(name, ("0", "1", "2")) for name in "abc")
    within = Grouped.from_probability(((0, 1, 2), (3, 4, 5, 6), (7, 8)), 0.4)
    return Plan((Block((a, b), within), Block((c,), Symmetric.from_probability(3, 0.4))))


_MIXED = domain_of(3, 2, 4)

_SHRUNK = (
    "the errors of shrunk supports have the square of what shrinkage moved them added, which noise"
    " itself moved most"
)

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "lift of two independent items",
        "supports .3 and .2, 5,000 records, p = .4",
        1300,
        Rules(independent(0.3, 0.2), (0.4,), 5000, "lift"),
        below=1.0,
        why=LISTED,
    ),
    Setting(
        "lift of rules of three dependent items",
        "3,000 records, p = .25, against the population",
        1301,
        Rules(DEPENDENT, (0.25,), 3000, "lift", "population"),
        short=60,
    ),
    Setting(
        "lift of two dependent items of three owners",
        "3 x 1,000 records, p = .1, .3 and .4, against the population",
        1302,
        Rules(np.array([[0.5, 0.15], [0.15, 0.2]]), (0.1, 0.3, 0.4), 1000, "lift", "population"),
        short=60,
    ),
    Setting(
        "lift of a rare rule",
        "support 4 %, two items of 10 categories, 2,000 records, p = .5",
        1303,
        Rules(rare(0.04, 10, 2), (0.5,), 2000, "lift"),
    ),
    Setting(
        "confidence of a rare rule",
        "support 4 %, two items of 10 categories, 2,000 records, p = .5",
        1304,
        Rules(rare(0.04, 10, 2), (0.5,), 2000, "confidence"),
    ),
    Setting(
        "leverage of a rare rule",
        "support 4 %, two items of 10 categories, 2,000 records, p = .5, against the population",
        1305,
        Rules(rare(0.04, 10, 2), (0.5,), 2000, "leverage", "population"),
    ),
    Setting(
        "support of a rare itemset",
        "support 2 %, three items of 10 categories, 2,000 records, p = .5",
        1306,
        Support(rare(0.02, 10, 3), (0.5,), 2000),
        short=300,
    ),
    Setting(
        "support of a rare itemset",
        "support 1 %, two items of 10 categories, 1,000 records, p = .4, against the population",
        1307,
        Support(rare(0.01, 10, 2), (0.4,), 1000, "population"),
        short=300,
    ),
    Setting(
        "support of a rare itemset of two owners",
        "support 2 %, two items of 10 categories, 2 x 700 records, p = .2 and .6",
        1308,
        Support(rare(0.02, 10, 2), (0.2, 0.6), 700),
        short=300,
    ),
    Setting(
        "supports of all itemsets of three variables",
        "three categories each, 200 records, p = .4, against the population",
        1309,
        Itemsets(plan_of((3, 3, 3), 0.4), UNEVEN, 200),
    ),
    Setting(
        "supports of all itemsets of three variables",
        "three categories each, two of them grouped, 300 records, p = .4, against the population",
        1360,
        Itemsets(grouped(), UNEVEN, 300),
    ),
    Setting(
        "supports of all itemsets of three variables",
        "three categories each, two of them grouped, 300 records, p = .4, given the records",
        1361,
        Itemsets(grouped(), UNEVEN, 300, "records"),
    ),
    Setting(
        "supports of all pairs of items, pooled",
        "3 x 2 x 4, pairs sampled at gamma 19, N = 2,000, against the population",
        1430,
        lambda rng: pairs_of_items(
            sampled_pairs(_MIXED, 19.0), interacting(_MIXED, 0.4), 2000, rng
        ),
        below=1.0,
        why=_SHRUNK,
    ),
    Setting(
        "supports of all pairs of items, pooled",
        "3 x 2 x 4, pairs sampled at gamma 9, N = 10,000, against the population",
        1431,
        lambda rng: pairs_of_items(
            sampled_pairs(_MIXED, 9.0), interacting(_MIXED, 0.4), 10_000, rng
        ),
        below=1.0,
        why=_SHRUNK,
    ),
)
