"""The frames are mlxtend's where nothing is randomized, and have errors where something is."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from mlxtend import frequent_patterns as theirs

from pramana import frequent_patterns as ours
from pramana_core.channels import OneHot, Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import EmptyTable, MissingColumn, OptionError, TableError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.exchange import ITEMSET_ERRORS, RULE_ERRORS
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import MEASURES, derive_rules
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from tests.places import DATA

MUSHROOM = DATA / "mushroom.csv"
needs_mushroom = pytest.mark.skipif(
    not MUSHROOM.is_file(), reason="the public table mushroom is not there"
)


def baskets(records: int = 400, items: int = 8, seed: int = 1) -> pd.DataFrame:
    """Items that are bought together more or less often."""
    rng = np.random.default_rng(seed)
    hidden = rng.random((records, 1))
    bought = rng.random((records, items)) < hidden * np.linspace(0.4, 1.2, items)
    return pd.DataFrame(bought, columns=[f"item {k}" for k in range(items)])


def sorted_rules(frame: pd.DataFrame) -> pd.DataFrame:
    """Put rules in an order of their own; that of mlxtend's hangs on the hashes of names."""
    keys = [
        (sorted(map(str, a)), sorted(map(str, c)))
        for a, c in zip(frame["antecedents"], frame["consequents"], strict=True)
    ]
    return frame.iloc[sorted(range(len(keys)), key=keys.__getitem__)].reset_index(drop=True)


def same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """Fail unless frames are equal, order, types and names too, up to the last bits."""
    pd.testing.assert_frame_equal(found, wanted, check_exact=False, rtol=1e-13, atol=1e-14)


# As mlxtend


@pytest.mark.parametrize("use_colnames", [False, True])
@pytest.mark.parametrize("max_len", [None, 1, 2])
@pytest.mark.parametrize("min_support", [0.02, 0.2, 0.5, 1.0])
def test_itemsets_are_mlxtends(min_support: float, max_len: int | None, use_colnames: bool):
    table = baskets()
    asked = {"min_support": min_support, "use_colnames": use_colnames, "max_len": max_len}
    same(ours.apriori(table, **asked), theirs.apriori(table, **asked))


@pytest.mark.parametrize("metric", MEASURES)
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_rules_are_mlxtends(metric: str, threshold: float):
    frequent = theirs.apriori(baskets(), 0.1, use_colnames=True)
    asked = {"metric": metric, "min_threshold": threshold}
    found, wanted = (door.association_rules(frequent, **asked) for door in (ours, theirs))
    assert list(found) == list(wanted)
    if len(wanted):
        same(sorted_rules(found), sorted_rules(wanted))
    assert len(found) == len(wanted)


def test_rules_where_a_measure_has_no_finite_value():
    """A rule that always holds, and an item that all have."""
    table = pd.DataFrame({"a": [1, 1, 0, 0], "b": [1, 1, 1, 0], "c": [1, 1, 1, 1]}, dtype=bool)
    frequent = theirs.apriori(table, 0.1, use_colnames=True)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = theirs.association_rules(frequent, min_threshold=0.0)
    found = ours.association_rules(frequent, min_threshold=0.0)
    assert np.isinf(found["conviction"]).any()
    same(sorted_rules(found), sorted_rules(wanted))


def test_supports_alone_and_chosen_measures_as_mlxtend():
    frequent = theirs.apriori(baskets(), 0.1)
    for asked in (
        {"support_only": True, "min_threshold": 0.2},
        {"return_metrics": ["lift", "leverage"], "min_threshold": 0.5},
    ):
        found, wanted = (door.association_rules(frequent, **asked) for door in (ours, theirs))
        same(sorted_rules(found), sorted_rules(wanted))
    # Subsets may be left out only if nothing but the support is asked for.
    longest = frequent[frequent["itemsets"].map(len) == 3]
    assert len(ours.association_rules(longest, support_only=True, min_threshold=0.0)) > 0
    with pytest.raises(OptionError, match="subset"):
        ours.association_rules(longest)


def test_other_tables_of_items_as_mlxtend():
    table = baskets()
    wanted = theirs.apriori(table, 0.2)
    for other in (
        table.astype(int),
        table.astype(float),
        table.astype(pd.SparseDtype(bool, fill_value=False)),
        table.astype(object),
    ):
        same(ours.apriori(other, 0.2), wanted)
    numbered = table.set_axis(range(10, 18), axis=1)
    same(
        ours.apriori(numbered, 0.2, use_colnames=True),
        theirs.apriori(numbered, 0.2, use_colnames=True),
    )


