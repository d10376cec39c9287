"""What lies at a bound, or ties, but for its last digits is decided alike on every processor."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.special import chdtrc

from owner_agent.report.figures import _most_exposed
from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.kernel_regression.tuning import PenaltyFits, smoothest
from pramana_core.learn.common.options import TreeOptions
from pramana_core.learn.linear.columns import CellGrid, DesignMatrix
from pramana_core.learn.linear.pocket import pocket
from pramana_core.learn.linear.sources import CellClassCounts
from pramana_core.learn.networks.pairs import FALSE_SHARE, LEVEL, _Search
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.growing import GrowthOptions, evidence, grow_tree
from pramana_core.model_sharing.pruning import Branch, _least_of
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import Leaf
from pramana_core.plan import Plan
from tests.processors.learners import DOMAIN, told

nudged = pytest.mark.parametrize("nudge", [1 - 1e-13, 1.0, 1 + 1e-13])


@nudged
def test_a_split_at_its_significance_is_taken(nudge: float):
    codes = {"a": np.repeat([0, 1], 50), "k": np.repeat([0, 1, 0, 1], [30, 20, 20, 30])}
    domain = Domain.of(a="xy", k="no")
    plan = Plan.unrandomized(domain)
    reports = {name: own.astype(np.uint8) for name, own in codes.items()}
    marginals = EstimatedMarginals(ReportedCounts(reports, {"a": 2, "k": 2}), plan)
    options = TreeOptions(significance=0.9, prune=False, max_depth=1)
    root = learn_tree(marginals, "k", ["a"], options).root
    assert root.split is not None
    options = TreeOptions(significance=root.split.p_value * nudge, prune=False, max_depth=1)
    assert learn_tree(marginals, "k", ["a"], options).root.split is not None


@nudged
def test_a_node_of_just_enough_records_is_split(nudge: float):
    marginals = told("classes")
    options = TreeOptions(significance=None, prune=False, max_depth=1)
    effective = learn_tree(marginals, "k", ["a"], options).root.classes.effective
    options = TreeOptions(
        significance=None, prune=False, max_depth=1, least_records=effective * nudge
    )
    assert learn_tree(marginals, "k", ["a"], options).root.split is not None


class Pairs:
    """Dependences of which all are told: p-values of pairs, and of pairs beyond others."""

    def __init__(self, p_values: dict[str, float], beyond: float = 0.0):
        self.p_values, self.p_beyond = p_values, beyond

    def of(self, first: str, second: str) -> Any:
        found = SimpleNamespace(p_value=self.p_values[first + second])
        return SimpleNamespace(independence=found, information=1.0)

    def beyond(self, *_: Any) -> Any:
        return SimpleNamespace(p_value=self.p_beyond)


def search(p_values: dict[str, float], beyond: float = 0.0) -> _Search:
    return _Search(cast("Any", Pairs(p_values, beyond)), ("a", "b", "c"), lambda *_: None)


@nudged
def test_a_pair_at_the_level_is_joined_and_its_chains_are_told(nudge: float):
    most = FALSE_SHARE / 3 * nudge
    assert search({"ab": most, "ac": 0.5, "bc": 0.5}).forest() == [("a", "b")]
    # What looks independent is at the level too, and so is what contradicts it.
    allowed = LEVEL / 3 * nudge
    tied = search({"ab": 0.0, "ac": allowed, "bc": 0.0}, beyond=allowed)
    assert list(tied.further([("a", "b"), ("b", "c")])) == [("a", "c")]
    links = [("a", "b"), ("b", "c")]
    assert search({"ac": LEVEL * nudge}).colliders(links) == []
    assert search({"ac": 0.5}, LEVEL * nudge).colliders(links) == [("a", "b", "c")]


@nudged
def test_a_shared_tree_takes_a_split_at_its_level(nudge: float):
    codes = np.repeat([0, 0, 1, 1], [30, 20, 20, 30])
    classes = np.repeat([0, 1, 0, 1], [30, 20, 20, 30])
    found = float(evidence(np.array([[30.0, 20.0]]), np.array([50.0, 50.0]))[0])
    schema = TreeSchema(DOMAIN["k"], (CategoricalAttribute("c", ("x", "y")),))
    table = MixedTable((CategoricalColumn("c", codes, ("x", "y")),), 100)
    options = GrowthOptions(chance=float(chdtrc(1, found)) * nudge)
    grown = grow_tree(schema, table, classes, options, requirement=Requirement(5, None, None))
    assert len(grown.leaves) == 2


@nudged
def test_of_classes_as_large_the_pocket_begins_with_one(nudge: float):
    counts = np.array([[5.0, 2.0], [1.0, 4.0 * nudge]])
    found = pocket(
        DesignMatrix((np.array([[0.0], [1.0]]),)),
        CellClassCounts(CellGrid((2,)), counts),
        1,
        np.zeros(2),
        0,
        np.random.default_rng(0),
        lambda: None,
    )
    assert found.tolist() == [-1.0, 0.0]


def branch(hits: float) -> Branch:
    return Branch(None, Leaf(0, hits, 0.0), np.array([hits, 0.0]), hits, 1, hits)


@nudged
def test_siblings_that_lose_as_much_are_chosen_by_how_many_they_are(nudge: float):
    """What they lose lies where rounding to nine decimals parts it."""
    lost = 1.0000000005 * (1 - 5e-14)
    three = [branch(lost), branch(0.0), branch(0.0)]
    two = [branch(lost * nudge), branch(0.0)]
    for groups in ([three, two], [two, three]):
        pool = [*three, *two]
        assert _least_of(iter(groups), pool, lambda _: branch(0.0), lambda _: True) is two


@nudged
def test_bandwidths_of_the_same_freedom_are_as_good(nudge: float):
    """It lies where rounding to six decimals parts it; of equal ones the last is taken."""
    squares = np.random.default_rng(1).exponential(size=(400, 1, 1))
    one = 2.0000005 * (1 - 5e-14)
    for both in ([one, one * nudge], [one * nudge, one]):
        tried = [
            PenaltyFits(np.array([1.0]), np.array([freedom]), np.array([True]), squares)
            for freedom in both
        ]
        assert smoothest(tried) == (1, (1.0,))


@nudged
def test_what_is_shown_of_equal_ones_is_the_first(nudge: float):
    exposure = 0.3000000005
    rows = [
        SimpleNamespace(
            name=name, sensitive=True, attack=SimpleNamespace(worst=(gained,), prior=(0.0,))
        )
        for name, gained in (("a", exposure), ("b", exposure * nudge), ("c", 0.1))
    ]
    assert [row.name for row in _most_exposed(cast("Any", rows), 1)] == ["a"]
