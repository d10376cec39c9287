"""Linear classifiers: weights against other programs and brute force, and what can go wrong."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier

from pramana_core.domain import Domain, Variable
from pramana_core.errors import EstimationError, LimitExceeded, OptionError, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import LinearOptions
from pramana_core.learn.linear import fitting
from pramana_core.learn.linear.columns import Cells, ClassCounts, DesignMatrix, columns_of
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import LinearClassifier
from pramana_core.learn.linear.pocket import pocket
from pramana_core.plan import Plan
from tests.shared.learn.cases import exact, expected, marginals, plan_of, reports
from tests.shared.learn.linear.linear_cases import DOMAIN, Columns, domain, joint, matrix, records

NOISE = {"colour": 0.3, "member": 0.2, "size": 0.3, "class": 0.1}


def options_of(loss: str, steps: int, **more: Any) -> LinearOptions:
    """Return options of a loss; the steps are the perceptron's."""
    return LinearOptions(loss, **more, **({"steps": steps} if loss == "perceptron" else {}))


def vectors(model: LinearClassifier) -> np.ndarray:
    return np.stack([plane.vector for plane in model.planes])


def with_ones(columns: Columns) -> np.ndarray:
    x = matrix(columns)
    return np.column_stack([np.ones(len(x)), x])


@pytest.mark.parametrize("classes", [2, 3])
def test_least_squares_of_true_records_is_that_of_the_rows(classes: int) -> None:
    columns = records(1, 2_000, classes)
    model = learn_linear(
        exact(columns, domain(classes)), "class", options=LinearOptions("least-squares")
    )
    positives = [1] if classes == 2 else range(classes)
    targets = np.stack([2.0 * (columns["class"] == k) - 1 for k in positives], axis=1)
    by_rows = np.linalg.lstsq(with_ones(columns), targets, rcond=None)[0].T
    assert np.abs(vectors(model) - by_rows).max() < 1e-9
    scores = with_ones(columns) @ by_rows.T
    chosen = scores[:, 0] > 0 if classes == 2 else scores.argmax(axis=1)
    assert (model.predict(columns) == chosen).all()
    assert model.probabilities(columns) is None


def test_logistic_of_true_records_is_scikit_learns() -> None:
    columns = records(2, 2_000)
    model = learn_linear(exact(columns, DOMAIN), "class")
    x = matrix(columns)
    other = LogisticRegression(C=np.inf, tol=1e-12, max_iter=2_000).fit(x, columns["class"])
    wanted = np.concatenate([other.intercept_, other.coef_[0]])
    assert np.abs(vectors(model)[0] - wanted).max() < 1e-6
    found = model.probabilities(columns)
    assert found is not None
    assert np.abs(found - other.predict_proba(x)).max() < 1e-6
    # The equation of the loss itself, on the rows, to more digits than the other program has.
    residual = columns["class"] - found[:, 1]
    assert np.abs(with_ones(columns).T @ residual).max() < 1e-8 * len(x)


def test_several_classes_are_one_against_the_rest() -> None:
    columns = records(3, 2_000, 3)
    model = learn_linear(exact(columns, domain(3)), "class")
    x = matrix(columns)
    one = LogisticRegression(C=np.inf, tol=1e-12, max_iter=2_000)
    other = OneVsRestClassifier(one).fit(x, columns["class"])
    wanted = [np.concatenate([e.intercept_, e.coef_[0]]) for e in other.estimators_]
    assert np.abs(vectors(model) - wanted).max() < 1e-6
    found = model.probabilities(columns)
    assert found is not None
    assert np.abs(found - other.predict_proba(x)).max() < 1e-6
    assert (model.predict(columns) == other.predict(x)).all()
    assert [plane.positive for plane in model.planes] == ["low", "high", "none"]


