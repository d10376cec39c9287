"""What is learned under one bound for the whole record: a short form of `make whole-record`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from benchmarks.whole_record import (
    ALL,
    CURATED,
    EVERY,
    PAGE,
    RESULTS,
    laplace_accuracy,
    page,
    picture,
)
from pramana.simulate.sources import TableSource
from pramana.simulate.study import Trials
from pramana_core.domain import Domain
from pramana_core.plan import Plan


def test_the_page_is_of_the_results_and_has_every_setting():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    wanted = [command.name for command in ALL]
    assert set(results) <= set(wanted)
    assert {name for name in wanted if name not in results} <= {one.name for one in EVERY}
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, results) == text
    assert page(text, results | {ALL[0].name: results[ALL[1].name]}) != text


@pytest.mark.parametrize("source", dict.fromkeys(command.source for command in CURATED))
def test_pictures_show_the_results_and_where_a_command_was_refused(source):
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    drawn = (PAGE.parent / "images" / f"central-{source}.svg").read_text(encoding="utf-8")
    own = [results[command.name] for command in CURATED if command.source == source]
    assert picture(source, results) + "\n" == drawn
    assert ("refused" in drawn) == any(one["ended"] == "refused" for one in own)


def test_a_curator_with_little_noise_predicts_as_naive_bayes_and_with_much_noise_guesses():
    domain = Domain.of(a="abc", b="ab", target="xy")
    rng = np.random.default_rng(1)
    target = rng.integers(0, 2, 4000).astype(np.uint8)
    a = np.minimum(target + rng.integers(0, 2, 4000), 2).astype(np.uint8)
    b = (target ^ (rng.random(4000) < 0.3)).astype(np.uint8)
    source = TableSource("table", domain, {"a": a, "b": b, "target": target})
    (trial,) = Trials(source, Plan.unrandomized(domain), 4000, 1, seed=1, holdout=0.3)
    known, held_out = (
        np.stack([column(name) for name in "ab"], axis=1)
        for column in (trial.true.column, trial.held_out.__getitem__)
    )
    expected = CategoricalNB().fit(known, trial.true.column("target"))
    accuracy = expected.score(held_out, trial.held_out["target"])
    assert laplace_accuracy(domain, trial, "target", 1e9) == accuracy
    assert laplace_accuracy(domain, trial, "target", 1e-6) < accuracy - 0.1
