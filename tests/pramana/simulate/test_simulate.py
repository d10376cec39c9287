"""`pramana simulate`: its parts against enumeration and cases by hand, its command as users run it.

Random results are compared with distributions at a false-alarm rate of 1e-6, and a negative control
beside each must be found out. Everything else here is exact or has a fixed seed.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from benchmarks.reproduce import networks
from pramana.cli import app
from pramana.simulate.bayes_net import NetworkSimulation
from pramana.simulate.commands.cli import _Chosen
from pramana.simulate.designs import symmetric
from pramana.simulate.links import compare, fitted
from pramana.simulate.sources import NetworkSource, TableSource
from pramana.simulate.study import Trials
from pramana.simulate.tables import EMPTY, intervals_for, read_source
from pramana_core.domain import Domain
from pramana_core.errors import EmptyTable, MissingColumn, OptionError, TableError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import Scoring, Search
from pramana_core.learn.networks.bif import write_bif
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LIKELY, learn_structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan
from tests.places import ROOT

FALSE_ALARM = 1e-6


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "wanted", "by_class", "expected"),
    [
        ({"A": [], "B": ["A"], "C": ["B"]}, {"A": ["B"], "B": ["C"], "C": []}, True, (0, 0, 0)),
        ({"A": [], "B": ["A"], "C": ["B"]}, {"A": ["B"], "B": ["C"], "C": []}, False, (0, 0, 2)),
        ({"A": [], "B": ["A", "C"], "C": []}, {"A": [], "B": ["A"], "C": ["B"]}, True, (0, 0, 2)),
        ({"A": [], "B": ["A", "C"], "C": []}, {"A": [], "B": ["A"], "C": ["B"]}, False, (0, 0, 1)),
        ({"A": [], "B": ["A"], "C": ["A"]}, {"A": [], "B": [], "C": ["B"]}, False, (2, 1, 0)),
        ({"A": [], "B": [], "C": []}, {"A": [], "B": ["A"], "C": ["A", "B"]}, True, (0, 3, 0)),
    ],
)
def test_errors_of_links_by_hand(found, wanted, by_class: bool, expected):
    errors = compare(Structure.of(found), Structure.of(wanted), by_class=by_class)
    assert (errors.extra, errors.missing, errors.reversed) == expected


# --- sources -------------------------------------------------------------------------------------


def test_a_table_is_taken_whole_in_part_or_again_and_again():
    many = Domain.of(X=[str(k) for k in range(40)])
    source = TableSource("t.csv", many, {"X": np.arange(40, dtype=np.uint8)})
    rng = np.random.default_rng(1)
    assert (source.draw(40, rng)["X"] == np.arange(40)).all()
    some = source.draw(30, rng)["X"]
    assert len(set(some.tolist())) == 30
    assert (source.draw(30, rng)["X"] != some).any()
    more = source.draw(60, rng)["X"]
    assert len(more) == 60
    assert len(set(more.tolist())) <= 40


# --- tables --------------------------------------------------------------------------------------


def test_a_table_is_read_as_categories(tmp_path: Path):
    rows = [("yes", "9"), (" no", "10"), ("yes ", "9"), ("no", "2")]
    path = tmp_path / "t.csv"
    path.write_text("smoker,grade\n" + "".join(f"{a},{b}\n" for a, b in rows))
    source = read_source(path)
    assert source.domain["smoker"].categories == ("no", "yes")
    assert source.domain["grade"].categories == ("2", "9", "10")
    for name, place in (("smoker", 0), ("grade", 1)):
        labels = [source.domain[name].categories[code] for code in source.codes[name]]
        assert labels == [row[place].strip() for row in rows]
    pd.read_csv(path, dtype=str).to_parquet(tmp_path / "t.parquet")
    again = read_source(tmp_path / "t.parquet", ["grade", "smoker"])
    assert again.domain.names == ("grade", "smoker")
    assert (again.codes["grade"] == source.codes["grade"]).all()


def test_columns_that_are_no_categories_are_left_out_and_named(tmp_path: Path):
    rows = range(65)
    frame = pd.DataFrame(
        {
            "a": ["x", "y"] * 32 + ["x"],
            "b": ["x", "x", "y", "y"] * 16 + ["x"],
            "id": [f"P{k}" for k in rows],
            "same": "s3cret",
            "holes": ["", "h1"] * 32 + [""],
        }
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    source = read_source(path)
    assert source.domain.names == ("a", "b", "holes")
    assert source.domain["holes"].categories == (EMPTY, "h1")
    assert all(repr(name) in source.note for name in ("id", "same", "holes"))
    with pytest.raises(TableError) as refused:
        read_source(path, ["a", "id"])
    assert "P1" not in str(refused.value)
    with pytest.raises(TableError) as constant:
        read_source(path, ["same"])
    assert "s3cret" not in str(constant.value)


def test_numbers_are_cut_so_that_intervals_have_nearly_equal_records(tmp_path: Path):
    rng = np.random.default_rng(11)
    normal = np.round(rng.normal(40, 10, 2000), 2)
    mostly_zero = np.where(rng.random(2000) < 0.9, 0, rng.integers(1, 90_000, 2000))
    gaps = ["" if k % 10 == 0 else str(k % 100) for k in range(2000)]
    columns = {"normal": normal, "zero": mostly_zero, "gaps": gaps, "few": np.arange(2000) % 8}
    numbered = {"patient": np.arange(2000), "a": ["x", "y"] * 1000}
    path = tmp_path / "t.csv"
    pd.DataFrame(columns | numbered).to_csv(path, index=False)
    source = read_source(path)
    assert source.domain.names == ("normal", "zero", "gaps", "few", "a")
    shares = np.bincount(source.codes["normal"]) / 2000
    assert len(shares) == intervals_for(2000) == 6
    assert np.abs(shares - 1 / 6).max() < 0.01
    zeros = np.bincount(source.codes["zero"]) / 2000
    assert zeros[0] == np.mean(mostly_zero == 0)
    assert zeros[1:].min() >= 1 / (12 * 6)
    assert source.domain["gaps"].categories[-1] == EMPTY
    assert np.mean(source.codes["gaps"] == source.domain["gaps"].size - 1) == 0.1
    assert source.domain["gaps"].representatives is None
    assert source.domain["few"].size == 8
    assert "'patient' has a different number for almost every record" in source.note
    assert "'normal', 'zero' and 'gaps' are cut into at most 6 intervals" in source.note
    asked = read_source(path, ["patient", "a"])
    assert asked.domain["patient"].size == 6


def test_few_records_keep_fewer_numbers_as_categories(tmp_path: Path):
    path = tmp_path / "t.csv"

    def sizes(records: int) -> list[int]:
        columns = {f"of {k}": np.arange(records) % k for k in (6, 8, 10, 12)}
        years = {"years": 2000 + np.arange(records) % 12, "halves": np.arange(records) % 7 / 2}
        pd.DataFrame(columns | years).to_csv(path, index=False)
        return [variable.size for variable in read_source(path).domain]

    assert sizes(1400) == [6, 8, 10, 12, 12, 7]
    assert sizes(699) == [6, 8, 4, 4, 12, 7]
    assert sizes(300) == [6, 3, 3, 3, 12, 3]


def test_few_records_keep_all_classes_of_the_target(tmp_path: Path):
    path = tmp_path / "t.csv"
    rows = np.arange(101)
    pd.DataFrame({"kind": rows % 7 + 1, "legs": rows % 8}).to_csv(path, index=False)
    command = f"simulate bayes-classifier --table {path} --target kind --p 0.1 --runs 1 --json"
    shown = json.loads(CliRunner().invoke(app, command).stdout)
    assert "'legs' is cut" in shown["source"]["note"]
    read = read_source(path, target="kind").domain
    assert read["kind"].categories == tuple("1234567")
    assert read["legs"].size == read_source(path).domain["kind"].size == 3
    assert read_source(path, None, 4, "kind").domain["kind"].size == 4, "as requested"


@pytest.mark.parametrize(
    ("content", "variables", "error", "where"),
    [
        (None, None, TableError, None),
        ("a,b\n1,2,3\n4,5,6\n1,2,3,4\n", None, TableError, None),
        ("a,b\n", None, EmptyTable, None),
        ("a,a \n1,2\n", None, TableError, None),
        ("a:b\n1:2\n2:1\n", None, TableError, None),
        ("a,b\n1,2\n2,2\n", None, TableError, "b"),
        ("a,b\n1,2\n2,1\n", ["a"], TableError, "--variables"),
        ("a,b\n1,2\n2,1\n", ["a,,b"], MissingColumn, ""),
        ("a,b\n1,2\n2,1\n", ["a", "c"], MissingColumn, "c"),
        ("a\n1\n1\n", None, TableError, "a"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, content, variables, error, where):
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(error) as refused:
        read_source(path, variables)
    assert where is None or refused.value.where == where


# --- randomization -------------------------------------------------------------------------------


def test_p_is_the_probability_of_another_category():
    plan = symmetric(Domain.of(A=["1", "2"], B=["1", "2", "3", "4"]), 0.3)
    binary, four = (block.channel.matrix() for block in plan.blocks)
    assert np.allclose(binary, [[0.7, 0.3], [0.3, 0.7]], atol=1e-9)
    assert np.allclose(four, np.full((4, 4), 0.1) + 0.6 * np.eye(4), atol=1e-9)
    assert all(b.channel.is_identity for b in symmetric(plan.domain, 0.0).blocks)


# --- trials --------------------------------------------------------------------------------------


def test_trials_randomize_by_the_plan_and_repeat(assert_distribution):
    source = NetworkSource("six", networks.network())
    first, second = Trials(source, networks.six_plan(0.2), 20_000, 2, 5)
    again, _ = Trials(source, networks.six_plan(0.2), 20_000, 2, 5)
    names = ["A", "B"]
    true, reported = (counts.table(names) for counts in (first.true, first.reported))
    flip = np.array([[0.8, 0.2], [0.2, 0.8]])
    assert_distribution(reported, flip.T @ true @ flip, false_alarm=FALSE_ALARM)
    with pytest.raises(AssertionError):
        assert_distribution(reported, true, false_alarm=FALSE_ALARM)
    assert (again.reported.table(names) == reported).all()
    assert (second.reported.table(names) != reported).any()
    assert (second.true.table(names) != true).any()


# --- results -------------------------------------------------------------------------------------


def test_fitted_parameters_are_posterior_means_of_clean_counts():
    rng = np.random.default_rng(4)
    domain = Domain.of(A=["1", "2"], B=["1", "2", "3"])
    codes = {n: rng.integers(0, s, 50).astype(np.uint8) for n, s in (("A", 2), ("B", 3))}
    counts = ReportedCounts(codes, {"A": 2, "B": 3})
    marginals = EstimatedMarginals(counts, Plan.unrandomized(domain))
    found = fitted(marginals, Structure.of({"A": [], "B": ["A"]}))
    for a in range(2):
        rows = codes["A"] == a
        assert found.tables["A"][a] == pytest.approx((rows.sum() + 1) / 52)
        for b in range(3):
            both = int((rows & (codes["B"] == b)).sum())
            assert found.tables["B"][a, b] == pytest.approx((both + 1) / (rows.sum() + 3))


def joint(network: BayesNet) -> dict[tuple[int, ...], float]:
    nodes = network.structure.nodes
    cells = {}
    for cell in itertools.product(*(range(v.size) for v in network.domain.project(nodes))):
        at = dict(zip(nodes, cell, strict=True))
        cells[cell] = math.prod(
            float(network.tables[n][(*(at[p] for p in ps), at[n])])
            for n, ps in network.structure.families
        )
    return cells


def test_divergence_is_the_sum_over_all_records_there_can_be():
    reference = networks.network()
    trials = Trials(NetworkSource("six", reference), networks.six_plan(0.1), 2_000, 1, 3)
    (trial,) = trials
    marginals = EstimatedMarginals(trial.reported, networks.six_plan(0.1))
    sparse = {"A": [], "B": ["A"], "C": [], "D": ["B"], "E": ["D"], "F": ["E"]}
    model = fitted(marginals, Structure.of(sparse))
    p, q = joint(reference), joint(model)
    expected = sum(p[cell] * math.log(p[cell] / q[cell]) for cell in p)
    kind = NetworkSimulation(trials, Scoring(), Search(()))
    found = kind._compared(marginals, model, 1.0)
    assert found["kl"] == pytest.approx(expected, rel=1e-9)
    assert (found["extra"], found["missing"], found["reversed"]) == (1, 4, 0)


def test_likely_links_are_counted_where_pairs_give_a_confidence():
    network = networks.network()
    trials = Trials(NetworkSource("six", network), networks.six_plan(0.3), 3_000, 1, 3)
    (trial,) = trials
    kind = NetworkSimulation(trials, Scoring(), Search(method="chow-liu"))
    numbers, marginals = kind.run(trials, trial, lambda _share: None)
    links = learn_structure(marginals, search=Search(method="chow-liu")).links
    likely = [frozenset((x.parent, x.child)) for x in links if x.confidence >= LIKELY]
    true = {frozenset(link) for link in network.structure.links}
    assert 0 < len(likely) < len(links)
    assert numbers["likely_right"] == sum(pair in true for pair in likely)
    assert numbers["likely_wrong"] == sum(pair not in true for pair in likely)
    climbed, _ = NetworkSimulation(trials, Scoring(), Search()).run(trials, trial, lambda _: None)
    assert "likely_right" not in climbed


# --- the command ---------------------------------------------------------------------------------


@pytest.fixture
def bif(tmp_path: Path) -> Path:
    path = tmp_path / "six.bif"
    path.write_text(write_bif(networks.network(), "six"))
    return path


def simulated(*options: str) -> dict:
    result = CliRunner().invoke(app, ["simulate", "bayes-net-structure", *options, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def without_seconds(result: dict) -> dict:
    kept = json.loads(json.dumps(result))
    for part in (kept, kept["clean"]):
        for numbers in (*part["runs"], part["mean"], part["se"]):
            del numbers["seconds"]
    return kept


RUN = ("--records", "3000", "--runs", "2", "--set", "ordered=true", "--seed", "7")


@pytest.mark.slow
def test_without_randomization_nothing_is_lost(bif: Path, tmp_path: Path):
    result = without_seconds(simulated("--bif", str(bif), "--p", "0", *RUN))
    assert result["runs"] == result["clean"]["runs"]
    noisy = without_seconds(simulated("--bif", str(bif), "--p", "0.2", *RUN))
    assert noisy["runs"] != noisy["clean"]["runs"]
    assert noisy["clean"] == result["clean"]


@pytest.mark.slow
def test_a_table_is_held_against_itself(tmp_path: Path):
    drawn = networks.six_sample(2_000, np.random.default_rng(6))
    table = tmp_path / "t.csv"
    pd.DataFrame(drawn).assign(id=range(2_000)).to_csv(table, index=False)
    options = ("--table", str(table), "--runs", "2")
    result = simulated(*options, "--p", "0.1")
    assert result["setting"]["records"] == 2_000
    assert "'id'" in result["source"]["note"]
    zero = {"extra": 0, "missing": 0, "reversed": 0, "kl": 0}
    kept = without_seconds(result)
    unlinked = {run.pop("kl_unlinked") for part in (kept["clean"], kept) for run in part["runs"]}
    assert min(unlinked) > 0
    assert kept["clean"]["runs"] == [zero, zero]
    assert kept["runs"] != [zero, zero]
    some = simulated(*options, "--p", "0", "--variables", "A,B,C", "--records", "500")
    assert some["source"]["variables"] == 3
    assert some["mean"]["kl"] > 0


@pytest.mark.parametrize(
    ("options", "error", "where"),
    [
        (["--p", "0.1"], OptionError, "--bif"),
        (["--bif", "BIF", "--table", "t.csv", "--p", "0.1"], OptionError, "--bif"),
        (["--bif", "BIF"], OptionError, "--p"),
        (["--bif", "BIF", "--p", "0.1", "--design", "auto"], OptionError, "--p"),
        (["--bif", "none.bif", "--p", "0.1"], OptionError, "--bif"),
        (["--bif", "BIF", "--p", "0.1", "--variables", "A"], OptionError, "--variables"),
        (["--bif", "BIF", "--p", "0.5"], OptionError, "--p"),
        (["--bif", "BIF", "--p", "0.1", "--set", "eta=0.9"], OptionError, "--set"),
        (["--bif", "BIF", "--p", "0.1", "--set", "max_parents=0"], OptionError, "--set"),
        (["--bif", "BIF", "--p", "0.1", "--set", "refine=false"], OptionError, "--set"),
    ],
)
def test_bad_commands_say_what_is_wrong(bif: Path, options, error, where: str):
    command = [str(bif) if option == "BIF" else option for option in options]
    result = CliRunner().invoke(app, ["simulate", "bayes-net-structure", *command])
    assert isinstance(result.exception, error), result.output
    assert result.exception.where == where
    assert result.exception.exit_code == 2


def _names_of_rows(text: str, pattern: str) -> set[str]:
    """Return the names in the first column of a page's tables."""
    cells = re.findall(r"^\| (`[^|]*)\|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(pattern, cell)}


def test_the_document_has_every_option_and_no_other():
    text = (ROOT / "docs/simulate.md").read_text(encoding="utf-8")
    command = get_command(app).commands["simulate"]
    offered = {name for p in command.params for name in p.opts if name.startswith("--")}
    assert _names_of_rows(text, r"--[a-z0-9-]+") | {"--set"} == offered - {"--help"} | {"--set"}
    kinds = (
        "bayes-net-structure",
        "decision-tree",
        "linear-classifier",
        "bayes-classifier",
        "association-rules",
        "model-sharing",
    )
    settings = {name for kind in kinds for name in _Chosen(kind, []).settings.names}
    assert _names_of_rows(text, r"(?<!-)\b[a-z][a-z0-9_]*(?==)") == settings
