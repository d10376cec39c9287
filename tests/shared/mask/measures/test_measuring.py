"""All measures of a table at once: of nothing hidden, of exact noise, of categories."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pramana_core.errors import JobCancelled
from pramana_core.mask import METHODS
from pramana_core.mask.measures import measure_all
from pramana_core.mask.measures.measuring import compared
from pramana_core.mask.measures.security import security_rows

pytestmark = pytest.mark.usefixtures("three_bandwidths")


def rng():
    return np.random.default_rng(1)


@pytest.mark.slow
def test_y_equal_to_x_is_perfectly_useful_and_hides_nothing(humped):
    s, x = humped(1, 120)
    found = measure_all(s, x, x, rng=rng())
    for name in ("relationship-slope-kernel", "relationship-r2-linear"):
        values = [row.value for row in found.named(name) if not math.isnan(row.value)]
        assert values == pytest.approx([1] * len(values))
        assert values
    for label in ("X1", "X2"):
        assert "reveals something" in found.named("snooper-gain", label)[0].sentence


@pytest.mark.slow
def test_exact_noise_keeps_lines_and_gives_nothing_away(humped):
    s, x = humped(2, 300)
    found = measure_all(s, x, METHODS["egadp"](s, x, rng()).matrix, rng=rng())
    assert found.named("relationship-slope-linear", "X1 given S1, S2")[0].value == pytest.approx(1)
    assert found.named("relationship-slope-kernel", "X1 given S1, S2")[0].value < 0.9
    for label in ("X1", "X2"):
        assert -0.1 < found.named("snooper-gain", label)[0].value < 0.03
    assert found.alarms == ()


@pytest.mark.slow
def test_rows_are_sentences_and_steps_are_told_to_the_last(humped):
    s, x = humped(3, 60)
    told = []
    found = measure_all(s, x, x[::-1], rng=rng(), on_step=lambda *step: told.append(step))
    for row in found:
        assert row.sentence.endswith(".")
        assert "nan" not in row.sentence
        assert row.error is None or row.error >= 0
    keys = [(row.name, row.about) for row in found]
    assert len(set(keys)) == len(keys)
    assert [row.group for row in found] == sorted((row.group for row in found), reverse=True)
    assert told == [(step + 1, len(told)) for step in range(len(told))]
    # The same randomness gives the same measures.
    assert repr(measure_all(s, x, x[::-1], rng=rng())) == repr(found)

    def stop(done, total):
        raise JobCancelled("Enough.")

    with pytest.raises(JobCancelled):
        measure_all(s, x, x, rng=rng(), on_step=stop)


@pytest.mark.slow
def test_a_curve_that_s_tells_raises_no_alarm_and_noise_on_x_does(humped, independent, noisy):
    table = humped(11, 400)
    kept = measure_all(*table, independent(table, 12), rng=rng())
    assert kept.alarms == ()
    names = {row.name for row in measure_all(*table, noisy(table, 13), rng=rng()).alarms}
    assert names >= {"snooper-gain"}


@pytest.mark.slow
@pytest.mark.parametrize("turned", [np.exp, lambda x: np.where(x > 5.5, 1e12, x)])
def test_skewed_columns_and_outliers_raise_no_false_alarm_and_hide_no_true_one(humped, turned):
    s, x = humped(14, 200)
    other = turned(x[rng().permutation(200)])
    assert not alarms(None, turned(x), other)
    near = turned(x + 0.1 * np.random.default_rng(15).standard_normal(x.shape))
    assert alarms(s, turned(x), near)


def alarms(s, x, y):
    """The names of security measures that raise an alarm."""
    rows = security_rows(*compared(s, x, y), rng(), lambda: None)
    return {row.name for row in rows if row.alarm}


@pytest.mark.slow
def test_many_records_are_sampled_for_kernels_and_it_is_said(humped):
    s, x = humped(9, 2_500)
    found = measure_all(s[:, 0], x[:, 0], x[::-1, 0], rng=rng())
    assert "2,000 random records" in found.notes[0]
