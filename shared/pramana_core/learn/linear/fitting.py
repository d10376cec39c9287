"""Learning a linear classifier from marginals (Ma 6; for other losses, Ma 8 (a))."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import EstimationError, LimitExceeded
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.common.inputs import inputs_of
from pramana_core.learn.common.options import Basis, LinearOptions, Seed, require_limit
from pramana_core.learn.linear.columns import Cells, ClassCounts, DesignMatrix, Scaling, columns_of
from pramana_core.learn.linear.model import INTERCEPT, LinearClassifier, Plane, Weight
from pramana_core.learn.linear.pocket import pocket
from pramana_core.learn.linear.solving import (
    least_squares,
    logistic,
    require_independent,
    weight_covariances,
)
from pramana_core.learn.networks.network import sample_chunks
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.marginals.tables import MarginalTable
from pramana_core.progress import Progress, Tick, unwatched

CELLS = 1 << 20
"""The maximum number of cells of a table over the features and the class."""

EVIDENT = 2.0
"""A class certainly has records if its count exceeds this many standard errors."""

EMPTY = 1e-9
"""A class with less than this share of all records counts as empty; the share is rounding."""

NOISELESS = 1e-9
"""Counts whose variance per record is smaller come from records that were not randomized."""

COLUMNS = 4096
"""The maximum number of columns; computing their errors takes time proportional to its cube."""


def learn_linear(
    marginals: Marginals,
    target: str,
    features: Sequence[str] | None = None,
    options: LinearOptions | None = None,
    *,
    seed: int = 0,
    on_step: Progress | None = None,
) -> LinearClassifier:
    """Learn planes that separate the classes of a variable: one plane for two classes, otherwise
    one for each class against the rest.

    Weights are in the columns' own units. The weights of a perceptron have length 1 for columns
    scaled to standard deviation 1. Columns that do not vary get weight 0. Classes whose records do
    not stand out from the noise get no plane. With two classes, the second is on the positive side.

    Raises:
        UnknownVariable, OptionError: see `inputs_of` and `columns_of`, or a seed outside its range.
        EstimationError: no column varies, fewer than two classes have records, columns depend on
            each other, a plane separates the classes perfectly (logistic loss without l2), or noise
            leaves no solution.
        LimitExceeded: more than `COLUMNS` columns, or counts of more than `CELLS` cells.
    """
    options = options or LinearOptions()
    require_limit(seed, Seed, "seed")
    inputs = inputs_of(marginals.domain, target, features, "features")
    classes = marginals.domain[target]
    listed = columns_of(inputs, options)
    if len(listed) > COLUMNS:
        most = max(inputs, key=lambda feature: feature.size)
        raise LimitExceeded(
            f"The features have {len(listed):,} columns; the limit is {COLUMNS:,}.",
            where=most.name,
            remedy=f"Leave features out, or group the {most.size:,} categories of {most.name!r}.",
        )
    scaling = Scaling.of(listed, marginals, inputs)
    positives, evident = _positives(marginals, classes)
    basis = _basis(marginals, inputs, classes, options)
    report, steps = on_step or unwatched, len(positives)
    report(0, steps)
    fitter = _Fitter(
        marginals, inputs, classes, options, scaling, seed, basis, lambda: report(0, steps)
    )
    planes = _planes(fitter, positives, evident, lambda done: report(done, steps))
    return LinearClassifier(
        inputs,
        classes,
        scaling.columns,
        planes,
        options,
        basis,
        marginals.records,
        options.sample if basis == "network" else None,
        seed,
        _notes(fitter, planes),
    )


def _basis(
    marginals: Marginals, inputs: Domain, classes: Variable, options: LinearOptions
) -> Basis:
    cells = inputs.size * classes.size
    if options.basis == "cells" and cells > CELLS:
        raise LimitExceeded(
            f"The features and the class have {cells:,} cells together, more than {CELLS:,}.",
            where="basis",
            remedy="Choose fewer features, or the basis 'network'.",
        )
    if options.basis is not None:
        return options.basis
    together = marginals.can_estimate([*inputs.names, classes.name])
    return "cells" if together and cells <= CELLS else "network"


@dataclass(frozen=True, eq=False)
class _Fitter:
    marginals: Marginals
    inputs: Domain
    target: Variable
    options: LinearOptions
    scaling: Scaling
    seed: int
    basis: Basis
    tick: Tick

    @cached_property
    def design(self) -> DesignMatrix:
        return self.scaling.design(self.inputs)

    @property
    def _names(self) -> list[str]:
        return [*self.inputs.names, self.target.name]

    @cached_property
    def unbiased(self) -> MarginalTable | None:
        return self.marginals.unbiased(self._names)

    @cached_property
    def table(self) -> MarginalTable:
        return self.unbiased or self.marginals.marginal(self._names)

    @cached_property
    def source(self) -> ClassCounts:
        if self.basis == "network":
            return self._draw()
        if self.options.loss == "perceptron":
            return ClassCounts.of(self.marginals.expected(self._names))
        return ClassCounts.of(self.table.counts)

    def _draw(self) -> ClassCounts:
        """Return records drawn from a network, one cell for each, with class probabilities."""
        names, chunks = self.inputs.names, []
        model = learn_bayes_classifier(
            self.marginals, self.target.name, names, on_step=lambda *_: self.tick()
        )
        for chunk in sample_chunks(model.network, self.options.sample, self.seed):
            self.tick()
            chunks.append(chunk)
        codes = {n: np.concatenate([chunk[n] for chunk in chunks]) for n in names}
        cells = Cells(tuple(codes.values()), self.inputs.shape)
        return ClassCounts(cells, model.probabilities(codes))

    def plane(self, positive: int, number: int, tick: Tick) -> Plane | None:
        """Return a class's plane; None if noise leaves none. `number` selects a random stream."""
        design, source, l2 = self.design, self.source, self.options.l2
        tick()
        if self.options.loss == "perceptron":
            return self._in_own_units(positive, self._pocket(positive, number, tick), None)
        if source.valid:
            require_independent(design, source, l2)
        if self.options.loss == "logistic":
            solution = logistic(design, source, positive, l2, tick)
        else:
            solution = least_squares(design, source, positive, l2)
        if solution is None:
            return None
        errors = None
        if self.basis == "cells":
            loss = self.options.loss
            errors = weight_covariances(self.table, design, positive, loss, solution)
        return self._in_own_units(positive, solution.weights, errors)

    def _pocket(self, positive: int, number: int, tick: Tick) -> Tensor:
        design, source, options = self.design, self.source, self.options
        start = np.zeros(design.size)
        if options.keep == "fewest-wrong":
            squares = least_squares(design, source, positive, 0.0)
            start = start if squares is None else squares.weights
        rng = stream(self.seed, number)
        return pocket(design, source, positive, start, options.steps, rng, tick, options.keep)

    def _in_own_units(
        self, positive: int, scaled: Tensor, covariances: tuple[Tensor, Tensor] | None
    ) -> Plane:
        back = self.scaling.back
        known = [0, *(1 + self.scaling.kept)]
        names = (INTERCEPT, *(column.name for column in self.scaling.columns))
        values = (back @ scaled).tolist()
        weights = [Weight(name, value) for name, value in zip(names, values, strict=True)]
        if covariances is not None:
            own = back[known]
            errors = [
                np.sqrt(np.maximum(((own @ part) * own).sum(axis=1), 0.0)).tolist()
                for part in covariances
            ]
            for place, se, noise in zip(known, *errors, strict=True):
                weights[place] = Weight(names[place], values[place], se, noise)
        return Plane(self.target.categories[positive], tuple(weights))


