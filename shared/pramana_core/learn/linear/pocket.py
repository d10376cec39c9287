"""The pocket algorithm on expected counts (Ma 6.2).

Ma minimizes sum over reports i and cells l of J(v_l, w) p(V = v_l | report i), and runs the
pocket algorithm on N L weighted samples. J does not depend on the report, so the sum over i can be
taken first: what remains is sum_l J(v_l, w) T*_l with T*_l = sum_i p(v_l | report i), the expected
counts. Drawing one of the N L samples with probability in proportion to its weight draws each cell
in proportion to T*_l. So L weighted cells, which do not grow with the records, give the same
algorithm.

Between two updates the weights stand still, and only a draw that is classified wrong changes
them. That draw is taken at once, from the cells classified wrong; the number of correct ones before
it, the run of the weights, is geometric. By the paper's rule the pocket holds the weights with the
longest run. Here the counts are at hand at each update, so by default it holds the best of all
weights met; these start from those of least squares, and so are never worse than they are.

The paper draws all N L samples alike, and a right one adds its weight to the run. But of each cell
and the same cell of the other class every plane has one wrong: such runs end after one draw on
average, whatever the weights. Drawn by weight, with 1 added, each sample has the same part in the
mean, and a run is as long as on records that were not randomized.

Also here:

* The weights that minimize squared error or the logistic loss on counts, by scaled columns.
* Least squares from pairs: all that it needs of the records are second moments of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from pramana_core.domain import Domain
from pramana_core.errors import EstimationError, NotConverged
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.common.options import Keep
from pramana_core.learn.linear.columns import Cells, DesignMatrix
from pramana_core.learn.linear.sources import Classed, Moments
from pramana_core.marginals.counts import Marginals, MarginalTable, Tensor
from pramana_core.progress import Tick
from pramana_core.ties import TIE, exceeds

_NONE = 1e-12
_TICKS = 64


def pocket(
    design: DesignMatrix,
    source: Classed,
    positive: int,
    start: Tensor,
    steps: int,
    rng: np.random.Generator,
    tick: Tick,
    keep: Keep = "fewest-wrong",
) -> Tensor:
    """Return the weights that stay in the pocket, of those met.

    Args:
        design: the scaled columns.
        source: counts by class, none negative.
        positive: the class on the positive side.
        start: the first weights.
        steps: the most updates; fewer are made where all cells are classified right.
        rng: draws the cells.
        tick: called now and then.
        keep: which weights stay, as in `LinearOptions`.

    Returns:
        Weights of shape (size,), those without the intercept of length 1 unless they are all 0.
    """
    ones = source.of(positive)
    others = source.totals - ones
    records = float(source.totals.sum())
    weights = start.copy()
    # All records in one class is what any weights have to surpass, where the fewest wrong count.
    best = np.zeros(design.size)
    best[0] = 1.0 if exceeds(ones.sum(), others.sum()) else -1.0
    least = float(min(ones.sum(), others.sum()))
    longest = -1.0
    for step in range(steps + 1):
        if step % _TICKS == 0:
            tick()
        # A cell on the plane is on the negative side, whatever rounding says of it. Weights may
        # have come back to 0: scores round as those of one row do, which are of size 1.
        scores = design.scores(source.cells, weights)
        above = scores > TIE * max(float(np.abs(scores).max()), 1.0)
        wrong = np.cumsum(np.where(above, others, ones))
        perfect = wrong[-1] <= _NONE * records
        run = np.inf
        if keep == "longest-run" and not perfect:
            run = rng.geometric(min(wrong[-1] / records, 1.0)) - 1.0
        fewer = keep == "fewest-wrong" and wrong[-1] < least - TIE * records
        if fewer or (keep == "longest-run" and run > longest):
            best, least, longest = weights.copy(), float(wrong[-1]), run
        if perfect or step == steps:
            break
        cell = int(np.searchsorted(wrong, rng.random() * wrong[-1], side="right"))
        row = design.row(source.cells.codes(min(cell, len(wrong) - 1)))
        weights += -row if above[cell] else row
    length = float(np.linalg.norm(best[1:]))
    return best / length if length > 0 else best


# The weights that minimize squared error or the logistic loss on counts, by scaled columns.
#
# Both solve an estimating equation that is linear in the counts T of the cells,
#
#     sum over cells x and classes k of  T(x, k) (y_k - f(w'z)) z  =  N l2 w,
#
# with z the row of columns, f(s) = s and y = -1, +1 for squared error, f the logistic function and
# y = 0, 1 for the logistic loss. Unbiased counts make the equation unbiased, whether or not some
# are negative; but only if the matrix of its derivatives is positive definite does it have the one
# solution wanted (Ma 4.2, 8).

SINGULAR = 1e-9
"""Scaled columns whose moment matrix has a smaller eigenvalue per record are dependent."""

_SEPARATED = 1e-10
_TOLERANCE, _ROUNDED, _ITERATIONS, _HALVINGS = 1e-15, 1e-9, 100, 40


@dataclass(frozen=True, eq=False)
class Solution:
    """Scaled weights with the derivatives of the equation they solve, for one plane.

    Attributes:
        weights: shape (size,), intercept first.
        slope: minus the derivative of the equation by the weights, (size, size).
    """

    weights: Tensor
    slope: Tensor


def least_squares(moments: Moments, positive: int, l2: float) -> Solution | None:
    """Return the least squares solution for targets +1 of a class and -1 of all others.

    None if the moment matrix is not positive definite: by noise, or because columns depend on
    each other (see `require_independent`).
    """
    records = moments.second[0, 0]
    slope = moments.second + records * penalty(len(moments.second), l2)
    if not definite(slope / records):
        return None
    others = moments.by_class.sum(axis=1) - moments.by_class[:, positive]
    towards = moments.by_class[:, positive] - others
    return Solution(cho_solve(cho_factor(slope), towards), slope)


def logistic(
    design: DesignMatrix, source: Classed, positive: int, l2: float, tick: Tick
) -> Solution | None:
    """Return the most likely weights of a class against all others, by Newton's method.

    None if the moment matrix is not positive definite, or negative counts leave no solution.

    Raises:
        EstimationError: no count is negative and the columns separate the classes: the larger the
            weights the likelier they are.
        NotConverged: no count is negative and Newton's method did not end.
    """
    cells, totals = source.cells, source.totals
    records, ones = totals.sum(), source.of(positive)
    shrinking = penalty(design.size, l2)
    if not definite(design.second(cells, totals) / records + shrinking):
        return None
    valid = source.valid

    def loss(weights: Tensor) -> float:
        scores = design.scores(cells, weights)
        data = totals @ np.logaddexp(0.0, scores) - ones @ scores
        return float(data / records + weights @ shrinking @ weights / 2)

    weights = np.zeros(design.size)
    for _ in range(_ITERATIONS):
        tick()
        fitted = expit(design.scores(cells, weights))
        gradient = design.first(cells, ones - totals * fitted) / records - shrinking @ weights
        slope = design.second(cells, totals * fitted * (1 - fitted)) / records + shrinking
        step = _newton(slope, gradient, valid=valid)
        if step is None:
            return None
        decrement = float(gradient @ step)
        if decrement <= _TOLERANCE:
            if valid and np.linalg.eigvalsh(slope)[0] < _SEPARATED:
                raise _separated()
            return Solution(weights + step, slope * records)
        weights = weights + _length(loss, weights, step, decrement) * step
    if valid:
        raise NotConverged(
            f"The logistic loss was not minimized in {_ITERATIONS} steps of Newton's method.",
            remedy="Give an l2 above 0.",
        )
    return None


def require_independent(design: DesignMatrix, cells: Cells, totals: Tensor, l2: float) -> None:
    """Raise EstimationError if non-negative counts leave columns that depend on each other."""
    second = design.second(cells, totals) / totals.sum()
    if not definite(second + penalty(design.size, l2)):
        raise EstimationError(
            "Some columns are linear functions of others, so that their weights cannot be told"
            " apart.",
            remedy="Leave such features out, or give an l2 above 0.",
        )


def _newton(slope: Tensor, gradient: Tensor, *, valid: bool) -> Tensor | None:
    try:
        step: Tensor = cho_solve(cho_factor(slope), gradient)
    except LinAlgError:
        if valid:
            # Where no count is negative only weights without bound flatten the loss.
            raise _separated() from None
        return None
    return step


def _length(
    loss: Callable[[Tensor], float], weights: Tensor, step: Tensor, decrement: float
) -> float:
    """Return how far to go along Newton's step so that the loss falls by enough."""
    if decrement < _ROUNDED:
        return 1.0
    before, length = loss(weights), 1.0
    for _ in range(_HALVINGS):
        if loss(weights + length * step) <= before - 1e-4 * length * decrement:
            break
        length /= 2
    return length


