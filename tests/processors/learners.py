"""What each learner learns where exact arithmetic leaves it ties.

Of the world below `a` and `b` say the same of the class and of `c`, so that attributes, links and
rules tie. What is reported of it is given as it is expected, by fractions, and may be nudged: each
count by some of its last digits, as another processor would round it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.options import (
    BayesClassifierOptions,
    LinearOptions,
    RuleOptions,
    Scoring,
    Search,
)
from pramana_core.learn.linear.columns import Cells
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.networks.structure_learning import learn_structure
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.marginals.counts import Marginals
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.global_models.conjunctive import learn_rule
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.plan import Block, Plan

RECORDS = 20_000
DOMAIN = Domain(
    tuple(
        Variable(name, tuple(f"{name}{code}" for code in range(size)))
        for name, size in (("a", 3), ("b", 3), ("c", 2), ("k", 2))
    )
)
PLAN = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.1)) for v in DOMAIN))


def world() -> np.ndarray:
    """Return the distribution of a, b, c and k: the same with a and b in each other's place."""
    told = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    both = np.add.outer(np.arange(3), np.arange(3))
    often = np.stack([0.15 + 0.175 * both, 0.85 - 0.175 * both], axis=-1)
    joint: np.ndarray = np.einsum("k,ka,kb,abc->abck", [0.5, 0.5], told, told, often)
    return joint


class Expected:
    """Reports as they are expected of the world; what is nudged is each table's counts."""

    def __init__(self, plan: Plan, nudge: int, size: float):
        self.tensor = RECORDS * world()
        for axis, block in enumerate(plan.blocks):
            turned = np.tensordot(self.tensor, block.channel.matrix(), axes=([axis], [0]))
            self.tensor = np.moveaxis(turned, -1, axis)
        self.records, self._nudge, self._size = RECORDS, nudge, size

    def table(self, names):
        gone = tuple(i for i, n in enumerate(DOMAIN.names) if n not in names)
        left = [n for n in DOMAIN.names if n in names]
        counts = self.tensor.sum(axis=gone).transpose([left.index(n) for n in names])
        if not self._nudge:
            return counts
        seed = [self._nudge, *(DOMAIN.names.index(name) for name in names)]
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], counts.shape)
        return counts * (1 + self._size * signs)

    def counted(self, asked, _tick=None):
        """Return how many records are expected with all items of each itemset."""
        sets = [dict(asked.items[place] for place in itemset) for itemset in asked.itemsets]
        codes = [[held.get(name, slice(None)) for name in DOMAIN.names] for held in sets]
        return np.array([self.tensor[tuple(one)].sum() for one in codes])


def _links(scoring: Scoring, search: Search) -> Callable[[Marginals], Any]:
    def learned(marginals: Marginals) -> Any:
        found = learn_structure(marginals, scoring, search, draws=0)
        return sorted(found.structure.links)

    return learned


def _tree(marginals: Marginals) -> Any:
    tree = learn_tree(marginals, "k", ["b", "a", "c"])
    return [[node.split and node.split.attribute, node.classes.decision] for node in tree.root]


def _bayes(model: Any) -> Callable[[Marginals], Any]:
    def learned(marginals: Marginals) -> Any:
        options = BayesClassifierOptions(model=model)
        found = learn_bayes_classifier(marginals, "k", None, options)
        return [found.model, sorted(found.links)]

    return learned


def _classes(marginals: Marginals) -> Any:
    """The classes of all a and b; those of a1 and b1 are equally probable."""
    options = BayesClassifierOptions(model="naive-bayes")
    found = learn_bayes_classifier(marginals, "k", ["a", "b"], options)
    a, b = np.divmod(np.arange(9), 3)
    return found.predict({"a": a, "b": b}).tolist()


def rules(marginals: Marginals, shift: float = 0.0) -> Any:
    items = tuple((v.name, code) for v in DOMAIN for code in range(v.size))
    # The supports of a0 and b0 are the minimum, the confidence of their rules with k0 another.
    options = RuleOptions(minimum_support=0.4 * (1 + shift), max_length=2)
    found = mine_itemsets(marginals, items, options)
    frequent = [[i.items, i.verdict] for i in found.itemsets if i.chosen]
    found = mine_itemsets(marginals, items, RuleOptions(minimum_support=0.3, max_length=2))
    derived = derive_rules(found, marginals, 0.75 * (1 + shift))
    return [frequent, [[r.antecedent, r.consequent] for r in derived]]


def _linear(loss: Any) -> Callable[[Marginals], Any]:
    def learned(marginals: Marginals) -> Any:
        numeric = {"a": (-1.0, 0.0, 1.0), "b": (1.0, 0.0, -1.0)}
        steps = {"steps": 100} if loss == "perceptron" else {}
        options = LinearOptions(loss=loss, numeric=numeric, **steps)
        found = learn_linear(marginals, "c", ["a", "b"], options)
        a, b = Cells.grid((3, 3)).columns
        return found.predict({"a": a, "b": b}).tolist()

    return learned


LEARNERS: dict[str, Callable[[Marginals], Any]] = {
    "network": _links(Scoring(), Search(method="hill-climbing", max_parents=1)),
    "network by bic": _links(Scoring("bic"), Search(method="hill-climbing", max_parents=1)),
    "network in an order": _links(
        Scoring("bdeu"), Search(order=("k", "a", "b", "c"), max_parents=1)
    ),
    "network from pairs": _links(Scoring(), Search(method="chow-liu", max_parents=1)),
    "tree": _tree,
    "tan": _bayes("tan"),
    "classes": _classes,
    "rules": rules,
    "plane": _linear("least-squares"),
    "pocket": _linear("perceptron"),
}
COUNTED = ("classes", "rules", "plane", "pocket")
"""What ties at a threshold ties exactly only where nothing is randomized: the entries of a channel
are rounded."""


def shared_tree() -> Any:
    """Return what a tree that is to be shared asks, and a rule, of records in which a and b tie."""
    cells = np.repeat(np.arange(DOMAIN.size), np.rint(400 * world().ravel()).astype(int))
    codes = dict(zip(DOMAIN.names, np.unravel_index(cells, DOMAIN.shape), strict=True))
    names = ("b", "a", "c")
    schema = TreeSchema(
        DOMAIN["k"], tuple(CategoricalAttribute(n, DOMAIN[n].categories) for n in names)
    )
    columns = tuple(CategoricalColumn(n, codes[n], DOMAIN[n].categories) for n in names)
    table = MixedTable(columns, len(cells))
    required = Requirement(5, None, None)
    tree = grow_tree(schema, table, codes["k"], GrowthOptions(), requirement=required)
    rule = learn_rule(schema, table, codes["k"])
    return [repr(tree.root), repr(rule.conditions)]


def told(name: str, nudge: int = 0, size: float = 1e-11) -> Marginals:
    """Return the marginals that a learner learns from."""
    plan = Plan.unrandomized(DOMAIN) if name in COUNTED else PLAN
    return EstimatedMarginals(Expected(plan, nudge, size), plan)


def learned(name: str, nudge: int = 0) -> Any:
    """Return what a learner learns, as JSON has it."""
    return json.loads(json.dumps(LEARNERS[name](told(name, nudge))))