def _planes(
    fitter: _Fitter,
    positives: Sequence[int],
    evident: Collection[int],
    on_plane: Callable[[int], None],
) -> tuple[Plane, ...]:
    planes, failed = [], None
    for done, positive in enumerate(positives):
        plane = None
        try:
            plane = fitter.plane(positive, done, partial(on_plane, done))
        except EstimationError as error:
            if positive in evident:
                raise
            failed = error
        if plane is not None:
            planes.append(plane)
        elif positive in evident:
            raise _no_solution()
    if len(planes) < min(2, len(positives)):
        raise failed or _no_solution()
    on_plane(len(positives))
    return tuple(planes)


def _no_solution() -> EstimationError:
    return EstimationError(
        "The noise in the counts is larger than the variation of the columns, so the loss has no"
        " minimum.",
        where="basis",
        remedy="Choose the basis 'network', give an l2 above 0, or choose fewer features.",
    )


def _positives(marginals: Marginals, classes: Variable) -> tuple[list[int], frozenset[int]]:
    table = marginals.marginal([classes.name])
    counts, noise = table.counts, np.sqrt(table.variance(population=False))
    present = np.flatnonzero(counts > EMPTY * marginals.records).tolist()
    if len(present) < 2:
        raise EstimationError(
            f"Fewer than two classes of {classes.name!r} are estimated to have records.",
            where=classes.name,
            remedy="Choose another class, or collect more records.",
        )
    if classes.size == 2:
        return [1], frozenset([1])
    return present, frozenset(code for code in present if counts[code] > EVIDENT * noise[code])


def _notes(fitter: _Fitter, planes: Sequence[Plane]) -> tuple[str, ...]:
    notes = []
    still = [column.name for column in fitter.scaling.columns if column.deviation == 0]
    if still:
        notes.append(f"Columns without weight, because they do not vary: {', '.join(still)}.")
    parted = {plane.positive for plane in planes}
    absent = [name for name in fitter.target.categories if len(planes) > 1 and name not in parted]
    if absent:
        notes.append(
            "Classes that are never predicted, because they have too few records:"
            f" {', '.join(absent)}."
        )
    if fitter.basis == "network":
        notes.append(
            f"Fitted to {fitter.options.sample} records drawn from a Bayesian network classifier"
            " learned from the reports. The errors of the weights are unknown."
        )
    elif fitter.options.loss == "perceptron":
        pass
    elif all(plane.weights[0].se is None for plane in planes):
        notes.append("There are too many cells and columns to compute errors of the weights.")
    elif fitter.unbiased is None:
        table = fitter.table
        if table.variance(population=False).max() > NOISELESS * table.records:
            notes.append(
                "The reports give no unbiased counts of these variables together. Errors and"
                " intervals ignore the bias of the estimated counts, which is large if many counts"
                " are near 0."
            )
    return tuple(notes)
