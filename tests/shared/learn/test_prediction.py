"""Records of labels and numbers as codes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pramana_core.discretize import interval_labels
from pramana_core.domain import Domain, Variable
from pramana_core.encoding import interval_cuts
from pramana_core.errors import InputError, UnknownCategory, UnknownVariable
from pramana_core.learn.prediction import encode_record

CUTS = [
    (30.0, 45.0),
    (0.5,),
    (-1.5, -0.25, 0.0, 3.0),
    (-2e-07, 1e-05, 0.001),
    (-100.0, 1e300),
]
AGE = Variable("age", interval_labels((30.0, 45.0)), (20.0, 38.0, 60.0))
GRADE = Variable("grade", ("1", "2", "-"))
DOMAIN = Domain((AGE, GRADE))


def encode_records(domain: Domain, records: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    made = [encode_record(domain, record) for record in records]
    return {name: np.concatenate([codes[name] for codes in made]) for name in domain.names}


@pytest.mark.parametrize("cuts", CUTS)
def test_cuts_are_read_from_the_labels_that_were_made_of_them(cuts):
    assert interval_cuts(Variable("x", interval_labels(cuts)).categories) == cuts


@pytest.mark.parametrize("cuts", CUTS)
def test_a_last_category_of_missing_cells_leaves_the_cuts(cuts):
    variable = Variable("x", (*interval_labels(cuts), "?"))
    assert interval_cuts(variable.categories) == cuts
    codes = encode_records(Domain((variable,)), [{"x": 1e301}, {"x": "?"}])["x"]
    assert codes.tolist() == [variable.size - 2, variable.size - 1]


@pytest.mark.parametrize(
    "labels",
    [
        ("?", "<30", ">=30"),
        ("<30", ">=30", "?", "-"),
        ("<30", "?"),
        ("a", "b"),
        ("<30", ">=31"),
        ("<30", "31-45", ">=45"),
        ("<30", "30-45", ">45"),
        ("<45", "45-30", ">=30"),
        ("<30", "30-30", ">=30"),
        ("<x", ">=x"),
        ("<nan", ">=nan"),
        ("<inf", ">=inf"),
    ],
)
def test_other_labels_are_no_intervals(labels):
    assert interval_cuts(Variable("x", labels).categories) is None


@pytest.mark.parametrize("cuts", CUTS)
def test_numbers_go_into_their_intervals(cuts):
    """By counting the cuts that are not above a number, as a number and as its text."""
    variable = Variable("x", interval_labels(cuts))
    near = [
        edge for c in cuts for edge in (np.nextafter(c, -math.inf), c, np.nextafter(c, math.inf))
    ]
    numbers = [-1e9, 0, 17, *map(float, near)]
    wanted = [sum(cut <= number for cut in cuts) for number in numbers]
    for given in (numbers, [repr(n) for n in numbers], [np.float64(n) for n in numbers]):
        codes = encode_records(Domain((variable,)), [{"x": value} for value in given])["x"]
        assert codes.tolist() == wanted
        assert codes.dtype == np.uint8


def test_text_is_read_as_the_owners_read_their_cells():
    variable = Variable("x", ("caf\u00e9", "0", "12345678901234567", "0.3", "-1.5"))
    given = {
        "cafe\u0301": 0,
        " caf\u00e9 ": 0,
        -0.0: 1,
        12345678901234567: 2,
        np.int64(12345678901234567): 2,
        0.3: 3,
        -1.5: 4,
    }
    for value, code in given.items():
        assert encode_records(Domain((variable,)), [{"x": value}])["x"].tolist() == [code]
    # Equal numbers are one value, whichever comes first.
    assert encode_records(Domain((variable,)), [{"x": v} for v in (-0.0, 0)])["x"].tolist() == [
        1,
        1,
    ]


@pytest.mark.parametrize("text", ["4_0", "\uff14\uff10", "\u0664\u0660", "0x28", "4e", "nan", "+"])
def test_what_the_owners_do_not_read_as_a_number_is_none(text):
    with pytest.raises(UnknownCategory):
        encode_records(Domain((AGE,)), [{"age": text}])
    read = [{"age": t} for t in (" 40 ", "+40", "40.", "4e1", "400E-1")]
    assert encode_records(Domain((AGE,)), read)["age"].tolist() == [1] * 5


GOOD = {"age": 40, "grade": "1"}


@pytest.mark.parametrize(
    ("change", "error", "where"),
    [
        ({"age": None}, InputError, "age"),
        ({"age": math.nan}, InputError, "age"),
        ({"age": math.inf}, InputError, "age"),
        ({"age": 10**400}, InputError, "age"),
        ({"age": [40]}, InputError, "age"),
        ({"age": {"of": 40}}, InputError, "age"),
        ({"grade": True}, InputError, "grade"),
        ({"age": "forty-two"}, UnknownCategory, "age"),
        ({"age": "inf"}, UnknownCategory, "age"),
        ({"grade": 7272}, UnknownCategory, "grade"),
        ({"grade": 1.5}, UnknownCategory, "grade"),
        ({"zone": "a"}, UnknownVariable, "zone"),
    ],
)
def test_errors_name_the_variable_and_never_the_value(change, error, where):
    with pytest.raises(error) as caught:
        encode_record(DOMAIN, GOOD | change)
    assert type(caught.value) is error
    assert caught.value.where == where
    assert where in caught.value.message
    for value in change.values():
        assert str(value) not in caught.value.message or str(value) == "a"


def test_a_record_without_a_variable_is_refused():
    with pytest.raises(InputError):
        encode_record(DOMAIN, {"age": 3})