@pytest.mark.parametrize("loss", ["logistic", "least-squares", "perceptron"])
@pytest.mark.parametrize("cells", [fitting.CELLS, 10])
def test_a_class_without_records_gets_no_plane(
    loss: str, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "CELLS", cells)
    columns = records(3, 1_000)
    over = Domain((*DOMAIN.variables[:-1], Variable("class", ("low", "high", "never"))))
    options = options_of(loss, 50, sample=2_000)
    model = learn_linear(exact(columns, over), "class", options=options)
    assert [plane.positive for plane in model.planes] == ["low", "high"]
    assert any("too few records: never." in note for note in model.notes)
    assert set(model.predict(columns).tolist()) == {0, 1}
    if loss != "perceptron":
        # Each of two classes is the rest of the other.
        assert vectors(model)[0] == pytest.approx(-vectors(model)[1], abs=1e-6)
    if cells > 10 and loss != "perceptron":
        two = learn_linear(exact(columns, DOMAIN), "class", options=options)
        assert (model.predict(columns) == two.predict(columns)).mean() > 0.99


def test_a_class_that_noise_alone_may_show_does_not_stop_the_others() -> None:
    """Taken at its word it has no finite logistic weights in about a third of these samples."""
    over = Domain((Variable("a", ("x", "y")), Variable("class", ("low", "high", "never"))))
    used = plan_of(over, {"a": 0.2, "class": 0.2})
    positive = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        a = rng.integers(0, 2, 1_000).astype(np.uint8)
        true = {"a": a, "class": np.where(rng.random(1_000) < 0.8, a, 1 - a)}
        seen = marginals(reports(true, used, rng), used)
        model = learn_linear(seen, "class")
        assert model.basis == "cells"
        assert model.predict({"a": np.array([0, 1])}).tolist() == [0, 1]
        positive += len(model.planes) == 2 and seen.marginal(["class"]).counts[2] > 0
    assert positive > 0


@pytest.mark.parametrize("loss", ["logistic", "least-squares", "perceptron"])
@pytest.mark.parametrize("names", [("low", "high"), ("low", "high", "none")])
def test_one_class_alone_is_refused(loss: str, names: tuple[str, ...]) -> None:
    columns = records(3, 200)
    columns["class"] = np.zeros(200, dtype=np.uint8)
    over = Domain((*DOMAIN.variables[:-1], Variable("class", names)))
    with pytest.raises(EstimationError):
        learn_linear(exact(columns, over), "class", options=LinearOptions(loss))  # type: ignore[arg-type]


@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_l2_is_that_of_scaled_columns(l2: float) -> None:
    columns = records(4, 1_500)
    x = matrix(columns)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    squares = learn_linear(
        exact(columns, DOMAIN), "class", options=LinearOptions("least-squares", l2=l2)
    )
    ridge = Ridge(alpha=len(x) * l2).fit(z, 2.0 * columns["class"] - 1)
    assert np.abs(vectors(squares)[0, 1:] * x.std(axis=0) - ridge.coef_).max() < 1e-9
    logistic = learn_linear(exact(columns, DOMAIN), "class", options=LinearOptions(l2=l2))
    c = 1 / (len(x) * l2)
    other = LogisticRegression(C=c, tol=1e-12, max_iter=2_000).fit(z, columns["class"])
    assert np.abs(vectors(logistic)[0, 1:] * x.std(axis=0) - other.coef_[0]).max() < 1e-6


@pytest.mark.parametrize(("loss", "close"), [("least-squares", 1e-9), ("logistic", 1e-8)])
@pytest.mark.parametrize("classes", [2, 3])
def test_expected_reports_give_the_weights_of_the_truth(
    loss: str, close: float, classes: int
) -> None:
    over = domain(classes)
    options = LinearOptions(loss)  # type: ignore[arg-type]

    def learn(used: Plan) -> LinearClassifier:
        reported = expected(joint(classes) * 50_000, used)
        return learn_linear(EstimatedMarginals(reported, used), "class", options=options)

    clean = learn(Plan.unrandomized(over))
    assert np.abs(vectors(learn(plan_of(over, NOISE))) - vectors(clean)).max() < close