def penalty(size: int, l2: float) -> Tensor:
    """Return the second derivative of the penalty per record, (size, size)."""
    return np.diag([0.0, *[l2] * (size - 1)])


def definite(matrix: Tensor) -> bool:
    """Whether a matrix per record is finite and positive definite, rounding aside."""
    return bool(np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] > SINGULAR)


def _separated() -> EstimationError:
    return EstimationError(
        "A plane separates the classes, so the logistic loss has no finite weights of least loss.",
        remedy="Give an l2 above 0, or choose the loss 'perceptron' or 'least-squares'.",
    )


# Least squares from pairs: all that it needs of the records are second moments of its columns.
#
# The normal equations S w = m are sums over the tables of two features and of a feature and the
# class, whatever the number of all cells. Pairs that no record reports together are filled in as
# independent given the class: of all distributions with the known pairs that one has the largest
# entropy.
#
# Noise may leave S with small or negative eigenvalues, along which w would be wild. Those below the
# standard error of an entry of S (of the columns scaled, per record) are raised to it. Otherwise
# the weights are as bold as the tables: where these are shrunk as their noise demands, nothing is
# left to be shrunk. Without randomization S stays as it is, and w is that of the records.
#
# The error of w is S^-1 times that of m - S w, a sum over the tables of linear functions of each.
# They are taken as independent of each other: records that report different sets are different
# records. Without randomization all pairs are of the same records, and the error is that of
# residuals of one variance.


