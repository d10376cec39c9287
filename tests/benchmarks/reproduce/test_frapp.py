"""FRAPP's experiments: mining, mechanisms and findings against brute force and closed forms.

The public table "adult" is read where the folder of public data is there; otherwise those tests
are skipped.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.frapp import data as frapp_data
from benchmarks.reproduce.frapp import itemset_errors, matrices, mechanisms
from benchmarks.reproduce.frapp import itemset_errors as frapp_mining
from pramana.setups import SeededOwner
from pramana_core.channels import CutAndPaste
from pramana_core.design import Requirements
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, OptionError, TableError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.marginals.score_interval import Tilt
from pramana_core.marginals.support_counts import SupportCounts
from pramana_core.plan import Block, Plan
from tests.places import DATA

pytestmark = pytest.mark.calibration

needs_adult = pytest.mark.skipif(
    not all((DATA / name).is_file() for name in frapp_data.CENSUS_FILES),
    reason="the public table adult is not there",
)


def domain(*sizes: int) -> Domain:
    return Domain(
        tuple(Variable(f"v{k}", tuple(map(str, range(size)))) for k, size in enumerate(sizes))
    )


def survey(records: int = 3000, sizes: tuple[int, ...] = (3, 2, 2), seed: int = 4):
    """Dependent columns: each is a noisy copy of one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(records)
    over = domain(*sizes)
    codes = {
        v.name: (np.clip(hidden + rng.normal(0, 0.3, records), 0, 0.999) * v.size).astype(np.uint8)
        for v in over
    }
    return frapp_data.Survey(over, codes, (7, 16, 12))


def records_of(table: frapp_data.Survey) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in table.codes.values()), strict=True))


# --- mining --------------------------------------------------------------------------------------


@pytest.mark.parametrize("minimum", [0.02, 0.1, 0.3, 0.9])
def test_every_itemset_by_counting_record_by_record(minimum: float):
    table = survey(500)
    records = records_of(table)
    places = {item: place for place, item in enumerate(all_items(table.domain))}
    seen = Counter(
        tuple(places[table.domain.names[axis], record[axis]] for axis in axes)
        for record in records
        for length in (1, 2, 3)
        for axes in itertools.combinations(range(3), length)
    )
    wanted = {key: times / 500 for key, times in seen.items() if times >= minimum * 500}
    exact = EstimatedMarginals(
        ReportedCounts(table.codes, {v.name: v.size for v in table.domain}),
        Plan.unrandomized(table.domain),
    )
    assert mechanisms.direct(exact, table.domain, minimum) == pytest.approx(wanted)
    if minimum == frapp_data.MINIMUM:
        assert table.itemsets == pytest.approx(wanted)


class Inconsistent:
    """Estimates of 100 records; items are 0, 1 of v0 and 2, 3 of v1."""

    domain, records = domain(2, 2), 100
    estimates = {  # noqa: RUF012 - a table
        (0,): 80, (1,): 20, (2,): 1, (3,): 99, (0, 2): 50, (0, 3): 30, (1, 2): 10, (1, 3): 10,
    }  # fmt: skip

    def supports(self, items):
        assert len(items) == 4
        return self

    def can_estimate(self, variables):
        return True

    def counts(self, itemsets):
        found = np.array([float(self.estimates[tuple(row)]) for row in itemsets.tolist()])
        return SupportCounts(100, found, 0 * found, 0 * found, Tilt.flat(found.shape))


def test_every_itemset_is_looked_at_where_apriori_stops():
    """Estimates need not be consistent: a pair is frequent, one of its items is not."""
    every = mechanisms.direct(Inconsistent(), domain(2, 2), 0.05)
    assert set(every) == set(Inconsistent.estimates) - {(2,)}
    assert every[0, 2] == 0.5
    level = mine_itemsets(Inconsistent(), all_items(domain(2, 2)), RuleOptions(0.05)).frequent
    assert {itemset.items for itemset in level} == set(every) - {(0, 2), (1, 2)}


def test_of_what_reports_do_not_tell_nothing_is_found():
    """Cut and paste with K = 1 keeps one item: of pairs nothing can be said."""
    table = survey(400)
    channel = CutAndPaste.from_probability(table.domain.shape, 1, 0.2)
    plan = Plan((Block(tuple(table.domain), channel),))
    reported = SeededOwner.of("direct", 1, 400).report(plan, table.codes)
    every = mechanisms.direct(EstimatedMarginals(reported, plan), table.domain, 0.02)
    assert {len(key) for key in every} == {1}


