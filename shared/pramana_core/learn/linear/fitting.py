"""Learning a linear classifier from marginals (Ma 6; other losses: Ma 8 (a)).

Also here:

* Fitting one plane after another to the counts that a loss can be fitted to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import EstimationError, LimitExceeded, OptionError
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.common.documents import stream
from pramana_core.learn.common.options import LinearOptions, Seed, require_limit
from pramana_core.learn.linear.columns import Column, DesignMatrix, Scaling, columns_of
from pramana_core.learn.linear.errors import CERTAIN, JUDGED_NUMBERS, Equation, accuracy_of
from pramana_core.learn.linear.model import (
    INTERCEPT,
    Accuracy,
    Basis,
    LinearClassifier,
    Plane,
    Weight,
)
from pramana_core.learn.linear.pocket import (
    PairEquation,
    PairTables,
    Solution,
    least_squares,
    logistic,
    odds_weights,
    pocket,
    require_independent,
)
from pramana_core.learn.linear.sources import (
    Classed,
    drawn_counts,
    expected_counts,
    gridded,
    moments_of_counts,
    raw_counts,
    scaled,
)
from pramana_core.marginals.counts import LEVEL, Codes, Marginals, MarginalTable, Tensor
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.progress import OnShare, Progress, Tick, unwatched

__all__ = ["CELLS", "learn_linear"]

# Fitting one plane after another to the counts that a loss can be fitted to.


CELLS = 1 << 20
"""Features and class with more cells together are not tabulated."""

_LEARNED = 0.9
"""The share of the work when a network is learned; then records are drawn from it."""

PAIR_ERRORS = 1 << 32
"""Up to this many numbers (pairs of columns by pairs of features) errors come from pairs."""


@dataclass(frozen=True, eq=False)
class WeightErrors:
    """The errors of weights.

    Attributes:
        covariances: of the scaled weights, against the population and given the records; None
            where that is not told apart.
        intervals: of the weights in the columns' own units, intercept first, (1 + columns, 2).
        certainty: see `Equation.certainty`.
    """

    covariances: tuple[Tensor, Tensor | None]
    intervals: Tensor
    certainty: float


@dataclass(frozen=True, eq=False)
class PlaneFit:
    """Scaled weights for one plane, and how well they are known."""

    positive: int
    weights: Tensor
    errors: WeightErrors | None = None


class Sources:
    """The counts behind each basis, made when first asked for and kept."""

    def __init__(
        self,
        marginals: Marginals,
        inputs: Domain,
        target: str,
        options: LinearOptions,
        on_share: OnShare,
    ):
        self._marginals, self._inputs, self._target = marginals, inputs, target
        self._names = [*inputs.names, target]
        self._options, self._on_share = options, on_share
        self._kept: dict[Basis, Classed] = {}
        self._pairs: PairEquation | None = None

    @property
    def told(self) -> bool:
        """Whether reports tell the table of all features and the class."""
        return self._marginals.can_estimate(self._names)

    @cached_property
    def table(self) -> MarginalTable:
        """The raw counts, class last: the unbiased ones where there are such."""
        return self._unbiased or self._marginals.marginal(self._names)

    @property
    def biased(self) -> bool:
        """Whether there are none."""
        return self._unbiased is None

    @cached_property
    def _unbiased(self) -> MarginalTable | None:
        return self._marginals.unbiased(self._names)

    def of(self, basis: Basis, seed: int) -> Classed:
        """Return the counts of all cells, or of records drawn from the network."""
        if basis not in self._kept:
            found: Classed
            if basis == "raw":
                found = raw_counts(self.table)
            elif basis == "expected":
                found = expected_counts(self._marginals, self._names)
            else:
                found = drawn_counts(self.network, self._options.sample, seed, self._drawn)
            self._kept[basis] = found
        return self._kept[basis]

    def _drawn(self, share: float) -> None:
        self._on_share(_LEARNED + (1 - _LEARNED) * share)

    def _learned(self, done: int, total: int) -> None:
        self._on_share(_LEARNED * done / max(total, 1))

    def pairs(self, design: DesignMatrix, tick: Tick) -> PairEquation:
        """Return the normal equations from the tables of pairs."""
        if self._pairs is None:
            tables = PairTables.of(self._marginals, design, self._inputs, self._target, tick)
            self._pairs = PairEquation(tables, self._options.l2)
        return self._pairs

    @cached_property
    def network(self) -> BayesClassifier:
        """A network of features and class, learned from pairs and triples."""
        return learn_bayes_classifier(
            self._marginals,
            self._target,
            self._inputs.names,
            on_step=self._learned,
        )


def bases_of(options: LinearOptions, cells: int, *, told: bool = True) -> tuple[Basis, ...]:
    """Return what a loss is fitted to, the first choice first.

    Args:
        options: the loss, and the choice of counts.
        cells: those of the features and the class together.
        told: whether the reports tell their table.

    Raises OptionError if the choice of counts leaves nothing.
    """
    tabulated = told and cells <= CELLS
    if options.loss == "perceptron":
        return ("expected",) if tabulated else ("network",)
    first: tuple[Basis, ...] = ("raw",)
    last: tuple[Basis, ...] = ("expected",)
    if not tabulated:
        first, last = (("pairs",) if options.loss == "least-squares" else ()), ("network",)
    chosen = {"raw": first, "expected": last, None: first + last}[options.counts]
    if not chosen:
        raise OptionError(
            f"The raw counts of {cells} cells are not tabulated; at most {CELLS} are."
            if told
            else "No reports tell the raw counts of all features and the class together.",
            where="counts",
            remedy="Leave the choice of counts out, choose fewer features, or least squares.",
        )
    return chosen


@dataclass(frozen=True, eq=False)
class PlaneTask:
    """What all planes of one classifier are fitted with."""

    inputs: Domain
    target: Variable
    options: LinearOptions
    scaling: Scaling
    seed: int
    sources: Sources
    positives: tuple[int, ...]
    tick: Tick

    @cached_property
    def bases(self) -> tuple[Basis, ...]:
        """What can be fitted to, the first choice first."""
        if self.wanted == ("network",) and self._linear:
            return ("naive-bayes",)
        return self.wanted

    @cached_property
    def wanted(self) -> tuple[Basis, ...]:
        """The same before a network is learned."""
        cells = self.inputs.size * self.target.size
        return bases_of(self.options, cells, told=self.sources.told)

    @property
    def _linear(self) -> bool:
        """Whether the network's own classifier is linear in the columns, and is taken."""
        if self.options.loss != "logistic" or self.options.l2 > 0:
            return False
        if self.sources.network.model != "naive-bayes":
            return False
        columns = Counter(column.variable for column in self.scaling.columns)
        return all(columns[variable.name] == variable.size - 1 for variable in self.inputs)

    @cached_property
    def design(self) -> DesignMatrix:
        """The scaled columns."""
        return self.scaling.design(self.inputs)

    def prepare(self, basis: Basis) -> None:
        """Draw the records of a network, which is most of the work."""
        if basis == "network":
            self._source(basis)

    def fit(self, basis: Basis, positive: int, number: int) -> PlaneFit | None:
        """Return the plane of a class, the `number`-th fitted; None if the basis has none."""
        self.tick()
        if self.options.loss == "perceptron":
            return PlaneFit(positive, self._pocket(self._source(basis), positive, number))
        if basis == "pairs":
            return self._of_pairs(positive)
        if basis == "naive-bayes":
            return self._of_odds(positive)
        solution = self._solution(basis, positive)
        if solution is None:
            return None
        if basis == "network":
            return PlaneFit(positive, solution.weights)
        equation = self.equation(positive)
        # Expected counts of noisy reports have a bias that no error tells.
        if not equation.serves or (basis == "expected" and equation.noisy):
            return PlaneFit(positive, solution.weights)
        if equation.corrects:
            corrected = equation.corrected(solution, self.tick)
            if corrected is None:
                return None
            solution = corrected
        back = self.scaling.back
        intervals = np.full((len(back), 2), np.nan)
        known = [0, *(1 + kept for kept in self.scaling.kept)]
        intervals[known] = equation.intervals(solution, back[known], self.tick)
        certainty = equation.certainty(solution, back[known])
        errors = WeightErrors(equation.covariances(solution), intervals, certainty)
        return PlaneFit(positive, solution.weights, errors)

    def accuracy(self, model: LinearClassifier) -> Accuracy | None:
        """Return how many new records a model fitted by this task classifies right, if it is told.

        Only unbiased counts of the features and the class together tell it, and planes that are
        fitted to them in little time. Of drawn records it would be that on the network's own law.
        """
        if model.basis != "raw" or self.sources.biased:
            return None
        if self.design.size * self.inputs.size * self.target.size > JUDGED_NUMBERS:
            return None
        source = self._source("raw")

        def refitted(counts: Tensor) -> Codes | None:
            others, planes = gridded(counts), []
            for plane in model.planes:
                positive = self.target.code(plane.positive)
                solution = self._solved(others, positive)
                if solution is None:
                    return None
                planes.append(plane_of(PlaneFit(positive, solution.weights), self))
            return replace(model, planes=tuple(planes)).classes_of(source.cells)

        drawn = stream(self.seed, len(self.positives))
        try:
            return accuracy_of(self.sources.table, model.classes_of(source.cells), refitted, drawn)
        except (EstimationError, LimitExceeded):
            return None

    def _of_pairs(self, positive: int) -> PlaneFit | None:
        """Return the least squares plane from pairs, with its errors."""
        equation = self.sources.pairs(self.design, self.tick)
        weights = equation.solve(positive)
        if weights is None:
            return None
        same = equation.tables.noisy and self.sources.told
        if same or self.design.size**2 * len(self.inputs) ** 2 > PAIR_ERRORS:
            return PlaneFit(positive, weights)
        covariances = equation.covariances(weights, positive)
        return PlaneFit(positive, weights, self._by_deviates(weights, covariances))

    def _of_odds(self, positive: int) -> PlaneFit:
        """Return the plane of a class by naive Bayes, whose shrinkage no error covers."""
        binary = self.target.size == 2
        classes = [0, 1] if binary else list(self.positives)
        weights = odds_weights(self.design, self.sources.network, classes, classes.index(positive))
        # Of two classes the only score is the difference of theirs.
        return PlaneFit(positive, weights * (2.0 if binary else 1.0))

    def _by_deviates(
        self, weights: Tensor, covariances: tuple[Tensor, Tensor | None]
    ) -> WeightErrors:
        """Return errors with intervals of so many standard errors to both sides."""
        back = self.scaling.back
        error = np.sqrt(np.maximum(((back @ covariances[0]) * back).sum(axis=1), 0.0))
        centre, far = back @ weights, normal_quantile(LEVEL) * error
        intervals = np.stack([centre - far, centre + far], axis=1)
        return WeightErrors(covariances, intervals, np.inf)

    def _pocket(self, source: Classed, positive: int, number: int) -> Tensor:
        design, options = self.design, self.options
        start = np.zeros(design.size)
        if options.keep == "fewest-wrong":
            squares = least_squares(moments_of_counts(design, source), positive, 0.0)
            start = start if squares is None else squares.weights
        rng = stream(self.seed, number)
        return pocket(design, source, positive, start, options.steps, rng, self.tick, options.keep)

    def equation(self, positive: int) -> Equation:
        """Return the estimating equation of a class's plane on the raw counts."""
        loss, l2 = self.options.loss, self.options.l2
        return Equation(self.sources.table, self.design, positive, loss, l2)

    def _source(self, basis: Basis) -> Classed:
        return self.sources.of(basis, self.seed)

    def _solution(self, basis: Basis, positive: int) -> Solution | None:
        source = self._source(basis)
        if source.valid:
            require_independent(self.design, source.cells, source.totals, self.options.l2)
        return self._solved(source, positive)

    def _solved(self, source: Classed, positive: int) -> Solution | None:
        design, l2 = self.design, self.options.l2
        if self.options.loss == "logistic":
            return logistic(design, source, positive, l2, self.tick)
        return least_squares(moments_of_counts(design, source), positive, l2)