_NOISELESS = 1e-9
_LEAST, _LEAST_VALUE = 1e-12, 1e-3


@dataclass(frozen=True, eq=False)
class PairTables:
    """The tables of a classifier's features with the class, and of those pairs that are told."""

    design: DesignMatrix
    of_class: MarginalTable
    with_class: tuple[MarginalTable, ...]
    between: dict[tuple[int, int], MarginalTable]

    @classmethod
    def of(
        cls,
        marginals: Marginals,
        design: DesignMatrix,
        features: Domain,
        target: str,
        tick: Tick,
    ) -> PairTables:
        """Ask for them: the class is the last axis, features are numbered."""

        def table(*names: str) -> MarginalTable:
            tick()
            return marginals.marginal(names)

        names, between = features.names, {}
        with_class = tuple(table(name, target) for name in names)
        for one, two in combinations(range(len(names)), 2):
            if marginals.can_estimate((names[one], names[two])):
                between[one, two] = table(names[one], names[two])
        return cls(design, table(target), with_class, between)

    @property
    def records(self) -> int:
        """The number of records."""
        return self.of_class.records

    @property
    def filled(self) -> int:
        """How many pairs of features are filled in."""
        size = len(self.with_class)
        return size * (size - 1) // 2 - len(self.between)

    @cached_property
    def noisy(self) -> bool:
        """Whether the tables have an error given the records."""
        return not all(map(_noiseless, (self.of_class, *self.with_class)))

    @cached_property
    def moments(self) -> Moments:
        """The sums over the records of products of columns, and of columns by class."""
        tables = [table.counts for table in self.with_class]
        pairs = {pair: table.counts for pair, table in self.between.items()}
        for one, two in combinations(range(len(tables)), 2):
            if (one, two) not in pairs:
                pairs[one, two] = tables[one] @ (self._given_class[two]).T
        second = self.design.products([table.sum(axis=1) for table in tables], pairs)
        blocks = zip(self.design.blocks, tables, strict=True)
        by_class = [self.of_class.counts[None], *(block.T @ table for block, table in blocks)]
        return Moments(second, np.concatenate(by_class))

    @cached_property
    def _given_class(self) -> list[Tensor]:
        """The distribution of each feature given the class, (categories, classes)."""
        found = []
        for table in self.with_class:
            size = table.counts.sum(axis=0)
            there = size > _LEAST * self.records
            found.append(np.where(there, table.counts, 0.0) / np.where(there, size, 1.0))
        return found

    @cached_property
    def entry_error(self) -> float:
        """The standard error of an entry of S per record, of features told together, on average."""
        variances = [np.zeros(0)]
        for (one, two), table in self.between.items():
            blocks = self.design.blocks[one].T, self.design.blocks[two].T
            functions = blocks[0][:, None, :, None] * blocks[1][None, :, None, :]
            functions = functions.reshape(-1, *table.counts.shape)
            variances.append(np.diag(table.covariance_of(functions, population=False)))
        every = np.concatenate(variances)
        return float(np.sqrt(np.maximum(every, 0.0).mean())) / self.records if len(every) else 0.0

    def error(self, weights: Tensor, positive: int, *, population: bool) -> Tensor:
        """Return the covariance of m - S w for the targets +1 of a class and -1 of others.

        Shape (size, size). Against the population, without randomization, that of residuals of one
        variance: pairs do not tell how it differs between records.
        """
        if not self.noisy:
            if not population:
                return np.zeros((self.design.size,) * 2)
            return self._residual(weights, positive) * self.moments.second
        return self._of_tables(weights, positive, population=population)

    def _residual(self, weights: Tensor, positive: int) -> float:
        towards = _towards(self.moments, positive)
        square = self.records - 2 * weights @ towards + weights @ self.moments.second @ weights
        return max(float(square), 0.0) / self.records

    def _of_tables(self, weights: Tensor, positive: int, *, population: bool) -> Tensor:
        places, blocks = self.design.places, self.design.blocks
        scores = [block @ weights[at] for block, at in zip(blocks, places, strict=True)]
        targets = 2.0 * (np.arange(self.of_class.counts.size) == positive) - 1
        total = np.zeros((self.design.size,) * 2)
        of_class = np.zeros((self.design.size, len(targets)))
        of_class[0] = targets
        for own, table in enumerate(self.with_class):
            at, block = places[own], blocks[own]
            function = np.zeros((self.design.size, *table.counts.shape))
            rest = targets[None, :] - weights[0] - scores[own][:, None]
            function[at] = block.T[:, :, None] * rest
            function[0] = -scores[own][:, None]
            self._fill_in(own, scores, function, of_class)
            rows = np.flatnonzero(np.abs(function).reshape(len(function), -1).any(axis=1))
            total[np.ix_(rows, rows)] += table.covariance_of(function[rows], population=population)
        for (one, two), table in self.between.items():
            left = -blocks[one].T[:, :, None] * scores[two]
            right = -scores[one][:, None] * blocks[two].T[:, None, :]
            rows = np.r_[places[one], places[two]]
            functions = np.concatenate([left, right])
            total[np.ix_(rows, rows)] += table.covariance_of(functions, population=population)
        return total + self.of_class.covariance_of(of_class, population=population)

    def _fill_in(
        self, own: int, scores: Sequence[Tensor], function: Tensor, of_class: Tensor
    ) -> None:
        """Add what the pairs that are filled in take from a feature's table with the class."""
        others = [
            other
            for other in range(len(self.with_class))
            if other != own and (min(own, other), max(own, other)) not in self.between
        ]
        if not others:
            return
        places, blocks, given = self.design.places, self.design.blocks, self._given_class
        mean = blocks[own].T @ given[own]
        moved = np.sum([scores[other] @ given[other] for other in others], axis=0)
        function[places[own]] -= (blocks[own].T[:, :, None] - mean[:, None, :]) * moved
        of_class[places[own]] -= mean * moved
        off = scores[own][:, None] - scores[own] @ given[own]
        for other in others:
            function[places[other]] -= (blocks[other].T @ given[other])[:, None, :] * off