# --- the tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "values", "side", "codes"),
    [
        (frapp_data.CENSUS[0], ["17", "35", "35.5", "75", "90"], "left", [0, 1, 1, 3, 3]),
        (frapp_data.CENSUS[0], ["17", "35", "35.5", "75", "90"], "right", [0, 0, 1, 2, 3]),
        (frapp_data.CENSUS[5], ["United-States", "?", "Peru", "Other"], "left", [0, 1, 1, 1]),
        (frapp_data.HEALTH[3], ["No", " Yes, phone number given"], "left", [2, 0]),
    ],
)
def test_values_become_categories(attribute, values: list[str], side: str, codes: list[int]):
    assert attribute.codes(pd.Series(values, dtype=str), side=side).tolist() == codes


@pytest.mark.parametrize(
    ("attribute", "value", "says"),
    [
        (frapp_data.CENSUS[0], "secret", "not numbers"),
        (frapp_data.CENSUS[0], "", "not numbers"),
        (frapp_data.CENSUS[4], "secret", "not among its categories"),
    ],
)
def test_values_that_fit_no_category(attribute, value: str, says: str):
    with pytest.raises(TableError, match=says) as caught:
        attribute.codes(pd.Series([value, "Male"], dtype=str))
    assert caught.value.where == attribute.name
    assert "secret" not in str(caught.value)


def test_domains_have_the_papers_sizes():
    assert frapp_data.domain_of(frapp_data.CENSUS).shape == (4, 5, 5, 5, 2, 2)
    assert frapp_data.domain_of(frapp_data.HEALTH).shape == (5, 5, 5, 3, 2, 2, 5)


def health_frame(records: int = 400) -> pd.DataFrame:
    """A made-up table of HEALTH's form; nearby attributes go together."""
    rng = np.random.default_rng(8)
    hidden = rng.random(records)
    made = {}
    for attribute in frapp_data.HEALTH:
        share = np.clip(hidden + rng.normal(0, 0.2, records), 0, 0.999)
        labels = np.array(attribute.labels or [""])
        made[attribute.name] = (
            labels[(share * len(labels)).astype(int)]
            if attribute.labels
            else (share * 1.2 * attribute.cuts[-1]).round(1)
        )
    return pd.DataFrame(made)


def fewer_columns(patch: pytest.MonkeyPatch) -> None:
    """Leave three of HEALTH's seven, to be quick: the same code on a smaller domain."""
    patch.setattr(frapp_data, "HEALTH", tuple(frapp_data.HEALTH[k] for k in (0, 4, 5)))


def test_a_table_of_healths_form(tmp_path: Path):
    frame = health_frame()
    frame.to_csv(tmp_path / "health.csv", index=False)
    table = frapp_data.health(Setting(data=tmp_path))
    assert table.records == 400
    assert table.domain.size == 7500
    old = (frame["AGE"] >= 80) & (frame["SEX"] == "Female")
    both = (table.codes["AGE"] == 4) & (table.codes["SEX"] == 1)
    assert math.isclose(both.mean(), old.mean())
    frame.drop(columns="PHONE").to_csv(tmp_path / "health.csv", index=False)
    with pytest.raises(MissingColumn, match="no column PHONE"):
        frapp_data.health(Setting(data=tmp_path))
    with pytest.raises(OptionError, match=r"no health\.csv"):
        frapp_data.health(Setting(data=Path(__file__).parent))


@needs_adult
def test_table_3_by_grouping_the_rows():
    setting = Setting(data=DATA)
    table = frapp_data.census(setting)
    frame = pd.DataFrame(table.codes)
    assert len(frame) == 48_842
    by_rows = [
        sum(
            int((frame.groupby(list(names)).size() >= 0.02 * len(frame)).sum())
            for names in itertools.combinations(frame.columns, length)
        )
        for length in range(1, 7)
    ]
    result = frapp_data.run_table_3(setting)
    shown = result.tables["itemsets"]
    assert shown["computed"].tolist() == by_rows
    assert (shown["computed"] - shown["printed"]).abs().max() <= 2
    verdicts = [finding.agrees for finding in result.findings]
    assert verdicts[:6] == [a == b for a, b in zip(by_rows, shown["printed"], strict=True)]
    assert verdicts[6] is False


