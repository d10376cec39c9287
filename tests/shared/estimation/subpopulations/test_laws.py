"""What records of a cell say of their row, against the list of all truths and all reports."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pramana_core.estimation import subpopulations as laws
from pramana_core.estimation.estimated import EstimatedMarginals
from tests.shared.estimation.recordwise import DOMAIN, PLANS, Records

PATHS = [({}, ["a"]), ({}, ["c", "b"]), ({"c": 1}, ["a", "b"]), ({"b": 2, "a": 1}, ["c"])]


def everything(plan) -> tuple[Records, np.ndarray]:
    """Every possible report once, and the probability of each by true cell of the whole domain."""
    sizes = plan.reported_sizes
    columns = zip(*itertools.product(*(range(size) for size in sizes.values())), strict=True)
    codes = {n: np.array(c, dtype=np.uint16) for n, c in zip(sizes, columns, strict=True)}
    chances = np.ones((*DOMAIN.shape, len(codes["a"])))
    for block in plan.blocks:
        each = [codes[n].astype(int) for n in block.names]
        told = np.ravel_multi_index(each, block.reported_shape)
        matrix = block.channel.matrix().reshape(*(v.size for v in block.variables), -1)[..., told]
        order = [n for n in DOMAIN.names if n in block.names]
        matrix = np.transpose(matrix, [*map(list(block.names).index, order), len(order)])
        shape = [v.size if v.name in block.names else 1 for v in DOMAIN]
        chances = chances * matrix.reshape(*shape, -1)
    return Records(plan, codes), chances


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(("path", "asked"), PATHS)
def test_moments_are_means_over_all_reports_of_a_cells_records(name, path, asked):
    plan = PLANS[name]
    records, chances = everything(plan)
    within = records.marginals().subpopulation()
    for variable, code in path.items():
        within = within.within(variable, code)
    found = within.table(asked).moments_given_cell()
    assert found is not None
    functions = records.estimators([*path, *asked])[(slice(None), *path.values())]
    rows = functions.reshape(records.size, -1, functions.shape[-1])
    # Truths with what is given, spread equally over what is not asked for.
    places = tuple(path.get(v.name, slice(None)) for v in DOMAIN)
    left = [v.name for v in DOMAIN if v.name not in path]
    gone = tuple(axis for axis, n in enumerate(left) if n not in asked)
    law = chances[places].mean(axis=gone)
    kept = [n for n in left if n in asked]
    law = np.transpose(law, [*map(kept.index, asked), len(kept)])
    law = law.reshape(rows.shape[1], rows.shape[2], -1)
    margin = rows.sum(axis=2)
    np.testing.assert_allclose(found.square, np.einsum("rkc,kdr->kcd", rows**2, law), atol=1e-9)
    cross = np.einsum("rkc,rk,kdr->kcd", rows, margin, law)
    np.testing.assert_allclose(found.cross, cross, atol=1e-9)
    np.testing.assert_allclose(found.margin, np.einsum("rk,kdr->kd", margin**2, law), atol=1e-9)


def test_owners_records_are_weighted_by_their_number():
    parts = [Records.random(PLANS[n], size, 1) for n, size in (("independent", 30), ("clean", 90))]
    each = [p.marginals().subpopulation().table(["a", "b"]).moments_given_cell() for p in parts]
    sources = [(p.counts(), p.plan) for p in parts]
    both = EstimatedMarginals.of(sources, estimator="sum").subpopulation().table(["a", "b"])
    for part in ("square", "cross", "margin"):
        expected = (30 * getattr(each[0], part) + 90 * getattr(each[1], part)) / 120
        np.testing.assert_allclose(getattr(both.moments_given_cell(), part), expected)


def test_where_they_are_too_many_to_list_there_are_none(monkeypatch):
    table = Records.random(PLANS["independent"], 30, 1).marginals().subpopulation().table(["a"])
    assert table.moments_given_cell() is not None
    monkeypatch.setattr(laws, "_MOMENTS", 1)
    assert table.moments_given_cell() is None
