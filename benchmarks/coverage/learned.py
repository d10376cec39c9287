"""What is learned: measures of rules, leaves and splits of trees, weights of linear classifiers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np

from benchmarks.coverage.log_linear import domain_of, interacting, sampled_pairs
from benchmarks.coverage.setting import (
    Interval,
    Numbers,
    Setting,
    estimated,
    records_of,
    reports_of,
)
from pramana_core.channels import Grouped, Identity, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import PramanaError
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.learn.common.options import Against, LinearOptions, Loss, RuleOptions, TreeOptions
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import LinearClassifier
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.node import Node
from pramana_core.marginals.counts import Codes, Marginals, ReportedCounts
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
    ),
    Setting(
        "supports of all pairs of items, pooled",
        "3 x 2 x 4, pairs sampled at gamma 9, N = 10,000, against the population",
        1431,
        lambda rng: pairs_of_items(
            sampled_pairs(_MIXED, 9.0), interacting(_MIXED, 0.4), 10_000, rng
        ),
    ),
)


_DOMAIN = Domain.of(a="012", b="01", c="012", y="012")
_SHARES = ((0.5, 0.3, 0.2), (0.6, 0.4), (0.4, 0.35, 0.25))


def _law(strength: float) -> Numbers:
    """Return a law in which y depends on a and b, the more the stronger, and not on c."""
    a, b, c, y = np.indices(_DOMAIN.shape)
    lean = strength * (1.5 * (y == a) + (y == 2) * (b == 1) * 1.2 - 0.6 * (y == 1) * b)
    given = np.exp(lean)
    given /= given.sum(axis=3, keepdims=True)
    shares = np.ones(_DOMAIN.shape)
    for codes, each in zip((a, b, c), _SHARES, strict=True):
        shares = shares * np.array(each)[codes]
    law: Numbers = shares * given
    return law


def _plan(p: float) -> Plan:
    return Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in _DOMAIN))


def _within(law: Numbers, given: Mapping[str, int]) -> Numbers:
    """Return the law of the records with given categories, their axes of length 1."""
    places = tuple(
        slice(given[v.name], given[v.name] + 1) if v.name in given else slice(None) for v in _DOMAIN
    )
    return law[places] / law[places].sum()


def _leaves(node: Node, given: dict[str, int]) -> Iterator[tuple[dict[str, int], Node]]:
    """Yield the leaves with what is given on their paths."""
    if node.split is None:
        yield given, node
    for code, child in enumerate(node.children):
        assert node.split is not None  # noqa: S101 - narrows the type
        yield from _leaves(child, {**given, node.split.attribute: code})


def _shares(
    p: float, strength: float, records: int, options: TreeOptions, rng: np.random.Generator
) -> Interval:
    """The classes' shares in one leaf, drawn at random, of a tree of at most two questions."""
    law = _law(strength)
    tree = learn_tree(estimated(_plan(p), law, records, rng), "y", None, options)
    leaves = list(_leaves(tree.root, {}))
    given, leaf = leaves[rng.integers(len(leaves))]
    truth = _within(law, given).sum(axis=(0, 1, 2))
    return Interval(truth, leaf.classes.low, leaf.classes.high)


def _told(law: Numbers, attribute: str) -> float:
    """Return what an attribute tells of y, in bits."""
    gone = tuple(axis for axis, v in enumerate(_DOMAIN) if v.name not in (attribute, "y"))
    table = law.sum(axis=gone)
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    # Rounding is no information.
    return max(0.0, round(float((table * np.log2(table / chance)).sum()), 12))


def _gain(
    p: float,
    strength: float,
    records: int,
    attributes: tuple[str, ...] | None,
    rng: np.random.Generator,
) -> Interval:
    """What the first question tells, whether or not a test would let it be asked."""
    law = _law(strength)
    options = TreeOptions(significance=None, least_records=0, prune=False, max_depth=1)
    split = learn_tree(estimated(_plan(p), law, records, rng), "y", attributes, options).root.split
    if split is None:
        return Interval(0.0, math.nan, math.nan)
    return Interval(_told(law, split.attribute), split.low, split.high)


