"""Predictions stand on what is known of a record, exactly; documents lose nothing."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from pramana_core.errors import PramanaError
from pramana_core.learn.bayes_classifier.exchange import (
    draw_bayes_classifier,
    write_bayes_classifier_text,
)
from pramana_core.learn.bayes_classifier.information import information_error
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.options import BayesClassifierOptions
from pramana_core.learn.learners import BAYES
from tests.shared.learn.bayes_classifier.bayes_cases import DOMAIN, FEATURES, drawn, reported

KINDS = ("naive-bayes", "tan")


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    options = BayesClassifierOptions(request.param)
    return learn_bayes_classifier(reported(drawn(3000), 0.2), "kind", None, options)


def test_missing_values_are_summed_out_exactly(model):
    """Beside sums over the whole joint table of the network, for each of the 15 patterns."""
    whole = model.network.marginal(["kind", *FEATURES])
    columns = drawn(60, seed=21)
    rng = np.random.default_rng(2)
    absent = {name: rng.random(60) < 0.5 for name in FEATURES}
    codes = {n: np.where(absent[n], DOMAIN[n].size, columns[n]).astype(np.uint8) for n in FEATURES}
    found, chosen = model.probabilities(codes), model.predict(codes)
    for row in range(60):
        cell = tuple(slice(None) if absent[n][row] else columns[n][row] for n in FEATURES)
        wanted = whole[:, *cell].reshape(3, -1).sum(axis=1)
        assert found[row] == pytest.approx(wanted / wanted.sum(), abs=1e-12)
        assert chosen[row] == wanted.argmax()


def broken(document, *path, value):
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("model",), "best"),
        (("options", "alpha"), -1.0),
        (("attributes", 0, "family", "probability", 0, 0), 7.0),
        (("attributes", 0, "family", "probability", 0, 0), "0.5"),
        (("attributes", 0, "family", "probability", 0, 0), None),
        (("attributes", 0, "family", "probability"), [[0.5, 0.5]]),
        (("attributes", 0, "information"), -1.0),
        (("attributes", 0, "family", "parents"), ["nothing"]),
        (("attributes", 0, "family", "parents"), ["colour"]),
        (("attributes",), []),
        (("prior", "probability"), [0.5, 0.6, 0.1]),
        (("prior", "se"), [0.1]),
        (("inputs", 0, "name"), "kind"),
    ],
)
def test_what_is_no_classifier_is_refused(path, value):
    options = BayesClassifierOptions("naive-bayes")
    made = learn_bayes_classifier(reported(drawn(300), 0.2), "kind", None, options)
    document = json.loads(BAYES.write(made))
    with pytest.raises(PramanaError):
        BAYES.read(broken(document, *path, value=value))


def test_its_text_and_picture_tell_every_attribute(model):
    text = write_bayes_classifier_text(model)
    picture = draw_bayes_classifier(model)
    ET.fromstring(picture)
    for attribute in model.attributes:
        assert f"\n{attribute.name}" in text
        assert attribute.name in picture
        error = information_error(model, attribute)
        assert (f"{attribute.information:.3f} ± {error or 0:.3f}" in picture) == (error is not None)
    assert f"{len(model.links)} links" in text


def test_errors_of_information_are_those_between_tables():
    """Beside how far what is told scatters when records and noise are drawn again."""
    found, stated = [], []
    for seed in range(40):
        marginals = reported(drawn(3000, seed=100 + seed), 0.1, seed=900 + seed)
        made = learn_bayes_classifier(
            marginals, "kind", None, BayesClassifierOptions("naive-bayes")
        )
        found.append([attribute.information for attribute in made.attributes])
        stated.append([information_error(made, attribute) for attribute in made.attributes])
    ratios = np.mean(stated, axis=0) / np.std(found, axis=0, ddof=1)
    assert ((ratios > 0.6) & (ratios < 1.7)).all(), ratios


def test_without_errors_none_is_stated(model):
    attribute = model.attributes[0]
    unknown = replace(attribute.family, se=np.full_like(attribute.family.se, np.nan))
    assert information_error(model, replace(attribute, family=unknown)) is None
