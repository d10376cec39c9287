"""Leaves and splits of decision trees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from benchmarks.coverage.setting import Interval, Numbers, Setting, estimated
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.node import Node
from pramana_core.learn.tree.options import TreeOptions
from pramana_core.plan import Block, Plan

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

_TWO = TreeOptions(max_depth=2)
_FULL = TreeOptions(max_depth=2, significance=None, prune=False, least_records=0)

SETTINGS: tuple[Setting, ...] = (
    *(
        Setting(
            "classes' shares in leaves, by moments",
            f"N = {records:,}, p = {p}, {'grown to the end' if options is _FULL else 'tested'}",
            seed,
            partial(_shares, p, 1.0, records, options),
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
