"""Trees where no reports tell the tables of paths: through a model of the joint distribution."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pramana.setups import SeededOwner
from pramana_core.design.families import Requirements, sampled
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.learning import (
    learn_bayes_classifier,
    learn_with_redundancy,
)
from pramana_core.learn.bayes_classifier.redundancy import UNKNOWN
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.learn.bayes_classifier.subpopulation import modelled_subpopulation
from pramana_core.learn.common.options import TreeOptions
from pramana_core.learn.learners import TREE
from pramana_core.learn.tree.choosing import best_split
from pramana_core.learn.tree.drawing import draw_tree
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.learn.tree.pruning import pruned_by_gain
from pramana_core.learn.tree.text import write_tree_text
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.subpopulations import Subpopulation
from pramana_core.plan import Plan

DOMAIN = Domain.of(a="xyz", b="uv", c="stuv", d="kl", e="pqr", y="ABC")


def records(number: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Return records whose attributes depend on the class alone; of `e` it says nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, number)
    columns = {
        "a": np.where(rng.random(number) < 0.7, y, rng.integers(0, 3, number)),
        "b": (rng.random(number) < np.array([0.1, 0.5, 0.9])[y]).astype(int),
        "c": np.where(rng.random(number) < 0.4, y + 1, rng.integers(0, 4, number)),
        "d": (rng.random(number) < np.array([0.3, 0.7, 0.3])[y]).astype(int),
        "e": rng.integers(0, 3, number),
        "y": y,
    }
    return {name: column.astype(np.uint8) for name, column in columns.items()}


def around_the_class(gamma: float) -> Plan:
    sets = [(name, "y") for name in DOMAIN.names if name != "y"]
    return sampled(sets)(Requirements(DOMAIN, gamma))


def pairs(number: int, gamma: float, seed: int = 1) -> EstimatedMarginals:
    """Return what is estimated of reports of the class and one attribute each."""
    plan = around_the_class(gamma)
    reported = SeededOwner.of("through", seed, number).report(plan, records(number, seed), 0)
    return EstimatedMarginals(reported, plan, estimator="pooled")


@pytest.fixture(scope="module")
def seen() -> EstimatedMarginals:
    return pairs(20_000, 19.0)


@pytest.fixture(scope="module")
def tree(seen: EstimatedMarginals) -> DecisionTree:
    return learn_tree(seen, "y")


def test_a_node_has_the_classes_that_the_model_expects(
    seen: EstimatedMarginals, tree: DecisionTree
) -> None:
    """By the joint distribution over all cells of the attributes."""
    network = learn_bayes_classifier(seen, "y").network
    joint = seen.records * network.marginal(DOMAIN.names)
    looked_at = 0

    def require(node, index):
        nonlocal looked_at
        looked_at += 1
        expected = joint[tuple(index)].reshape(-1, 3).sum(axis=0)
        assert node.classes.counts == pytest.approx(expected)
        assert node.classes.probabilities == pytest.approx(expected / expected.sum())
        assert node.classes.leaned == 0
        for code, child in enumerate(node.children):
            below = list(index)
            below[DOMAIN.axis(node.split.attribute)] = slice(code, code + 1)
            require(child, below)

    require(tree.root, [slice(None)] * 6)
    assert looked_at > 10


def test_splits_of_all_nodes_are_those_of_each_node(
    seen: EstimatedMarginals, tree: DecisionTree
) -> None:
    """The outline of all nodes, against the best split of one node after the other."""
    options = TreeOptions(prune=False, least_records=200)
    whole = learn_tree(seen, "y", options=options)
    model, redundancy = learn_with_redundancy(seen, "y")
    everyone = modelled_subpopulation(
        Replicates.of(model, seen, draws=2), model.domain, "y", seen.records, redundancy or UNKNOWN
    )

    def require(node: Node, within: Subpopulation) -> int:
        names = [name for name in model.inputs.names if name not in within.given]
        best = best_split(within, "y", names, limit=None) if names else None
        if best is None or node.classes.total < options.least_records:
            assert node.split is None
            return 1
        assert node.split is not None
        assert node.split.attribute == best.attribute
        children = enumerate(node.children)
        return sum(require(child, within.within(best.attribute, code)) for code, child in children)

    assert require(whole.root, everyone) == len(whole.leaves) > 100
    unpruned = learn_tree(seen, "y", options=TreeOptions(prune=False))
    pruned = pruned_by_gain(unpruned.root, lambda names: seen.can_estimate([*names, "y"]))
    assert pruned == tree.root


def node_of(
    shares: tuple[float, float], records: float, high: float, effective: float
) -> NodeClasses:
    """A node's classes; `high` is that of the first class."""
    counts, errors = (shares[0] * records, shares[1] * records), (1.0, 1.0)
    ends = (0.0, 1 - high), (high, 1.0)
    return NodeClasses(counts, errors, errors, *ends, effective, 0.0, shares)


@pytest.mark.parametrize(
    ("high", "effective", "reported", "stays"),
    [
        (0.9, 50.0, False, True),  # surely of both classes: the model is believed
        (1.0, 50.0, False, False),  # gains 18 if it tells anew, loses twice 12 if it repeats
        (1.0, 50.0, True, True),  # it is reported, not supposed
        (0.9, 0.9, False, False),  # nothing is known of the node
        (0.9, 0.9, True, True),
    ],
)
def test_a_question_that_no_report_tells_must_pay_if_it_repeats(
    high: float, effective: float, reported: bool, stays: bool
) -> None:
    above = node_of((0.7, 0.3), 100.0, high, effective)
    sides = [
        Node(node_of((0.2, 0.8), 30.0, 1.0, effective)),
        Node(node_of((0.64 / 0.7, 0.06 / 0.7), 70.0, 1.0, effective)),
    ]
    split = Split("x", 0.3, 0.2, 0.1, 0.3, 0.1, 0.3, 1, 1, 1.0)
    root = Node(above, split, tuple(sides))
    found = pruned_by_gain(root, lambda _asked: reported)
    assert (found.split is not None) == stays


def test_a_tree_is_pruned_unless_asked_otherwise(seen: EstimatedMarginals, tree) -> None:
    whole = learn_tree(seen, "y", options=TreeOptions(prune=False))
    assert len(tree.leaves) < len(whole.leaves)


def test_the_model_is_told(tree: DecisionTree) -> None:
    assert tree.through == "naive-bayes"
    assert TREE.read(TREE.write(tree)) == tree
    words = " ".join(write_tree_text(tree, show_weights=True).split())
    # No question was tested in its node, so that none has a p-value.
    assert "bits expected" in words
    assert "p = " not in words
    assert "p < " not in words
    assert "p = " not in draw_tree(tree).svg()
    assert words.startswith("Through a model")
    assert "naive Bayes expects" in words
    assert "Through a model" not in write_tree_text(tree)


def test_counts_that_reports_tell_need_no_model() -> None:
    columns = records(2_000)
    counted = ReportedCounts(columns, {v.name: v.size for v in DOMAIN})
    direct = learn_tree(EstimatedMarginals(counted, Plan.unrandomized(DOMAIN)), "y")
    assert direct.through is None
    assert TREE.document(direct)["through"] is None
    assert "Through a model" not in write_tree_text(direct, show_weights=True)
    other = dataclasses.replace(direct, through="tan")
    assert TREE.read(TREE.write(other)).through == "tan"


def test_an_attribute_and_the_class_reported_together_are_counted(
    seen: EstimatedMarginals,
) -> None:
    """No path has more than one attribute, and its table is a pair's."""
    assert learn_tree(seen, "y", ["a"]).through is None
