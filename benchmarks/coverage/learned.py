"""Coverage for learned models: supports and rules, trees, and weights of classifiers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial

import numpy as np

import pramana as pm
from benchmarks.coverage.setting import Interval, Numbers, Setting, estimated
from pramana_core.channels import Grouped, Identity, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import PramanaError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import LinearOptions, RuleOptions, TreeOptions
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import LinearClassifier
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.node import Node
from pramana_core.marginals.counts import Marginals, ReportedCounts
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.support_counts import Item
from pramana_core.plan import Block, Plan

Draw = Callable[[np.random.Generator], EstimatedMarginals]

_LEAST, _FREQUENT = 1e-9, 0.05
"""The minimum support, and the least population support of a counted rule's itemset."""


def rules(records: int, rng: np.random.Generator) -> Interval:
    """Mine reports of the Titanic's passengers once; return the intervals of rules' measures."""
    domain, law = _titanic()
    marginals = estimated(_designed(records), law, records, rng, estimator="pooled")
    options = RuleOptions(_LEAST, against="population", max_length=3)
    items = items_of(domain)
    found = derive_rules(mine_itemsets(marginals, items, options), marginals, 0.0)
    known = {
        tuple(tuple(items[i] for i in side) for side in (rule.antecedent, rule.consequent)): rule
        for rule in found
    }
    truth, ends = [], []
    for left, right in _parts(domain, law, items, (2, 3)):
        whole, *sides = (_share(domain, law, part) for part in ((*left, *right), left, right))
        true = {
            "confidence": whole / sides[0],
            "lift": whole / (sides[0] * sides[1]),
            "leverage": whole - sides[0] * sides[1],
        }
        for measure, value in true.items():
            truth.append(value)
            rule = known.get((left, right))
            ends.append(getattr(rule, f"{measure}_interval", (np.nan, np.nan)))
    low, high = np.array(ends).T
    return Interval(truth, low, high)


def _parts(
    domain: Domain, law: Numbers, items: Sequence[Item], lengths: Sequence[int]
) -> Iterator[tuple[tuple[Item, ...], tuple[Item, ...]]]:
    for length in lengths:
        for whole in itertools.combinations(items, length):
            several = len({name for name, _ in whole}) == length
            if not several or _share(domain, law, whole) < _FREQUENT:
                continue
            for size in range(1, length):
                for left in itertools.combinations(whole, size):
                    yield left, tuple(item for item in whole if item not in left)


def _share(domain: Domain, law: Numbers, items: Sequence[Item]) -> float:
    chosen = {domain.axis(name): code for name, code in items}
    return float(law[tuple(chosen.get(axis, slice(None)) for axis in range(law.ndim))].sum())


@cache
def _titanic() -> tuple[Domain, Numbers]:
    frame = pm.example("titanic")
    domain = Domain.of(**{str(column): sorted(frame[column].unique()) for column in frame})
    law = np.zeros(domain.shape)
    np.add.at(law, tuple(frame[v.name].map(v.code).to_numpy() for v in domain), 1.0)
    return domain, law / law.sum()


@cache
def _designed(records: int) -> Plan:
    domain, _ = _titanic()
    return pm.design(domain, records=records, gamma=19, learn="itemsets").plan


def supports(plan: Plan, law: Numbers, records: int, rng: np.random.Generator) -> Interval:
    """Return the intervals of the supports of all itemsets with one category of each variable."""
    marginals = estimated(plan, law, records, rng)
    domain = plan.domain
    items = tuple((v.name, code) for v in domain for code in range(v.size))
    starts = np.cumsum([0, *domain.shape[:-1]])
    rows = np.array(list(np.ndindex(*domain.shape)), dtype=np.int64) + starts
    counts = marginals.supports(items).counts(rows)
    low, high = counts.interval(normal_quantile(0.95), population=True)
    return Interval((law / law.sum()).ravel(), np.clip(low, 0, 1), np.clip(high, 0, 1))


def _grouped() -> Plan:
    a, b, c = (Variable(name, ("0", "1", "2")) for name in "abc")
    within = Grouped.from_probability(((0, 1, 2), (3, 4, 5, 6), (7, 8)), 0.4)
    return Plan((Block((a, b), within), Block((c,), Symmetric.from_probability(3, 0.4))))


_UNEVEN: Numbers = np.random.default_rng(9).dirichlet(np.full(27, 0.7)).reshape(3, 3, 3)

RULES: tuple[Setting, ...] = (
    Setting(
        "supports of all itemsets of three variables",
        "three categories each, two of them grouped, 300 records, p = .4, against the population",
        1360,
        partial(supports, _grouped(), _UNEVEN, 300),
    ),
    Setting(
        "measures of rules of 2 and 3 items, from sampled sets",
        "titanic, designed for itemsets at gamma 19, N = 2,201",
        1440,
        partial(rules, 2201),
        worst=0.9,
        short=30,
    ),
)


_DOMAIN = Domain.of(a="012", b="01", c="012", y="012")
_SHARES = ((0.5, 0.3, 0.2), (0.6, 0.4), (0.4, 0.35, 0.25))


def _tree_law(strength: float) -> Numbers:
    """Return a law in which y depends on a and b with the given strength, but not on c."""
    a, b, c, y = np.indices(_DOMAIN.shape)
    lean = strength * (1.5 * (y == a) + (y == 2) * (b == 1) * 1.2 - 0.6 * (y == 1) * b)
    given = np.exp(lean)
    given /= given.sum(axis=3, keepdims=True)
    shares = np.ones(_DOMAIN.shape)
    for codes, each in zip((a, b, c), _SHARES, strict=True):
        shares = shares * np.array(each)[codes]
    law: Numbers = shares * given
    return law


