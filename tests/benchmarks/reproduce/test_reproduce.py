"""`pramana reproduce`: its numbers against brute force and closed forms, its files and commands.

Random results are compared with distributions at the false-alarm rate stated in each test, and a
negative control beside each must be found out.
"""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from typer.testing import CliRunner

from benchmarks.reproduce import data, engine
from benchmarks.reproduce.engine import Experiment, Result, Setting, claim
from benchmarks.reproduce.ma import ma_2, ma_3, ma_7
from benchmarks.reproduce.run import catalogue, reproduce, select, tally
from pramana import setups as production
from pramana.cli import app
from pramana_core.channels import Identity, Symmetric
from pramana_core.discretize import Discretization
from pramana_core.errors import OptionError

pytestmark = pytest.mark.calibration

QUICK = Setting(seed=3, quick=True)
FALSE_ALARM = 1e-6

PNG = b"\x89PNG\r\n\x1a\n"


def matrix(size: int, p: float, groups: list[list[int]] | None = None) -> np.ndarray:
    """Ma 2.1 and 2.2, entry by entry."""
    made = np.zeros((size, size))
    for group in groups or [list(range(size))]:
        for a, b in itertools.product(group, group):
            made[a, b] = 1 - p if a == b else p / (len(group) - 1)
    return made


# --- the production path -------------------------------------------------------------------------


def reports(p: float) -> tuple[np.ndarray, np.ndarray]:
    """Reported counts of 50,000 records, and the true cells' counts."""
    records = 50_000
    pmf = data.pmf()
    codes = production.draw_cells(pmf, data.NAMES, records, np.random.default_rng(5))
    owner = production.SeededOwner.of("test", 3, records)
    true = np.zeros(pmf.shape)
    np.add.at(true, tuple(codes.values()), 1)
    return owner.report(data.multicategory(p), codes).table(data.NAMES), true


def expected(true: np.ndarray, p: float) -> np.ndarray:
    single = matrix(5, p)
    return single.T @ true @ single


def test_owners_reports_follow_the_matrix(assert_distribution):
    """Given the true cells, chi-square is a little stricter than multinomial: 1e-6 is kept."""
    reported, true = reports(0.5)
    assert_distribution(reported, expected(true, 0.5), false_alarm=FALSE_ALARM)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(reported, expected(true, 0.55), false_alarm=FALSE_ALARM)


def test_drawn_cells_follow_the_table(assert_distribution):
    _, true = reports(0.5)
    pmf = data.pmf()
    assert_distribution(true, true.sum() * pmf, false_alarm=FALSE_ALARM)
    other = np.where(pmf > 0, pmf, 0) ** 1.03
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(true, true.sum() * other / other.sum(), false_alarm=FALSE_ALARM)


# --- Ma 2.2 --------------------------------------------------------------------------------------


def test_table_2_1_lacks_a_twentieth():
    total = sum((entry for row in data.PRINTED for entry in row), Fraction(0))
    assert total == Fraction(19, 20)
    assert [len(row) for row in data.PRINTED] == [5] * 5
    pmf = data.pmf()
    assert math.isclose(pmf.sum(), 1, rel_tol=1e-12)
    assert math.isclose(pmf[0, 1] / pmf[0, 0], 12)
    assert (pmf == 0).sum() == 10


def test_theory_is_checked_by_all_errors_at_once():
    """The verdict fails in at most 1 of 1,000 right runs; the controls must always fail."""
    rng = np.random.default_rng(11)
    pmf = np.array([0.1, 0.2, 0.3, 0.4])
    covariance = 1000 * (np.diag(pmf) - np.outer(pmf, pmf))
    errors = rng.multinomial(1000, pmf, size=400) - 1000 * pmf
    kept = sum(engine.as_theory_says(e, covariance).agrees for e in errors)
    assert kept >= stats.binom.ppf(FALSE_ALARM, 400, 0.998)
    assert not engine.as_theory_says(np.array([90.0, -40, -30, -20]), covariance).agrees
    assert not engine.as_theory_says(np.zeros(4), covariance).agrees


