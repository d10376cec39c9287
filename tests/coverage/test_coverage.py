"""A short form of `make campaign`: every setting's intervals, and narrower ones beside them.

A setting fails where its coverage is outside what it states by more than chance explains: a
program that keeps its word fails one with probability `FALSE_ALARM` at most, over all repetitions
that the fixed seeds could have drawn.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage.__main__ import ALL
from benchmarks.coverage.setting import (
    ALLOWED,
    PAGE,
    Coverage,
    CoverageResult,
    Interval,
    Setting,
    covered,
    page,
    records_of,
    reports_of,
    row,
)
from pramana_core.channels import Dense, Symmetric
from pramana_core.domain import Domain
from pramana_core.plan import Block, Plan

pytestmark = pytest.mark.calibration

FALSE_ALARM = 1e-6
NARROWED = 0.4

RESULTS = Path(PAGE).parents[1] / "benchmarks" / "coverage" / "results.json"


def kept(setting: Setting, found: Coverage) -> bool:
    """Whether the coverage found could be of a setting that keeps its word."""
    error = max(found.error, np.sqrt(0.95 * 0.05 / found.printed.sum()))
    half = stats.norm.isf(FALSE_ALARM / 2) * error
    repetitions = found.printed.sum(axis=0)
    fewest = stats.binom.ppf(FALSE_ALARM / len(repetitions), repetitions, setting.worst)
    each = (found.holds.sum(axis=0) >= fewest).all()
    return bool(found.mean + half >= ALLOWED[0] and found.mean - half <= setting.below and each)


@pytest.mark.parametrize("setting", ALL, ids=lambda s: f"{s.name}, {s.where}")
def test_the_intervals_of_a_setting_cover_as_it_says(setting: Setting):
    found = covered(setting, range(setting.short * 6 // 10))
    assert found.printed.any()
    assert kept(setting, found), (found.mean, found.each.min())
    assert not kept(setting, found.narrowed(NARROWED)), "intervals far too narrow passed"


def simple(scale: float) -> Setting:
    def repeat(rng: np.random.Generator) -> Interval:
        estimate = rng.normal(size=5)
        return Interval(np.zeros(5), estimate - 1.96 * scale, estimate + 1.96 * scale)

    return Setting("normal means", f"errors times {scale}", 1, repeat)


def test_honest_intervals_pass_and_others_do_not():
    for scale, passes in ((1.0, True), (0.6, False), (2.5, False)):
        setting = simple(scale)
        assert kept(setting, covered(setting, range(300))) == passes


def test_what_is_counted_of_two_intervals_by_hand():
    """Of four studies the first interval holds the truth in three, the second in one of two."""
    low = np.array([[-1, -1], [-1, 1], [1, np.nan], [-1, np.nan]], dtype=float)
    found = Coverage(np.zeros((4, 2)), low, low + 2)
    counted = CoverageResult.of(simple(1.0), found)
    assert (counted.mean, counted.worst) == (round(4 / 6, 4), 0.5)
    assert (counted.above, counted.below) == (round(2 / 6, 4), 0.0)
    # Studies are independent: shares of 2, 1, 0 and 1 of 2, 2, 1 and 1 intervals, of 2/3 each.
    assert counted.error == round(np.sqrt((2 / 3) ** 2 + 1 / 9 + 4 / 9 + 1 / 9) / 6, 4)


def test_the_page_says_why_some_are_wide():
    honest, wide = simple(1.0), simple(2.0)
    wide = Setting(**{**vars(wide), "why": "it is meant to be", "below": 1.0})
    text = page([CoverageResult.of(s, covered(s, range(50))) for s in (honest, wide)])
    assert "| normal means | errors times 1.0 | 1 | 5 |" in text
    assert "it is meant to be" in text
    assert "repeated 50 times" in text


def test_no_two_settings_share_a_name_or_a_seed():
    assert len({(s.name, s.where) for s in ALL}) == len(ALL)
    assert len({s.seed for s in ALL}) == len(ALL)


def test_the_page_has_every_setting_as_it_was_counted():
    kept = [CoverageResult(**one) for one in json.loads(RESULTS.read_text(encoding="utf-8"))]
    assert [(c.name, c.where, c.seed, c.why) for c in kept] == [
        (s.name, s.where, s.seed, s.why) for s in ALL
    ]
    assert min(c.repetitions for c in kept) >= 1000
    assert PAGE.read_text(encoding="utf-8") == page(kept)
    for counted, setting in zip(kept, ALL, strict=True):
        assert row(counted) in PAGE.read_text(encoding="utf-8")
        error = 4.9 * max(counted.error, 0.004)
        assert ALLOWED[0] - error <= counted.mean <= setting.below + error


def test_records_are_randomized_by_the_declared_matrix(assert_distribution):
    domain = Domain.of(a="xyz", b="uv", c="01")
    joint = Block(domain.variables[:2], Symmetric.from_gamma(6, 5.0))
    plan = Plan((joint, Block((domain["c"],), Dense.binary(0.1, 0.25))))
    law = np.arange(1.0, 13.0).reshape(3, 2, 2)
    rng = np.random.default_rng(4)
    true = records_of(plan, law, 30_000, rng)
    reports = reports_of(plan, true, rng).table(["a", "b", "c"])
    kron = np.kron(joint.channel.matrix(), plan.blocks[1].channel.matrix())
    expected = 30_000 * (law.ravel() / law.sum()) @ kron
    assert_distribution(reports, expected)
    with pytest.raises(AssertionError, match="chi-square"):
        assert_distribution(reports, 30_000 * law.ravel() / law.sum())
