"""Models travel as JSON and predict the same; words and pictures say what is in them."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from pramana_core.errors import InputError
from pramana_core.regression.documents import (
    read_regression_json,
    regression_json,
    write_regression_json,
)
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.model import TreeNode
from pramana_core.regression.options import RegressionOptions
from pramana_core.regression.pictures import effects_chart
from pramana_core.regression.words import (
    asked,
    warnings,
    write_regression_csv,
    write_regression_text,
)
from tests.shared.regression.tables import copies, store, table, values

MODELS = {
    "linear": RegressionOptions(),
    "polynomial": RegressionOptions(model="polynomial"),
    "kernel": RegressionOptions(model="kernel"),
    "tree": RegressionOptions(model="tree", min_leaf=30),
}


@pytest.fixture(scope="module")
def learned():
    return {name: learn_regression(copies(2), "spends", options=o) for name, o in MODELS.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_read_back_equal_and_predicts_the_same(learned, name):
    model = learned[name]
    again = read_regression_json(write_regression_json(model))
    assert again == model
    people = store(seed=5)
    np.testing.assert_array_equal(again.predict(people), model.predict(people))


@pytest.mark.parametrize("name", MODELS)
def test_no_record_is_in_a_document(learned, name):
    """Neither a target nor a feature of any record is among its numbers."""
    found = set()

    def walk(part):
        if isinstance(part, dict):
            part = list(part.values())
        if isinstance(part, list):
            for one in part:
                walk(one)
        elif isinstance(part, float):
            found.add(part)

    walk(regression_json(learned[name]))
    assert len(found) > 50
    for one in copies(2):
        for column in ("age", "income", "spends"):
            assert not found & set(values(one, column).tolist())


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("kind",), "tree", "kind"),
        (("target",), 3, "target"),
        (("form", "weights"), [1.0], "weights"),
        (("form", "terms", "terms"), [{"column": "x", "power": 1, "category": None}] * 4, "form"),
        (("options", "degree"), 99, "degree"),
        (("more",), 1, "more"),
    ],
)
def test_what_is_no_model_is_refused(learned, path, value, words):
    document = json.loads(write_regression_json(learned["linear"]))
    part = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    with pytest.raises(InputError, match=words):
        read_regression_json(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"below": 0}, "no two nodes"),
        ({"above": 99}, "no two nodes"),
        ({"threshold": None}, "no two nodes"),
        ({"column": "wealth"}, "its form asks for what its features do not have"),
    ],
)
def test_a_tree_that_leads_nowhere_is_refused(learned, change, words):
    document = json.loads(write_regression_json(learned["tree"]))
    document["form"]["nodes"][0] |= change
    with pytest.raises(InputError, match=words):
        read_regression_json(json.dumps(document))


def test_a_kernel_of_points_without_weights_is_refused(learned):
    document = json.loads(write_regression_json(learned["kernel"]))
    document["form"]["weights"].pop()
    with pytest.raises(InputError, match="points of kernels have"):
        read_regression_json(json.dumps(document))


def test_the_text_has_the_numbers_with_their_errors(learned):
    text = write_regression_text(learned["linear"])
    assert text.startswith("linear regression of spends on 3 columns, 400 records, 2 masked copies")
    age = learned["linear"].coefficients[1]
    (line,) = [line for line in text.splitlines() if line.startswith("age ")]
    assert f"{age.estimate:.4g}" in line
    assert f"{age.se:.3g}" in line
    assert "R2 by records left out" in text
    assert "kernels of bandwidth" in write_regression_text(learned["kernel"])
    assert "age <= " in write_regression_text(learned["tree"])


def test_questions_are_told_in_words():
    assert asked(TreeNode(9, 1, None, 1, "age", 37.25)) == ("age <= 37.25", "age > 37.25")
    assert asked(TreeNode(9, 1, None, 1, "sex=m", 0.5)) == ("sex is not m", "sex is m")


def test_what_to_beware_of_is_said():
    x = np.linspace(1, 9, 500)
    wide = table(x=x, one=[1] * 500, twice=2 * x, y=np.sin(x))
    said = " ".join(warnings(learn_regression([wide], "y")))
    for words in ("One copy", "do not vary: one.", "exactly: twice."):
        assert words in said
    assert warnings(learn_regression([table(x=x, y=np.sin(x))], "y", masked=False)) == []


FIRST = {"linear": "term", "tree": "place", "kernel": "feature"}


@pytest.mark.parametrize("name", FIRST)
def test_numbers_as_csv(learned, name):
    rows = list(csv.DictReader(io.StringIO(write_regression_csv(learned[name]))))
    assert next(iter(rows[0])) == FIRST[name]
    if name == "linear":
        found = [float(row["estimate"]) for row in rows]
        assert found == [one.estimate for one in learned[name].coefficients]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_pictures_are_svg_and_escape_names(name):
    people = store(200)
    renamed = table(**{"<age> & $x$": values(people, "age"), "<spends>": values(people, "spends")})
    model = learn_regression([renamed], "<spends>", options=MODELS[name])
    drawn = effects_chart(model).svg()
    assert ET.fromstring(drawn).tag.endswith("svg")
    assert "<spends>" not in drawn