def plane_of(fit: PlaneFit, task: PlaneTask) -> Plane:
    """Return a plane in the columns' own units."""
    scaling = task.scaling
    values = scaling.back @ fit.weights
    names = (INTERCEPT, *(column.name for column in scaling.columns))
    weights = [Weight(name, value) for name, value in zip(names, values.tolist(), strict=True)]
    # No error is known of a column that was left out, nor of any where the loss gives none.
    if fit.errors is not None:
        for place in (0, *(1 + number for number in scaling.kept)):
            row = scaling.back[place]
            se, se_records = (
                None if covariance is None else float(np.sqrt(max(row @ covariance @ row, 0.0)))
                for covariance in fit.errors.covariances
            )
            low, high = fit.errors.intervals[place].tolist()
            estimate = weights[place].estimate
            weights[place] = Weight(names[place], estimate, se, se_records, (low, high))
    return Plane(task.target.categories[fit.positive], tuple(weights))


# Learning a linear classifier from marginals (Ma 6; other losses: Ma 8 (a)).


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
    without l2 are its own, without errors. The model says which it is.

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
            " the classes. No weight has an error or an interval: the odds are moved towards 0 as"
            " far as noise asks, and no error covers that. The accuracy is not estimated."
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
    sentence = "fitted to the counts of pairs, which are all that least squares needs"
    notes = [f"{_why_not_all(task)}: {sentence}; they do not tell the accuracy."]
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