def test_error_bars_of_figure_2_2_follow_theorem_2(quick):
    """The estimated errors are near those of the true counts, by the dense formula."""
    found = quick("ma-2.2").result.tables["counts"]
    joint = np.kron(matrix(5, ma_2.P), matrix(5, ma_2.P))
    true = found["true"].to_numpy()
    spread = sum(
        n * (np.diag(row) - np.outer(row, row)) for n, row in zip(true, joint, strict=True)
    )
    inverse = np.linalg.inv(joint)
    exact = np.sqrt(np.diag(inverse.T @ spread @ inverse))
    # The observed reports stand for the expected ones: their relative error is about 1/sqrt(100).
    assert np.allclose(found["moment_se"], exact, rtol=0.15)
    assert not np.allclose(found["moment_se"], 1.3 * exact, rtol=0.15)


# --- Ma 2.3 --------------------------------------------------------------------------------------


def test_the_two_triangles_are_a_density():
    area, _ = integrate.quad(lambda x: float(data.density(np.array(x))), 0, 24, points=[6, 12, 18])
    assert math.isclose(area, 1, rel_tol=1e-9)
    points = np.array([0.0, 6, 12, 18, 24, 3, 25])
    assert np.allclose(data.density(points), np.array([0, 2, 0, 2, 0, 1, 0]) / 24)


def test_samples_follow_the_two_triangles(assert_distribution):
    values = data.triangle_sample(40_000, np.random.default_rng(2))
    seen, edges = np.histogram(values, bins=24, range=(0, 24))
    middle = (edges[:-1] + edges[1:]) / 2  # exact: the density is linear within each bin
    wanted = 40_000 * data.density(middle)
    assert_distribution(seen, wanted, false_alarm=FALSE_ALARM)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(seen, np.roll(wanted, 1), false_alarm=FALSE_ALARM)


def test_distance_of_four_flat_pieces_is_one_half():
    """By hand: on each quarter |f - 1/24| is two triangles of area 1/16."""
    quarters = Discretization((6.0, 12.0, 18.0), (3.0, 9.0, 15.0, 21.0), (1, 1, 1, 1), "test")
    distance = data.l1_distance(quarters, np.full(4, 25.0))
    assert math.isclose(distance, 0.5, rel_tol=1e-5)
    assert data.widths(quarters) == [6.0, 6.0]
    assert np.allclose(data.heights(quarters, np.full(4, 25.0)), 1 / 24)


# --- Ma 3.1 and 3.2 ------------------------------------------------------------------------------


def test_figure_3_1_is_the_printed_double_sum(quick):
    found = quick("ma-3.1").result.tables["entropy"]
    groups = {"two groups of three": [[0, 1, 2], [3, 4, 5]]}
    for scheme, p, entropy in found.iloc[::5].itertuples(index=False):
        size = 2 if scheme == "binary" else 6
        joint = matrix(size, p, groups.get(scheme)) / size
        total = 0.0
        for true, seen in itertools.product(range(size), range(size)):
            if joint[true, seen] > 0:
                posterior = joint[true, seen] / sum(joint[:, seen])
                total -= joint[true, seen] * math.log2(posterior)
        assert math.isclose(entropy, total, abs_tol=1e-6)


def test_figure_3_2_is_the_worst_binary_posterior(quick):
    """The bound by another way: Bayes' rule on the worst likelihood ratio, gamma to 1."""
    found = quick("ma-3.2").result.tables["bound"]
    assert set(found["gamma"]) == set(ma_3.GAMMAS)
    for g, prior, bound in found.iloc[::7].itertuples(index=False):
        assert math.isclose(bound, prior * g / (prior * g + (1 - prior)), rel_tol=1e-12)


# --- Ma 3.3 --------------------------------------------------------------------------------------