def _randomized(p: float) -> Plan:
    return Plan(tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in _DOMAIN))


def _leaves(node: Node, given: dict[str, int]) -> Iterator[tuple[dict[str, int], Node]]:
    if node.split is None:
        yield given, node
    for code, child in enumerate(node.children):
        assert node.split is not None  # noqa: S101 - narrows the type
        yield from _leaves(child, {**given, node.split.attribute: code})


def leaf(p: float, records: int, rng: np.random.Generator) -> Interval:
    """Return the intervals of the class shares in a random leaf of a tree of depth two at most."""
    law = _tree_law(1.0)
    marginals = estimated(_randomized(p), law, records, rng)
    tree = learn_tree(marginals, "y", None, TreeOptions(max_depth=2))
    leaves = list(_leaves(tree.root, {}))
    given, node = leaves[rng.integers(len(leaves))]
    truth = _within(law, given).sum(axis=(0, 1, 2))
    return Interval(truth, node.classes.low, node.classes.high)


def _within(law: Numbers, given: Mapping[str, int]) -> Numbers:
    places = tuple(
        slice(given[v.name], given[v.name] + 1) if v.name in given else slice(None) for v in _DOMAIN
    )
    within: Numbers = law[places] / law[places].sum()
    return within


def gain(p: float, records: int, rng: np.random.Generator) -> Interval:
    """Return the interval of the first split's gain, even if a test would reject the split."""
    law = _tree_law(1.0)
    options = TreeOptions(significance=None, least_records=0, prune=False, max_depth=1)
    marginals = estimated(_randomized(p), law, records, rng)
    split = learn_tree(marginals, "y", ("a",), options).root.split
    if split is None:
        return Interval(0.0, math.nan, math.nan)
    return Interval(_information(law, split.attribute), split.low, split.high)


def _information(law: Numbers, attribute: str) -> float:
    gone = tuple(axis for axis, v in enumerate(_DOMAIN) if v.name not in (attribute, "y"))
    table = law.sum(axis=gone)
    chance = np.outer(table.sum(axis=1), table.sum(axis=0))
    # A rounding error is not information.
    return max(0.0, round(float((table * np.log2(table / chance)).sum()), 12))


TREES: tuple[Setting, ...] = (
    Setting(
        "classes' shares in leaves, by moments",
        "N = 2,000, p = 0.4, tested",
        1332,
        partial(leaf, 0.4, 2000),
    ),
    Setting(
        "information of a question, one attribute",
        "N = 2,000, p = 0.2, 0.300 bits",
        1339,
        partial(gain, 0.2, 2000),
        short=200,
    ),
)


CLASS, SIZES = "class", (3, 2, 4)


@cache
def law() -> tuple[Domain, Numbers]:
    """Return a joint distribution of features and of a binary class that no plane predicts well.

    The feature of four categories is numeric, with the squares of 0 to 3; others are indicators.
    """
    variables = [
        Variable(f"x{k + 1}", tuple("0123"[:size]), (0.0, 1.0, 4.0, 9.0) if size == 4 else None)
        for k, size in enumerate(SIZES)
    ]
    domain = Domain((*variables, Variable(CLASS, ("no", "yes"))))
    features = np.random.default_rng(1340).dirichlet(np.full(np.prod(SIZES), 4.0)).reshape(SIZES)
    score = np.full(SIZES, -0.2)
    for axis, size in enumerate(SIZES):
        effects = np.linspace(-0.7, 0.7, size) if size == 4 else np.array([0.0, 0.9, -0.4])[:size]
        shape = [size if at == axis else 1 for at in range(len(SIZES))]
        score = score + (effects if axis % 2 == 0 else -0.8 * effects).reshape(shape)
    score.flat[3] += 1.0
    yes = 1 / (1 + np.exp(-score))
    return domain, np.stack([features * (1 - yes), features * yes], axis=-1)


@cache
def _true_weights() -> Numbers:
    domain, shares = law()
    cells = np.repeat(np.arange(shares.size), np.rint(100_000 * shares.ravel()).astype(np.int64))
    axes = np.unravel_index(cells, shares.shape)
    codes = {v.name: axis.astype(np.uint8) for v, axis in zip(domain, axes, strict=True)}
    counts = ReportedCounts(codes, {v.name: v.size for v in domain})
    whole = EstimatedMarginals(counts, Plan.unrandomized(domain))
    return np.asarray(_learned(whole).planes[0].vector)


def weights(p: float, records: int, rng: np.random.Generator) -> Interval:
    """Learn once; return the intervals of the weights, NaN if missing."""
    domain, shares = law()
    wanted = _true_weights()
    channels = [Symmetric.from_probability(v.size, p) for v in domain.variables[:-1]]
    blocks = zip(domain, [*channels, Identity(2)], strict=True)
    plan = Plan(tuple(Block((v,), channel) for v, channel in blocks))
    try:
        found = _learned(estimated(plan, shares, records, rng)).planes[0].weights
    except PramanaError:
        return Interval(wanted, *[np.full(len(wanted), np.nan)] * 2)
    low, high = np.array([weight.interval or (np.nan, np.nan) for weight in found]).T
    return Interval(wanted, low, high)


def _learned(marginals: Marginals) -> LinearClassifier:
    return learn_linear(marginals, CLASS, options=LinearOptions("logistic"))


WEIGHTS: tuple[Setting, ...] = (
    Setting(
        "weights, logistic",
        "5,000 records, p = 0.3, of the class 0; features of 3, 2, 4 categories",
        1343,
        partial(weights, 0.3, 5_000),
    ),
)
