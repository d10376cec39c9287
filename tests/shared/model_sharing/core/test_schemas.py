"""Schemas of tables: what is declared, and what is read from records without telling one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana_core.domain import Variable
from pramana_core.errors import (
    DomainError,
    EmptyTable,
    LimitExceeded,
    MissingColumn,
    TableError,
    UnknownCategory,
)
from pramana_core.mixed import LARGEST, CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing import attributes
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.table_schema import inner_range, schema_of

AGES = np.array([21.0, 34, 35, 47, 58, 63, 64, 70])
TABLE = MixedTable(
    (
        NumericColumn("age", AGES),
        CategoricalColumn("ward", np.array([0, 1, 0, 1, 0, 1, 0, 1]), ("A", "B")),
        NumericColumn("grade", np.array([1.0, 2, 3, 1, 2, 3, 1, 2])),
        CategoricalColumn("ill", np.array([0, 0, 1, 1, 0, 1, 1, 1]), ("no", "yes")),
    ),
    8,
)


def test_a_schema_of_a_table():
    schema, records, classes = schema_of(TABLE, "ill")
    assert schema.target == Variable("ill", ("no", "yes"))
    assert schema.names == records.names == ("age", "ward", "grade")
    assert schema["ward"] == CategoricalAttribute("ward", ("A", "B"))
    age = schema["age"]
    assert isinstance(age, NumericAttribute)
    assert age.whole
    assert (age.low, age.high) == (30, 70)
    assert classes.tolist() == [0, 0, 1, 1, 0, 1, 1, 1]


def test_what_is_declared_is_taken():
    schema, records, _ = schema_of(
        TABLE,
        "ill",
        ranges={"age": (30, 60)},
        categories={"ward": ["C", "B", "A"], "grade": [1, 2, 3, 4]},
        whole=[],
    )
    assert schema["age"] == NumericAttribute("age", 30, 60, whole=False)
    found = records["age"]
    assert isinstance(found, NumericColumn)
    assert found.values.tolist() == [30, 34, 35, 47, 58, 60, 60, 60]
    ward = schema["ward"]
    assert isinstance(ward, CategoricalAttribute)
    assert ward.categories == ("C", "B", "A")
    codes = records["ward"]
    assert isinstance(codes, CategoricalColumn)
    assert codes.codes.tolist() == [2, 1, 2, 1, 2, 1, 2, 1]
    assert schema["grade"] == CategoricalAttribute("grade", ("1", "2", "3", "4"))


FRACTIONS = MixedTable(
    (NumericColumn("x", AGES + 0.5), CategoricalColumn("t", np.zeros(8, int), ("a", "b"))), 8
)


@pytest.mark.parametrize(
    ("table", "target", "declared", "error", "where"),
    [
        (TABLE, "no such", {}, MissingColumn, "no such"),
        (TABLE, "ill", {"ranges": {"size": (0, 1)}}, MissingColumn, "size"),
        (TABLE, "ill", {"ranges": {"ward": (0, 1)}}, TableError, "ward"),
        (TABLE, "ill", {"whole": ["ward"]}, TableError, "ward"),
        (TABLE, "ill", {"ranges": {"age": (9, 1)}}, DomainError, "age"),
        (TABLE, "ill", {"ranges": {"age": (0, np.nan)}}, DomainError, "age"),
        (TABLE, "ill", {"ranges": {"age": (0.0, 1.0)}}, TableError, "age"),
        (TABLE, "ill", {"categories": {"ward": ["A"]}}, UnknownCategory, "ward"),
        (TABLE, "ill", {"categories": {"ward": "AB"}}, DomainError, "ward"),
        (TABLE, "ill", {"categories": {"ward": ["A", "B", "B"]}}, DomainError, "ward"),
        (FRACTIONS, "x", {}, TableError, "x"),
        (FRACTIONS, "t", {"categories": {"x": ["1"]}}, TableError, "x"),
        (TABLE.project(["ill"]), "ill", {}, DomainError, "ill"),
        (TABLE.rows(np.zeros(8, bool)), "ill", {}, EmptyTable, None),
    ],
)
def test_what_cannot_be_declared_is_refused(
    table: MixedTable, target: str, declared: dict, error: type[Exception], where: str | None
):
    with pytest.raises(error) as raised:
        schema_of(table, target, **declared)
    assert raised.value.where == where


@given(st.lists(st.floats(-LARGEST, LARGEST), min_size=1, max_size=300))
def test_a_range_can_be_one_whatever_the_numbers(values: list[float]):
    low, high = inner_range(np.array(values))
    assert -LARGEST <= low < high <= LARGEST
    ordered = sorted(values)
    k = min(max(3, min(10, len(values) // 20)), (len(values) + 1) // 2)
    assert low <= ordered[k - 1]
    assert ordered[-k] <= high


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.floats(1e7, 1e9))
def test_an_extreme_does_not_show_in_a_range(low: int, width: int, extreme: float):
    values = np.linspace(low, low + width, 40)
    outside = values.copy()
    outside[0], outside[-1] = -extreme, extreme
    assert inner_range(values) == inner_range(outside)


def test_a_range_is_rounded_outward():
    assert inner_range(np.arange(18.0, 81)) == (20, 80)
    assert inner_range(np.arange(23.0, 81)) == (20, 80)
    assert inner_range(np.arange(200) / 1000) == (0.0, 0.19)
    assert inner_range(np.full(9, 7.0)) == (6.0, 8.0)
    assert inner_range(np.zeros(9))[0] < 0 < inner_range(np.zeros(9))[1]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: CategoricalAttribute("c", ()), DomainError),
        (lambda: CategoricalAttribute("c", ("a", "a")), DomainError),
        (lambda: CategoricalAttribute("", ("a",)), DomainError),
        (lambda: NumericAttribute("", 0, 1), DomainError),
        (lambda: NumericAttribute("x", 0, np.inf), DomainError),
        (lambda: NumericAttribute("x", 1.2, 1.8, whole=True), DomainError),
        (lambda: TreeSchema(Variable("t", ("a", "b")), ()), DomainError),
        (
            lambda: TreeSchema(Variable("t", ("a", "b")), (NumericAttribute("t", 0, 1),)),
            DomainError,
        ),
    ],
)
def test_what_cannot_be_is_refused(make, error: type[Exception]):
    with pytest.raises(error):
        make()


def test_an_attribute_that_names_records_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(attributes, "MOST_CATEGORIES", 2)
    with pytest.raises(LimitExceeded):
        CategoricalAttribute("c", ("a", "b", "d"))