@pytest.mark.slow
@needs_mushroom
@pytest.mark.public_data
def test_mushrooms_as_mlxtend():
    table = pd.get_dummies(pd.read_csv(MUSHROOM, dtype=str).iloc[:, :12])
    found = ours.apriori(table, 0.2, use_colnames=True)
    wanted = theirs.apriori(table, 0.2, use_colnames=True)
    assert len(wanted) > 200
    same(found, wanted)
    asked = {"metric": "confidence", "min_threshold": 0.9}
    rules = ours.association_rules(found, **asked)
    assert len(rules) > 100
    same(sorted_rules(rules), sorted_rules(theirs.association_rules(wanted, **asked)))


# Randomized

OVER = Domain(
    (
        Variable("milk", ("no", "yes")),
        Variable("size", ("S", "M", "L")),
        Variable("beer", ("no", "yes")),
    )
)
PLAN = Plan(
    (
        Block((OVER["milk"],), Symmetric.from_probability(2, 0.2)),
        Block((OVER["size"],), Symmetric.from_probability(3, 0.2)),
        Block((OVER["beer"],), Symmetric.from_probability(2, 0.1)),
    )
)


def codes(records: int = 2000, seed: int = 3) -> dict[str, np.ndarray]:
    """Reported codes; of what truth does not matter here."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(records)
    noisy = {v.name: np.clip(hidden + rng.normal(0, 0.3, records), 0, 0.999) for v in OVER}
    return {name: (noise * OVER[name].size).astype(np.uint8) for name, noise in noisy.items()}


def table_of(reports: dict[str, np.ndarray], between: str = "=") -> pd.DataFrame:
    """Return a table with `milk` and `beer` as single columns, `size` as three."""
    columns = {"milk": reports["milk"] == 1}
    for code, category in enumerate(OVER["size"].categories):
        columns[f"size{between}{category}"] = reports["size"] == code
    return pd.DataFrame({**columns, "beer": reports["beer"] == 1})


ITEMS = (("milk", 1), ("size", 0), ("size", 1), ("size", 2), ("beer", 1))


def marginals() -> EstimatedMarginals:
    return EstimatedMarginals(ReportedCounts(codes(), PLAN.reported_sizes), PLAN)


@pytest.mark.parametrize("between", ["=", "_"])
@pytest.mark.parametrize("against", ["records", "population"])
def test_under_a_plan_the_truth_is_estimated(against: str, between: str):
    table = table_of(codes(), between)
    frame = ours.apriori(table, 0.1, use_colnames=True, plan=PLAN, against=against)
    assert list(frame) == ["support", "itemsets", *ITEMSET_ERRORS]
    found = mine_itemsets(marginals(), ITEMS, RuleOptions(0.1, against=against))
    names = dict(enumerate(table.columns))
    assert frame["itemsets"].tolist() == [
        frozenset(names[i] for i in itemset.items) for itemset in found.frequent
    ]
    assert frame["support"].tolist() == [i.support for i in found.frequent]
    assert frame["se_records"].tolist() == [i.se_records for i in found.frequent]
    assert (frame["support_se"] > 0).all()
    reported = theirs.apriori(table, 0.1, use_colnames=True)
    assert not np.allclose(reported["support"][0], frame["support"][0], atol=1e-3)


@pytest.mark.parametrize("use_colnames", [False, True])
def test_rules_under_a_plan_have_errors(use_colnames: bool):
    table = table_of(codes())
    frequent = ours.apriori(table, 0.1, use_colnames, plan=PLAN)
    rules = ours.association_rules(frequent, df_orig=table, plan=PLAN, min_threshold=0.5)
    assert list(rules) == ["antecedents", "consequents", *MEASURES, *RULE_ERRORS]
    source = marginals()
    found = derive_rules(mine_itemsets(source, ITEMS, RuleOptions(0.1)), source, 0.5)
    names = list(table.columns) if use_colnames else list(range(5))
    called = dict(zip(ITEMS, names, strict=True))
    wanted = {
        (frozenset(called[i] for i in r.antecedent), frozenset(called[i] for i in r.consequent)): r
        for r in found
    }
    assert len(rules) == len(wanted) > 3
    for _, row in rules.iterrows():
        rule = wanted[row["antecedents"], row["consequents"]]
        for name in ("support", "confidence", "lift", "leverage"):
            assert row[name] == pytest.approx(getattr(rule, name), rel=1e-9)
            assert row[f"{name}_se"] == pytest.approx(getattr(rule, f"{name}_se"), rel=1e-9)
            ends = row[f"{name}_low"], row[f"{name}_high"]
            assert ends == pytest.approx(getattr(rule, f"{name}_interval"), rel=1e-9)


def test_options_reach_the_miner():
    table = table_of(codes())
    asked = {"decisions": "controlled", "false_discovery": 0.01, "consistent": True}
    frame = ours.apriori(table, 0.1, plan=PLAN, confidence=0.8, **asked)
    found = mine_itemsets(marginals(), ITEMS, RuleOptions(0.1, confidence=0.8, **asked))
    assert frame["support"].tolist() == [i.support for i in found.frequent]
    assert frame["support_high"].tolist() == [i.interval[1] for i in found.frequent]
    assert frame["consistent"].tolist() == [i.consistent for i in found.frequent]


def test_items_that_were_flipped_one_by_one_are_read_as_sets():
    """MASK's reports: any number of a variable's categories may be true."""
    variable = Variable("size", ("S", "M", "L"))
    plan = Plan((Block((variable,), OneHot.from_probability(3, 0.9)),))
    rng = np.random.default_rng(2)
    flags = rng.random((500, 3)) < [0.2, 0.5, 0.4]
    table = pd.DataFrame(flags, columns=["size=S", "size=M", "size=L"])
    sets = (flags @ [1, 2, 4]).astype(np.uint8)
    source = EstimatedMarginals(ReportedCounts({"size": sets}, {"size": 8}), plan)
    frame = ours.apriori(table, 0.05, use_colnames=True, plan=plan)
    found = mine_itemsets(source, all_items(Domain((variable,))), RuleOptions(0.05))
    assert frame["support"].tolist() == [i.support for i in found.frequent]
    assert len(frame) == 3


# What is refused


def test_tables_that_are_none():
    table = table_of(codes(20))
    with pytest.raises(EmptyTable):
        ours.apriori(table.iloc[:0])
    with pytest.raises(EmptyTable):
        ours.apriori(table.iloc[:, :0])
    for wrong in (2, "x", None, np.nan):
        spoilt = table.astype(object)
        spoilt.iloc[3, 2] = wrong
        with pytest.raises(TableError, match="size=M") as raised:
            ours.apriori(spoilt)
        assert raised.value.where == "size=M"
        assert f"{wrong}" not in raised.value.message.replace("size=", "").replace("1 and 0", "")


def test_tables_that_do_not_fit_their_plan():
    table = table_of(codes(200))
    with pytest.raises(MissingColumn, match="'beer'"):
        ours.apriori(table.drop(columns="beer"), plan=PLAN)
    with pytest.raises(MissingColumn, match="'size'"):
        ours.apriori(table.drop(columns="size=M"), plan=PLAN)
    with pytest.raises(TableError, match="wine"):
        ours.apriori(table.assign(wine=True), plan=PLAN)
    with pytest.raises(TableError, match="one name"):
        ours.apriori(table.rename(columns={"beer": "milk"}), plan=PLAN)
    with pytest.raises(TableError, match="named"):
        ours.apriori(table.set_axis(range(5), axis=1), plan=PLAN)
    two = table.copy()
    two["size=S"] = True
    with pytest.raises(TableError, match="one of 3 codes"):
        ours.apriori(two, plan=PLAN)


def test_rules_that_cannot_be():
    table = table_of(codes(500))
    frequent = ours.apriori(table, 0.1, use_colnames=True, plan=PLAN)
    for asked, where in (
        ({"null_values": True}, "null_values"),
        ({"metric": "beauty"}, "metric"),
        ({"return_metrics": ["beauty"]}, "metric"),
        ({"plan": PLAN}, "df_orig"),
        ({"plan": PLAN, "df_orig": table, "support_only": True}, "df_orig"),
        ({"plan": PLAN, "df_orig": table, "confidence": 1.0}, "confidence"),
    ):
        with pytest.raises(OptionError) as raised:
            ours.association_rules(frequent, **asked)
        assert raised.value.where == where
    with pytest.raises(EmptyTable):
        ours.association_rules(frequent.iloc[:0])
    with pytest.raises(MissingColumn):
        ours.association_rules(frequent.drop(columns="support"))
    renamed = frequent.assign(
        itemsets=[frozenset(f"{i}!" for i in items) for items in frequent["itemsets"]]
    )
    with pytest.raises(OptionError, match="not a column"):
        ours.association_rules(renamed, df_orig=table, plan=PLAN, min_threshold=0.0)
    with pytest.raises(OptionError):
        ours.apriori(table, 0.0)
