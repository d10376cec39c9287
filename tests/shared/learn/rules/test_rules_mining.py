"""Itemsets: found on exact counts as others find them, and on estimates as enumeration does."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pramana_core.channels import RESOLUTION, Choice, Identity, Sampled, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import (
    DomainError,
    EstimationError,
    LimitExceeded,
    OptionError,
    SingularChannel,
    UnknownCategory,
    UnknownVariable,
)
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import FoundItemsets, items_of
from pramana_core.learn.rules.mining import mine_itemsets, next_candidates
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.support_counts import RuleCounts, SupportCounts
from pramana_core.plan import Block, Plan
from tests.shared.learn.cases import Columns, exact, plan_of, reports
from tests.shared.learn.cases import marginals as estimated
from tests.shared.learn.rules.tables import dependent, domain


def randomized(over: Domain, columns: Columns, p: float, seed: int) -> EstimatedMarginals:
    """Marginals from reports of the columns, every one moved with probability p."""
    plan = plan_of(over, p)
    return estimated(reports(columns, plan, np.random.default_rng(seed)), plan)


OVER = domain(4, 3, 2, 3, 2)
COLUMNS = dependent(OVER, 3000, seed=1)


def one_hot(over: Domain, columns: dict[str, np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame(
        {f"{n}={over[n].categories[code]}": columns[n] == code for n, code in items_of(over)}
    )


def in_words(found: FoundItemsets) -> dict[frozenset[str], float]:
    return {frozenset(found.labels(i.items)): i.support for i in found.frequent}


def by_mlxtend(table: pd.DataFrame, minimum: float) -> dict[frozenset[str], float]:
    from mlxtend.frequent_patterns import apriori

    frame = apriori(table, minimum, use_colnames=True)
    return dict(zip(frame["itemsets"], frame["support"], strict=True))


# Items


def test_items_are_categories():
    over = Domain.of(milk=["no", "yes"], bread=["no", "yes"], size=["S", "M", "L"])
    assert len(items_of(over)) == 7
    assert items_of(over, "yes") == (("milk", 1), ("bread", 1))
    items = items_of(over.project(["size", "milk"]), None, {"size": ["L", "S"]})
    assert items == (("size", 2), ("size", 0), ("milk", 0), ("milk", 1))


def test_items_that_are_none():
    over = Domain.of(milk=["no", "yes"])
    with pytest.raises(UnknownCategory):
        items_of(over, "maybe")
    with pytest.raises(UnknownCategory):
        items_of(over, None, {"milk": ["maybe"]})
    with pytest.raises(UnknownVariable):
        items_of(over, None, {"beer": ["yes"]})
    marginals = exact(COLUMNS, OVER)
    with pytest.raises(OptionError):
        mine_itemsets(marginals, [], RuleOptions(0.1))
    with pytest.raises(UnknownVariable):
        mine_itemsets(marginals, [("beer", 0)], RuleOptions(0.1))
    with pytest.raises(DomainError):
        mine_itemsets(marginals, [("v0", 9)], RuleOptions(0.1))


# Candidates


def kept_rows(length: int, variables: np.ndarray, seed: int, share: float) -> list[np.ndarray]:
    """Return random itemsets by length, closed under subsets, in lexicographic order."""
    rng = np.random.default_rng(seed)
    longest = [
        c
        for c in combinations(range(len(variables)), length)
        if rng.random() < share and len(set(variables[list(c)])) == length
    ]
    levels = []
    for k in range(1, length + 1):
        rows = sorted({part for row in longest for part in combinations(row, k)})
        levels.append(np.array(rows, dtype=np.int64).reshape(-1, k))
    return levels


def expected_candidates(rows: np.ndarray, variables: np.ndarray) -> list[tuple[int, ...]]:
    """Return by brute force what all subsets of which are kept, items of one variable apart."""
    kept = set(map(tuple, rows.tolist()))
    length = rows.shape[1] + 1
    return [
        c
        for c in combinations(range(len(variables)), length)
        if len(set(variables[list(c)])) == length
        and all(part in kept for part in combinations(c, length - 1))
    ]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_candidates_are_those_of_brute_force(length: int):
    number = 0
    for seed, variables in product(range(5), (np.arange(9), np.arange(12) // 2)):
        levels = kept_rows(length, variables, seed, 0.7)
        found, subsets = next_candidates(levels[-1], variables)
        assert list(map(tuple, found.tolist())) == expected_candidates(levels[-1], variables)
        number += len(found)
        for row, places in zip(found, subsets, strict=True):
            for position, place in enumerate(places):
                assert (levels[-1][place] == np.delete(row, position)).all()
    assert number > 50


def test_too_many_candidates_are_refused():
    rows = np.arange(50, dtype=np.int64)[:, None]
    assert len(next_candidates(rows, np.arange(50), most=1225)[0]) == 1225
    with pytest.raises(LimitExceeded) as raised:
        next_candidates(rows, np.arange(50), most=1224)
    assert raised.value.where == "minimum_support"


# Mining on exact counts


@pytest.mark.slow
@pytest.mark.parametrize("minimum", [0.02, 0.1, 0.3, 1.0])
def test_exact_itemsets_are_those_of_others(minimum: float):
    found = in_words(mine_itemsets(exact(COLUMNS, OVER), items_of(OVER), RuleOptions(minimum)))
    assert found == by_mlxtend(one_hot(OVER, COLUMNS), minimum)


def test_without_error_all_decisions_agree_and_nothing_is_undecided():
    marginals = exact(COLUMNS, OVER)
    plain = mine_itemsets(marginals, items_of(OVER), RuleOptions(0.1))
    held = mine_itemsets(marginals, items_of(OVER), RuleOptions(0.1, decisions="controlled"))
    assert plain.frequent == held.frequent
    assert {i.verdict for i in plain.itemsets} == {"frequent", "not frequent"}
    for itemset in plain.itemsets:
        assert itemset.chosen == (itemset.verdict == "frequent") == (itemset.p_value == 0)
        assert itemset.se_records == 0
        assert itemset.interval == (itemset.support, itemset.support)
        share = itemset.support
        assert itemset.se_population == pytest.approx((share * (1 - share) / 3000) ** 0.5)


def test_progress_is_told_and_can_stop():
    steps: list[tuple[int, int]] = []
    options = RuleOptions(0.3)
    found = mine_itemsets(
        exact(COLUMNS, OVER), items_of(OVER), options, lambda *step: steps.append(step)
    )
    assert steps == [*((k, 5) for k in range(len(found.levels))), (5, 5)]

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine_itemsets(exact(COLUMNS, OVER), items_of(OVER), options, stop)


# Mining on estimates


def test_estimated_itemsets_are_those_of_dense_estimation():
    """Every cell by the inverse of the whole Kronecker product, every itemset by enumeration."""
    over = domain(3, 2, 3)
    marginals = randomized(over, dependent(over, 2000, seed=3), 0.3, seed=4)
    reported = marginals._sources[0][0].table(over.names).astype(float).ravel()
    channels = [Symmetric.from_probability(v.size, 0.3).matrix() for v in over]
    whole = np.kron(np.kron(channels[0], channels[1]), channels[2])
    decoder = np.linalg.inv(whole)
    cells = list(product(*(range(v.size) for v in over)))
    examined = {}
    for length in (1, 2, 3):
        for axes in combinations(range(3), length):
            for codes in product(*(range(over.shape[a]) for a in axes)):
                has = np.array(
                    [all(c[a] == k for a, k in zip(axes, codes, strict=True)) for c in cells]
                )
                w = decoder @ has
                support = w @ reported / 2000
                noise = (w**2 @ reported - w @ reported) / 2000**2
                items = tuple(sum(over.shape[:a]) + k for a, k in zip(axes, codes, strict=True))
                error = np.sqrt(max(noise, 0))
                examined[items] = support, error, stats.norm.sf((support - 0.08) / error)
    found = mine_itemsets(marginals, items_of(over), RuleOptions(0.08))
    frequent = {
        items
        for items in examined
        if all(
            examined[part][0] >= 0.08
            for k in range(1, len(items) + 1)
            for part in combinations(items, k)
        )
    }
    assert {i.items for i in found.frequent} == frequent
    assert 10 < len(frequent) < len(examined)
    for itemset in found.itemsets:
        support, se, own = examined[itemset.items]
        assert itemset.support == pytest.approx(support, abs=1e-12)
        assert itemset.se_records == pytest.approx(se, rel=1e-9)
        assert itemset.se_population >= itemset.se_records - 1e-12
        parts = [examined[p] for p in combinations(itemset.items, len(itemset.items) - 1) if p]
        below = [p for _, _, p in parts]
        assert itemset.p_value >= max([own, *below]) - 1e-12


def test_controlled_decisions_are_closed_and_a_part_of_the_point_decisions():
    over = domain(3, 3, 3, 2)
    marginals = randomized(over, dependent(over, 3000, seed=5), 0.4, seed=6)
    point = mine_itemsets(marginals, items_of(over), RuleOptions(0.08))
    held = mine_itemsets(marginals, items_of(over), RuleOptions(0.08, decisions="controlled"))
    assert [i.items for i in point.itemsets] == [i.items for i in held.itemsets]
    chosen = {i.items for i in held.frequent}
    assert chosen < {i.items for i in point.frequent}
    assert sum(len(i.items) == 2 for i in held.frequent) > 3
    for items in chosen:
        assert all(part in chosen for part in combinations(items, len(items) - 1) if part)
    # All three verdicts occur, and each is what its interval says.
    assert {i.verdict for i in held.itemsets} == {"frequent", "undecided", "not frequent"}
    for itemset in held.itemsets:
        low, high = itemset.interval
        wanted = "frequent" if low >= 0.08 else "not frequent" if high < 0.08 else "undecided"
        assert itemset.verdict == wanted


class Untold:
    """Supports of which the reports tell nothing, for itemsets of some length or variables."""

    def __init__(self, true: EstimatedMarginals, untold, error: Exception):
        self.domain, self.records = true.domain, true.records
        self._true, self._untold, self._error = true, untold, error

    def supports(self, items):
        self.items, self._supports = items, self._true.supports(items)
        return self

    def can_estimate(self, variables) -> bool:
        return self._true.can_estimate(variables)

    def counts(self, itemsets: np.ndarray) -> SupportCounts:
        if any(self._untold(row) for row in itemsets.tolist()):
            raise self._error
        return self._supports.counts(itemsets)

    def rules(self, itemsets: np.ndarray, antecedents: np.ndarray) -> RuleCounts:
        return self._supports.rules(itemsets, antecedents)


@pytest.mark.parametrize(
    "error",
    [
        SingularChannel("No inverse."),
        LimitExceeded("Too many cells."),
        EstimationError("The likelihood is the same for several tables."),
    ],
)
def test_itemsets_that_cannot_be_estimated_are_undecided(error: Exception):
    plain = mine_itemsets(exact(COLUMNS, OVER), items_of(OVER), RuleOptions(0.05))
    of_v0 = range(4)
    marginals = Untold(
        exact(COLUMNS, OVER), lambda row: len(row) > 1 and bool(set(row) & set(of_v0)), error
    )
    for decisions in ("point", "controlled"):
        options = RuleOptions(0.05, decisions=decisions)
        found = mine_itemsets(marginals, items_of(OVER), options)
        told = {i.items for i in plain.frequent if len(i.items) == 1 or not set(i.items) & {*of_v0}}
        assert {i.items for i in found.frequent} == told
        untold = [i for i in found.itemsets if np.isnan(i.support)]
        assert untold
        assert all(i.verdict == "undecided" and i.p_value == 1 for i in untold)


def test_if_no_item_can_be_estimated_that_is_an_error():
    marginals = Untold(exact(COLUMNS, OVER), lambda _row: True, SingularChannel("No inverse."))
    with pytest.raises(SingularChannel):
        mine_itemsets(marginals, items_of(OVER), RuleOptions(0.05))


def sampled_pairs(*pairs: tuple[int, int]) -> EstimatedMarginals:
    """Two records of each pair of three binary variables, which report that pair alone."""
    over = domain(2, 2, 2)
    share = RESOLUTION // len(pairs)
    channel = Sampled((2, 2, 2), tuple(Choice(pair, share, Identity(4)) for pair in pairs))
    codes = {name: np.full(40 * len(pairs), 2, dtype=np.uint8) for name in over.names}
    for number, pair in enumerate(pairs):
        for axis in pair:
            codes[over.names[axis]][40 * number : 40 * (number + 1)] = [0] * 30 + [1] * 10
    plan = Plan((Block(tuple(over), channel),))
    return EstimatedMarginals(ReportedCounts(codes, plan.reported_sizes), plan, estimator="pooled")


@pytest.mark.parametrize(
    ("pairs", "length"),
    [(((0, 1), (0, 2), (1, 2)), 3), (((0, 1), (1, 2)), 2), (((0, 2), (1, 2)), 2)],
)
def test_supports_of_a_model_are_said_to_be_whichever_variables_they_are_of(pairs, length):
    marginals = sampled_pairs(*pairs)
    found = mine_itemsets(marginals, items_of(marginals.domain), RuleOptions(0.05))
    assert found.modelled_from == length