# --- mechanisms ----------------------------------------------------------------------------------


class Expected:
    """Stands for reported counts: the expected ones, by the matrices themselves."""

    def __init__(self, plan, truth: np.ndarray, names: tuple[str, ...], records: int):
        joint = truth
        # Blocks hold the variables in order: list the whole product's matrix, report by report.
        matrix = np.ones((1, 1))
        for block in plan.blocks:
            matrix = np.kron(matrix, block.channel.matrix())
        self.cube = (joint.ravel() @ matrix).reshape(list(plan.reported_sizes.values())) * records
        self.records, self.names = records, names

    def table(self, names):
        gone = tuple(i for i, name in enumerate(self.names) if name not in names)
        return self.cube.sum(axis=gone)


SMALL = domain(3, 2, 2)
TRUTH = np.random.default_rng(3).dirichlet(np.ones(12)).reshape(SMALL.shape)


@pytest.mark.parametrize(
    "mechanism",
    [*mechanisms.papers_mechanisms(SMALL), mechanisms.independent_columns(SMALL)],
    ids=lambda m: m.name,
)
def test_expected_reports_give_the_true_supports(mechanism):
    reported = Expected(mechanism.plan, TRUTH, SMALL.names, 1000)
    marginals = mechanism.marginals(reported)
    for length in (1, 2, 3):
        for names in itertools.combinations(SMALL.names, length):
            gone = tuple(i for i, name in enumerate(SMALL.names) if name not in names)
            shares = marginals.marginal(names).counts / 1000
            assert np.allclose(shares, TRUTH.sum(axis=gone), atol=1e-7)


def test_the_model_reads_pairs_and_agrees_with_itself():
    """Pairs alone are reported; the truth has interactions of two and many records report."""
    rng = np.random.default_rng(6)
    effects = [rng.normal(0, 0.5, shape) for shape in ((3, 2, 1), (3, 1, 2), (1, 2, 2))]
    truth = np.exp(sum(effects))
    truth /= truth.sum()
    mechanism, compared = mechanisms.designed(SMALL, 5000, lambda _: None)
    marginals = mechanism.marginals(Expected(mechanism.plan, truth, SMALL.names, 10_000_000))
    assert np.allclose(marginals.marginal(SMALL.names).counts / 1e7, truth, atol=2e-3)
    both, one = (marginals.marginal(names).counts for names in (("v0", "v2"), ("v0",)))
    assert np.allclose(both.sum(axis=1), one)
    assert mechanism.plan == compared.best.plan


def test_every_mechanism_is_held_to_gamma_19():
    for over in (frapp_data.domain_of(a) for a in (frapp_data.CENSUS, frapp_data.HEALTH)):
        *exact, printed = mechanisms.papers_mechanisms(over)
        for mechanism in (*exact, mechanisms.independent_columns(over)):
            assert 18.98 < mechanism.gamma <= 19
        # With K = 3 of M items kept uniformly, 0 to 3: the report of all of a record's items
        # against one of none of them.
        rho = 0.494
        assert math.isclose(printed.gamma, 1 + 1 / rho + 1 / rho**2 + 1 / rho**3, rel_tol=1e-6)


def test_the_designers_choice_has_the_smallest_prediction():
    mechanism, compared = mechanisms.designed(domain(4, 4, 3), 20_000, lambda _: None)
    scores = [option.prediction.score for option in compared.options]
    assert compared.best.prediction.score == min(scores)
    assert mechanism.gamma <= 19
    assert mechanism.plan == compared.best.plan


def test_a_design_without_a_plan_is_refused(monkeypatch: pytest.MonkeyPatch):
    class Nothing:
        best = type("Option", (), {"plan": None})()

    monkeypatch.setattr(mechanisms, "compare", lambda *_: Nothing())
    with pytest.raises(OptionError, match="no plan"):
        mechanisms.designed(SMALL, 100, lambda _: None)


def test_demands_are_the_papers():
    needs = mechanisms.demands(SMALL)
    assert isinstance(needs, Requirements)
    assert (set(needs.variables.values()), needs.whole) == ({19.0}, 19.0)
    # (5 %, 50 %): gamma = rho_2 (1 - rho_1) / (rho_1 (1 - rho_2)), FRAPP eq. 2.
    assert math.isclose(19, 0.5 * 0.95 / (0.05 * 0.5))


# --- means and comparisons -----------------------------------------------------------------------


