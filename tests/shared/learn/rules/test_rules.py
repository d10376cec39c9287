"""Rules and their errors, and the forms in which itemsets and rules are given away."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules import rules as ruling
from pramana_core.learn.rules.documents import findings_csv, read_findings, write_findings
from pramana_core.learn.rules.drawing import itemsets_chart
from pramana_core.learn.rules.frames import ITEMSET_ERRORS, itemsets_frame
from pramana_core.learn.rules.itemsets import Itemset, items_of
from pramana_core.learn.rules.measures import confidences, leverages, lifts, measured, supports
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import Rule, derive_rules
from pramana_core.marginals.support_counts import RuleCounts
from tests.shared.learn.cases import Columns, exact, marginals, plan_of, reports
from tests.shared.learn.rules.tables import Z, dependent, domain
from tests.shared.pictures.reading import marks, texts, titles


def reported(over: Domain, columns: Columns, p: float, rng) -> EstimatedMarginals:
    plan = plan_of(over, p)
    return marginals(reports(columns, plan, rng), plan)


OVER = domain(4, 3, 2, 3)
COLUMNS = dependent(OVER, 3000, seed=1)
EXACT = exact(COLUMNS, OVER)
NOISY = reported(OVER, COLUMNS, 0.3, np.random.default_rng(2))


def share(items) -> float:
    return float(np.mean(np.logical_and.reduce([COLUMNS[n] == code for n, code in items])))


def sides_of(found, rule):
    return tuple(tuple(found.items[i] for i in s) for s in (rule.antecedent, rule.consequent))


# Rules on exact counts


@pytest.mark.parametrize("minimum", [0.0, 0.5, 0.7])
def test_rules_are_those_of_brute_force(minimum: float):
    found = mine_itemsets(EXACT, items_of(OVER), RuleOptions(0.05))
    wanted = {}
    for itemset in found.frequent:
        items = [found.items[place] for place in itemset.items]
        for size in range(1, len(items)):
            for left in combinations(items, size):
                right = tuple(item for item in items if item not in left)
                confidence = share(items) / share(left)
                if confidence >= minimum:
                    wanted[left, right] = share(items), confidence, confidence / share(right)
    rules = derive_rules(found, EXACT, minimum)
    assert len(rules) == len(wanted) > 5
    for rule in rules:
        measured = rule.support, rule.confidence, rule.lift
        sides = sides_of(found, rule)
        assert measured == pytest.approx(wanted[sides], rel=1e-12)
        product = share(sides[0]) * share(sides[1])
        assert rule.leverage == pytest.approx(rule.support - product, abs=1e-12)
        assert rule.support_se == rule.confidence_se == rule.lift_se == rule.leverage_se == 0
        assert rule.confidence_interval == pytest.approx((rule.confidence,) * 2, rel=1e-12)


def test_a_confidence_that_is_the_minimum_suffices():
    over = domain(2, 2)
    columns = {"v0": np.repeat([0, 1], 5), "v1": np.array([0, 0, 0, 0, 1, 0, 1, 1, 1, 1])}
    columns = {name: column.astype(np.uint8) for name, column in columns.items()}
    counts = exact(columns, over)
    found = mine_itemsets(counts, items_of(over), RuleOptions(0.1))
    assert len(derive_rules(found, counts, 0.8)) == 4
    assert derive_rules(found, counts, 0.81) == ()


def test_what_rules_refuse(monkeypatch: pytest.MonkeyPatch):
    found = mine_itemsets(EXACT, items_of(OVER), RuleOptions(0.05))
    with pytest.raises(OptionError) as raised:
        derive_rules(found, EXACT, 1.5)
    assert raised.value.where == "minimum_confidence"
    monkeypatch.setattr(ruling, "MOST_PARTS", 4)
    with pytest.raises(LimitExceeded):
        derive_rules(found, EXACT, 0.3)


def test_too_many_rules_are_refused_before_one_is_made(monkeypatch: pytest.MonkeyPatch):
    def unmade(*_values: object) -> None:
        raise AssertionError("A rule was made.")

    found = mine_itemsets(NOISY, items_of(OVER), RuleOptions(0.05))
    number = len(derive_rules(found, NOISY, 0.6))
    sure = len(derive_rules(found, NOISY, 0.6, certain=True))
    assert 1 < sure < number
    # The most is of rules that suffice: those that are likely but not certain do not count.
    assert len(derive_rules(found, NOISY, 0.6, certain=True, most=sure)) == sure
    with pytest.raises(LimitExceeded):
        derive_rules(found, NOISY, 0.6, certain=True, most=sure - 1)
    monkeypatch.setattr(ruling, "MOST_RULES", sure)
    with pytest.raises(LimitExceeded):
        derive_rules(found, NOISY, 0.6, certain=True, most=sure)
    monkeypatch.setattr(ruling, "Rule", unmade)
    with pytest.raises(LimitExceeded):
        derive_rules(found, NOISY, 0.6, most=1)
    with pytest.raises(AssertionError):
        derive_rules(found, NOISY, 0.6)


# Errors


def counts_of(whole: float, left: float, right: float, records: int, noise: float) -> RuleCounts:
    """Counts of one rule with noise that is correlated as that of overlapping counts is."""
    spread = np.array([[1.0, 0.6, 0.5], [0.6, 1.5, 0.2], [0.5, 0.2, 1.2]]) * noise
    counts = np.array([whole, left, right])
    both = np.array([[whole, whole, whole], [whole, left, whole], [whole, whole, right]])
    sampled = spread + both - np.outer(counts, counts) / records
    return RuleCounts(records, counts[None], spread[None], sampled[None])


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("noise", [0.0, 40.0, 900.0])
def test_the_interval_of_a_confidence_by_root_finding(noise: float, population: bool):
    """Its ends are the w at which whole - w * antecedent is z of its standard errors from 0."""
    counts = counts_of(300, 500, 600, 2000, noise)
    noisy = counts.covariance(population=False)[0]

    def excess(w: float) -> float:
        side = np.array([1.0, -w, 0.0])
        variance = side @ noisy @ side + (500 * w * (1 - w) if population else 0.0)
        return float((side @ counts.counts[0]) ** 2 - Z**2 * variance)

    found = confidences(counts, Z, population=population)
    assert found.estimate == 0.6
    if noise == 0 and not population:
        assert (found.low[0], found.high[0], found.se[0]) == (0.6, 0.6, 0.0)
        return
    ends = brentq(excess, 0.0, 0.6), brentq(excess, 0.6, 1.0)
    assert (found.low[0], found.high[0]) == pytest.approx(ends, abs=1e-9)
    if noise == 0:
        wilson = stats.binomtest(300, 500).proportion_ci(0.95, method="wilson")
        assert ends == pytest.approx((wilson.low, wilson.high), abs=1e-9)


def test_where_the_antecedent_may_be_nothing_the_confidence_may_be_anything():
    counts = counts_of(40, 50, 600, 2000, 900.0)
    found = confidences(counts, Z, population=False)
    assert (found.low[0], found.high[0]) == (0.0, 1.0)
    assert found.estimate[0] == pytest.approx(0.8)


@pytest.mark.parametrize("population", [False, True])
@pytest.mark.parametrize("name", ["support", "confidence", "lift", "leverage"])
def test_standard_errors_by_numerical_derivatives(name: str, population: bool):
    counts = counts_of(300, 500, 600, 2000, 40.0)
    functions = {
        "support": (supports, lambda x, y, z: x / 2000),
        "confidence": (confidences, lambda x, y, z: x / y),
        "lift": (lifts, lambda x, y, z: 2000 * x / (y * z)),
        "leverage": (leverages, lambda x, y, z: x / 2000 - y * z / 2000**2),
    }
    measured, function = functions[name]
    at, step = counts.counts[0], 1e-3
    gradient = [
        (function(*(at + step * unit)) - function(*(at - step * unit))) / (2 * step)
        for unit in np.eye(3)
    ]
    covariance = counts.covariance(population=population)[0]
    found = measured(counts, Z, population=population)
    assert found.estimate[0] == pytest.approx(function(*at))
    assert found.se[0] == pytest.approx(np.sqrt(gradient @ covariance @ gradient), rel=1e-6)


def test_shrunk_counts_have_the_intervals_of_those_before_and_hold_the_estimates():
    before = counts_of(300, 500, 600, 2000, 10.0)
    for whole, inside in ((302, True), (400, False)):
        shrunk = replace(counts_of(whole, 500, 600, 2000, 10.0), before=before)
        for merged in (shrunk, RuleCounts.merged([shrunk], [np.array([0])])):
            for own, measure in zip(
                measured(merged, Z, population=True),
                (supports, confidences, lifts, leverages),
                strict=True,
            ):
                raw = measure(before, Z, population=True)
                assert own.low == raw.low < own.estimate <= own.high
                assert own.high == (raw.high if inside else own.estimate)


def test_where_the_sides_may_be_nothing_a_lift_has_no_upper_end():
    nothing_known = lifts(counts_of(20, 40, 30, 1000, 900.0), Z, population=False)
    assert (nothing_known.low[0], nothing_known.high[0]) == (0.0, np.inf)
    whole_known = lifts(counts_of(90, 90, 60, 1000, 900.0), Z, population=False)
    assert whole_known.high[0] == np.inf
    known = lifts(counts_of(90, 300, 300, 1000, 900.0), Z, population=False)
    assert 0 < known.low[0] < known.estimate[0] < known.high[0] < np.inf


def test_certain_rules_have_their_whole_interval_above_the_minimum():
    found = mine_itemsets(NOISY, items_of(OVER), RuleOptions(0.05))
    likely = derive_rules(found, NOISY, 0.6)
    certain = derive_rules(found, NOISY, 0.6, certain=True)
    assert certain == tuple(r for r in likely if r.confidence_interval[0] >= 0.6)
    assert 0 < len(certain) < len(likely)


# Exports


def found_and_rules(**options):
    found = mine_itemsets(NOISY, items_of(OVER), RuleOptions(0.05, **options))
    return found, derive_rules(found, NOISY, 0.5)


def test_json_names_items_by_their_places():
    found, rules = found_and_rules()
    document = json.loads(json.dumps(write_findings(found, rules, examined=False), allow_nan=False))
    assert document["kind"] == "association-rules"
    assert document["records"] == 3000
    assert document["options"]["minimum_support"] == 0.05
    assert document["items"][4] == {"variable": "v1", "category": "c0"}
    assert len(document["itemsets"]) == len(found.frequent)
    assert document["examined"] == len(found.itemsets) > len(found.frequent)
    for written, itemset in zip(document["itemsets"], found.frequent, strict=True):
        assert tuple(written["items"]) == itemset.items
        assert written["support"] == itemset.support
        assert tuple(written["interval"]) == itemset.interval
    for written, rule in zip(document["rules"], rules, strict=True):
        assert tuple(written["antecedent"]) == rule.antecedent
        assert written["lift"] == rule.lift
    every = write_findings(found, rules)
    assert len(every["itemsets"]) == every["examined"]
    again = read_findings(every)
    assert (again.itemsets.itemsets, again.rules) == (found.itemsets, rules)
    assert again.itemsets.domain == found.domain
    # Without the variables these have the categories that are items.
    del every["variables"]
    assert read_findings(every).rules == rules


def test_json_says_null_where_there_is_no_number():
    found, rules = found_and_rules()
    rule = Rule(**{**vars(rules[0]), "lift": float("inf"), "lift_interval": (0.0, float("nan"))})
    written = write_findings(found, [rule])["rules"][0]
    assert written["lift"] is None
    assert written["lift_interval"] == [0.0, None]


def test_csv_reads_back():
    found, rules = found_and_rules()
    word = found.item_labels.__getitem__
    rows = list(csv.DictReader(io.StringIO(findings_csv(Itemset, found.frequent, word))))
    assert [row["items"] for row in rows] == [
        json.dumps(found.labels(i.items)) for i in found.frequent
    ]
    assert [float(row["support"]) for row in rows] == [i.support for i in found.frequent]
    assert [float(row["interval_high"]) for row in rows] == [i.interval[1] for i in found.frequent]
    text = findings_csv(Rule, rules, word)
    read = list(csv.DictReader(io.StringIO(text)))
    assert [float(row["lift_interval_low"]) for row in read] == [r.lift_interval[0] for r in rules]
    assert json.loads(read[0]["antecedent"]) == [*found.labels(rules[0].antecedent)]


@pytest.mark.parametrize("against", ["records", "population"])
def test_frames_have_mlxtends_columns_and_then_ours(against: str):
    found, _rules = found_and_rules(against=against)
    frame = itemsets_frame(found)
    assert list(frame) == ["support", "itemsets", *ITEMSET_ERRORS]
    assert frame["itemsets"].tolist() == [frozenset(found.labels(i.items)) for i in found.frequent]
    kind = "se_records" if against == "records" else "se_population"
    assert frame["support_se"].tolist() == [getattr(i, kind) for i in found.frequent]
    assert frame["support_low"].tolist() == [i.interval[0] for i in found.frequent]
    assert frame["verdict"].tolist() == [i.verdict for i in found.frequent]
    assert len(itemsets_frame(found, examined=True)) == len(found.itemsets)


# Pictures


@pytest.mark.slow
def test_a_picture_of_itemsets_shows_every_verdict():
    over = Domain.of(**{"a<b": ["no & so", "yes"], "v": ["c0", "c1", "c2"], "w": ["d0", "d1"]})
    columns = dependent(over, 800, seed=3)
    seen = reported(over, columns, 0.3, np.random.default_rng(4))
    found = mine_itemsets(seen, items_of(over), RuleOptions(0.2))
    assert {i.verdict for i in found.frequent} == {"frequent", "undecided"}
    drawn = itemsets_chart(found).svg()
    shown = titles(drawn)
    assert len(shown) == 1 + len(found.frequent)
    assert any("a<b=no & so" in title for title in shown)
    assert {"minimum 0.2", "frequent", "undecided"} <= set(texts(drawn))
    assert "not frequent" not in texts(drawn)
    # Each verdict has a colour and a shape of its own.
    looks = {
        verdict: {mark.look for mark in marks(drawn) if mark.title.endswith(f", {verdict}")}
        for verdict in ("frequent", "undecided")
    }
    assert [len(found) for found in looks.values()] == [1, 1]
    assert len(set.union(*looks.values())) == 2
