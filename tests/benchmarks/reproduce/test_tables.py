"""The experiments on itemsets, trees and linear classifiers (Ma 6.3, 7.1.4, 7.2.3).

Their parts are checked by hand and by counting. The experiments themselves need the public tables
and are skipped where these are not there.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.reproduce import tables
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.ma import classifiers
from benchmarks.reproduce.ma.itemsets import group_plan, item_groups, transactions
from benchmarks.reproduce.tables import TrueRecords, domain_of
from pramana_core.domain import Domain, Variable
from pramana_core.errors import TableError
from tests.places import DATA

pytestmark = pytest.mark.calibration


# --- tables --------------------------------------------------------------------------------------


def test_cardinalities_are_the_papers():
    assert domain_of(tables.ADULT).shape == (4, 3, 3, 3, 2, 3, 2, 3, 2, 3, 2)
    assert domain_of(tables.CANCER).shape == (3, 2, 3, 2, 3, 2, 3, 2, 3, 2)
    assert (len(tables.MUSHROOM), sum(domain_of(tables.MUSHROOM).shape)) == (9, 23)


def test_lenses_need_each_combination_once(tmp_path: Path):
    columns = [*classifiers.SHARES, "class"]
    pd.DataFrame([(1, 1, 1, 1, 3)], columns=columns).to_csv(tmp_path / "lenses.csv", index=False)
    with pytest.raises(TableError):
        classifiers.sample(Setting(data=tmp_path))


# --- items ---------------------------------------------------------------------------------------

SMALL = Domain((Variable("a", ("x", "y", "z")), Variable("b", ("x", "y"))))


def records(size: int = 200, seed: int = 2) -> TrueRecords:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, size)
    second = (first + rng.integers(0, 2, size)) % 2
    return TrueRecords(SMALL, {"a": first.astype(np.uint8), "b": second.astype(np.uint8)})


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("mushroom", {3: 4, 2: 2, 1: 7}),
        ("adult", {3: 4, 2: 5, 1: 8}),
    ],
)
def test_groups_are_the_papers(name: str, sizes: dict[int, int]):
    """13 groups of 23 items and 17 of 30; a group of k items has one channel over 2^k cells."""
    over = domain_of(tables.groupings(name))
    groups = item_groups(over, tables.described(name)["together"])
    assert Counter(map(len, groups)) == sizes
    plan = group_plan(groups, 0.3)
    assert len(plan.domain) == sum(over.shape)
    for block in plan.blocks:
        matrix = block.channel.matrix()
        cells = 2 ** len(block.variables)
        wanted = np.full((cells, cells), 0.3 / (cells - 1))
        np.fill_diagonal(wanted, 0.7)
        assert np.allclose(matrix, wanted, atol=1e-8)


def test_items_say_which_category_a_record_has():
    made = records()
    groups = item_groups(SMALL, [["b=y", "a=x"]])
    names = [item.name for group in groups for item in group]
    assert names == ["b=y", "a=x", "a=y", "a=z", "b=x"]
    found = transactions(made)
    for row, (a, b) in enumerate(zip(made.codes["a"], made.codes["b"], strict=True)):
        has = {name for name, column in found.items() if column[row]}
        assert has == {f"a={'xyz'[a]}", f"b={'xy'[b]}"}


# --- the experiments -----------------------------------------------------------------------------


@pytest.mark.public_data
def test_lenses_are_labelled_as_the_file_has_them():
    if not (DATA / classifiers.FILE).is_file():
        pytest.skip("the public table lenses is not there")
    made = classifiers.sample(Setting(data=DATA))
    table = pd.read_csv(DATA / classifiers.FILE)
    label = {tuple(row[1:5]): row[5] for row in table.to_numpy().tolist()}
    columns = [made.codes[name].astype(int) + 1 for name in classifiers.SHARES]
    for row in range(0, made.size, 97):
        key = tuple(int(column[row]) for column in columns)
        assert made.codes["class"][row] == (label[key] == 3)
    # Table 6.1, at a false alarm of 1e-6 for each of nine shares.
    for name, shares in classifiers.SHARES.items():
        counts = np.bincount(made.codes[name], minlength=len(shares))
        for count, share in zip(counts, shares, strict=True):
            low, high = stats.binom.ppf([1e-6 / 18, 1 - 1e-6 / 18], made.size, share)
            assert low <= count <= high


@pytest.mark.public_data
def test_iris_is_repeated_with_noise_and_grouped():
    if not (DATA / classifiers.IRIS_FILE).is_file():
        pytest.skip("the public table iris is not there")
    made = classifiers.iris_sample(Setting(data=DATA))
    table = pd.read_csv(DATA / classifiers.IRIS_FILE)
    assert made.records.size == 15_000
    assert made.records.codes["class"].sum() == 5_000
    for name, width in classifiers.GRANULARITY.items():
        away = np.abs(made.values[name].reshape(100, 150) - table[name].to_numpy())
        assert away.max() <= 0.2
        assert away.max() > 0.19
        counts = np.bincount(made.groups[name].codes(made.values[name]))
        assert min(counts) >= classifiers.MINIMUM_COUNT
        ends = np.array([made.values[name].min(), *made.groups[name].cuts])
        # Groups after the first begin where one has become wide enough.
        assert np.diff(ends).min() > 0.8 * width
