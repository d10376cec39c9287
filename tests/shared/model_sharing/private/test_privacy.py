"""What a private tree tells of a record is at most its epsilon: all outcomes of small tables."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from pramana_core.model_sharing.private import PrivateOptions
from tests.shared.model_sharing.private.mechanisms import RECORDS, Record, outcomes

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
    "hits, one level": PrivateOptions(depth=1, quality="hits", splits=0.9, grid=2),
    "hits, two levels": PrivateOptions(depth=2, quality="hits", grid=2),
    "gini, one level": PrivateOptions(depth=1, quality="gini", splits=0.9, grid=2),
    "gini, two levels": PrivateOptions(depth=2, quality="gini", grid=2),
    "random": PrivateOptions(depth=2, structure="random", grid=2),
}


def tables(name: str) -> list[tuple[Record, ...]]:
    """All tables of three records, or of two where the tree is deeper; each up to its order."""
    return list(combinations_with_replacement(RECORDS, 3 if "one level" in name else 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_no_outcome_tells_more_than_epsilon(name: str):
    assert largest_loss(tables(name), OPTIONS[name]) <= EPSILON * (1 + 1e-9)


# Among so few records gini comes nowhere near its bound; `test_gini_comes_near_its_bound` does.
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - {"gini, one level"}))
def test_a_mechanism_calibrated_wrongly_is_seen(name: str):
    """The negative control: with twice the weight and half the noise the bound is broken."""
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
    options = OPTIONS["gini, one level"]
    assert 0.95 * EPSILON < largest_loss(tables, options) <= EPSILON
    assert largest_loss(tables, options, 1.1) > EPSILON