_BEST = "the lower end allows for taking the best of three attributes"

_SMALLEST = 1333
_FEW = "of leaves of few records the variance of the noise is estimated too large at shares near 0"

_TWO = TreeOptions(max_depth=2)
_FULL = TreeOptions(max_depth=2, significance=None, prune=False, least_records=0)

TREES: tuple[Setting, ...] = (
    *(
        Setting(
            "classes' shares in leaves, by moments",
            f"N = {records:,}, p = {p}, {'grown to the end' if options is _FULL else 'tested'}",
            seed,
            partial(_shares, p, 1.0, records, options),
            below=1.0 if seed == _SMALLEST else 0.97,
            why=_FEW if seed == _SMALLEST else "",
        )
        for seed, records, p, options in (
            (1330, 500, 0.2, _TWO),
            (1331, 2000, 0.2, _TWO),
            (1332, 2000, 0.4, _TWO),
            (1333, 500, 0.3, _FULL),
            (1334, 2000, 0.2, _FULL),
        )
    ),
    *(
        Setting(
            "what a question tells, one attribute",
            f"N = {records:,}, p = {p}, {_told(_law(strength), 'a'):.3f} bits",
            seed,
            partial(_gain, p, strength, records, ("a",)),
            short=200,
        )
        for seed, records, p, strength in (
            (1337, 2000, 0.3, 0.0),
            (1338, 2000, 0.3, 0.5),
            (1339, 2000, 0.2, 1.0),
            (13310, 500, 0.2, 1.0),
            (13311, 5000, 0.4, 1.5),
        )
    ),
    *(
        Setting(
            "what a question tells, the best of three",
            f"N = {records:,}, p = {p}, a tells {_told(_law(strength), 'a'):.3f} bits",
            seed,
            partial(_gain, p, strength, records, None),
            below=1.0,
            why=_BEST,
            short=200,
        )
        for seed, records, p, strength in ((1335, 2000, 0.3, 0.0), (1336, 1000, 0.2, 0.5))
    ),
)


Sizes = tuple[int, ...]

CLASS = "class"


@cache
def law(sizes: Sizes) -> tuple[Domain, Numbers]:
    """Return a law of features of these sizes and a class of two that no plane predicts well.

    Features of four categories have numbers, 0 to 3 squared; the others become indicators.
    """
    names = [f"x{place + 1}" for place in range(len(sizes))]
    variables = [
        Variable(name, tuple(map(str, range(size))), (0.0, 1.0, 4.0, 9.0) if size == 4 else None)
        for name, size in zip(names, sizes, strict=True)
    ]
    domain = Domain((*variables, Variable(CLASS, ("no", "yes"))))
    features = np.random.default_rng(1340).dirichlet(np.full(np.prod(sizes), 4.0)).reshape(sizes)
    score = np.full(sizes, -0.2)
    for axis, size in enumerate(sizes):
        effects = np.linspace(-0.7, 0.7, size) if size == 4 else np.array([0.0, 0.9, -0.4])[:size]
        shape = [size if at == axis else 1 for at in range(len(sizes))]
        score = score + (effects if axis % 2 == 0 else -0.8 * effects).reshape(shape)
    score.flat[3] += 1.0
    yes = 1 / (1 + np.exp(-score))
    return domain, np.stack([features * (1 - yes), features * yes], axis=-1)


class _Law:
    """A law as the counts of a million records, for the weights of the population."""

    records = 1_000_000

    def __init__(self, domain: Domain, shares: Numbers):
        self._domain, self._counts = domain, self.records * shares

    def table(self, names: Sequence[str]) -> Numbers:
        """Return counts over some variables."""
        axes = [self._domain.axis(name) for name in names]
        gone = tuple(axis for axis in range(self._counts.ndim) if axis not in axes)
        return np.transpose(self._counts.sum(axis=gone), np.argsort(np.argsort(axes)))


