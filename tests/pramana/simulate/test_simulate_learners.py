"""`pramana simulate` of classifiers and rules: parts by hand, commands as users run them.

Everything here is exact or has a fixed seed.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pramana.cli import app
from pramana.simulate import designs
from pramana.simulate.designs import symmetric
from pramana.simulate.itemsets import RulesSimulation, by_length, overall
from pramana.simulate.learners import ClassifierSimulation
from pramana.simulate.sources import TableSource
from pramana.simulate.study import Trials, simulate
from pramana.simulate.tables import MOST_INTERVALS, read_source
from pramana_core.design import goal
from pramana_core.domain import Domain, Variable
from pramana_core.errors import EstimationError, OptionError, PramanaError, UnknownVariable
from pramana_core.learn.common.options import RuleOptions, TreeOptions
from pramana_core.privacy import Amplification
from pramana_core.rounding import rounded_up


def domain(*sizes: int) -> Domain:
    return Domain(
        tuple(Variable(f"v{k}", tuple(map(str, range(size)))) for k, size in enumerate(sizes))
    )


def source(records: int = 600, sizes: tuple[int, ...] = (3, 2, 2), seed: int = 4) -> TableSource:
    """Dependent columns: each is a noisy copy of one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(records)
    over = domain(*sizes)
    noisy = {v.name: np.clip(hidden + rng.normal(0, 0.2, records), 0, 0.999) for v in over}
    codes = {v.name: (noisy[v.name] * v.size).astype(np.uint8) for v in over}
    return TableSource("made up", over, codes)


def frame_of(made: TableSource) -> pd.DataFrame:
    return pd.DataFrame({v.name: np.array(v.categories)[made.codes[v.name]] for v in made.domain})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    frame_of(source()).to_csv(path, index=False)
    return path


# --- errors of itemsets --------------------------------------------------------------------------


def test_errors_by_hand():
    """F = {a, b, c}, R = {b, c, d, e}: relative errors 1/2 and 1/4 of those in both."""
    truth = {(0,): 0.3, (1,): 0.2, (2,): 0.4}
    found = {(1,): 0.1, (2,): 0.5, (3,): 0.3, (4,): 0.2, (1, 3): 0.1}
    table = by_length(truth, found)
    assert len(table) == 1  # no pair is frequent
    row = table.iloc[0]
    assert (row["length"], row["frequent"], row["found"]) == (1, 3, 4)
    assert math.isclose(row["support_error"], 100 * (0.5 + 0.25) / 2)
    assert math.isclose(row["false_negatives"], 100 / 3)
    assert math.isclose(row["false_positives"], 200 / 3)
    whole = overall(truth, found)
    assert whole["false_discovery"] == pytest.approx(60)
    assert whole["power"] == pytest.approx(200 / 3)
    assert whole["found"] == 5


# --- designs -------------------------------------------------------------------------------------

FAMILIES = (
    "independent", "gamma-diagonal", "random-gamma-diagonal", "mask", "cut-and-paste", "sampled"
)  # fmt: skip


@pytest.mark.parametrize("family", [*FAMILIES, "auto"])
def test_every_family_keeps_to_gamma(family):
    over = domain(3, 2, 2)
    wanted = designs.for_itemsets(over, 0.05)
    made = designs.designed(over, family, 19.0, wanted, 5000)
    assert set(made.plan.domain.names) == set(over.names)
    assert 18.9 < Amplification.together(made.plan.blocks).gamma <= 19
    assert made.chosen.family.startswith("" if family == "auto" else family)


# --- several owners ------------------------------------------------------------------------------


def test_columns_are_dealt_out_to_owners():
    over = domain(3, 2, 2, 2)
    assert designs.owners_of(over, "2") == (("owner-1", ("v0", "v1")), ("owner-2", ("v2", "v3")))
    named = designs.owners_of(over, "v3, v0; v1,v2")
    assert named == (("owner-1", ("v3", "v0")), ("owner-2", ("v1", "v2")))
    for wrong in ("1", "5"):
        with pytest.raises(OptionError):
            designs.owners_of(over, wrong)
    for wrong in ("v0,v1;v2", "v0,v1,v2,v3", "v0,v1;v1,v2,v3", "v0,v1;;v2,v3"):
        with pytest.raises(OptionError):
            designs.owners_of(over, wrong)
    with pytest.raises(UnknownVariable):
        designs.owners_of(over, "v0,v1;v2,v9")


