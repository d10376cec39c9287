"""Pieces alike in S: each record once, none too small, categories told apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana_core.mask.measures.core.compared import pieces_of


@pytest.mark.parametrize("records", [30, 100, 1000])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_each_record_is_in_one_piece(records, columns):
    told = np.random.default_rng(1).standard_normal((records, columns))
    pieces = pieces_of(told, 8, 20)
    assert sorted(np.concatenate(pieces)) == list(range(records))
    assert len(pieces) == (1 if not columns else {30: 1, 100: 4, 1000: 8}[records])
    assert min(len(rows) for rows in pieces) >= 20


def test_one_column_is_cut_into_intervals():
    told = np.random.default_rng(2).permutation(80.0 * np.arange(80) / 80)[:, None]
    bounds = sorted((told[rows].min(), told[rows].max()) for rows in pieces_of(told, 4, 10))
    assert all(a[1] < b[0] for a, b in itertools.pairwise(bounds))
    assert len(bounds) == 4


def test_categories_are_told_apart():
    told = np.repeat([0.0, 1.0], [70, 30])[:, None]
    pieces = pieces_of(told, 8, 10)
    assert sorted(len(rows) for rows in pieces) == [30, 70]