@dataclass(frozen=True, eq=False)
class PairEquation:
    """The normal equations of some tables, with a penalty, as they are solved for each class."""

    tables: PairTables
    l2: float

    @cached_property
    def slope(self) -> Tensor | None:
        """S, its eigenvalues raised to `floor`, with the penalty.

        None if records that are not randomized leave columns that depend on each other.
        """
        tables = self.tables
        per_record = tables.moments.second / tables.records
        if self.floor > 0:
            values, vectors = np.linalg.eigh(per_record)
            per_record = (vectors * np.maximum(values, self.floor)) @ vectors.T
        slope = per_record + penalty(len(per_record), self.l2)
        found: Tensor = tables.records * slope
        return found if definite(slope) else None

    @cached_property
    def floor(self) -> float:
        """The least eigenvalue per record; 0 of records that are not randomized."""
        if not self.tables.noisy:
            return 0.0
        return max(_LEAST_VALUE, self.tables.entry_error)

    def solve(self, positive: int) -> Tensor | None:
        """Return scaled weights for targets +1 of a class and -1 of all others."""
        if self.slope is None:
            return None
        towards = _towards(self.tables.moments, positive)
        weights: Tensor = cho_solve(cho_factor(self.slope), towards)
        return weights

    def covariances(self, weights: Tensor, positive: int) -> tuple[Tensor, Tensor]:
        """Return the covariance of a solution, against the population and given the records."""
        assert self.slope is not None  # noqa: S101 - there is a solution
        inverse = np.linalg.inv(self.slope)
        population, given = (
            inverse @ self.tables.error(weights, positive, population=which) @ inverse
            for which in (True, False)
        )
        return population, given


