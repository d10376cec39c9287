"""FRAPP's experiments: mining, mechanisms and findings against brute force and closed forms.

The public table "adult" is read where the folder of public data is there; otherwise those tests
are skipped.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.reproduce import frapp
from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.tables import domain_of
from pramana_core.errors import MissingColumn, OptionError
from tests.places import DATA

pytestmark = pytest.mark.calibration

needs_adult = pytest.mark.skipif(
    not all((DATA / name).is_file() for name in frapp.CENSUS_FILES),
    reason="the public table adult is not there",
)


# --- the tables ----------------------------------------------------------------------------------


def health_frame(records: int = 400) -> pd.DataFrame:
    """A made-up table of HEALTH's form; nearby attributes go together."""
    rng = np.random.default_rng(8)
    hidden = rng.random(records)
    made = {}
    for grouping in frapp.HEALTH:
        share = np.clip(hidden + rng.normal(0, 0.2, records), 0, 0.999)
        if grouping.groups:
            labels = np.array(grouping.variable.categories)
            made[grouping.column] = labels[(share * len(labels)).astype(int)]
        else:
            made[grouping.column] = (share * 1.2 * grouping.cuts[-1]).round(1)
    return pd.DataFrame(made)


def fewer_columns(patch: pytest.MonkeyPatch) -> None:
    """Leave three of HEALTH's seven, to be quick: the same code on a smaller domain."""
    patch.setattr(frapp, "HEALTH", tuple(frapp.HEALTH[k] for k in (0, 4, 5)))


def test_a_table_of_healths_form(tmp_path: Path):
    frame = health_frame()
    frame.to_csv(tmp_path / "health.csv", index=False)
    table = frapp.health(Setting(data=tmp_path))
    assert table.size == 400
    assert table.domain.size == 7500
    old = (frame["AGE"] >= 80) & (frame["SEX"] == "Female")
    both = (table.codes["AGE"] == 4) & (table.codes["SEX"] == 1)
    assert math.isclose(both.mean(), old.mean())
    frame.drop(columns="PHONE").to_csv(tmp_path / "health.csv", index=False)
    with pytest.raises(MissingColumn) as missing:
        frapp.health(Setting(data=tmp_path))
    assert missing.value.where == "PHONE"
    with pytest.raises(OptionError):
        frapp.health(Setting(data=Path(__file__).parent))


@needs_adult
def test_table_3_by_grouping_the_rows():
    setting = Setting(data=DATA)
    table = frapp.census(setting)
    frame = pd.DataFrame(table.codes)
    assert len(frame) == 48_842
    by_rows = [
        sum(
            int((frame.groupby(list(names)).size() >= 0.02 * len(frame)).sum())
            for names in itertools.combinations(frame.columns, length)
        )
        for length in range(1, 7)
    ]
    result = frapp.run_table_3(setting)
    shown = result.tables["itemsets"]
    assert shown["computed"].tolist() == by_rows
    assert (shown["computed"] - shown["printed"]).abs().max() <= 2
    verdicts = [finding.agrees for finding in result.findings]
    assert verdicts[:6] == [a == b for a, b in zip(by_rows, shown["printed"], strict=True)]
    assert verdicts[6] is False


# --- mechanisms ----------------------------------------------------------------------------------


def test_every_mechanism_is_held_to_gamma_19():
    for over in (domain_of(a) for a in (frapp.CENSUS, frapp.HEALTH)):
        *exact, printed = frapp.papers_mechanisms(over)
        for mechanism in exact:
            assert 18.98 < mechanism.gamma <= 19
        # With K = 3 of M items kept uniformly, 0 to 3: the report of all of a record's items
        # against one of none of them.
        rho = 0.494
        assert math.isclose(printed.gamma, 1 + 1 / rho + 1 / rho**2 + 1 / rho**3, rel_tol=1e-6)


# --- whole experiments ---------------------------------------------------------------------------


def test_frapp_health_on_a_made_up_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fewer_columns(monkeypatch)
    health_frame().to_csv(tmp_path / "health.csv", index=False)
    result = frapp.mine_health(Setting(data=tmp_path, quick=True))
    frame = health_frame()
    singles = sum(
        (np.histogram(frame["AGE"], [0, 20, 40, 60, 80, 200])[0] >= 8).sum()
        if name == "AGE"
        else (frame[name].value_counts() >= 8).sum()
        for name in ("AGE", "SEX", "INCFAM20")
    )
    assert f"Length 1: {singles} itemsets" in result.findings[0].text
    assert frapp.OURS in set(result.tables["means"]["mechanism"])
    assert max(result.facts["gamma"][name] for name in ("DET-GD", frapp.OURS)) <= 19


def test_posteriors_by_bayes_rule():
    """gamma x + r on the diagonal and x - r / (n - 1) elsewhere, prior 5 %."""
    over = domain_of(frapp.CENSUS)
    found = frapp.posteriors(over, 6)
    x, n = 1 / (19 + 1999), 2000
    for row in found.itertuples():
        for sign, seen in ((-1, row.low), (1, row.high)):
            r = sign * row.alpha_share * 19 * x
            own, other = 0.05 * (19 * x + r), 0.95 * (x - r / (n - 1))
            assert math.isclose(seen, own / (own + other), rel_tol=1e-4, abs_tol=1e-4)
        assert math.isclose(row.miner, 0.5, rel_tol=1e-3)


# --- figure 4 ------------------------------------------------------------------------------------


def conditions() -> pd.DataFrame:
    table = frapp.run_4(Setting()).tables["conditions"]
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