def test_owners_report_by_one_study_plan():
    """Each record reports one set, at all owners alike, and gamma is that of all together."""
    made = source(400)
    names = made.domain.names
    owners = designs.owners_of(made.domain, "2")
    wanted = goal(made.domain, "classifier", target=names[0])
    plan = designs.designed(made.domain, "auto", 19.0, wanted, 400, owners=owners)
    assert plan.study_plan is not None
    assert 18.9 < Amplification.together(plan.plan.blocks).gamma <= 19
    # Drawn by each owner apart, each at less or all of it, but for the coin.
    assert len(plan.drawn.blocks) == 2
    trial = next(iter(Trials(made, plan.plan, 400, 1, 1, plan)))
    over = plan.plan.domain
    cells = np.argwhere(trial.reported.table(over.names))
    held = {tuple(v.name for v, c in zip(over, cell, strict=True) if c < v.size) for cell in cells}
    (block,) = plan.plan.blocks
    assert held == {tuple(block.names[a] for a in c.axes) for c in block.channel.choices}


# --- records -------------------------------------------------------------------------------------


def test_held_out_records_are_the_others():
    made = source(100)
    trials = Trials(made, symmetric(made.domain, 0.0), 100, 3, 1, holdout=0.3)
    everything = Counter(zip(*(made.codes[n].tolist() for n in made.domain.names), strict=True))
    tests = []
    for trial in trials:
        held = list(zip(*(trial.held_out[n].tolist() for n in made.domain.names), strict=True))
        kept = trial.true.table(made.domain.names)
        assert len(held) == 30
        assert kept.sum() == 70
        both = Counter(held)
        for cell in np.argwhere(kept):
            both[tuple(cell.tolist())] += int(kept[tuple(cell)])
        assert both == everything
        # Nothing is randomized at p = 0, so the reports are the kept records.
        assert np.array_equal(trial.reported.table(made.domain.names), kept)
        tests.append(held)
    assert tests[0] != tests[1]
    assert not trials.same_records
    assert Trials(made, symmetric(made.domain, 0.1), 100, 1, 1).same_records
    assert not Trials(made, symmetric(made.domain, 0.1), 99, 1, 1).same_records


def test_numbers_are_cut_into_intervals(tmp_path: Path):
    path = tmp_path / "t.csv"
    numbers = [0, 1, 2.4, 2.6, 5, 7.4, 7.6, 10]
    pd.DataFrame({"x": numbers, "y": ["a", "b"] * 4, "z": list("abcdefgh")}).to_csv(
        path, index=False
    )
    made = read_source(path, None, 4)
    # Width 2.5 from 0 to 10, closed on the left.
    assert made.domain["x"].categories == ("<2.5", "2.5-5", "5-7.5", ">=7.5")
    assert made.domain["x"].representatives == (1.25, 3.75, 6.25, 8.75)
    assert made.codes["x"].tolist() == [0, 0, 0, 1, 2, 2, 3, 3]
    assert made.domain["y"].categories == ("a", "b")
    assert made.domain["z"].size == 8  # no numbers, left as they are
    for bad in (1, MOST_INTERVALS + 1):
        with pytest.raises(OptionError):
            read_source(path, None, bad)


# --- rules ---------------------------------------------------------------------------------------


def counted(made: TableSource, minimum: float) -> Counter[int]:
    """Frequent itemsets by length, counted record by record."""
    records = list(zip(*(made.codes[n].tolist() for n in made.domain.names), strict=True))
    seen = Counter(
        (places, tuple(record[place] for place in places))
        for record in records
        for length in range(1, len(made.domain) + 1)
        for places in itertools.combinations(range(len(made.domain)), length)
    )
    return Counter(len(key[0]) for key, n in seen.items() if n >= minimum * len(records))


def test_without_noise_nothing_is_wrong():
    made = source()
    trials = Trials(made, symmetric(made.domain, 0.0), made.records, 2, 1)
    found = simulate(RulesSimulation(trials, RuleOptions(0.05), "moment"), trials).as_dict()
    assert {r["length"]: r["frequent"] for r in found["by_length"]} == counted(made, 0.05)
    for row in found["by_length"]:
        assert row["found"] == row["frequent"]
        for name in ("support_error", "false_negative", "false_positive"):
            assert row[f"{name}_pct"] == pytest.approx(0, abs=1e-9)
    assert found["overall"]["mean"]["power"] == 100


