"""How often a masked table raises alarms, by method: hardly ever, and noise on X always."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import stats

from pramana.setups.relationships import DATASETS
from pramana_core.mask.catalogue import METHODS
from pramana_core.mask.measures.core.compared import compared
from pramana_core.mask.measures.security_rows import SIGNIFICANT, security_rows

OTHER = {
    "egadp": "MNL.01",
    "nmegadp": "NM.02",
    "nmegadp-shuffle": "NM.03",
    "shuffle": "MNL.02",
    "cgadp": "MNL.03",
    "synthetic-copula": "NM.01",
}
TESTS = 12
"""Rows of a report that can raise an alarm, with two columns of X."""

TABLES = int(os.environ.get("PRAMANA_ALARM_TABLES", "3"))
"""Of each method and generator; `make campaign` masks 25."""


def rows(method, table, seed):
    made = DATASETS[table]
    frame = made.make(seed, 500)
    told, true = frame[list(made.told)], frame[list(made.confidential)]
    options = {"noise": 0.1} if method in ("sadp", "cadp") else {}
    masked = METHODS[method](told, true, np.random.default_rng(100 + seed), **options)
    data = compared(told, true, masked.values)
    return security_rows(data, np.random.default_rng(200 + seed), lambda: None)


def judge(method, table, seeds):
    found = [rows(method, table, seed) for seed in range(seeds)]
    tables = sum(any(row.alarm for row in one) for one in found)
    assert tables <= stats.binom.isf(1e-6, seeds, TESTS * SIGNIFICANT)
    gains = [[r.value for r in one if r.name == "snooper-gain-kernel"] for one in found]
    means = np.mean(gains, axis=1)
    assert means.mean() <= 3 * means.std(ddof=1) / np.sqrt(seeds) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("method", ["egadp", "nmegadp"])
def test_methods_raise_no_alarm_on_the_store(method):
    judge(method, "ME.L", 3)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sadp", "cadp"])
def test_additive_noise_raises_alarms(method):
    names = {row.name for row in rows(method, "ME.L", 0) if row.alarm}
    assert names >= {"snooper-gain-kernel", "snooper-gain-linear", "canonical-correlation"}


@pytest.mark.slow
@pytest.mark.calibration
@pytest.mark.parametrize("method", OTHER)
def test_methods_raise_alarms_as_rarely_as_is_said(method):
    """Tables of the store and of another generator, 500 records each."""
    for table in ("ME.L", OTHER[method]):
        judge(method, table, TABLES)
