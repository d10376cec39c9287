"""Categories in other spellings, codes that consist of digits, and first rows that are records."""

import pyarrow as pa
import pytest

from pramana_core.encoding import UNKNOWN, encode
from pramana_core.spellings import (
    are_years,
    looks_like_record,
    plainest,
    why_codes,
)


@pytest.mark.parametrize(
    ("labels", "text", "code"),
    [
        (["1", "2"], "1.0", 0), (["1.0", "2.0"], "2", 1), (["0.5", "7.5"], "7.50", 1),
        (["-3", "3"], "-3.000", 0), (["no", "yes"], "yes", 1), (["true", "false"], "True", 0),
        (["False", "True"], "true", 1), (["0", "1"], "True", 1), (["0", "1"], "false", 0),
        (["2020-01-31", "2020-02-01"], "2020-01-31 00:00:00", 0),
        (["2020-01-31", "2020-02-01"], "2020-01-31T00:00:00.000", 0),
        (["12:30:00", "13:00:00"], "12:30:00.000000", 0),
        # Both are labels, or the digits are a code: nothing is taken for something else.
        (["1", "1.0"], "1.0", 1), (["1", "1.0"], "1.00", None), (["1", "2"], "01", None),
        (["02116", "10001"], "2116", None), (["1", "2"], "1e0", None), (["No", "Yes"], "no", None),
    ],
)  # fmt: skip
def test_a_category_is_found_by_other_spellings_of_its_value(labels, text, code):
    assert encode(pa.array([text, labels[0]]), labels).tolist() == [
        UNKNOWN if code is None else code,
        0,
    ]


@pytest.mark.parametrize("text", ["1.", "250.00", "1.10", "x.0", "00.0", "v1.0", ""])
def test_only_what_is_written_as_a_decimal_loses_its_zeros(text):
    expected = {"1.": "1", "250.00": "250", "1.10": "1.1"}
    assert plainest(text) == expected.get(text, text)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("place", ["02116", "10001"]), ("ward", ["007", "12"]), ("gene", ["1E5", "2E3", "105"]),
        ("contact", ["+4930123", "+4989555"]), ("contact", ["4930123456", "8955512345"]),
        ("zip", ["10115", "99998"]), ("home_postcode", ["1010", "4020"]),
        ("areaCode", ["30", "89"]),
        ("seen", ["19871231", "20030115"]), ("account", ["12345678901234567", "5"]),
        ("tel.", ["112", "110"]), ("icd", ["250", "401"]),
    ],
)  # fmt: skip
def test_codes_of_digits_are_no_numbers(name, texts):
    assert why_codes(name, texts)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("age", ["0", "7", "102"]), ("bmi", ["19.5", "0.5"]), ("p", ["1e-05", "0.1", "1.5e+20"]),
        ("change", ["-3", "+2.5"]), ("income", ["900", "1250000"]),
        ("children", [str(k) for k in range(10)]),
        ("weight", ["70.0", "81.0"]), ("count", ["0", "00"][:1]), ("telemetry", ["10", "200"]),
        ("decode", ["1", "2"]), ("amount", ["19871350", "20030115", "5"]),
    ],
)  # fmt: skip
def test_numbers_that_count_or_measure_are_no_codes(name, texts):
    assert not why_codes(name, texts)


def test_years_are_known():
    assert are_years(["1999", "2024.0"])
    assert not are_years(["1999", "204"])
    assert not are_years([])


COLUMNS = [["1", "2", "3"], ["f", "m", "f"], ["1980-01-02", "1991-12-30", "2001-02-03"]]


@pytest.mark.parametrize(
    ("header", "columns", "record"),
    [
        (["9", "m", "1977-05-06"], COLUMNS, True),
        (["id", "sex", "born"], COLUMNS, False),
        (["id", "m", "born"], COLUMNS, False),
        (["5.1", "3.5", "Iris-setosa"], [["4.9"], ["3.0"], ["Iris-setosa"]], True),
        (["p007", "a", "x"], [["p008", "p009"], ["b", "c"], ["y", "z"]], False),
        (["39", " State-gov", "77516"], [["50"], ["Private"], ["83311"]], True),
        (["id", "2019", "2020"], [["a"], ["5"], ["6"]], True),
        (["", "sex", "ill"], [["0", "1"], ["f", "m"], ["no", "yes"]], False),
        (["id", "asthma"], [["1", "2"], ["asthma", ""]], False),
        (["q1", "q2"], [["a", "b"], ["c", "d"]], False),
        ([], [], False),
        (["a", "b"], [[], []], False),
    ],
)
def test_a_first_row_that_looks_like_those_below_is_a_record(header, columns, record):
    assert looks_like_record(header, columns) is record
