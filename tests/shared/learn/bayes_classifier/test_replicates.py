"""What follows of part of a record in a classifier's network, and its error by bootstrap."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.bayes_classifier.redundancy import UNKNOWN, AttributeRedundancy
from pramana_core.learn.bayes_classifier.replicates import Replicates
from pramana_core.learn.bayes_classifier.subpopulation import (
    expected_counts,
    modelled_subpopulation,
)
from pramana_core.learn.common.options import BayesClassifierOptions
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan

DOMAIN = Domain.of(a="xyz", b="uv", c="stuv", d="kl", e="pq", y="ABC")


def marginals(records: int = 3_000) -> EstimatedMarginals:
    """Return exact counts of records in which attributes depend on each other and the class."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, records)
    a = (y + rng.integers(0, 2, records)) % 3
    b = (rng.random(records) < np.array([0.2, 0.5, 0.9])[a]).astype(int)
    c = (a + 2 * b + rng.integers(0, 2, records)) % 4
    d = (rng.random(records) < 0.3 + 0.4 * (y == 1)).astype(int)
    e = (rng.random(records) < 0.5).astype(int)
    columns = dict(zip("abcdey", (a, b, c, d, e, y), strict=True))
    coded = {name: column.astype(np.uint8) for name, column in columns.items()}
    sizes = {v.name: v.size for v in DOMAIN}
    return EstimatedMarginals(ReportedCounts(coded, sizes), Plan.unrandomized(DOMAIN))


def classifier(model: str, source: EstimatedMarginals) -> BayesClassifier:
    options = BayesClassifierOptions(model)  # type: ignore[arg-type]
    return learn_bayes_classifier(source, "y", options=options)


def brute(model: BayesClassifier, given: dict[str, int], name: str) -> np.ndarray:
    """Return P(class, given, name) by the joint distribution over all cells, (classes, codes)."""
    names = [*model.inputs.names, "y"]
    joint = model.network.marginal(names)
    index = tuple(given.get(n, slice(None)) for n in names)
    left = [n for n in names if n not in given]
    table = joint[index]
    gone = tuple(axis for axis, n in enumerate(left) if n not in (name, "y"))
    return np.asarray(table.sum(axis=gone).T)


@pytest.mark.parametrize("kind", ["naive-bayes", "tan"])
def test_elimination_gives_what_the_whole_joint_distribution_gives(kind: str) -> None:
    """Of every set of up to three given attributes, two codes of each."""
    source = marginals()
    model = classifier(kind, source)
    assert bool(model.links) == (kind == "tan")
    own = Replicates.of(model, source, draws=2).own
    for size in range(4):
        for chosen in itertools.combinations(model.inputs.names, size):
            for code in (0, 1):
                given = dict.fromkeys(chosen, code)
                for name in model.inputs.names:
                    if name not in given:
                        found = own.joint(given, [name])[0]
                        assert np.abs(found - brute(model, given, name)).max() < 1e-10


@pytest.mark.parametrize("kind", ["naive-bayes", "tan"])
@pytest.mark.parametrize("redundancy", [UNKNOWN, None])
def test_counts_of_many_subpopulations_are_those_of_each(
    kind: str, redundancy: AttributeRedundancy | None
) -> None:
    """Messages between attributes, against elimination in one subpopulation after the other."""
    source = marginals()
    model = classifier(kind, source)
    names, linked = model.inputs.names, frozenset(map(frozenset, list(model.links)[:1]))
    redundancy = redundancy or AttributeRedundancy(
        0.3, dict(zip(names, (1.0, 2.0, 3.0, 4.0, 0.5), strict=True)), linked
    )
    made = Replicates.of(model, source, draws=2)
    everyone = modelled_subpopulation(made, model.domain, "y", source.records, redundancy)
    codes = np.array([*itertools.product((-1, 0, 1), repeat=len(names))], np.int32)
    tables = expected_counts(made, names, source.records, redundancy, codes)
    for number, row in enumerate(codes.tolist()):
        within = everyone
        for name, code in zip(names, row, strict=True):
            within = within if code < 0 else within.within(name, code)
        for name, code, table in zip(names, row, tables, strict=True):
            if code < 0:
                expected = within.table([name, "y"]).counts.T
                assert table[number] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_samples_have_the_error_of_the_tables() -> None:
    """A share among the records of a class has the binomial error where nothing is randomized."""
    source = marginals()
    model = classifier("naive-bayes", source)
    draws = 4_000
    made = Replicates.of(model, source, draws=draws)
    records = source.marginal(["y"]).counts
    share = made.tables["d"][0, :, 1]
    seen = made.tables["d"][1:, :, 1].std(axis=0)
    # The relative error of a standard deviation of 4,000 draws is 1.1 %; five of them.
    assert seen == pytest.approx(np.sqrt(share * (1 - share) / records), rel=0.056)
    again = Replicates.of(model, source, draws=draws)
    assert (again.tables["c"] == made.tables["c"]).all()


def test_expected_counts_of_a_subpopulation() -> None:
    source = marginals()
    model = classifier("tan", source)
    made = Replicates.of(model, source, draws=300)
    everyone = modelled_subpopulation(made, model.domain, "y", source.records, UNKNOWN)
    within = everyone.within("b", 1).within("e", 0)
    assert within.given == {"b": 1, "e": 0}
    table = within.table(["c", "y"])
    wanted = source.records * brute(model, {"b": 1, "e": 0}, "c").T
    assert np.abs(table.counts - wanted).max() < 1e-6
    assert not table.counted
    assert within.table(["y"]).counts == pytest.approx(wanted.sum(axis=0))
    # The error is the model's: that e halves the records it knows better than counting would.
    counted = wanted - np.square(wanted) / source.records
    assert np.diag(table.covariance).sum() < -0.1 * counted.sum()


def test_what_attributes_of_a_path_repeat_counts_as_in_a_prediction() -> None:
    """With all attributes given a leaf says what the classifier with that weight predicts."""
    source = marginals()
    model = classifier("naive-bayes", source)
    names = model.inputs.names
    told = AttributeRedundancy(0.3, dict(zip(names, (0.5, 0.2, 0.3, 0.1, 0.4), strict=True)))
    made = Replicates.of(model, source, draws=5)
    within = modelled_subpopulation(made, model.domain, "y", source.records, told)
    alone = within.table(["a", "y"]).counts
    assert alone == pytest.approx(source.records * brute(model, {}, "a").T)
    for name in names[:-1]:
        within = within.within(name, 1)
    table = within.table(["e", "y"])
    weighed = replace(model, weight=told.weight(names))
    assert weighed.weight < 0.8
    codes = {name: np.array([1, 1], dtype=np.uint8) for name in names} | {
        "e": np.array([0, 1], dtype=np.uint8)
    }
    shares = table.counts / table.counts.sum(axis=1, keepdims=True)
    assert shares == pytest.approx(weighed.probabilities(codes))
    assert shares != pytest.approx(model.probabilities(codes), abs=0.01)
    # How many records there are is as it was.
    given = dict.fromkeys(names[:-1], 1)
    size = source.records * brute(model, given, "e").sum(axis=0)
    assert table.counts.sum(axis=1) == pytest.approx(size)
