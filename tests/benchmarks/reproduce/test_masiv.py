"""MaSiv's tables and figures: setups by hand, verdicts on made-up tables, and quick runs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.reproduce import data
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.ma import ma_5
from benchmarks.reproduce.masiv import figure_4, masiv_5, table_2
from benchmarks.reproduce.masiv.setups import MINER, PEERS, view_of, views
from benchmarks.reproduce.masiv.table_2 import Randomization
from pramana import setups as example_setups
from pramana.setups import SeededOwner
from pramana_core.marginals.counts import ReportedCounts

pytestmark = pytest.mark.calibration


def randomized(plan) -> str:
    return "".join(b.names[0] for b in plan.blocks if not b.channel.is_identity)


# --- setups --------------------------------------------------------------------------------------


def test_a_site_has_its_own_columns_as_they_are():
    (miner,) = views(MINER, 0.2)
    assert (randomized(miner.plan), miner.nodes) == ("ABCDEF", "ABCDEF")
    first, second = views(PEERS, 0.2)
    assert (randomized(first.plan), first.nodes) == ("DEF", "ABC")
    assert (randomized(second.plan), second.nodes) == ("ABC", "DEF")
    assert randomized(view_of(MINER, 0.2, "D").plan) == "BCD"
    assert randomized(view_of(PEERS, 0.2, "D").plan) == "BC"


def test_both_setups_see_the_same_draws_of_a_column():
    codes = data.six_sample(500, np.random.default_rng(1))
    owner = SeededOwner.of("masiv", 1, 500)
    told = [owner.report(view.plan, codes, 0) for view in (*views(MINER, 0.3), *views(PEERS, 0.3))]
    assert (told[0].column("B") == told[2].column("B")).all()
    # Reports are not in the records' order: whole tables are compared.
    truth = ReportedCounts(codes, dict.fromkeys(codes, 2)).table("ABC")
    assert (told[1].table("ABC") == truth).all()
    assert (told[0].table("ABC") != truth).any()


# --- tables I and II -----------------------------------------------------------------------------


def test_table_1_differs_from_mas_in_x_alone():
    ma, here = example_setups.plan(), Randomization(0.4).plan()
    other = [b.names for a, b in zip(ma.blocks, here.blocks, strict=True) if a != b]
    assert other == [("X",)]
    assert here.block_of("X").channel.matrix()[0] == pytest.approx([0.6, 0.4])
    assert Randomization(0.2).plan().digest == ma.digest
    assert Randomization(0.4).plan("X").block_of("X").channel.is_identity


def made(printed: float) -> pd.DataFrame:
    rows = {"node": ["X"] * 2 + ["C"] * 4, "free": True, "printed_sd": printed}
    return pd.DataFrame(rows | {f"se {table_2.X_PRINTED:g} {MINER}": 0.03})


@pytest.mark.parametrize(("printed", "agrees"), [(0.03, True), (0.008, False), (0.09, False)])
def test_printed_deviations_are_held_against_x(printed: float, agrees: bool):
    assert table_2.explains(made(printed), table_2.X_PRINTED).agrees is agrees


@pytest.mark.parametrize(("peers", "agrees"), [([0.0, 0.01], True), ([0.0, 0.03], False)])
def test_one_larger_error_refutes_always_better(peers: list[float], agrees: bool):
    table = pd.DataFrame({f"se 0.2 {MINER}": [0.02, 0.02], f"se 0.2 {PEERS}": peers})
    assert table_2.table_better(table, 0.2).agrees is agrees


@pytest.mark.parametrize(("off", "agrees"), [(0.01, True), (0.04, False)])
def test_accuracy_of_tables_of_five_runs(off: float, agrees: bool):
    table = pd.DataFrame({"true": [0.3, 0.6]})
    found = {(0.2, name): np.full((10, 2), [0.3, 0.6]) + off for name in (MINER, PEERS)}
    assert table_2.accurate(table, found, 0.2).agrees is agrees


@pytest.mark.parametrize(("spread", "agrees"), [(0.01, True), (0.02, False)])
def test_deviations_are_held_against_theory(spread: float, agrees: bool):
    columns = {f"se 0.2 {MINER}": 0.01, f"sd 0.2 {MINER}": spread, "free": True}
    table = pd.DataFrame(columns, index=range(5))
    found = {(0.2, MINER): np.zeros((60, 5))}
    assert table_2.table_as_theory(table, found, 0.2, MINER).agrees is agrees


# --- figure 4 ------------------------------------------------------------------------------------


def test_without_a_miner_d_itself_has_no_error():
    counts = data.counted(data.six_sample(5000, np.random.default_rng(2)), "D")
    without = ma_5.theory(counts, 0.2, exact=True)
    assert (without < ma_5.theory(counts, 0.2)).all()
    assert ma_5.theory(counts, 1e-9, exact=True) == pytest.approx(0, abs=1e-4)


def test_p_star_is_the_first_p_above_the_threshold(monkeypatch: pytest.MonkeyPatch):
    """Errors of 0.45 p in half of the runs and -0.45 p in the others."""
    codes = data.six_sample(400, np.random.default_rng(3))
    counts = data.counted(codes, "D")
    clean = (counts[..., 0] / counts.sum(axis=-1)).ravel()
    signs = np.repeat([1.0, -1.0], figure_4.REPEATS // 2)[:, None]

    def fake(owner, codes, name, p):
        return clean + signs * p * 0.45

    monkeypatch.setattr(figure_4, "estimates", fake)
    found = figure_4.p_star(SeededOwner.of("x", 1, 400), codes, MINER)
    assert found["mean error"] == 0.05  # 0.0225 is the first above 0.02
    assert found["mean p*"] == pytest.approx(0.05)
    assert found["error"] == figure_4.LAST  # errors of opposite signs cancel


def stars(miner: list[float], peers: list[float]) -> pd.DataFrame:
    rows = [
        (name, n, "mean p*", p)
        for name, series in ((MINER, miner), (PEERS, peers))
        for n, p in zip((1000, 2000, 4000), series, strict=True)
    ]
    return pd.DataFrame(rows, columns=["setup", "records", "reading", "p_star"])


def test_verdicts_on_p_star():
    good, flat = [0.1, 0.15, 0.2], [0.1, 0.1, 0.1]
    assert figure_4.grows(stars(good, good), MINER).agrees is True
    assert figure_4.grows(stars(flat, good), MINER).agrees is False
    assert figure_4.grows(stars([0.1, 0.05, 0.2], good), MINER).agrees is False
    assert figure_4.later(stars(flat, good)).agrees is False
    assert figure_4.later(stars(flat, [0.11, 0.2, 0.3])).agrees is True


def parameters(theory: float, sd: float) -> pd.DataFrame:
    rows = [
        (name, p, k, 0.5, 0.5, sd, theory)
        for name in (MINER, PEERS)
        for p in (0.25, 0.3)
        for k in (1, 2)
    ]
    columns = ["setup", "p", "parameter", "clean", "mean", "sd", "theory_sd"]
    return pd.DataFrame(rows, columns=columns)


def test_verdicts_on_parameters():
    assert figure_4.almost_none(parameters(0.05, 0.05), MINER).agrees is True
    assert figure_4.almost_none(parameters(0.08, 0.08), MINER).agrees is False
    assert figure_4.almost_none(parameters(0.08, 0.08), PEERS).agrees is None
    assert figure_4.good(parameters(0.08, 0.08), MINER).agrees is True
    assert figure_4.good(parameters(0.12, 0.12), MINER).agrees is False
    assert figure_4.as_theory(parameters(0.03, 0.03), MINER).agrees is True
    assert figure_4.as_theory(parameters(0.03, 0.09), MINER).agrees is False
    assert figure_4.better(parameters(0.03, 0.03)).agrees is False


# --- figure 5 ------------------------------------------------------------------------------------


def rows(errors: dict[tuple[str, str], list[int]], missing: int = 0) -> pd.DataFrame:
    """A row per setup, score and run at p = 0.2 and 10,000 records."""
    made = [
        (name, masiv_5.RECORDS, 0.2, run, score, extra, missing, missing, extra, 0.1 * extra)
        for (name, score), series in errors.items()
        for run, extra in enumerate(series)
    ]
    return pd.DataFrame(made, columns=masiv_5._COLUMNS)


V, S = masiv_5.VARIABLE, masiv_5.STRONGEST


def test_verdicts_on_scores():
    same = rows(
        {(MINER, "η = 1"): [3, 4, 3], (MINER, "η = 0.99"): [2, 2, 3], (MINER, V): [1, 1, 2]}
    )
    assert masiv_5.variable_best(same, "errors").agrees is True
    worse = rows({(MINER, "η = 1"): [3, 4], (MINER, "η = 0.99"): [2, 2], (MINER, V): [4, 4]})
    assert masiv_5.variable_best(worse, "errors").agrees is False
    assert [f.agrees for f in masiv_5.extra_alone(same)] == [True, True]
    # Three curves: one missing link in each is three a figure, four in each are twelve.
    assert masiv_5.extra_alone(same.assign(lost=1))[1].agrees is True
    assert masiv_5.extra_alone(same.assign(lost=4))[1].agrees is False


def test_setup_1_is_better_by_more_than_chance():
    clear = rows({(MINER, V): [5, 6, 5, 6, 7], (PEERS, V): [1, 2, 1, 0, 1]})
    assert masiv_5.peers_better(clear, V).agrees is True
    chance = rows({(MINER, V): [1, 2, 1, 0, 2], (PEERS, V): [1, 0, 2, 1, 1]})
    assert masiv_5.peers_better(chance, V).agrees is False


@pytest.mark.parametrize(
    ("bic", "agrees"), [([2, 3, 2, 3, 2], True), ([8, 9, 8, 9, 9], False), ([7, 3, 5, 6, 4], None)]
)
def test_a_better_score_is_better_by_more_than_chance(bic: list[int], agrees: bool | None):
    assert (
        masiv_5.even_better(rows({(MINER, V): [5, 6, 5, 6, 5], (MINER, S): bic})).agrees is agrees
    )


@pytest.mark.parametrize(("most", "agrees"), [(0, True), (2, False)])
def test_little_error_is_half_a_link(most: int, agrees: bool):
    means = masiv_5.summarized(rows({(MINER, V): [0, most], (PEERS, V): [0, 0]}))
    assert masiv_5.little(means, V, 0.2).agrees is agrees


def test_nothing_is_in_error_where_nothing_is_randomized():
    codes = data.six_sample(50_000, np.random.default_rng(5))
    owner = SeededOwner.of("masiv", 2, 50_000)
    for name in (MINER, PEERS):
        seen = masiv_5._views(owner, codes, name, 0.0, 0)
        found = masiv_5.structure(seen, masiv_5.SCORES["C* = 1"](0.0))
        assert set(found.links) == set(data.STRUCTURE.links)
        learned = masiv_5.network(seen, found)
        wanted = masiv_5.network({"ABCDEF": masiv_5._exact(codes)}, found)
        for node, table in wanted.tables.items():
            np.testing.assert_allclose(learned.tables[node], table, rtol=1e-9)


def test_the_printed_penalty_allows_no_link():
    """A link is worth at most N log 2 nats; two parameters cost more than that at N / 2 each."""
    finding = masiv_5.printed_penalty(Setting(seed=4))
    assert finding.agrees is False
    assert "0 of 7 links" in finding.text
    assert math.log(2) < 2 / 2