def test_the_error_predicted_of_log_odds_is_that_of_expected_counts():
    """Woolf's, without noise; with noise by the delta method on the table of expected reports."""
    bits = Symmetric.from_probability(2, 0.2)
    clean = ma_3.predicted_log_odds_se(Identity(2), Identity(2))
    assert clean == pytest.approx(4 / math.sqrt(ma_3.RECORDS))
    matrix = np.kron(bits.matrix(), bits.matrix())
    slopes = np.linalg.inv(matrix) @ np.array([4.0, -4.0, -4.0, 4.0])
    wanted = math.sqrt(float(np.square(slopes).mean()) / ma_3.RECORDS)
    assert ma_3.predicted_log_odds_se(bits, bits) == pytest.approx(wanted)
    assert wanted > 2 * clean


# --- Ma 3.4 --------------------------------------------------------------------------------------


def test_divergence_by_hand():
    pmf, counts = np.array([0.5, 0.5, 0.0]), np.array([30.0, 0.0, 10.0])
    mixed = [0.99 * 0.75 + 0.01 / 3, 0.01 / 3, 0.99 * 0.25 + 0.01 / 3]
    by_hand = 0.5 * math.log2(0.5 / mixed[0]) + 0.5 * math.log2(0.5 / mixed[1])
    assert math.isclose(ma_3.divergence(pmf, counts), by_hand)


# --- Ma 7.3 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", ma_7.GROUPS)
def test_figure_7_3_by_enumeration(quick, items: int):
    """Both matrices over all 2^|G| cells, ratios within columns; the marginal by summing out."""
    found = quick("ma-7.3").result.tables["gamma"]
    cells = list(itertools.product((0, 1), repeat=items))
    for _, row in found[found["items"] == items].iloc[::6].iterrows():
        together = matrix(len(cells), row["p"])
        one = np.zeros((2, 2))
        for reported, cell in enumerate(cells):
            one[0, cell[0]] += together[0, reported]
            one[1, cell[0]] += together[-1, reported]
        apart = one
        for _ in range(items - 1):
            apart = np.kron(apart, one)
        worst = [(m.max(axis=0) / m.min(axis=0)).max() for m in (together, apart, one)]
        seen = [row["gamma_s"], row["gamma_independent"], row["gamma_item"]]
        assert np.allclose(seen, worst, rtol=1e-6)


# --- running and writing -------------------------------------------------------------------------


def made_up(name: str = "made-up", needs: tuple[str, ...] = (), tables: int = 1) -> Experiment:
    def run(setting: Setting) -> Result:
        values = setting.rng(name).random(3)
        setting.progress(0.5)
        setting.progress(1.0)
        found = {f"t{k}": pd.DataFrame({"x": values + k}) for k in range(tables)}
        findings = (claim("holds", np.bool_(True)), claim("does <not>", False), claim("open"))
        return Result(found, findings, lambda f: f.subplots().plot(values), facts={"n": 3})

    return Experiment(name, "Made up & drawn", "nowhere", run, needs, ("chosen so",))


