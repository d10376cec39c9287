"""Columns that give a sensitive one away, against a slow count and against tables of chance."""

import numpy as np
import pytest

from pramana_core.determined import PairCounts, _given_away, _Pair

N = 4000


def giveaways(columns, givers, sensitive, chunk=700, most=None):
    sizes = {name: int(codes.max()) + 1 for name, codes in columns.items()}
    pairs = PairCounts(sizes, givers, sensitive)
    for start in range(0, N, chunk):
        part = {name: codes[start : start + chunk] for name, codes in columns.items()}
        pairs.add(part, N if most is None else most)
    return {(one.column, one.of): one.share for one in pairs.giveaways()}


@pytest.fixture
def rng():
    return np.random.default_rng(20261)


def flipped(codes, records, rng):
    other = codes.copy()
    other[rng.choice(N, records, replace=False)] ^= 1
    return other


def test_a_copy_under_any_labels_and_a_near_copy_and_a_refinement_give_away(rng):
    hiv = (rng.random(N) < 0.3).astype(np.uint8)
    fine = rng.integers(0, 60, N)
    found = giveaways(
        {"hiv": hiv, "flag": 1 - hiv, "near": flipped(hiv, 30, rng), "far": flipped(hiv, 60, rng),
         "fine": fine, "band": fine // 10, "coarse": fine // 30},
        ["flag", "near", "far", "fine", "coarse"], ["hiv", "band"],
    )  # fmt: skip
    assert set(found) == {("flag", "hiv"), ("near", "hiv"), ("fine", "band")}
    assert found["near", "hiv"] == pytest.approx(1 - 30 / N)


def test_a_rare_value_is_given_away_by_its_copy_alone(rng):
    """Guessing that nobody has it is right for 99.6 % of the records, whatever else is known."""
    rare = (rng.random(N) < 0.004).astype(np.uint8)
    most, few = rare.copy(), rare.copy()
    ill = np.flatnonzero(rare)
    most[ill[: len(ill) // 4]] = 0
    few[ill[: 3 * len(ill) // 4]] = 0
    found = giveaways(
        {"rare": rare, "copy": rare + 1, "most": most, "few": few,
         "other": rng.integers(0, 3, N)},
        ["copy", "most", "few", "other"], ["rare"],
    )  # fmt: skip
    assert set(found) == {("copy", "rare"), ("most", "rare")}


def test_ids_constants_and_columns_of_nearly_unique_values_give_nothing_away(rng):
    secret = rng.integers(0, 3, N)
    found = giveaways(
        {"secret": secret, "id": rng.permutation(N), "nearly": rng.integers(0, 2 * N, N),
         "constant": np.zeros(N, dtype=int), "same": np.zeros(N, dtype=int)},
        ["id", "nearly", "constant"], ["secret", "same"],
    )  # fmt: skip
    assert found == {}


def test_values_too_many_for_a_table_are_counted_as_the_pairs_that_are_there(rng):
    pay = rng.integers(0, 9000, N)
    assert (90_000 // 20) * (90_000 // 40) > 1 << 16
    assert set(giveaways({"a": pay // 2, "b": pay // 4}, "ab", "ab")) == {("a", "b")}


def slowly(giver, sensitive):
    """Guess each record's value from the others of its category, one record at a time."""
    judged = wrong = 0
    kept = []
    for i in range(len(giver)):
        others = sensitive[(giver == giver[i]) & (np.arange(len(giver)) != i)]
        if len(others):
            judged, kept = judged + 1, [*kept, sensitive[i]]
            counts = np.bincount(others, minlength=sensitive.max() + 1)
            wrong += np.flatnonzero(counts == counts.max()).tolist() != [sensitive[i]]
    return judged, wrong, judged - max(np.bincount(kept), default=0)


def test_it_is_the_guess_from_all_other_records(rng):
    found = 0
    for trial in range(60):
        sensitive = rng.integers(0, 3, 60)
        giver = sensitive + 3 * rng.integers(0, 3, 60)
        wrong = rng.choice(60, trial % 4, replace=False)
        giver[wrong] = rng.integers(0, 9, len(wrong))
        pair = _Pair(9, 3)
        pair.add(giver, sensitive)
        judged, errors, base = slowly(giver, sensitive)
        expected = judged >= 20 and base > 0 and errors <= 0.01 * judged and errors <= base / 2
        share = _given_away(pair)
        assert (share is not None) == expected
        assert share is None or share == pytest.approx(1 - errors / judged)
        found += expected
    assert 0 < found < 60


def test_independent_columns_are_refused_less_than_once_in_a_thousand(rng):
    """By enumeration the most is 1 in 435: two of twenty records, and the same two again."""
    found = 0
    for trial in range(3000):
        records = (20, 30, 60)[trial % 3]
        share = (0.05, 0.1, 0.3, 0.5)[trial % 4]
        pair = _Pair(2, 2)
        pair.add(rng.integers(0, 2, records), (rng.random(records) < share).astype(int))
        found += _given_away(pair) is not None
    assert found <= 3


def test_what_is_certain_early_is_counted_no_more_and_order_changes_nothing(rng):
    hiv = (rng.random(N) < 0.3).astype(np.uint8)
    columns = {"hiv": hiv, "flag": 1 - hiv, "other": rng.integers(0, 4, N)}
    ordered = {name: codes[np.argsort(hiv, kind="stable")] for name, codes in columns.items()}
    answers = [
        giveaways(given, ["flag", "other"], ["hiv"], chunk, most)
        for given in (columns, ordered)
        for chunk in (100, N)
        for most in (N, 4 * N, np.inf)
    ]
    assert answers == [{("flag", "hiv"): 1.0}] * len(answers)
