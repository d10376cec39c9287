"""Learning a linear classifier from marginals (Ma 6; other losses: Ma 8 (a))."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import EstimationError, LimitExceeded, OptionError
from pramana_core.learn.common.options import Seed, require_limit
from pramana_core.learn.linear.columns import Column, columns_of
from pramana_core.learn.linear.errors import CERTAIN
from pramana_core.learn.linear.model import Basis, LinearClassifier, Plane
from pramana_core.learn.linear.options import LinearOptions
from pramana_core.learn.linear.sources import scaled
from pramana_core.learn.linear.task import CELLS, PlaneFit, PlaneTask, Sources, plane_of
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress, unwatched

__all__ = ["CELLS", "learn_linear"]

EVIDENT = 2.0
"""A class has records for sure if they are more than this many standard errors of the noise."""

EMPTY = 1e-9
"""A class with less than this share of all records has none: the rest is rounding."""

COLUMNS = 4096
"""Errors are those of all columns at once: time grows with the cube of their number."""

NETWORK = 100
"""The steps of progress that drawn records take."""


def learn_linear(
    marginals: Marginals,
    target: str,
    features: Sequence[str] | None = None,
    options: LinearOptions | None = None,
    *,
    seed: int = 0,
    on_step: Progress | None = None,
) -> LinearClassifier:
    """Learn planes that tell the classes of a variable apart; several classes one against the rest.

    Where the features and the class have at most `CELLS` cells together, the classifier is fitted
    to their estimated counts, and least squares and the logistic loss give their weights errors.
    Beyond that, or where no reports tell these counts, least squares still is exact, from the
    counts of pairs; the other losses are fitted to records drawn from a network that is learned of
    the variables. Where that is naive Bayes and the columns can, the weights of the logistic loss
    are its own. The model says which it is.

    Weights are found for columns scaled by their estimated means and deviations and given back in
    the columns' own units, those of the perceptron with length 1 in scaled units. A column that is
    estimated not to vary gets the weight 0, and a note. Of three or more classes one that is
    estimated to have no records gets no plane, and a note; nor does one whose records could be
    noise alone where its plane has no solution.

    Args:
        marginals: exact or estimated counts of (at least) the features and the class.
        target: the class; the second of two is on the positive side.
        features: what the class is predicted from; by default all other variables.
        options: the loss and how it is fitted.
        seed: decides the draws of the perceptron and of records; nothing else is random.
        on_step: called with (steps done, steps in all), often; may raise to stop. A plane is a
            step; learning a network and drawing from it are `NETWORK` steps before the first.

    Raises:
        UnknownVariable: a name the marginals do not have, or numbers for none of the features.
        OptionError: no features, one twice, the class among them, numbers that do not fit, or a
            seed out of its range.
        EstimationError: no column varies, fewer than two classes have records, columns depend on
            each other, classes are separated (logistic loss without l2), or `raw` counts were
            demanded and allow no solution.
        LimitExceeded: more than `COLUMNS` columns; what the marginals raise.
        NotConverged: what the marginals raise.
    """
    options = options or LinearOptions()
    inputs, classes = _chosen(marginals.domain, target, features, seed)
    listed = columns_of(inputs, options)
    if len(listed) > COLUMNS:
        most = max(inputs, key=lambda feature: feature.size)
        raise LimitExceeded(
            f"The features have {len(listed):,} columns, and a linear classifier is fitted to at"
            f" most {COLUMNS:,}.",
            where=most.name,
            remedy=f"Leave features out, or group the {most.size:,} categories of {most.name!r}.",
        )
    columns, scaling = scaled(listed, marginals, inputs)
    positives, evident = _positives(marginals, classes)
    progress = _Progress(on_step or unwatched, len(positives))
    sources = Sources(marginals, inputs, target, options, progress.on_share)
    fixed = (inputs, classes, options, scaling, seed, sources, tuple(positives))
    task = PlaneTask(*fixed, progress.start)
    basis, fits = _first_fit(task, positives, evident, progress)
    planes = tuple(plane_of(fit, task) for fit in fits)
    drawn = options.sample if basis == "network" else None
    notes = notes_of(task, columns, basis, fits, planes)
    model = LinearClassifier(
        inputs, classes, columns, planes, options, basis, marginals.records, drawn, seed
    )
    return replace(model, accuracy=task.accuracy(model), notes=notes)


@dataclass
class _Progress:
    """Steps done, told to `report`: those `before` the planes, and a step for each plane."""

    report: Progress
    number: int
    before: int = 0

    def start(self) -> None:
        self.on_share(0.0)

    def on_share(self, share: float) -> None:
        self.report(round(self.before * share), self.before + self.number)

    def planes(self, done: int) -> None:
        self.report(self.before + done, self.before + self.number)


def _positives(marginals: Marginals, classes: Variable) -> tuple[list[int], frozenset[int]]:
    """Return the classes with records, and those of them that need a plane.

    Of two classes the second has the only plane. Of more, one needs none if its records could be
    noise alone.
    """
    table = marginals.marginal([classes.name])
    counts, noise = table.counts, np.sqrt(table.variance(population=False))
    found = np.flatnonzero(counts > EMPTY * marginals.records).tolist()
    if len(found) < 2:
        raise EstimationError(
            f"Fewer than two classes of {classes.name!r} are estimated to have records, so there is"
            " nothing to tell apart.",
            where=classes.name,
            remedy="Choose another class, or collect more records.",
        )
    if classes.size == 2:
        return [1], frozenset([1])
    return found, frozenset(code for code in found if counts[code] > EVIDENT * noise[code])


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
    require_limit(seed, Seed, "seed")
    return Domain(tuple(inputs)), classes


def _first_fit(
    task: PlaneTask, positives: Sequence[int], evident: Collection[int], progress: _Progress
) -> tuple[Basis, list[PlaneFit]]:
    """Return the planes on the first basis that gives one for each evident class."""
    if task.wanted[0] == "network":
        progress.before = NETWORK
    progress.start()
    for basis in task.bases:
        task.prepare(basis)
        fits, failed = [], None
        for done, positive in enumerate(positives):
            fit = None
            try:
                fit = replace(task, tick=partial(progress.planes, done)).fit(basis, positive, done)
            except EstimationError as error:
                if positive in evident:
                    raise
                failed = error
            if fit is not None:
                fits.append(fit)
            elif positive in evident:
                break
        else:
            if len(fits) >= min(2, len(positives)):
                progress.planes(len(positives))
                return basis, fits
            if failed is not None:
                raise failed
    raise EstimationError(
        "The noise in the raw counts is larger than what tells the columns apart, so that the loss"
        " has no least value there.",
        where="counts",
        remedy="Estimate the counts by maximum likelihood, let expected counts be used, give an l2"
        " above 0, or choose fewer features.",
    )


def notes_of(
    task: PlaneTask,
    columns: Sequence[Column],
    basis: Basis,
    fits: Sequence[PlaneFit],
    planes: Sequence[Plane],
) -> tuple[str, ...]:
    """Return what the reader of the weights must know, a sentence or a few each."""
    notes = []
    still = [column.name for column in columns if column.deviation == 0]
    if still:
        notes.append(f"Estimated not to vary, so without weight: {', '.join(still)}.")
    parted = {plane.positive for plane in planes}
    absent = [name for name in task.target.categories if len(planes) > 1 and name not in parted]
    if absent:
        notes.append(f"Without records beyond the noise, so never predicted: {', '.join(absent)}.")
    if basis != task.bases[0]:
        notes.append(
            "The raw counts allow no solution: noise is larger than what tells the columns apart."
        )
    if basis == "network":
        notes.append(
            f"{_why_not_all(task)}: fitted to {task.options.sample} records drawn from a network"
            " that was learned of them. Without errors; they do not tell the accuracy. Least"
            " squares needs no drawn records."
        )
    elif basis == "pairs":
        notes += _notes_of_pairs(task, fits)
    elif basis == "naive-bayes":
        notes.append(
            "No reports tell the features and the class together. Of all joint distributions with"
            " the reported pairs of class and feature naive Bayes is taken; there the logistic loss"
            " is least at its logarithms of odds, which are the weights here, against the mean of"
            " the classes. What correlated features tell is counted twice. The errors suppose that"
            " model, the accuracy is not told, and no l2 is applied."
        )
    elif task.options.loss != "perceptron":
        notes += _notes_of_errors(task, fits, planes)
    return tuple(notes)


def _why_not_all(task: PlaneTask) -> str:
    if task.sources.told:
        return f"The variables have more than {CELLS} cells together"
    return "No reports tell the features and the class together"


def _notes_of_pairs(task: PlaneTask, fits: Sequence[PlaneFit]) -> list[str]:
    """Return what must be known of least squares from pairs."""
    tables = task.sources.pairs(task.design, task.tick).tables
    told = "fitted to the counts of pairs, which are all that least squares needs"
    notes = [f"{_why_not_all(task)}: {told}; they do not tell the accuracy."]
    if tables.filled:
        notes.append(
            f"Of {tables.filled} pairs of features no record reports both: they are taken for"
            " independent given the class."
        )
    if any(fit.errors is None for fit in fits):
        notes.append(
            "Without errors: the pairs are of the same randomized records, or there are too many."
        )
    elif tables.noisy:
        notes.append(
            "Errors and intervals suppose that tables of pairs are independent, and that noise has"
            " not hidden how the columns vary together."
        )
    else:
        notes.append("Errors and intervals suppose residuals of one variance.")
    return notes


def _notes_of_errors(
    task: PlaneTask, fits: Sequence[PlaneFit], planes: Sequence[Plane]
) -> list[str]:
    """Return what must be known of the errors of weights that were fitted to counts of cells."""
    notes = []
    equation = task.equation(fits[0].positive)
    if fits[0].errors is None:
        if equation.serves:
            notes.append(
                "Fitted to expected counts, whose bias draws the weights to 0 by more than an"
                " error could say: without errors and intervals. More records, less noise, fewer"
                " features or an l2 above 0 help."
            )
        else:
            notes.append("Too many cells and columns together for errors of the weights.")
        return notes
    if equation.noisy and task.sources.biased:
        notes.append(
            "The reports have no unbiased counts of these variables together. The errors and"
            " intervals leave out the bias of the estimator's, which is large where many counts"
            " are near 0."
        )
    if equation.noisy and not equation.corrects:
        notes.append(
            "Too many cells and columns together to correct the weights for what noise adds to"
            " them: those far from 0 are too far by a part of their errors."
        )
    pairs = list(zip(fits, planes, strict=True))
    weak = [p.positive for f, p in pairs if f.errors and f.errors.certainty < CERTAIN]
    if weak and equation.noisy:
        of = f" of {', '.join(weak)}" if len(planes) > 1 else ""
        notes.append(
            f"Noise hides most of how the columns vary: the weights{of} may be off by a good part"
            " of their errors, most likely too near 0. Their intervals allow for it. More records,"
            " less noise or fewer features help."
        )
    endless = {
        weight.column: None
        for plane in planes
        for weight in plane.weights
        if weight.interval is not None and not np.isfinite(weight.interval).all()
    }
    if endless:
        notes.append(
            "Of these weights the reports rule out no value, however large, on the side where the"
            f" interval has no end: {', '.join(endless)}."
        )
    return notes
