"""Linear classifiers where no reports tell all variables together: from pairs, or by a model."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pramana.setups import SeededOwner
from pramana_core.domain import Domain
from pramana_core.errors import EstimationError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.options import LinearOptions
from pramana_core.learn.learners import LINEAR
from pramana_core.learn.linear.columns import CellGrid, DesignMatrix
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import read_linear_json, weights_chart
from pramana_core.learn.linear.pocket import logistic
from pramana_core.learn.linear.sources import CellClassCounts
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan

SQUARES = LinearOptions("least-squares")


def options_of(loss: str, steps: int, **more: Any) -> LinearOptions:
    """Return options of a loss; the steps are the perceptron's."""
    return LinearOptions(loss, **more, **({"steps": steps} if loss == "perceptron" else {}))


def drawn(width: int, records: int, classes: int = 2, seed: int = 3) -> dict[str, np.ndarray]:
    """Return records of ternary features, each of which depends on the class and the one before."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, records)
    columns = {"y": y}
    last = y
    for number in range(width):
        told = rng.random(records) < 0.4
        last = np.where(told, (last + y) % 3, rng.integers(0, 3, records))
        columns[f"x{number}"] = last
    return {name: column.astype(np.uint8) for name, column in columns.items()}


def domain(width: int, classes: int = 2) -> Domain:
    return Domain.of(**{f"x{n}": "abc" for n in range(width)}, y="ABCD"[:classes])


def exact(columns: dict[str, np.ndarray], over: Domain, estimator: str) -> EstimatedMarginals:
    counted = ReportedCounts(columns, {v.name: v.size for v in over})
    return EstimatedMarginals(counted, Plan.unrandomized(over), estimator=estimator)  # type: ignore[arg-type]


def reports(columns: dict[str, np.ndarray], plan: Plan, seed: int) -> ReportedCounts:
    """Randomize records as an owner does."""
    return SeededOwner.of("pairs", seed, len(columns["y"])).report(plan, columns, 0)


def rows(columns: dict[str, np.ndarray], over: Domain) -> np.ndarray:
    parts = [columns[v.name][:, None] == np.arange(1, v.size) for v in over if v.name != "y"]
    return np.concatenate([np.ones((len(columns["y"]), 1)), *parts], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "classes"), [(3, 2), (15, 2), (15, 3), (60, 2)])
def test_least_squares_from_pairs_are_those_of_the_rows(width: int, classes: int) -> None:
    """At any width: 3 ** 60 cells are nothing to it. Errors are the usual ones of least squares."""
    over, columns = domain(width, classes), drawn(width, 4_000, classes)
    model = learn_linear(exact(columns, over, "moment"), "y", options=SQUARES)
    assert model.basis == ("raw" if width == 3 else "pairs")
    x = rows(columns, over)
    for plane in model.planes:
        code = over["y"].code(plane.positive)
        wanted = 2.0 * (columns["y"] == code) - 1
        weights, (rest,), *_ = np.linalg.lstsq(x, wanted, rcond=None)
        assert np.abs(plane.vector - weights).max() < 1e-9
        if model.basis == "pairs":
            usual = np.sqrt(rest / len(x) * np.diag(np.linalg.inv(x.T @ x)))
            errors = [weight.se for weight in plane.weights]
            assert np.array(errors, dtype=float) == pytest.approx(usual, rel=1e-4)
            assert all(weight.se_records == pytest.approx(0, abs=1e-9) for weight in plane.weights)
    if model.basis == "pairs":
        assert any("residuals of one variance" in note for note in model.notes)


def sampled_around(over: Domain, gamma: float) -> Plan:
    """Return a plan by which a record reports the class and one feature."""
    from pramana_core.design.families import Requirements, sampled

    sets = [(name, "y") for name in over.names if name != "y"]
    return sampled(sets)(Requirements(over, dict.fromkeys(over.names, gamma), gamma))


def test_pairs_that_nobody_reports_are_independent_given_the_class() -> None:
    """Hardly randomized, least squares have the weights of records that are so."""
    over, columns = domain(4), drawn(1, 60_000)
    rng = np.random.default_rng(8)
    first = columns["x0"]
    for number in range(1, 4):
        # Of the first the class alone says anything.
        columns[f"x{number}"] = np.where(
            rng.random(len(first)) < 0.5, 2 * columns["y"], rng.integers(0, 3, len(first))
        ).astype(np.uint8)
    plan = sampled_around(over, 1e6)
    model = learn_linear(
        EstimatedMarginals(reports(columns, plan, 8), plan, estimator="pooled"),
        "y",
        options=SQUARES,
    )
    wanted, *_ = np.linalg.lstsq(rows(columns, over), 2.0 * columns["y"] - 1, rcond=None)
    assert any("Of 6 pairs of features no record reports both" in note for note in model.notes)
    errors = np.array([weight.se for weight in model.planes[0].weights], dtype=float)
    # Nine weights, each within four standard errors: it fails once in two thousand.
    assert (np.abs(model.planes[0].vector - wanted) < 4 * errors).all()
    assert errors.max() < 0.05


@pytest.mark.parametrize("classes", [2, 3])
def test_naive_bayes_is_the_logistic_regression_of_its_own_joint_distribution(classes: int) -> None:
    over, columns = domain(5, classes), drawn(5, 20_000, classes)
    plan = sampled_around(over, 30.0)
    seen = EstimatedMarginals(reports(columns, plan, 2), plan, estimator="pooled")
    model = learn_linear(seen, "y")
    assert model.basis == "naive-bayes"
    other = learn_bayes_classifier(seen, "y")
    codes = drawn(5, 500, classes, seed=9)
    found = model.probabilities(codes)
    assert found is not None
    assert np.abs(found - other.probabilities(codes)).max() < 1e-9
    assert (model.predict(codes) == other.predict(codes)).all()
    assert read_linear_json(LINEAR.write(model)) == model
    if classes == 2:
        joint = seen.records * other.network.marginal([*model.inputs.names, "y"])
        source = CellClassCounts(CellGrid(model.inputs.shape), joint.reshape(-1, 2))
        design = DesignMatrix.of(model.inputs, model.columns)
        fitted = logistic(design, source, 1, 0.0, lambda: None)
        assert fitted is not None
        # The evidence of the classifier counts `weight` times.
        evidence = model.planes[0].vector.copy()
        evidence[0] -= np.log(other.prior.probability[1] / other.prior.probability[0])
        again = fitted.weights.copy()
        again[0] -= np.log(other.prior.probability[1] / other.prior.probability[0])
        # The design is scaled about the means, so that only slopes are compared as they stand.
        assert np.abs(other.weight * again - evidence)[1:].max() < 1e-6
    weights = [weight for plane in model.planes for weight in plane.weights]
    assert all(weight.se is None and weight.interval is None for weight in weights)
    assert "No weight has an error" in " ".join(model.notes)
    assert "no errors" in weights_chart(model).heading
    penalized = learn_linear(seen, "y", options=LinearOptions(l2=0.5))
    assert penalized.basis == "network"


def test_columns_that_naive_bayes_does_not_fit_are_fitted_to_records_drawn_from_it() -> None:
    over, columns = domain(5), drawn(5, 20_000)
    plan = sampled_around(over, 30.0)
    seen = EstimatedMarginals(reports(columns, plan, 2), plan, estimator="pooled")
    options = LinearOptions(encoding="ordinal", sample=20_000)
    model = learn_linear(seen, "y", options=options)
    assert (model.basis, model.sampled) == ("network", 20_000)
    assert any(note.startswith("No reports tell the features") for note in model.notes)


def test_wide_tables_cost_what_their_pairs_cost() -> None:
    over, columns = domain(40), drawn(40, 5_000)
    plan = sampled_around(over, 19.0)
    seen = EstimatedMarginals(reports(columns, plan, 4), plan, estimator="pooled")
    for loss in ("logistic", "least-squares", "perceptron"):
        options = options_of(loss, 20, sample=5_000)
        model = learn_linear(seen, "y", options=options)
        assert np.mean(model.predict(columns) == columns["y"]) > 0.6


def test_which_tables_reports_tell() -> None:
    over = domain(3)
    around = sampled_around(over, 19.0)
    columns = drawn(3, 200)
    seen = EstimatedMarginals(reports(columns, around, 4), around, estimator="pooled")
    told = {pair for pair in itertools.combinations(over.names, 2) if seen.can_estimate(pair)}
    assert told == {("x0", "y"), ("x1", "y"), ("x2", "y")}
    assert not seen.can_estimate(over.names)
    assert exact(columns, over, "moment").can_estimate(over.names)
    assert exact(columns, over, "pooled").can_estimate(over.names)
    # Of more cells than are pooled at once nothing is told together.
    wide = domain(7)
    assert not exact(drawn(7, 200), wide, "pooled").can_estimate(wide.names)


def test_moments_tell_what_every_source_reports() -> None:
    """As `marginal` raises where one does not; together explained, one source is enough."""
    over = domain(3)
    plain = Plan.unrandomized(over)
    some = Plan.unrandomized(over.project(("x0", "y")))
    sources = [(reports(drawn(3, 200), plan, 4), plan) for plan in (plain, some)]
    by_moments = EstimatedMarginals.of(sources)
    assert by_moments.can_estimate(("x0", "y"))
    assert not by_moments.can_estimate(("x1", "y"))
    with pytest.raises(EstimationError, match="does not report"):
        by_moments.marginal(("x1", "y"))
    assert EstimatedMarginals.of(sources, estimator="ml").can_estimate(("x1", "y"))
    assert EstimatedMarginals.of(sources, estimator="pooled").can_estimate(("x1", "y"))