@pytest.mark.parametrize("loss", ["logistic", "perceptron"])
def test_too_many_cells_are_replaced_by_drawn_records(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = records(6, 20_000)
    options = options_of(loss, 200, sample=40_000)
    whole = learn_linear(exact(columns, DOMAIN), "class", options=options)
    monkeypatch.setattr(fitting, "CELLS", 10)
    steps: list[tuple[int, int]] = []
    drawn = learn_linear(
        exact(columns, DOMAIN),
        "class",
        options=options,
        seed=3,
        on_step=lambda *step: steps.append(step),
    )
    assert (drawn.basis, drawn.sampled) == ("network", 40_000)
    assert any("40000 records drawn" in note for note in drawn.notes)
    assert drawn.planes[0].weights[1].se is None
    shares = [(model.predict(columns) == columns["class"]).mean() for model in (whole, drawn)]
    # The drawn records have the same dependences; only rare cells near the plane may differ.
    assert abs(shares[0] - shares[1]) < 0.02
    assert shares[1] > max(columns["class"].mean(), 1 - columns["class"].mean()) + 0.05
    # While a network is learned and records are drawn, it can be stopped.
    assert len(steps) > 8
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == ((0, 1), (1, 1))
    again = learn_linear(exact(columns, DOMAIN), "class", options=options, seed=3)
    assert again == drawn


def _features() -> Domain:
    return DOMAIN.project(DOMAIN.names[:3])


KEPT = ["fewest-wrong", "longest-run"]


@pytest.mark.parametrize("keep", KEPT)
def test_the_perceptron_classifies_separable_records_without_error(keep: str) -> None:
    columns = records(8, 800)
    wanted = matrix(columns) @ [1.0, -0.7, 0.5, -0.3] + 0.31 > 0
    columns["class"] = wanted.astype(np.uint8)
    model = learn_linear(
        exact(columns, DOMAIN), "class", options=LinearOptions("perceptron", keep=keep)
    )
    assert (model.predict(columns) == columns["class"]).all()
    assert all(weight.se is None for weight in model.planes[0].weights)
    # Length 1 in scaled units, where the deviations are those of the records.
    scaled = vectors(model)[0, 1:] * matrix(columns).std(axis=0)
    assert np.linalg.norm(scaled) == pytest.approx(1)


class Told:
    """Gives the draws it is told, in place of a generator."""

    def __init__(self, runs: list[int], shares: list[float]) -> None:
        self.runs, self.shares, self.chances = list(runs), list(shares), []

    def geometric(self, chance: float) -> int:
        self.chances.append(chance)
        return self.runs.pop(0)

    def random(self) -> float:
        return self.shares.pop(0)


def kept_by_hand(keep: str, runs: list[int]) -> tuple[np.ndarray, Told]:
    """Return what is kept of four weights that a line over three points goes through.

    Counts of the class and the other: (0, 5), (2, 1), (2, 0) at -1, 0 and 1. The weights are
    (0, 0), wrong on the class's 4 of 10; drawn wrong at 1: (1, 1), wrong on the other's 1 at 0;
    drawn wrong there: (0, 1), wrong on the class's 2 at 0; drawn wrong there: (1, 1) again.
    """
    design = DesignMatrix((np.array([[-1.0], [0.0], [1.0]]),))
    counts = np.array([[5.0, 0.0], [1.0, 2.0], [0.0, 2.0]])
    told = Told(runs, [0.9, 0.5, 0.5])
    source = ClassCounts(Cells.grid((3,)), counts)
    rng = cast("np.random.Generator", told)
    found = pocket(design, source, 1, np.zeros(2), 3, rng, lambda: None, keep)  # type: ignore[arg-type]
    return found, told


@pytest.mark.parametrize(
    ("keep", "runs", "kept"),
    [
        # The longest run wins, whatever is classified wrong; of equal ones the first.
        ("longest-run", [3, 2, 4, 4], [0.0, 1.0]),
        ("longest-run", [9, 2, 4, 8], [0.0, 0.0]),
        ("longest-run", [1, 2, 2, 1], [1.0, 1.0]),
    ],
)
def test_which_weights_stay_in_the_pocket(keep: str, runs: list[int], kept: list[float]) -> None:
    found, told = kept_by_hand(keep, runs)
    assert found.tolist() == kept
    assert told.chances == pytest.approx([0.4, 0.1, 0.2, 0.1])


def test_the_perceptron_is_never_worse_than_least_squares() -> None:
    """On the counts both are fitted to, whatever the steps; and better with enough of them."""
    columns = records(17, 3_000)
    squares = learn_linear(exact(columns, DOMAIN), "class", options=LinearOptions("least-squares"))
    found = [
        learn_linear(
            exact(columns, DOMAIN), "class", options=LinearOptions("perceptron", steps=steps)
        )
        for steps in (1, 3_000)
    ]
    right = [(model.predict(columns) == columns["class"]).sum() for model in (squares, *found)]
    assert right[0] <= right[1] <= right[2]
    assert right[0] < right[2]


@pytest.mark.parametrize(
    ("options", "names", "last"),
    [
        (
            LinearOptions(),
            ["colour=green", "colour=blue", "member=yes", "size"],
            (0.5, 1.25, 4.0, 9.0),
        ),
        (LinearOptions(encoding="ordinal"), ["colour", "member", "size"], (0.5, 1.25, 4.0, 9.0)),
        (
            LinearOptions(numeric={"size": (1, 2, 3, 4)}),
            ["colour=green", "colour=blue", "member=yes", "size"],
            (1.0, 2.0, 3.0, 4.0),
        ),
    ],
)
def test_columns(options: LinearOptions, names: list[str], last: tuple[float, ...]) -> None:
    columns = columns_of(_features(), options)
    assert [column.name for column in columns] == names
    assert columns[-1].values == last
    if options.encoding == "ordinal":
        assert [c.values for c in columns[:2]] == [(1.0, 2.0, 3.0), (1.0, 2.0)]
    else:
        assert [c.values for c in columns[:3]] == [(0, 1, 0), (0, 0, 1), (0, 1)]


def test_noise_larger_than_the_columns_is_told_and_the_network_serves() -> None:
    used = plan_of(DOMAIN, dict.fromkeys(DOMAIN.names[:3], 0.45))
    failed = 0
    for seed in range(20):
        reported = marginals(reports(records(seed, 60), used, np.random.default_rng(seed)), used)
        try:
            learn_linear(reported, "class", options=LinearOptions("least-squares"))
        except EstimationError as error:
            failed += error.where == "basis"
    assert failed > 0
    options = LinearOptions("least-squares", basis="network", sample=2_000)
    assert learn_linear(reported, "class", options=options).basis == "network"


def test_counts_of_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "CELLS", 10)
    with pytest.raises(LimitExceeded) as caught:
        learn_linear(exact(records(0, 50), DOMAIN), "class", options=LinearOptions(basis="cells"))
    assert caught.value.where == "basis"