def runs_of(values: dict[str, list[float]], length: int = 1) -> pd.DataFrame:
    return pd.DataFrame(
        [
            (name, index, "apriori", length, 10, 9, value, 10.0, 0.0)
            for name, series in values.items()
            for index, value in enumerate(series)
        ],
        columns=[
            "mechanism", "run", "mining", "length", "frequent", "found",
            "support_error", "false_negatives", "false_positives",
        ],
    )  # fmt: skip


def test_means_and_their_errors_by_hand():
    means = mechanisms.summary(runs_of({"a": [1.0, 2.0, 6.0], "b": [math.nan, 5.0, math.nan]}))
    a, b = means.iloc[0], means.iloc[1]
    assert a["support_error"] == 3
    assert math.isclose(a["support_error_se"], math.sqrt((4 + 1 + 9) / 2 / 3))
    assert b["support_error"] == 5
    assert math.isnan(b["support_error_se"])


def test_the_table_fits_and_marks_what_was_not_found():
    tables = [
        mechanisms.summary(
            runs_of({"a": [2440.0, 1200.0], "C&P, rho 0.494": [math.nan] * 2, "c": [5.5]}, k)
        )
        for k in range(1, 7)
    ]
    lines = mechanisms.side_by_side(pd.concat(tables)).splitlines()
    assert max(map(len, lines)) == 69
    assert lines[0].split() == ["support", "error", "1", "2", "3", "4", "5", "6"]
    assert lines[1].split() == ["a"] + ["1820±620"] * 6
    assert lines[2].split() == ["C&P,", "rho", "0.494"] + ["-"] * 6
    assert lines[3].split() == ["c"] + ["5.5"] * 6


def test_welchs_test_is_scipys():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, 8), rng.normal(1, 3, 6)
    wanted = stats.ttest_ind(a, b, equal_var=False).pvalue
    assert math.isclose(mechanisms.difference_p_value([*a, math.nan], list(b)), wanted)


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [([1.0, 1.0], [1.0, 1.0], 1.0), ([1.0, 1.0], [2.0, 2.0], 0.0), ([1.0, math.nan], [5, 6], 1.0)],
)
def test_welchs_test_at_its_edges(first, second, p_value: float):
    assert mechanisms.difference_p_value(first, second) == p_value


def test_equal_laws_are_called_equal_and_others_not():
    """The verdict errs in at most 1 of 1,000 pairs of equal laws; 300 pairs, false alarm 1e-6."""
    rng = np.random.default_rng(9)
    same = [
        mechanisms.same_law(
            runs_of({n: rng.normal(50, 5, 8).tolist() for n in ("DET-GD", "RAN-GD")})
        ).agrees
        for _ in range(300)
    ]
    assert sum(same) >= stats.binom.ppf(1e-6, 300, 0.999)
    apart = {"DET-GD": rng.normal(50, 5, 8).tolist(), "RAN-GD": rng.normal(90, 5, 8).tolist()}
    assert not mechanisms.same_law(runs_of(apart)).agrees


@pytest.mark.parametrize(
    ("rival", "agrees"), [([60.0, 61.0], True), ([10.0, 11.0], False)], ids=["worse", "better"]
)
def test_better_is_better_at_every_length(rival: list[float], agrees: bool):
    values = {"DET-GD": [20.0, 21.0], "MASK": rival}
    means = pd.concat([mechanisms.summary(runs_of(values, k)) for k in (1, 2)])
    finding = mechanisms.better(means, "MASK")
    assert finding.agrees is agrees
    assert ("larger support error at length 1, 2" in finding.text) is not agrees


@pytest.mark.parametrize(("factor", "agrees"), [(11.0, True), (2.0, False)])
def test_a_drastic_loss_is_a_factor_of_ten(factor: float, agrees: bool):
    means = pd.concat(
        mechanisms.summary(runs_of({"MASK": [v, v]}, k)) for k, v in ((1, 3.0), (2, 3 * factor))
    )
    assert mechanisms.degrades(means, "MASK").agrees is agrees
    nothing = mechanisms.summary(runs_of({"MASK": [math.nan, math.nan]}))
    assert mechanisms.degrades(nothing, "MASK").agrees is None