def _noiseless(table: MarginalTable) -> bool:
    return float(table.variance(population=False).max()) <= _NOISELESS * table.records


def _towards(moments: Moments, positive: int) -> Tensor:
    own = moments.by_class[:, positive]
    found: Tensor = 2 * own - moments.by_class.sum(axis=1)
    return found


def odds_weights(
    design: DesignMatrix, model: BayesClassifier, classes: Sequence[int], place: int
) -> Tensor:
    """Return scaled weights by which the columns add up to a score of naive Bayes.

    The score of a class is ln P(class, x), less its mean over the classes. These scores are the
    multinomial logistic regression that fits the model's joint distribution best (Ng and Jordan
    2002), where the evidence counts once (`BayesClassifier.weight`).

    Args:
        design: columns that can: for each feature one less than its categories.
        model: naive Bayes.
        classes: which are told apart.
        place: the class's place in them.

    Returns:
        Shape (size,).
    """

    def scores(shares: Tensor) -> Tensor:
        logs = np.log(np.maximum(shares[classes], np.finfo(float).tiny))
        found: Tensor = (logs - logs.mean(axis=0))[place]
        return found

    found = np.zeros(design.size)
    found[0] = scores(model.prior.probability)
    for attribute, block, at in zip(model.attributes, design.blocks, design.places, strict=True):
        own = model.weight * scores(attribute.family.probability)
        inner = np.column_stack([np.ones(len(own)), block])
        weights = np.linalg.lstsq(inner, own, rcond=None)[0]
        found[0] += weights[0]
        found[at] = weights[1:]
    return found