def test_separated_classes_have_no_logistic_weights() -> None:
    columns = records(12, 800)
    columns["class"] = (matrix(columns) @ [1.0, -0.7, 0.5, -0.3] + 0.31 > 0).astype(np.uint8)
    with pytest.raises(EstimationError) as caught:
        learn_linear(exact(columns, DOMAIN), "class")
    assert "l2" in str(caught.value)
    model = learn_linear(exact(columns, DOMAIN), "class", options=LinearOptions(l2=1e-3))
    assert (model.predict(columns) == columns["class"]).mean() > 0.95


def test_columns_that_depend_on_each_other_are_refused() -> None:
    columns = records(14, 400)
    columns["size"] = (columns["member"] * 3).astype(np.uint8)
    for loss in ("least-squares", "logistic"):
        with pytest.raises(EstimationError):
            learn_linear(exact(columns, DOMAIN), "class", options=LinearOptions(loss))


def test_a_column_that_does_not_vary_has_no_weight() -> None:
    columns = records(15, 400)
    columns["colour"] = np.minimum(columns["colour"], 1)
    model = learn_linear(exact(columns, DOMAIN), "class")
    weight = model.planes[0].weights[2]
    assert (weight.column, weight.estimate, weight.se) == ("colour=blue", 0.0, None)
    assert any("colour=blue" in note for note in model.notes)
    columns = {name: np.zeros_like(codes) for name, codes in columns.items()}
    with pytest.raises(EstimationError):
        learn_linear(exact(columns, DOMAIN), "class")


@pytest.mark.parametrize(
    ("features", "options", "seed", "error"),
    [
        (None, {}, -1, OptionError),
        (["size"], {"numeric": {"colour": (1, 2, 3)}}, 0, UnknownVariable),
        (None, {"numeric": {"colour": (1, 2)}}, 0, OptionError),
        (None, {"numeric": {"colour": (1, 1, 1)}}, 0, OptionError),
    ],
)
def test_refusals(features, options, seed: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        learn_linear(
            exact(records(0, 50), DOMAIN), "class", features, LinearOptions(**options), seed=seed
        )