# --- classifiers ---------------------------------------------------------------------------------


class Always:
    """Predicts one class."""

    def __init__(self, target: Variable, code: int) -> None:
        self.inputs, self.target, self._code = Domain(()), target, code

    def predict(self, codes):
        return np.full(len(codes[self.target.name]), self._code, dtype=np.uint8)


def test_accuracy_is_the_share_of_records_held_out(monkeypatch):
    """The first model, of the reports, says 1; the second, of the clean records, says 0."""
    made = source(200)
    trials = Trials(made, symmetric(made.domain, 0.1), 200, 2, 1, holdout=0.25)
    said = itertools.cycle((1, 0))
    options = TreeOptions()
    learner = SimpleNamespace(
        options=TreeOptions, learn=lambda *_, **__: Always(made.domain["v1"], next(said))
    )
    monkeypatch.setattr("pramana_core.learn.learners.LEARNERS", {"x": learner})
    outcome = simulate(ClassifierSimulation("x", "v1", options, "moment"), trials)
    for trial, run in zip(trials, outcome.runs.runs, strict=True):
        ones = sum(code == 1 for code in trial.held_out["v1"].tolist()) / 50
        assert run["accuracy"] == pytest.approx(ones)
        assert run["clean_accuracy"] == pytest.approx(1 - ones)
        assert run["agreement"] == 0
        frequent = int(np.argmax(trial.true.table(["v1"])))
        assert run["majority"] == pytest.approx(ones if frequent else 1 - ones)


# --- commands ------------------------------------------------------------------------------------


def simulated(*command: str) -> dict:
    result = CliRunner().invoke(app, ["simulate", *command, "--json"])
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


def without_seconds(value):
    if isinstance(value, dict):
        return {k: without_seconds(v) for k, v in value.items() if k != "seconds"}
    return [without_seconds(v) for v in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        (
            "association-rules",
            "--design",
            "sampled",
            "--gamma",
            "30",
            "--set",
            "decisions=controlled",
        ),
        ("association-rules", "--p", "0.1", "--set", "max_length=2", "--estimator", "ml"),
        (
            "decision-tree",
            "--target",
            "v1",
            "--p",
            "0.1",
            "--set",
            "significance=1",
            "--set",
            "shrinkage=0",
        ),
        ("decision-tree", "--target", "v1", "--design", "independent", "--gamma", "100"),
        ("linear-classifier", "--target", "v1", "--p", "0.1"),
        ("linear-classifier", "--target", "v1", "--p", "0.1", "--set", "loss=perceptron"),
        ("bayes-net-structure", "--design", "auto", "--gamma", "100"),
    ],
    ids=" ".join,
)
def test_commands_give_the_same_numbers_again(table: Path, command: tuple[str, ...]):
    asked = (*command, "--table", str(table), "--runs", "2", "--delta", "1e-6")
    first, second = simulated(*asked), simulated(*asked)
    assert without_seconds(first) == without_seconds(second)
    assert first["learner"] == command[0]
    assert first["setting"]["records"] == 600
    assert first["setting"]["delta"] == 1e-6
    if command[0] == "association-rules":
        assert [r["length"] for r in first["by_length"]][:2] == [1, 2]
        assert len(first["overall"]["runs"]) == 2
        assert first["by_length"][0]["support_error_pct"] > 0
    elif command[0] != "bayes-net-structure":
        assert first["setting"]["tested"] == 180
        assert set(first["accuracy"]) == {"mean", "sd"}
        assert 0.5 < first["clean_accuracy"]["mean"] < 1
    assert (first["setting"]["design"] is None) == ("--design" not in command)
    other = simulated(*asked, "--seed", "2")
    assert without_seconds(other) != without_seconds(first)


DESIGNED = ("decision-tree", "--target", "v1", "--design", "auto", "--runs", "1", "--table")


@pytest.mark.slow
def test_a_central_epsilon_is_kept_by_the_records_of_a_run(table: Path):
    command = (*DESIGNED, str(table))
    command += ("--records", "3000")
    setting = simulated(*command, "--central-epsilon", "1.5")["setting"]
    assert 1.48 < setting["central_epsilon"] <= 1.5
    assert setting["gamma"] > math.exp(1.5)
    assert setting["delta"] == 1e-8
    larger = simulated(*command, "--central-epsilon", "1.5", "--delta", "1e-5")["setting"]
    assert larger["delta"] == 1e-5
    assert larger["gamma"] > setting["gamma"]
    assert 1.48 < larger["central_epsilon"] <= 1.5
    limited = simulated(*command, "--central-epsilon", "1.5", "--gamma", "3")["setting"]
    assert limited["gamma"] == pytest.approx(3)
    assert limited["central_epsilon"] < setting["central_epsilon"]