def plan(domain: Domain, p: float, of_class: float) -> Plan:
    """Return the plan that changes each feature with probability p, and the class."""
    return Plan(
        tuple(
            Block((v,), Symmetric.from_probability(v.size, q) if q else Identity(v.size))
            for v in domain
            for q in [of_class if v.name == CLASS else p]
        )
    )


def _learned(marginals: Marginals, loss: Loss) -> LinearClassifier:
    return learn_linear(marginals, CLASS, options=LinearOptions(loss))


@cache
def truth(sizes: Sizes, loss: Loss) -> Numbers:
    """Return the weights of the population."""
    domain, shares = law(sizes)
    whole = EstimatedMarginals(_Law(domain, shares), Plan.unrandomized(domain))
    return _learned(whole, loss).planes[0].vector


def weighed(
    sizes: Sizes,
    levels: Sequence[tuple[int, float, float]],
    estimator: Estimator,
    rng: np.random.Generator,
) -> EstimatedMarginals:
    """Return marginals of sources drawn anew; a level is records, p, and p of the class."""
    domain, shares = law(sizes)
    sources = []
    for records, p, of_class in levels:
        used = plan(domain, p, of_class)
        sources.append((reports_of(used, records_of(used, shares, records, rng), rng), used))
    return EstimatedMarginals.of(sources, estimator=estimator)


def weights(
    sizes: Sizes,
    levels: Sequence[tuple[int, float, float]],
    loss: Loss,
    estimator: Estimator,
    rng: np.random.Generator,
) -> Interval:
    """Learn from reports drawn anew, and return the weights' intervals; NaN where none is told."""
    wanted = truth(sizes, loss)
    none = np.full(len(wanted), np.nan)
    try:
        model = _learned(weighed(sizes, levels, estimator, rng), loss)
    except PramanaError:
        return Interval(wanted, none, none)
    return _intervals(wanted, model)


def _intervals(wanted: Numbers, model: LinearClassifier) -> Interval:
    ends = [weight.interval or (np.nan, np.nan) for weight in model.planes[0].weights]
    low, high = np.array(ends).T
    return Interval(wanted, low, high)


def _setting(
    seed: int,
    sizes: Sizes,
    *levels: tuple[int, float, float],
    loss: Loss = "logistic",
    estimator: Estimator = "moment",
    why: str = "",
    short: int = 100,
) -> Setting:
    said = "; ".join(
        f"{records:,} records, p = {p:g}, of the class {of_class:g}"
        for records, p, of_class in levels
    )
    means = ", by likelihood" if estimator == "ml" else ""
    return Setting(
        f"weights, {loss}{means}",
        f"{said}; features of {', '.join(map(str, sizes))} categories",
        seed,
        partial(weights, sizes, levels, loss, estimator),
        below=1.0 if why else 0.97,
        why=why,
        short=short,
    )


_ENDLESS = (
    "Where the noise hides how the columns vary, intervals have no end on one side, and where the"
    " equation has no solution none is printed."
)

CLASSIFIERS: tuple[Setting, ...] = (
    _setting(1340, (3, 2, 4), (1_000, 0.1, 0.0)),
    _setting(1341, (3, 2, 4), (1_000, 0.2, 0.2)),
    _setting(1342, (3, 2, 4), (20_000, 0.4, 0.4)),
    _setting(1343, (3, 2, 4), (5_000, 0.4, 0.0)),
    _setting(1344, (3, 2, 4), (20_000, 0.4, 0.0), estimator="ml"),
    _setting(1345, (3, 2, 4), (20_000, 0.4, 0.0), loss="least-squares"),
    _setting(1346, (2, 2, 2), (20_000, 0.4, 0.0), why=_ENDLESS),
    _setting(1347, (2, 2, 2), (5_000, 0.4, 0.0), why=_ENDLESS),
    _setting(1348, (2, 2, 4, 3, 2), (5_000, 0.3, 0.0)),
    _setting(1349, (3, 2, 4), (2_000, 0.4, 0.2), (3_000, 0.2, 0.1)),
)