@pytest.mark.parametrize(("printed", "agrees"), [(1, False), (2, True)])
def test_the_longest_itemset_found(printed: int, agrees: bool):
    means = pd.concat([mechanisms.summary(runs_of({"MASK": [5.0, 5.0]}, k)) for k in (1, 2)])
    assert mechanisms.longest(means, "MASK", printed).agrees is agrees


@pytest.mark.parametrize(("more", "word"), [(0.5, "reach"), (4.0, "miss")])
def test_the_trial_is_reached_within_noise(more: float, word: str):
    ours = pd.DataFrame(
        {
            "length": range(1, 7),
            "support_error": np.array(itemset_errors.TRIAL_ERROR) + more,
            "support_error_se": 0.3,
            "false_negatives": 6.0 + more,
            "false_positives": 2.0,
        }
    )
    errors, identity = itemset_errors.against_trial(ours, 8)
    assert f" {word} the" in errors.text
    assert ("not as in the trial" in identity.text) is (word == "miss")


# --- whole experiments ---------------------------------------------------------------------------


def test_a_small_survey_under_every_mechanism(monkeypatch):
    monkeypatch.setattr(mechanisms, "RUNS", 3)
    table = survey(1000)
    result = frapp_mining.mine(Setting(seed=2), "test", table, mask_finds=3)
    means, runs = result.tables["means"], result.tables["runs"]
    names = list(dict.fromkeys(means["mechanism"]))
    assert names[:6] == ["DET-GD", "RAN-GD", "MASK", "C&P", "C&P, rho 0.494", "independent"]
    assert {"DET-GD*", "independent*"} <= set(names)
    assert runs.groupby("mechanism")["run"].nunique().to_dict() == {
        name: 1 if name.endswith("*") else 3 for name in names
    }
    counts = means[means["mechanism"] == "MASK"]["frequent"].tolist()
    assert counts == [sum(len(key) == k for key in table.itemsets) for k in (1, 2, 3)]
    assert set(result.facts["gamma"]) == set(names)
    assert all(gamma <= 19 for gamma in result.facts["gamma"].values())
    text = result.findings[0].text
    assert all(name in text for name in names)
    assert max(map(len, text.splitlines()[1:])) <= 69


def test_errors_of_runs_are_as_large_as_theory_says():
    """Squared errors of one DET-GD count over 200 runs, against its variance given the records.

    By FRAPP eq. 10 and 8, at false alarm 1e-6; 30 % more or less noise is found out.
    """
    table = survey(1000, (2, 2))
    mechanism = mechanisms.det_gd(table.domain)
    owner = SeededOwner.of("noise", 5, table.records)
    own = sum(record == (0, 0) for record in records_of(table))
    errors = []
    for run in range(200):
        seen = mechanism.marginals(owner.report(mechanism.plan, table.codes, run))
        errors.append(seen.marginal(("v0", "v1")).counts[0, 0] - own)
    keep, other = 19 / 22, 1 / 22
    law = own * keep * (1 - keep) + (table.records - own) * other * (1 - other)
    variance = law / (keep - other) ** 2

    def plausible(values: np.ndarray) -> bool:
        low, high = stats.chi2.ppf([5e-7, 1 - 5e-7], len(values))
        return bool(low <= (values**2).sum() / variance <= high)

    assert plausible(np.array(errors))
    assert not plausible(1.5 * np.array(errors))
    assert not plausible(np.array(errors) / 1.5)


def test_frapp_health_on_a_made_up_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fewer_columns(monkeypatch)
    health_frame().to_csv(tmp_path / "health.csv", index=False)
    result = itemset_errors.HEALTH.run(Setting(data=tmp_path, quick=True))
    frame = health_frame()
    singles = sum(
        (np.histogram(frame["AGE"], [0, 20, 40, 60, 80, 200])[0] >= 8).sum()
        if name == "AGE"
        else (frame[name].value_counts() >= 8).sum()
        for name in ("AGE", "SEX", "INCFAM20")
    )
    assert f"Length 1: {singles} itemsets" in result.findings[0].text
    names = set(result.tables["means"]["mechanism"])
    assert result.facts["designed"] in names
    assert not any(name.endswith("*") for name in names)  # a quick run leaves them out


def test_the_census_table_at_the_terminal(quick):
    run = quick("frapp-census")
    lines = [line.rstrip() for line in run.shown.splitlines() if str(run.folder) not in line]
    assert max(map(len, lines)) <= 80
    designed = run.result.facts["designed"]
    for name in ("DET-GD", "RAN-GD", "MASK", "C&P", "independent", designed):
        rows = [line.split() for line in lines if line.strip().startswith(f"{name}  ")]
        assert [len(row) - len(name.split()) for row in rows] == [4, 4, 4], name