@pytest.mark.parametrize(
    ("how", "sets"), [(("--p", "0.2"), False), (("--design", "sampled-2", "--gamma", "19"), True)]
)
def test_the_heading_has_all_bounds_rounded_up(table: Path, how: tuple[str, ...], sets: bool):
    command = ("association-rules", "--table", str(table), *how, "--runs", "1")
    command += ("--set", "max_length=2")
    setting = simulated(*command)["setting"]
    ended = CliRunner().invoke(app, ["simulate", *command])
    heading = " ".join(ended.output.split())[:600]
    assert (setting["known_set"] is not None) == sets
    bounds = (setting[name] for name in ("central_epsilon", "known_set", "gamma"))
    for bound in (math.log(setting["gamma"]), *bounds):
        assert bound is None or f" {rounded_up(bound)}" in heading


@pytest.mark.slow
def test_a_central_epsilon_of_too_few_records_is_refused_before_a_run(table: Path):
    command = (*DESIGNED, str(table))
    few = CliRunner().invoke(app, ["simulate", *command, "--central-epsilon", "0.3"])
    assert isinstance(few.exception, EstimationError), few.output
    assert (few.exception.where, few.exception.exit_code) == ("--central-epsilon", 6)
    # The control: at the same gamma, which is a choice then, the simulation runs.
    assert simulated(*command, "--gamma", "1.35")["setting"]["gamma"] == pytest.approx(1.35)


RULES = ("association-rules", "--p", "0.1")
TREE = ("decision-tree", "--target", "v1", "--p", "0.1")


@pytest.mark.parametrize(
    ("command", "where"),
    [
        (("association-rules", "--design", "auto"), "--gamma"),
        ((*RULES, "--gamma", "19"), "--gamma"),
        (("association-rules", "--design", "auto", "--gamma", "1"), "--gamma"),
        ((*RULES, "--central-epsilon", "1"), "--gamma"),
        (("association-rules", "--design", "auto", "--central-epsilon", "0"), "--central-epsilon"),
        (
            ("association-rules", "--design", "auto", "--central-epsilon", "1", "--delta", "2"),
            "--delta",
        ),
        (
            ("association-rules", "--design", "auto", "--central-epsilon", "1e-300"),
            "--central-epsilon",
        ),
        ((*RULES, "--set", "minimum_support=0"), "--set"),
        ((*RULES, "--set", "false_discovery=2"), "--set"),
        ((*RULES, "--set", "max_length"), "--set"),
        ((*RULES, "--set", "max_length=2", "--set", "max_length=3"), "--set"),
        ((*RULES, "--target", "v1"), "--target"),
        (TREE[:1] + TREE[3:], "--target"),
        (("decision-tree", "--target", "other", "--p", "0.1"), "--target"),
        ((*TREE, "--set", "prune=maybe"), "--set"),
        ((*TREE, "--holdout", "0.0001"), "--holdout"),
        (("association-rules", "--design", "mask", "--gamma", "9", "--owners", "2"), "--design"),
        (("linear-classifier", *TREE[1:], "--set", "loss=perceptron", "--set", "l2=1"), "--set"),
        ((*RULES, "--intervals", "1"), "--intervals"),
    ],
)
def test_bad_commands_say_what_is_wrong(table: Path, command: tuple[str, ...], where: str):
    result = CliRunner().invoke(app, ["simulate", *command, "--table", str(table), "--runs", "1"])
    assert isinstance(result.exception, PramanaError), result.output
    assert result.exception.where == where
    assert result.exception.exit_code == 2


@pytest.mark.parametrize(
    "command", [TREE[:1] + TREE[3:], ("decision-tree", "--target", "other", *TREE[3:])]
)
def test_without_a_right_target_the_variables_are_listed(table: Path, command: tuple[str, ...]):
    result = CliRunner().invoke(app, ["simulate", *command, "--table", str(table), "--runs", "1"])
    assert isinstance(result.exception, PramanaError), result.output
    assert "v1" in str(result.exception.remedy)
