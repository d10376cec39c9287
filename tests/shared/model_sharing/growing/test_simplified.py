"""C4.5's pruning: its limits by their definition, what it cuts, and that noise alone is cut."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pramana_core.domain import Variable
from pramana_core.errors import OptionError
from pramana_core.mixed.table import CategoricalColumn, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.growing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.growing.offers import Asked, Question
from pramana_core.model_sharing.growing.required import expected_errors, simplified
from pramana_core.model_sharing.tree import Leaf, Values


@pytest.mark.parametrize(("wrong", "records"), [(0, 1), (0, 6), (1, 16), (3, 10), (40, 90)])
def test_expected_errors_are_the_upper_limit_of_their_rate(wrong, records):
    """With that rate, so few errors or fewer have exactly the chance that was asked for."""
    found = expected_errors(np.array([wrong, records - wrong], dtype=float), 0.25)
    assert stats.binom.cdf(wrong, records, found / records) == pytest.approx(0.25)
    assert found > wrong


def test_expected_errors_of_quinlans_example():
    """C4.5, chapter 4: U(0, 6) = .206, U(0, 9) = .143, U(0, 1) = .75, as rates."""
    for records, rate in ((6, 0.206), (9, 0.143), (1, 0.750)):
        assert expected_errors(np.array([records, 0.0]), 0.25) / records == pytest.approx(
            rate, abs=5e-4
        )
    assert expected_errors(np.zeros(2), 0.25) == 0


def question(one: Asked, other: Asked) -> Question:
    return Question("a", ((Values((0,)), one), (Values((1,)), other)))


def test_a_subtree_is_replaced_if_its_leaves_are_expected_to_err_as_often():
    """Quinlan's leaves of 6, 9 and 1 records: 3.273 errors; one leaf of 16, 1 wrong: 2.512."""
    inner = question(Leaf.of([9.0, 0.0]), Leaf.of([0.0, 1.0]))
    cut = simplified(question(Leaf.of([6.0, 0.0]), inner))
    assert cut == Leaf.of([15.0, 1.0])
    kept = question(Leaf.of([60.0, 0.0]), Leaf.of([0.0, 60.0]))
    assert simplified(kept) == kept


def test_noise_is_cut_and_what_tells_the_class_is_not():
    rng = np.random.default_rng(7)
    names, records = ("a", "b", "c", "d"), 300
    codes = rng.integers(0, 3, (records, len(names)))
    labels = tuple("xyz")
    schema = TreeSchema(
        Variable("told", ("no", "yes")), tuple(CategoricalAttribute(n, labels) for n in names)
    )
    table = MixedTable(
        tuple(CategoricalColumn(n, codes[:, k], labels) for k, n in enumerate(names)), records
    )
    cut = GrowthOptions(confidence=0.25)
    told = (codes[:, 0] == codes[:, 1]).astype(np.intp)
    exact = grow_tree(schema, table, told)
    assert grow_tree(schema, table, told, cut) == exact
    right = np.zeros(2)
    for _ in range(8):
        noisy = np.where(rng.random(records) < 0.25, 1 - told, told)
        full, left = (grow_tree(schema, table, noisy, asked) for asked in (None, cut))
        assert len(left.leaves) < 0.7 * len(full.leaves)
        assert left.class_counts().sum(axis=0).tolist() == full.class_counts().sum(axis=0).tolist()
        right += [np.mean(tree.predict(table) == told) for tree in (full, left)]
    assert right[1] > right[0]


@pytest.mark.parametrize("confidence", [0.0, 0.6, -1.0, float("nan")])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(OptionError, match="confidence"):
        GrowthOptions(confidence=confidence)
