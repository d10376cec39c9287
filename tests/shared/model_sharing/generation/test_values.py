"""Values respect intervals exactly, and follow the distribution that is asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pramana_core.domain import Variable
from pramana_core.mixed import CategoricalColumn, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.drawn_values import category_shares, cell_shares
from pramana_core.model_sharing.generating import (
    GenerationOptions,
    cell_sizes,
    generate,
    shared_out,
)
from pramana_core.model_sharing.tree import Leaf, SharedTree, Split

WHOLE = NumericAttribute("age", 17, 90, whole=True)
REAL = NumericAttribute("size", 0, 10)
INF = math.inf


@pytest.mark.parametrize(
    ("attribute", "above", "up_to", "numbers"),
    [
        (WHOLE, -INF, 20.5, {17, 18, 19, 20}),
        (WHOLE, 17, 19, {18, 19}),
        (WHOLE, 88.2, INF, {89, 90}),
        (WHOLE, 90, INF, {91}),  # beyond the range: the nearest whole number of the interval
        (WHOLE, 93.5, INF, {94}),
        (WHOLE, -INF, 12.5, {12}),
        (WHOLE, -INF, 17, {17}),
        (REAL, -INF, 0, {0}),
        (REAL, 10, INF, {math.nextafter(10, INF)}),
        (REAL, -INF, -2.5, {-2.5}),
        (REAL, 3, math.nextafter(3, INF), {math.nextafter(3, INF)}),
        (REAL, math.nextafter(10, 0), INF, {10}),
    ],
)
def test_intervals_at_their_ends(attribute, above, up_to, numbers):
    drawn = values(attribute, Interval(above, up_to), 60)
    assert set(drawn.tolist()) == numbers


def test_absent_categories_follow_the_estimate(assert_distribution):
    """Where the colour is asked for, 90 of 100 are red; so are those of the path that does not."""
    colour = CategoricalAttribute("colour", ("red", "green", "blue"))
    schema = TreeSchema(Variable("class", ("a", "b")), (REAL, colour))
    asking = Split(
        "colour",
        (
            (Values((0,)), Leaf(0, 9000, 0)),
            (Values((1,)), Leaf(1, 500, 0)),
            (Values((2,)), Leaf(1, 500, 0)),
        ),
    )
    parts = ((Interval(up_to=5), asking), (Interval(above=5), Leaf(0, 10_000, 0)))
    tree = SharedTree(schema, Split("size", parts))
    for estimated, shares in ((False, (1 / 3, 1 / 3, 1 / 3)), (True, (0.9, 0.05, 0.05))):
        drawn = generate(tree, np.random.default_rng(6), GenerationOptions(estimated=estimated))
        column = drawn["colour"]
        assert isinstance(column, CategoricalColumn)
        found = np.bincount(column.codes[tree.leaf_of(drawn) == 3], minlength=3)
        assert_distribution(found, np.array(shares) * 10_000)


def values(attribute, interval, records, **options):
    """Return the numbers of a path whose interval is given, in a tree that covers everything."""
    schema = TreeSchema(Variable("class", ("a", "b")), (attribute,))
    parts = [(interval, Leaf(0, records, 0))]
    if interval.above > -INF:
        parts.insert(0, (Interval(up_to=interval.above), Leaf(1, 3, 0)))
    if interval.up_to < INF:
        parts.append((Interval(above=interval.up_to), Leaf(1, 3, 0)))
    tree = SharedTree(schema, Split(attribute.name, tuple(parts)))
    drawn = generate(tree, np.random.default_rng(3), GenerationOptions(**options))
    column = drawn[attribute.name]
    assert isinstance(column, NumericColumn)
    found = column.values[interval.holds(column)]
    assert len(found) == records
    return found


# Counts made whole, and what a tree tells of one attribute or of its class.


COLOUR = CategoricalAttribute("colour", ("red", "green", "blue"))
SCHEMA = TreeSchema(Variable("class", ("a", "b", "c")), (COLOUR,))


def tree(*leaves: Leaf) -> SharedTree:
    parts = tuple((Values((code,)), leaf) for code, leaf in enumerate(leaves))
    return SharedTree(SCHEMA, Split("colour", parts))


@pytest.mark.slow
def test_fractions_are_rounded_without_bias(assert_distribution):
    """Each count is off by less than 1, and right on average."""
    fractional = tree(Leaf(0, 2.3, 0.4), Leaf(1, 1.1, 0), Leaf(2, 0.7, 1.5))
    options = GenerationOptions()
    rng = np.random.default_rng(1)
    runs = np.array([cell_sizes(fractional, options, rng) for _ in range(4000)])
    wanted = np.array([[2.3, 0.2, 0.2], [0, 1.1, 0], [0.75, 0.75, 0.7]])
    assert (np.abs(runs - wanted) < 2).all()
    assert (runs.sum(axis=(1, 2)) == 6).all()
    for row, column in ((0, 0), (1, 1), (2, 2)):
        share = wanted[row, column] % 1
        more = np.count_nonzero(runs[:, row, column] > wanted[row, column])
        assert_distribution([more, 4000 - more], [4000 * share, 4000 * (1 - share)])
    above = np.count_nonzero(runs[:, 0, 0] > 2.3)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution([above, 4000 - above], [2000, 2000])


def test_counts_of_all_classes_decide_over_the_options():
    told = tree(Leaf.of((5, 1, 3)), Leaf.of((0, 7, 1)), Leaf.of((0, 0, 2)))
    sizes = cell_sizes(told, GenerationOptions(), np.random.default_rng(0))
    assert sizes.tolist() == [[5, 1, 3], [0, 7, 1], [0, 0, 2]]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=9), st.integers(1, 10_000))
def test_what_is_shared_out_adds_up(counts, total):
    known = np.array(counts)
    found = shared_out(known, total)
    assert found.sum() == total
    assert (np.abs(found - known * total / known.sum()) < 1 + 1e-6).all()


def likelihood(shares, inside, weights, prior):
    """The log likelihood of grouped values, and of the one record that is spread evenly."""
    return weights @ np.log(inside @ shares) + prior @ np.log(shares)


def best_shares(inside, weights, prior):
    """Return the maximum by a general optimizer, on the logits."""

    def loss(logits):
        shares = np.exp(logits - logits.max())
        return -likelihood(shares / shares.sum(), inside, weights, prior)

    found = optimize.minimize(loss, np.zeros(inside.shape[1]), method="BFGS", tol=1e-9).x
    shares = np.exp(found - found.max())
    return shares / shares.sum()


def test_category_shares_are_the_likeliest():
    allowed = [(0,), (1, 2), (0, 1, 2, 3), (2,), (3, 1)]
    weights = np.array([30.0, 20, 100, 5, 8])
    inside = np.array([[code in codes for code in range(4)] for codes in allowed], dtype=float)
    found = category_shares(allowed, weights, 4)
    assert found == pytest.approx(best_shares(inside, weights, np.full(4, 0.25)), abs=1e-4)


def test_cell_shares_are_the_likeliest():
    edges = np.array([0.0, 1, 3, 4, 8])
    starts, ends = np.array([0, 1, 2, 0]), np.array([2, 4, 3, 4])
    weights = np.array([30.0, 20, 11, 50])
    cells = np.arange(4)
    inside = ((cells >= starts[:, None]) & (cells < ends[:, None])).astype(float)
    found = cell_shares(edges, starts, ends, weights)
    prior = np.diff(edges) / 8
    assert found == pytest.approx(best_shares(inside, weights, prior), abs=1e-4)