def test_files_of_a_run(tmp_path: Path):
    said: list[tuple[str, float]] = []
    experiments = [made_up(), made_up("second", tables=2)]
    outcomes = reproduce(
        experiments, QUICK, tmp_path / "a" / "b", say=lambda *what: said.append(what)
    )
    out = tmp_path / "a" / "b"
    assert {path.name for path in out.iterdir()} == {
        "made-up.png", "made-up.csv", "made-up.json",
        "second.png", "second-t0.csv", "second-t1.csv", "second.json",
        "reproduce.json", "index.html",
    }  # fmt: skip
    assert outcomes[1].files == ("second.png", "second-t0.csv", "second-t1.csv", "second.json")
    assert (out / "made-up.png").read_bytes().startswith(PNG)
    assert len(pd.read_csv(out / "made-up.csv")) == 3
    single = json.loads((out / "made-up.json").read_text())
    assert single["findings"][1] == {"agrees": False, "text": "does <not>"}
    assert (single["seed"], single["quick"], single["facts"]) == (3, True, {"n": 3})
    index = json.loads((out / "reproduce.json").read_text())
    assert [e["name"] for e in index["experiments"]] == ["made-up", "second"]
    assert tally(outcomes) == (2, 2)
    shares = [share for _, share in said]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_page_holds_everything_and_loads_nothing(tmp_path: Path):
    reproduce([made_up()], QUICK, tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "://" not in page
    assert "<script" not in page
    assert "does &lt;not&gt;" in page
    assert "chosen so" in page


def test_a_seed_gives_the_same_bytes(tmp_path: Path):
    folders = [tmp_path / name for name in ("one", "two", "other")]
    for folder, seed in zip(folders, (3, 3, 4), strict=True):
        experiments = [made_up(), ma_7.MA_7_3][: 2 if seed == 3 else 1]
        reproduce(experiments, Setting(seed=seed, quick=True), folder)
    for path in folders[0].iterdir():
        assert path.read_bytes() == (folders[1] / path.name).read_bytes(), path.name
    changed = [(f / "made-up.csv").read_bytes() for f in (folders[0], folders[2])]
    assert changed[0] != changed[1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Setting(seed=-1),
        lambda: Setting(data=Path("no/such/folder")),
        lambda: Setting().file("adult.csv"),
        lambda: Setting(data=Path(__file__).parent).file("adult.csv"),
        lambda: select(["ma-9.9"]),
        lambda: reproduce([made_up()], QUICK, Path(__file__)),
    ],
)
def test_bad_values_are_refused(make):
    with pytest.raises(OptionError) as caught:
        make()
    assert caught.value.remedy
    assert caught.value.exit_code == 2


def test_absent_data_is_an_error_or_skipped(tmp_path: Path):
    experiments = [made_up(), made_up("wants", needs=("adult.csv",))]
    with pytest.raises(OptionError, match="adult.csv"):
        reproduce(experiments, QUICK, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    done, skipped = reproduce(experiments, QUICK, tmp_path, skip=True)
    assert done.files
    assert "--data" in skipped.skipped
    assert "Skipped." in (tmp_path / "index.html").read_text()
    (tmp_path / "adult.csv").write_text("x\n")
    complete = reproduce(experiments, Setting(quick=True, data=tmp_path), tmp_path)
    assert all(outcome.files for outcome in complete)


# --- the command ---------------------------------------------------------------------------------


def run_command(*arguments: str):
    return CliRunner().invoke(app, ["reproduce", *arguments], env={"COLUMNS": "300"})


def test_a_run_at_the_terminal(tmp_path: Path):
    shown = run_command("ma-7.3", "ma-3.1", "--quick", "--out", str(tmp_path))
    assert shown.exit_code == 0
    for word in ("ma-3.1", "agrees", "differs", "note", "agree with the papers", "index.html"):
        assert word in shown.stdout
    # Paths may be long and are not broken; everything else fits.
    lines = [line for line in shown.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 100
    assert "ma-2.2" not in shown.stdout


def test_the_list_names_every_experiment_once():
    shown = run_command()
    assert max(map(len, shown.stdout.splitlines())) <= 100
    names = [e.name for e in catalogue()]
    assert len(set(names)) == len(names)
    assert all(name in shown.stdout for name in names)
    listed = json.loads(run_command("--json").stdout)["experiments"]
    assert [e["name"] for e in listed] == names
    assert [e.name for e in select(["ma-3.1", "ma-2.2", "ma-3.1"])] == ["ma-2.2", "ma-3.1"]


def test_findings_as_json(tmp_path: Path):
    shown = run_command("ma-7.3", "--quick", "--json", "--seed", "9", "--out", str(tmp_path))
    content = json.loads(shown.stdout)
    assert content == json.loads((tmp_path / "reproduce.json").read_text())
    assert content["seed"] == 9
    assert {f["agrees"] for f in content["experiments"][0]["findings"]} == {True, False, None}
