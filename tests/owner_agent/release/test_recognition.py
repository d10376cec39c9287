"""A column is known again by its values under any name, and another column is not taken for it."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import hypergeom

from owner_agent.release.fingerprints import (
    CHANCE,
    LEAST_COMMON,
    LEAST_KAPPA,
    SAMPLED,
    fingerprint_of,
    numbered,
    read_fingerprint,
    recognized,
    same_values,
    sample_of,
    values_of,
)
from owner_agent.release.ledger import Draw, Form
from pramana_core.errors import StoreCorrupt

KEY, OTHER_KEY = bytes(range(1, 33)), bytes(range(2, 34))


def _values(columns, key=KEY, start=0):
    records = len(next(iter(columns.values())))
    ids = [f"person-{number}" for number in range(start, start + records)]
    return values_of(key, ids, columns, {name: name for name in columns})


def _draw(column, randomized=True, draw_id="1"):
    return Draw(column, column.upper(), draw_id, 1.0, Form.RANDOMIZED if randomized else Form.OPEN)


def _left(values, *columns, randomized=True, left=True):
    """What recognition looks at of a ledger entry."""
    return SimpleNamespace(
        fingerprint=fingerprint_of(values, columns),
        draws=tuple(_draw(column, randomized) for column in columns),
        left=left,
    )


def _same_as(draws, values, *entries):
    return [draw.same_as for draw in recognized(draws, values, entries)]


DISTRIBUTIONS = {
    "even": [0.5, 0.5],
    "rare": [0.95, 0.05],
    "four": [0.4, 0.3, 0.2, 0.1],
    "thirty": [1 / 30] * 30,
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("seed", range(20))
def test_a_column_under_other_names_labels_and_order_is_found(name, seed):
    """With 5 % of its values drawn anew, 20 % more records, in another order of rows."""
    shares = DISTRIBUTIONS[name]
    rng = np.random.default_rng(seed)
    records = 3_000
    old = rng.choice(len(shares), records, p=shares).astype(np.uint8)
    before = _values({"smokes": old, "other": rng.integers(0, 3, records).astype(np.uint8)})
    new = rng.choice(len(shares), round(1.2 * records), p=shares).astype(np.uint8)
    corrected = rng.random(records) < 0.05
    new[:records][~corrected] = old[~corrected]
    relabelled = rng.permutation(len(shares)).astype(np.uint8)[new]
    order = rng.permutation(len(new))
    ids = [f"person-{number}" for number in order]
    now = values_of(KEY, ids, {"HABIT": relabelled[order]}, {"HABIT": "tobacco"})
    draw = replace(_draw("tobacco"), variable="HABIT")
    assert _same_as([draw], now, _left(before, "smokes", "other")) == [("smokes",)]
    # Without the records' ids, or with a draw key of its own, nothing is known again.
    strangers = values_of(KEY, [f"x{i}" for i in ids], {"HABIT": new}, {"HABIT": "tobacco"})
    assert _same_as([draw], strangers, _left(before, "smokes", "other")) == [()]
    rekeyed = values_of(OTHER_KEY, ids, {"HABIT": relabelled[order]}, {"HABIT": "tobacco"})
    assert _same_as([draw], rekeyed, _left(before, "smokes", "other")) == [()]


def test_a_pilot_is_found_in_a_table_that_is_a_thousand_times_larger():
    rng = np.random.default_rng(1)
    whole = rng.integers(0, 2, 60_000).astype(np.uint8)
    pilot = _left(_values({"a": whole[:60]}), "a")
    assert _same_as([_draw("b")], _values({"b": 1 - whole}), pilot) == [("a",)]
    few = _left(_values({"a": whole[: LEAST_COMMON - 1]}), "a")
    assert _same_as([_draw("b")], _values({"b": 1 - whole}), few) == [()]


def test_what_is_public_before_and_after_is_not_compared():
    column = np.random.default_rng(2).integers(0, 2, 100).astype(np.uint8)
    now = _values({"b": column})
    for before, after, found in (
        (True, True, ("a",)),
        (True, False, ("a",)),
        (False, True, ("a",)),
        (False, False, ()),
    ):
        entry = _left(_values({"a": column}), "a", randomized=before)
        assert _same_as([_draw("b", after)], now, entry) == [found]
    never = _left(_values({"a": column}), "a", left=False)
    assert _same_as([_draw("b")], now, never) == [()]


def test_copies_in_one_table_are_found_each_by_the_other():
    rng = np.random.default_rng(3)
    one, other = (rng.integers(0, 3, 400).astype(np.uint8) for _ in range(2))
    values = _values({"a": one, "b": other, "c": 2 - one, "d": other})
    draws = [_draw("a"), _draw("b", False), _draw("c"), _draw("d", False)]
    assert _same_as(draws, values) == [("c",), (), ("a",), ()]


def _mistaken(decide, records, ones, others):
    """The exact chance that two independent binary columns with given counts are taken for one."""
    total = 0.0
    for both in range(max(0, ones + others - records), min(ones, others) + 1):
        one = np.arange(records) < ones
        other = np.r_[np.arange(ones) < both, np.arange(records - ones) < others - both]
        if decide(one.astype(np.uint8), other.astype(np.uint8)):
            total += float(hypergeom.pmf(both, records, ones, others))
    return total


def _kappa_alone(one, other):
    """The rule without its second half, for the two ways to match two categories."""
    agreement, means = np.mean(one == other), (one.mean(), other.mean())
    expected = means[0] * means[1] + (1 - means[0]) * (1 - means[1])
    kappa = (agreement - expected) / (1 - expected)
    inverse = ((1 - agreement) - (1 - expected)) / expected
    return max(kappa, inverse) >= LEAST_KAPPA


@pytest.mark.parametrize("records", [LEAST_COMMON, 60])
def test_independent_binary_columns_are_hardly_ever_taken_for_one(records):
    """Exact, over all their counts: at most `CHANCE` for each of the two ways to match them."""
    pairs = [(a, b) for a in range(1, records) for b in range(a, min(a + 4, records))]
    worst = max(_mistaken(same_values, records, *pair) for pair in pairs)
    assert 0 < worst <= 2 * CHANCE
    # The agreement alone takes any two columns for one in which the same record is the odd one.
    assert _mistaken(_kappa_alone, records, 1, 1) == pytest.approx(1 / records)


def test_independent_columns_of_many_categories_are_not_taken_for_one(monkeypatch):
    """At most 30 * `CHANCE` a pair: a false alarm once in 40 runs of these 850 pairs at the most.

    Where all records differ, some matching agrees in every record: the kappa alone takes any two
    such columns for one.
    """
    rng = np.random.default_rng(4)
    kinds = [2, 3, 5, 10, 30]
    for one in kinds:
        for other in kinds:
            for _ in range(34):
                columns = rng.integers(0, one, SAMPLED), rng.integers(0, other, SAMPLED)
                assert not same_values(*columns)
    all_differ = np.arange(SAMPLED), rng.permutation(SAMPLED)
    assert not same_values(*all_differ)
    monkeypatch.setattr("owner_agent.release.fingerprints.CHANCE", math.inf)
    assert same_values(*all_differ)


def test_what_cannot_be_told():
    rng = np.random.default_rng(5)
    constant, mixed = np.zeros(300, dtype=np.uint8), rng.integers(0, 2, 300).astype(np.uint8)
    assert not same_values(constant, constant)
    assert not same_values(constant, mixed)
    assert same_values(mixed, mixed)
    # Related, and not the same: one is told by the other, and not the other by the one.
    four = mixed * 2 + rng.integers(0, 2, 300)
    assert not same_values(mixed, four)
    assert not same_values(mixed[: LEAST_COMMON - 1], mixed[: LEAST_COMMON - 1])


def test_a_fingerprint_tells_which_records_share_a_category_and_only_to_the_key():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 3, 2_000).astype(np.uint8)
    values = _values({"a": codes, "b": codes[::-1]})
    fingerprint = fingerprint_of(values, ["a", "b"])
    sample = read_fingerprint(values.key, fingerprint)
    assert list(sample.columns) == ["a", "b"]
    assert np.array_equal(sample.names, np.sort(values.names)[:SAMPLED])
    by_name = dict(zip(values.names.tolist(), codes.tolist(), strict=True))
    true = np.array([by_name[name] for name in sample.names.tolist()])
    assert np.array_equal(sample.columns["a"], numbered(true))
    # The same under any labels: the ledger does not know which category is which.
    relabelled = _values({"a": np.array([2, 0, 1], dtype=np.uint8)[codes], "b": codes[::-1]})
    assert fingerprint_of(relabelled, ["a", "b"]) == fingerprint
    assert np.array_equal(numbered(np.array([7, 3, 7, 9])), [0, 1, 0, 2])
    # Neither names nor codes are found in it, and another key opens nothing.
    assert sample.names[:1].tobytes() not in fingerprint
    assert read_fingerprint(_values({"a": codes}, OTHER_KEY).key, fingerprint) is None
    assert read_fingerprint(values.key, b"") is None
    assert fingerprint_of(values, []) == b""
    with pytest.raises(StoreCorrupt, match=r"is damaged.*Restore the ledger"):
        read_fingerprint(values.key, fingerprint[:-1] + b"\x00")


@pytest.mark.parametrize("records", [1, 40, SAMPLED, SAMPLED + 1])
def test_a_sample_is_of_the_smallest_names_in_any_order_of_rows(records):
    codes = np.random.default_rng(7).integers(0, 4, records).astype(np.uint8)
    values = _values({"a": codes})
    backwards = replace(values, names=values.names[::-1], columns={"a": codes[::-1]})
    sample = sample_of(values, ["a"])
    assert np.array_equal(sample.names, np.sort(values.names)[:SAMPLED])
    assert np.array_equal(sample_of(backwards, ["a"]).columns["a"], sample.columns["a"])
    read = read_fingerprint(values.key, fingerprint_of(values, ["a"]))
    assert np.array_equal(read.columns["a"], sample.columns["a"])
    assert repr(values.key) not in repr(values)


def test_the_draw_that_is_recognized_keeps_all_else():
    column = np.random.default_rng(8).integers(0, 2, 100).astype(np.uint8)
    draw = Draw("b", "B", "7", math.log(3), Form.RANDOMIZED, population="p")
    (found,) = recognized([draw], _values({"b": column}), [_left(_values({"a": column}), "a")])
    assert found == replace(draw, same_as=("a",))
