"""Requirements: the two forms of diversity, their borders, their words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana_core.errors import ModelError, OptionError
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import Leaf
from tests.shared.model_sharing.anonymity.trees import SCHEMA, leaf

COUNTS = st.tuples(*[st.integers(0, 30)] * 4).map(lambda counts: Leaf.of(tuple(map(float, counts))))
C = st.sampled_from([0.5, 1.0, 1.5, 2.0, 5.0, 20.0])


def diverse(counts: tuple[float, ...], c: float, l: int) -> bool:  # noqa: E741
    """Machanavajjhala et al. (2006), definition 4, in whole numbers as they write it."""
    r = [0, *sorted((int(count) for count in counts), reverse=True)]
    return r[1] < c * sum(r[i] for i in range(l, len(r)))


def test_the_example_of_the_paper_and_why_its_sum_is_a_misprint():
    path = leaf(14, 3, 3)
    for exact in (True, False):
        assert Requirement(c=5, l=3, exact=exact).met_by(path)
        # 14 < 3 c only above 14 / 3; the printed sum from l - 1, 14 <= 6 c, would be met with 3.
        assert not Requirement(c=14 / 3, l=3, exact=exact).met_by(path)
        assert not Requirement(c=3, l=3, exact=exact).met_by(path)
        # With l = 2 the printed sum is that of all records: even a path of one class would be met.
        assert not Requirement(c=20, l=2, exact=exact).met_by(leaf(14, 0, 0))


@given(COUNTS, C, st.integers(2, 4))
def test_the_exact_form_is_recursive_diversity(path: Leaf, c: float, l: int):  # noqa: E741
    assert path.distribution is not None
    assert Requirement(c=c, l=l).met_by(path) == diverse(path.distribution, c, l)


@given(COUNTS, C, st.integers(2, 4))
def test_the_forms_agree_where_they_must(path: Leaf, c: float, l: int):  # noqa: E741
    exact, hits = Requirement(c=c, l=l), Requirement(c=c, l=l, exact=False)
    assert hits == exact.by_hits
    if l == 2:
        assert exact.met_by(path) == hits.met_by(path)
    if l == 4 and exact.met_by(path):
        assert hits.met_by(path)


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 1e6])
def test_at_the_border_rounding_decides_nothing(scale: float):
    """0.1 * 3 is above 0.3, and ten times 0.1 is below 1: neither may change an answer."""
    counts = tuple(scale * count for count in (3.0, 30.0, 0.0))
    assert not Requirement(c=1 / 0.1, l=2).met_by(Leaf.of((30 * scale, 3 * scale, 0.0)))
    assert not Requirement(c=10 + 1e-12, l=2, exact=False).met_by(Leaf.of(counts))
    assert Requirement(c=10.001, l=2).met_by(Leaf.of(counts))
    tenths = sum([0.1] * 10) * 10
    assert tenths < 10
    assert Requirement(k=10).met_by(Leaf(0, tenths, 0))
    assert not Requirement(k=10).met_by(Leaf(0, 9.999, 0))


def test_exact_diversity_cannot_be_seen_from_hits_and_misses():
    with pytest.raises(ModelError):
        Requirement(c=5, l=3).met_by(Leaf(0, 5, 5))
    # With l = 2 it can: all misses count.
    assert Requirement(c=2, l=2).met_by(Leaf(0, 5, 5))


def test_more_classes_than_there_are_cannot_be_asked_for():
    Requirement(c=5, l=3).require_for(SCHEMA)
    Requirement(k=5).require_for(SCHEMA)
    with pytest.raises(OptionError, match="l = 4 exceeds the number of classes; 'ill' has 3"):
        Requirement(c=5, l=4, exact=False).require_for(SCHEMA)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"c": 5},
        {"l": 3},
        {"k": 0},
        {"k": float("nan")},
        {"k": float("inf")},
        {"c": 5, "l": 1},
        {"c": 5, "l": 2.5},
        {"c": 0, "l": 2},
        {"c": float("nan"), "l": 2},
        {"c": float("inf"), "l": 2},
    ],
)
def test_what_cannot_be_required(wrong: dict[str, float]):
    with pytest.raises(OptionError):
        Requirement(**wrong)  # type: ignore[arg-type]
