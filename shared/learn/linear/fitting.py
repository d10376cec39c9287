"""Learning a linear classifier from marginals (Ma 6; other losses: Ma 8 (a))."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shared.counts import Marginals
from shared.domain import Domain, Variable
from shared.errors import EstimationError, OptionError
from shared.learn.linear.columns import Scaling, columns_of
from shared.learn.linear.model import INTERCEPT, Basis, LinearClassifier, Plane, Weight
from shared.learn.linear.options import Fitting
from shared.learn.linear.sources import scaled
from shared.learn.linear.task import CELLS, Fit, Sources, Task, notes_of

__all__ = ["CELLS", "learn_linear"]

OnStep = Callable[[int, int], None]
"""Called with planes done and planes in all; may raise to stop."""


def learn_linear(
    marginals: Marginals,
    target: str,
    features: Sequence[str] | None = None,
    options: Fitting | None = None,
    *,
    seed: int = 0,
    on_step: OnStep | None = None,
) -> LinearClassifier:
    """Learn planes that tell the classes of a variable apart; several classes one against the rest.

    Where the features and the class have at most `CELLS` cells together, the classifier is fitted
    to their estimated counts, and least squares and the logistic loss give their weights errors.
    Beyond that, least squares still is exact, from the counts of pairs; the other losses are fitted
    to records drawn from a network that is learned of the variables, and the model says so.

    Weights are found for columns scaled by their estimated means and deviations and given back in
    the columns' own units, those of the perceptron with length 1 in scaled units. A column that is
    estimated not to vary gets the weight 0, and a note.

    Args:
        marginals: exact or estimated counts of (at least) the features and the class.
        target: the class; the second of two is on the positive side.
        features: what it is told from; by default all other variables.
        options: the loss and how it is fitted.
        seed: decides the draws of the perceptron and of records; nothing else is random.
        on_step: called with (planes done, planes in all), often; may raise to stop.

    Raises:
        UnknownVariable: a name the marginals do not have, or numbers for none of the features.
        OptionError: no features, one twice, the class among them, numbers that do not fit, or a
            negative seed.
        EstimationError: no column varies, columns depend on each other, classes are separated
            (logistic loss without l2), or `raw` counts were demanded and allow no solution.
        LimitExceeded, NotConverged: what the marginals raise.
    """
    options = options or Fitting()
    inputs, classes = _chosen(marginals.domain, target, features, seed)
    columns, scaling = scaled(columns_of(inputs, options), marginals, inputs)
    positives = [1] if classes.size == 2 else list(range(classes.size))
    report = on_step or (lambda _done, _total: None)
    report(0, len(positives))
    sources = Sources(marginals, inputs, target, options)
    task = Task(inputs, classes, options, scaling, seed, sources, lambda: None)
    basis, fits = _first_fit(task, positives, report)
    report(len(positives), len(positives))
    planes = tuple(_plane(fit, classes, scaling) for fit in fits)
    model = LinearClassifier(
        inputs,
        classes,
        columns,
        planes,
        options,
        basis,
        marginals.records,
        sampled=options.sample if basis == "network" else None,
        seed=seed,
        notes=notes_of(columns, options, task.bases, basis, planes),
    )
    return replace(model, accuracy=task.accuracy(model))


def _chosen(
    domain: Domain, target: str, features: Sequence[str] | None, seed: int
) -> tuple[Domain, Variable]:
    classes = domain[target]
    names = [n for n in domain.names if n != target] if features is None else list(features)
    inputs = [domain[name] for name in names]
    if not inputs or target in names or len(set(names)) < len(names):
        raise OptionError(
            f"The features {names} must be one or more distinct variables, without the class"
            f" {target!r}.",
            where="features",
        )
    if seed < 0:
        raise OptionError(f"The seed {seed} is negative.", where="seed")
    return Domain(tuple(inputs)), classes


def _first_fit(task: Task, positives: Sequence[int], report: OnStep) -> tuple[Basis, list[Fit]]:
    """Return the planes on the first basis that gives all of them."""
    for basis in task.bases:
        fits: list[Fit] = []
        for done, positive in enumerate(positives):

            def tick(done: int = done) -> None:
                report(done, len(positives))

            fit = replace(task, tick=tick).fit(basis, positive, done)
            if fit is None:
                break
            fits.append(fit)
        else:
            return basis, fits
    raise EstimationError(
        "The noise in the raw counts is larger than what tells the columns apart, so that the loss"
        " has no least value there.",
        where="counts",
        remedy="Estimate the counts by maximum likelihood, let expected counts be used, give an l2"
        " above 0, or choose fewer features.",
    )


def _plane(fit: Fit, classes: Variable, scaling: Scaling) -> Plane:
    values = scaling.back @ fit.weights
    names = (INTERCEPT, *(column.name for column in scaling.columns))
    # Neither is known of a column that was left out, nor of any where the loss gives no error.
    errors: list[list[float | None]] = [[None] * len(names)] * 2
    if fit.errors is not None:
        left_in = [0, *(1 + number for number in scaling.kept)]
        for which, covariance in enumerate(fit.errors):
            variances = np.diag(scaling.back @ covariance @ scaling.back.T)
            errors[which] = [
                float(np.sqrt(max(v, 0.0))) if place in left_in else None
                for place, v in enumerate(variances)
            ]
    weights = zip(names, values.tolist(), *errors, strict=True)
    return Plane(classes.categories[fit.positive], tuple(Weight(*one) for one in weights))
