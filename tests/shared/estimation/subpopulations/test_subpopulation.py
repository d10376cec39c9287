"""Counts within subpopulations: record by record, and over every possible report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import EstimationError, LimitExceeded, OptionError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.estimation.subpopulations import TableSlices, WeightedRecords
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Block, Plan
from tests.shared.estimation.recordwise import PLANS, Records

PATHS: list[tuple[dict[str, int], list[list[str]]]] = [
    ({}, [["a"], ["b", "a"], ["c", "a", "b"]]),
    ({"b": 2}, [["a"], ["c"], ["c", "a"]]),
    ({"a": 1}, [["b"], ["c", "b"], ["b", "c"]]),
    ({"c": 0, "a": 1}, [["b"]]),
    ({"a": 0, "b": 1}, [["c"]]),
    ({"b": 0, "a": 1}, [["c"]]),
]


class TablesOnly:
    """Reports known by their tables alone."""

    def __init__(self, reports: ReportedCounts):
        self.records, self.table = reports.records, reports.table


def down(subpopulation, path: Mapping[str, int]):
    for variable, code in path.items():
        subpopulation = subpopulation.within(variable, code)
    assert dict(subpopulation.given) == path
    return subpopulation


def close(got, wanted) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-7)


def assert_tables(everyone, sources: Sequence[Records], paths=PATHS) -> None:
    """Sums over single records of the estimators of the cells that have what is given."""
    for path, asked in paths:
        within = down(everyone, path)
        for names in asked:
            table = within.table(names)
            cells = [made.estimators([*path, *names]) for made in sources]
            functions = np.concatenate(cells)[(slice(None), *path.values())]
            flat = functions.reshape(len(functions), -1)
            counts, products = flat.sum(axis=0), flat.T @ flat
            assert table.domain.names == tuple(names)
            assert table.records == len(flat)
            close(table.counts, functions.sum(axis=0))
            close(table.covariance, products - np.diag(counts))


@pytest.mark.parametrize("cube", [True, False])
@pytest.mark.parametrize("records", [1, 150, 3000])
@pytest.mark.parametrize("name", PLANS)
def test_tables_are_sums_over_single_records(name: str, records: int, cube: bool, monkeypatch):
    if not cube:
        monkeypatch.setattr("pramana_core.estimation.subpopulations.CUBE_CELLS", 0)
    made = Records.random(PLANS[name], records, seed=1)
    everyone = made.marginals().subpopulation()
    assert isinstance(everyone.tabulate, WeightedRecords)
    assert_tables(everyone, [made])


@pytest.mark.parametrize("name", PLANS)
def test_the_tables_of_a_node_come_from_fewer_passes_and_are_the_same(name: str, monkeypatch):
    place = "pramana_core.estimation.subpopulations"
    monkeypatch.setattr(f"{place}.CUBE_CELLS", 0)
    made, passes, counted = Records.random(PLANS[name], 500, seed=4), [], ReportedCounts.counted

    def count(reports, task, *more):
        passes.append(task)
        return counted(reports, task, *more)

    monkeypatch.setattr(ReportedCounts, "counted", count)
    found, numbers = [], []
    for _ in range(2):
        everyone = made.marginals().subpopulation()
        nodes = [down(everyone, path) for path in ({}, {"a": 1}, {"a": 0}, {})]
        names = [["b"], ["c"], ["c", "b"], ["b", "c"]]
        tables = [node.table(wanted) for node in nodes for wanted in names]
        found.append([(t.counts.tolist(), t.covariance.tolist()) for t in tables])
        numbers.append(len(passes))
        monkeypatch.setattr(f"{place}.SUBTABLE_CELLS", 0)
    assert found[0] == found[1]
    # A pass for each node; without wider passes, one for each set of columns.
    assert name != "independent" or numbers == [4, 4 + 4 * 3]


@pytest.mark.parametrize("name", PLANS)
def test_slices_of_tables_are_the_same(name: str):
    made = Records.random(PLANS[name], 150, seed=2)
    everyone = EstimatedMarginals(TablesOnly(made.counts()), made.plan).subpopulation()
    assert isinstance(everyone.tabulate, TableSlices)
    assert_tables(everyone, [made])


def test_the_comparison_sees_another_plan_path_and_error():
    """The control."""
    made = Records.random(PLANS["joint-symmetric"], 150, seed=3)
    everyone = made.marginals().subpopulation()
    for path in PATHS:
        with pytest.raises(AssertionError):
            assert_tables(everyone, [Records(PLANS["independent"], made.columns)], [path])
    one, other = (everyone.within("b", code).table(["a", "c"]) for code in (0, 1))
    assert not np.allclose(one.counts, other.counts)
    assert not np.allclose(one.covariance, other.covariance)


# Other estimators, strata, many variables ---------------------------------------------------------


def assert_slices(marginals, paths=PATHS) -> None:
    """Slices of the table over everything, and blocks of its covariance."""
    for path, asked in paths:
        for names in asked:
            table = down(marginals.subpopulation(), path).table(names)
            whole = marginals.marginal([*path, *names])
            places = np.arange(whole.counts.size).reshape(whole.counts.shape)
            inside = places[tuple(path.values())].ravel()
            assert table.domain.names == tuple(names)
            assert table.records == marginals.records
            close(table.counts, whole.counts[tuple(path.values())])
            close(table.covariance, whole.covariance(population=False)[np.ix_(inside, inside)])


@pytest.mark.parametrize("name", ["independent", "not-lumpable", "sampled", "wide"])
def test_tables_by_likelihood_are_slices(name: str):
    marginals = Records.random(PLANS[name], 3000, seed=6).marginals(estimator="ml")
    assert isinstance(marginals.subpopulation().tabulate, TableSlices)
    assert_slices(marginals, PATHS[1:5])


STRATA = {
    "one plan": ("joint-symmetric", "joint-symmetric"),
    "other plans": ("independent", "not-lumpable", "wide", "one-hot", "mixture"),
}


@pytest.mark.parametrize("names", STRATA.values(), ids=STRATA.keys())
def test_tables_of_strata_add_up(names):
    sources = [Records.random(PLANS[n], 30 + 7 * i, seed=i) for i, n in enumerate(names)]
    reports = [(made.counts(), made.plan) for made in sources]
    assert_tables(EstimatedMarginals.of(reports, estimator="sum").subpopulation(), sources)


def test_weighted_strata_are_slices_of_the_weighted_table():
    names = ("independent", "mixture", "joint-symmetric")
    sources = [Records.random(PLANS[n], 300 + i, seed=i) for i, n in enumerate(names)]
    marginals = EstimatedMarginals.of([(made.counts(), made.plan) for made in sources])
    assert isinstance(marginals.subpopulation().tabulate, WeightedRecords)
    assert not np.allclose(marginals.marginal(["a", "b"]).factors, 1)
    assert_slices(marginals, PATHS[1:])


def test_strata_that_do_not_report_all_variables():
    full = Records.random(PLANS["independent"], 400, seed=7)
    part = Records.random(Plan(PLANS["independent"].blocks[:2]), 300, seed=8)
    sources = [(made.counts(), made.plan) for made in (full, part)]
    everyone = EstimatedMarginals.of(sources).subpopulation()
    both = [full, part]
    assert_tables(everyone, both, [({}, [["a"], ["b", "a"]]), ({"b": 1}, [["a"]])])
    with pytest.raises(EstimationError):
        everyone.within("c", 0).table(["a"])
    assert_slices(EstimatedMarginals.of(sources, estimator="ml"))


# What cannot be asked -----------------------------------------------------------------------------


WRONG = {
    "unknown": (lambda s: s.within("z", 0), UnknownVariable),
    "given twice": (lambda s: s.within("a", 0).within("a", 0), OptionError),
    "no such code": (lambda s: s.within("b", 3), OptionError),
    "negative code": (lambda s: s.within("b", -1), OptionError),
    "asked unknown": (lambda s: s.table(["a", "z"]), UnknownVariable),
    "asked unknown within": (lambda s: s.within("a", 0).table(["z"]), UnknownVariable),
    "asked and given": (lambda s: s.within("a", 0).table(["a", "b"]), OptionError),
    "asked twice": (lambda s: s.table(["b", "b"]), OptionError),
    "asked twice within": (lambda s: s.within("a", 0).table(["b", "b"]), OptionError),
    "none asked": (lambda s: s.table([]), OptionError),
    "none asked within": (lambda s: s.within("a", 0).table([]), OptionError),
}


@pytest.mark.parametrize(("ask", "error"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_asked_is_refused(ask, error):
    made = Records.random(PLANS["not-lumpable"], 40, seed=10)
    with pytest.raises(error):
        ask(made.marginals().subpopulation())


def test_a_path_of_many_variables_needs_no_table_of_them():
    """Twelve of eight categories, as of adult: the table of ten and two more has 2^36 cells."""
    domain = Domain.of(**{f"v{i:02}": map(str, range(8)) for i in range(12)})
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(8, 0.1)) for v in domain))
    made = Records.random(plan, 60, seed=4)
    path = {f"v{i:02}": i % 8 for i in range(10)}
    within = down(made.marginals().subpopulation(), path)
    asked = within.table(["v11", "v10"])
    # Estimators of a path are the products of those of its steps, record by record.
    inverse = np.linalg.inv(plan.blocks[0].channel.matrix())
    own = [inverse.T[:, made.columns[name]].T for name in domain.names]
    flat = np.prod([own[i][:, i % 8] for i in range(10)], axis=0)
    rows = flat[:, None, None] * own[11][:, :, None] * own[10][:, None, :]
    close(asked.counts, rows.sum(axis=0))
    products = rows.reshape(60, -1).T @ rows.reshape(60, -1)
    close(asked.covariance, products - np.diag(rows.sum(axis=0).ravel()))


@pytest.mark.parametrize("kind", [lambda reports: reports, TablesOnly], ids=["cube", "tables"])
def test_a_covariance_too_large_to_list_is_refused(kind):
    """4,097 cells: no more than `MarginalTable.covariance` lists."""
    domain = Domain.of(a=map(str, range(4097)), c="pq")
    made = Records.random(Plan.unrandomized(domain), 50, seed=12)
    within = EstimatedMarginals(kind(made.counts()), made.plan).subpopulation().within("c", 0)
    with pytest.raises(LimitExceeded):
        _ = within.table(["a"]).covariance
