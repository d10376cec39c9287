"""Models travel as JSON and predict the same; CSV and picture show their numbers."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from pramana_core.errors import InputError
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.common.options import RegressionOptions
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.model import DOCUMENT
from pramana_core.regression.pictures import coefficients_chart
from pramana_core.regression.words import warnings, write_regression_csv
from tests.shared.regression.tables import store, table, values


@pytest.fixture(scope="module", params=[1, 3])
def model(request):
    return learn_regression(store(), "spends", options=RegressionOptions(request.param))


def test_a_model_is_read_back_equal_and_predicts_the_same(model):
    again = DOCUMENT.read(write_json(DOCUMENT.write(model)))
    assert again == model
    people = store(seed=5)
    np.testing.assert_array_equal(again.predict(people), model.predict(people))


def test_no_record_is_in_a_document(model):
    """Neither a target nor a feature of any record is among its numbers."""
    found: set[float] = set()

    def keep(number):
        found.add(float(number))

    json.loads(json.dumps(DOCUMENT.write(model)), parse_float=keep)
    assert len(found) > 30
    for column in ("age", "income", "spends"):
        assert not found & set(values(store(), column).tolist())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kind",), "tree"),
        (("target",), 3),
        (("weights",), [1.0]),
        (("terms", "terms"), [{"column": "x", "power": 1, "category": None}] * 4),
        (("terms", "terms", 1, "category"), "z"),
        (("terms", "centres"), {}),
        (("options", "degree"), 99),
        (("more",), 1),
    ],
)
def test_an_invalid_document_is_refused(path, value):
    document = DOCUMENT.write(learn_regression(store(), "spends"))
    part = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    with pytest.raises(InputError):
        DOCUMENT.read(json.dumps(document))


def test_csv_has_the_coefficients_with_their_intervals(model):
    rows = list(csv.DictReader(io.StringIO(write_regression_csv(model))))
    assert [float(row["estimate"]) for row in rows] == [c.estimate for c in model.coefficients]
    assert [float(row["high"]) for row in rows] == [c.interval[1] for c in model.coefficients]


def test_warnings_name_what_was_left_out():
    x = np.linspace(1, 9, 500)
    wide = table(x=x, one=[1] * 500, twice=2 * x, y=np.sin(x))
    masked, constant, redundant = warnings(learn_regression(wide, "y"))
    assert "masking" in masked
    assert "one" in constant
    assert "twice" in redundant
    assert warnings(learn_regression(table(x=x, y=np.sin(x)), "y", masked=False)) == []


def test_the_picture_is_svg_and_escapes_names():
    people = store(200)
    renamed = table(**{"<age> & $x$": values(people, "age"), "<spends>": values(people, "spends")})
    drawn = coefficients_chart(learn_regression(renamed, "<spends>")).svg()
    assert ET.fromstring(drawn).tag.endswith("svg")
    assert "<spends>" not in drawn
