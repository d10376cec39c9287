"""Private trees: what was spent, what is made of the noised counts, what is refused."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from pramana_core.errors import OptionError
from pramana_core.model_sharing.conditions import Interval, Values
from pramana_core.model_sharing.private import (
    GeneratorNoise,
    Questions,
    choice_probabilities,
    grow_private_tree,
    with_counts,
)
from pramana_core.model_sharing.private_options import PrivateOptions
from pramana_core.model_sharing.tree import Leaf, Split, leaves_below
from tests.shared.model_sharing.private.mechanisms import (
    RECORDS,
    SCHEMA,
    Record,
    outcomes,
    table_of,
)

TABLE, CLASSES = table_of([*RECORDS, *[(0, 0.5, 1)] * 40, *[(2, 1.5, 0)] * 60])


def noise(seed: int = 0) -> GeneratorNoise:
    return GeneratorNoise(np.random.default_rng(seed))


def test_with_hardly_any_noise_the_tree_is_the_greedy_one():
    options = PrivateOptions(depth=2, grid=2)
    made = grow_private_tree(SCHEMA, TABLE, CLASSES, 1e3, noise(), options)
    # "a" against the rest parts the two classes; so does z at 1: whichever, all but a few are hit.
    assert (made.tree.predict(TABLE) == CLASSES).mean() > 0.9
    exact = np.zeros_like(made.noised)
    np.add.at(exact, (made.tree.leaf_of(TABLE), CLASSES), 1)
    assert np.array_equal(made.noised, exact)
    assert made.tree.records == len(CLASSES)


def test_scores_are_those_of_the_records():
    """Against counting record by record."""
    rng = np.random.default_rng(4)
    records = [RECORDS[n] for n in rng.integers(0, len(RECORDS), 50)]
    table, classes = table_of(records)
    box = {"x": Values((0, 1, 2)), "z": Interval()}
    rows = np.arange(0, 50, 2)
    questions = Questions(SCHEMA, table, classes, 4)
    asked = questions.at(box)
    assert [q[0] for q in asked] == ["x"] * 3 + ["z"] * 3
    for question, score in zip(asked, questions.scores(asked, rows), strict=True):
        worth = 0.0
        name, *parts = question
        for condition, part in zip(parts, questions.rows_of(question, rows), strict=True):
            held = condition.holds(table[name])
            assert part.tolist() == [r for r in rows if held[r]]
            counts = np.bincount(classes[part], minlength=2)
            worth += (counts**2).sum() / max(len(part), 1)
        assert score == pytest.approx(worth)


def test_questions_end_where_nothing_is_left_to_ask():
    questions = Questions(SCHEMA, TABLE, CLASSES, 2)
    assert questions.at({"x": Values((1,)), "z": Interval(up_to=1)}) == []
    two = questions.at({"x": Values((0, 2)), "z": Interval(above=1)})
    assert two == [("x", Values((0,)), Values((2,)))]
    deep = grow_private_tree(SCHEMA, TABLE, CLASSES, 1.0, noise(), PrivateOptions(depth=9, grid=2))
    assert len(deep.tree.leaves) == 6


NONE = Leaf(0, 0, 0)
BY_Z = Split("z", ((Interval(up_to=1), NONE), (Interval(above=1), NONE)))
GIVEN = Split("x", ((Values((0, 1)), BY_Z), (Values((2,)), NONE)))


def test_a_leaf_without_counts_tells_the_class_above_it():
    _, empty, _ = leaves_below(with_counts(GIVEN, np.array([[0.0, 5], [0, 0], [9, 0]])))
    assert empty == Leaf(1, 0, 0, (0.0, 0.0))
    nothing = with_counts(GIVEN, np.array([[0.0, 0], [0, 0], [1, 7]]))
    assert [leaf.label for leaf in leaves_below(nothing)] == [1, 1, 1]


def test_counts_below_zero_are_none():
    made = grow_private_tree(SCHEMA, TABLE, CLASSES, 0.1, noise(), PrivateOptions(depth=2, grid=2))
    assert (made.noised < 0).any()
    assert np.array_equal(made.tree.class_counts, np.maximum(made.noised, 0))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-7, 1e4, float("nan"), float("inf")])
def test_epsilons_out_of_their_range(epsilon: float):
    with pytest.raises(OptionError, match="epsilon must be from"):
        grow_private_tree(SCHEMA, TABLE, CLASSES, epsilon, noise())


# The two mechanisms of simulations, against their probabilities.


DRAWS = 20_000


def laplace(scale: float, values: np.ndarray) -> np.ndarray:
    """The probabilities of whole numbers, by the formula for their sum."""
    return np.exp(-np.abs(values) / scale) * math.tanh(0.5 / scale)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_discrete_laplace(scale: float, assert_distribution):
    noise = GeneratorNoise(np.random.default_rng(1))
    drawn = np.array([noise.laplace(scale) for _ in range(DRAWS)])
    end = int(4 * scale)
    seen = np.bincount(np.clip(drawn, -end, end) + end, minlength=2 * end + 1)

    def expected(of: float) -> np.ndarray:
        inner = laplace(of, np.arange(-end + 1, end))
        tail = (1 - inner.sum()) / 2
        return DRAWS * np.array([tail, *inner, tail])

    assert_distribution(seen, expected(scale))
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(seen, expected(1.15 * scale))


@pytest.mark.slow
def test_the_exponential_mechanism(assert_distribution):
    scores = np.array([0.0, 1.0, 3.0])
    weights = [1, math.e**0.5, math.e**1.5]
    expected = DRAWS * np.array(weights) / sum(weights)
    noise = GeneratorNoise(np.random.default_rng(2))
    seen = np.bincount([noise.choose(scores, 0.5) for _ in range(DRAWS)], minlength=3)
    assert_distribution(seen, expected)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(seen, DRAWS * choice_probabilities(scores, 0.6))


# What a private tree tells of a record is at most its epsilon: all outcomes of small tables.


EPSILON = 1.2


def largest_loss(
    tables: list[tuple[Record, ...]], options: PrivateOptions, factor: float = 1.0
) -> float:
    """Return the largest logarithm by which replacing a record changes an outcome's probability.

    An outcome is a structure and the noised counts. Given the structure a count of n becomes y
    with a probability proportional to exp(-|y - n| / scale), so that where n is changed by d the
    largest change of its logarithm, over all y, is d / scale.
    """
    known = {
        table: {
            taken: (chance, grown.noised, scale)
            for taken, chance, grown, scale in outcomes(table, EPSILON, options, factor)
        }
        for table in tables
    }
    for found in known.values():
        assert sum(np.exp(chance) for chance, _, _ in found.values()) == pytest.approx(1)
    worst = 0.0
    for one in tables:
        for other in tables:
            if neighbours(one, other):
                assert known[one].keys() == known[other].keys()
                for taken, (chance, counts, scale) in known[one].items():
                    chance_2, counts_2, _ = known[other][taken]
                    moved = float(np.abs(counts - counts_2).sum())
                    worst = max(worst, abs(chance - chance_2) + moved / scale)
    return worst


def neighbours(one: tuple[Record, ...], other: tuple[Record, ...]) -> bool:
    left = list(other)
    for record in one:
        if record in left:
            left.remove(record)
    return len(left) == 1


OPTIONS = {
    "one level": PrivateOptions(depth=1, splits=0.9, grid=2),
    "two levels": PrivateOptions(depth=2, grid=2),
}


def tables(name: str) -> list[tuple[Record, ...]]:
    """All tables of three records, or of two where the tree is deeper; each up to its order."""
    return list(combinations_with_replacement(RECORDS, 3 if "one level" in name else 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_no_outcome_tells_more_than_epsilon(name: str):
    assert largest_loss(tables(name), OPTIONS[name]) <= EPSILON * (1 + 1e-9)


# One level comes nowhere near its bound here; `test_gini_comes_near_its_bound` does.
@pytest.mark.slow
def test_a_mechanism_calibrated_wrongly_is_seen():
    """The negative control: with twice the weight and half the noise the bound is broken."""
    name = "two levels"
    assert largest_loss(tables(name), OPTIONS[name], 2.0) > EPSILON


def test_gini_comes_near_its_bound():
    """Category a is of class 0 and low numbers of class 1, until a record is both.

    Of one class it spoils the first question and fits the second, of the other the reverse. The
    rest makes the second question the better one, so that the first is chosen seldom.
    """
    known: list[Record] = [
        *[(0, 1.5, 0)] * 400, *[(1, 0.5, 1)] * 200, *[(2, 0.5, 1)] * 200, *[(1, 1.5, 0)] * 40,
    ]  # fmt: skip
    tables = [(*known, (0, 0.5, 0)), (*known, (0, 0.5, 1))]
    options = OPTIONS["one level"]
    assert 0.95 * EPSILON < largest_loss(tables, options) <= EPSILON
    assert largest_loss(tables, options, 1.1) > EPSILON