def test_a_trend_over_alpha_would_be_found(quick):
    errors = quick("frapp-3").result.tables["errors"]
    shifted = errors.copy()
    shifted.loc[shifted["alpha_share"] == 1.0, "support_error"] += 1000
    assert not matrices._no_trend(shifted).agrees


def test_posteriors_by_bayes_rule():
    """gamma x + r on the diagonal and x - r / (n - 1) elsewhere, prior 5 %."""
    over = frapp_data.domain_of(frapp_data.CENSUS)
    found = matrices.posteriors(over, 6)
    x, n = 1 / (19 + 1999), 2000
    for row in found.itertuples():
        for sign, seen in ((-1, row.low), (1, row.high)):
            r = sign * row.alpha_share * 19 * x
            own, other = 0.05 * (19 * x + r), 0.95 * (x - r / (n - 1))
            assert math.isclose(seen, own / (own + other), rel_tol=1e-4, abs_tol=1e-4)
        assert math.isclose(row.miner, 0.5, rel_tol=1e-3)


def test_the_miners_posterior_is_that_of_the_mean_matrix():
    """Averaged over r by quadrature, a report tells as much as under r = 0."""
    x, n, alpha = 1 / (19 + 1999), 2000, 0.5 * 19 / (19 + 1999)
    r = (np.arange(1000) + 0.5) / 1000 * 2 * alpha - alpha
    own, other = (19 * x + r).mean(), (x - r / (n - 1)).mean()
    averaged = 0.05 * own / (0.05 * own + 0.95 * other)
    found = matrices.posteriors(frapp_data.domain_of(frapp_data.CENSUS), 3)
    assert math.isclose(averaged, found["miner"].iloc[1], rel_tol=1e-3)


# --- figure 4 ------------------------------------------------------------------------------------


def conditions() -> pd.DataFrame:
    table = matrices.run_4(Setting()).tables["conditions"]
    return table[table["data"] == "CENSUS"].set_index(["mechanism", "length"])["condition"]


def test_condition_numbers_by_singular_values():
    found = conditions()
    x = 1 / (19 + 1999)
    for length, size in ((1, 4), (2, 20), (3, 100)):  # FRAPP eq. 28
        matrix = np.full((size, size), 2000 / size * x)
        np.fill_diagonal(matrix, (19 + 2000 / size - 1) * x)
        singular = np.linalg.svd(matrix, compute_uv=False)
        for name in ("DET-GD", "RAN-GD"):
            assert math.isclose(found[name, length], singular[0] / singular[-1], rel_tol=1e-3)
    p = 1 / (1 + 19 ** (-1 / 12))
    flip = np.array([[p, 1 - p], [1 - p, p]])
    product = np.ones((1, 1))
    for length in (1, 2, 3, 4):
        product = np.kron(product, flip)
        assert math.isclose(found["MASK", length], np.linalg.cond(product), rel_tol=1e-6)


def test_cut_and_pastes_partial_supports_of_one_item():
    """An item of six is kept with probability (0 + 1 + 2 + 3) / 4 / 6, inserted with rho."""
    found = conditions()
    name, rho, kept = "C&P, rho 0.494", 0.494, 0.25
    has = kept + (1 - kept) * rho
    matrix = np.array([[1 - rho, 1 - has], [rho, has]])
    assert math.isclose(found[name, 1], np.linalg.cond(matrix), rel_tol=1e-6)
    assert [math.isinf(found[name, k]) for k in range(1, 7)] == [False] * 3 + [True] * 3


def test_printed_parameters_of_figure_4():
    result = matrices.run_4(Setting())
    texts = [(f.agrees, f.text) for f in result.findings]
    for data, items, p in (("CENSUS", 6, "0.5610"), ("HEALTH", 7, "0.5524")):
        exact = 1 / (1 + 19 ** (-1 / (2 * items)))
        assert f"{exact:.4f}" == p
        assert (
            True,
            next(t for _, t in texts if t.startswith(f"{data}: MASK") and p in t),
        ) in texts
    (agrees, text) = next(pair for pair in texts if "alpha = gamma x / 2" in pair[1])
    assert agrees
    assert "33.2 to 60.1 %" in text
