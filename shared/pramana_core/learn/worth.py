"""The worth of a model: the expected accuracy of a classifier, or findings compared with chance.

For a classifier, the records are split into two halves. A model learned from one half and scored on
the other is no better than the model of all records, which has learned from more. The score of the
model of all records on its own reports is no worse than its true accuracy, because learning
overfits those reports. The interval contains both scores with their errors. If records were drawn,
the gain over the majority class is at most the largest plausible share of other predictions. The
expected accuracy is the middle of the interval.

If some reports contain the class together with all columns that a model uses, the accuracy is a sum
over cells of their unbiased table. Otherwise, records are drawn from the table of each column and
the class, and the unbiased tables correct the score to first order. How redundant the columns are
within a class is estimated from pairs of columns, or assumed to be typical. The interval covers
this uncertainty.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtrc, ndtr

from pramana_core.errors import (
    EmptyTable,
    EstimationError,
    LimitExceeded,
    NotConverged,
    SingularChannel,
)
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.bayes_classifier.redundancy import learn_redundancy
from pramana_core.learn.common.distributions import stream
from pramana_core.learn.common.options import BayesClassifierOptions, RuleOptions
from pramana_core.learn.common.worth import Figure, Worth, compared
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.prediction import Predictor
from pramana_core.learn.rules.rules import Rule
from pramana_core.marginals.counts import Codes, Marginals, Tensor
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.tables import LEVEL, MarginalTable

TABLE_CELLS = 1 << 20
"""The maximum number of cells of a table on which a model is scored without drawing records."""

MOST_ERROR = 0.05
"""The largest acceptable standard error of a score on a table; above it, records are drawn."""

DRAWS = 1 << 13
"""The number of records drawn; the accuracy then has an error of half a point at most."""

PAIRED = 32
"""The maximum number of columns for which the redundancy of pairs is estimated."""

UNEVEN = 0.1
"""The standard deviation, over pairs of columns, of their correlation."""

MOST_ALIKE = 0.95
"""The largest correlation that is assumed between the evidence of columns for the class."""

UNMODELLED = 0.03
"""The error of an accuracy on drawn records that interactions of several columns may cause."""

CHANCE = 0.05
"""The significance level of tests of independence."""

PAIRS = 45
"""The maximum number of pairs of columns of a table that are tested for independence."""

SUPPOSED = (
    "No reports show all these columns together precisely enough. The interval assumes that, among"
    " people of one class, the columns are about as redundant as columns usually are."
)

_LEAST = 1e-300

Learn = Callable[[Marginals], Predictor]

_NOT_SCORED = (EmptyTable, EstimationError, LimitExceeded, NotConverged, SingularChannel)


def classifier_worth(marginals: Marginals, model: Predictor, learn: Learn) -> Worth | None:
    """Return an assessment of a classifier, or None if its accuracy cannot be estimated.

    Args:
        marginals: the marginals from which the model was learned.
        model: the classifier.
        learn: a function that learns such a classifier from other marginals.
    """
    halves = marginals.halves()
    if halves is None:
        return None
    target, names = model.target.name, model.inputs.names
    judges = [_Judge(part, target, names) for part in (marginals, *halves)]
    with suppress(*_NOT_SCORED):
        models = [model, *(learn(part) for part in halves)]
        own = _scored(judges, models)
        plain = _scored(judges, [judge.naive_bayes for judge in judges])
        classes = judges[0].classes
        return Worth(
            compared(own.gain, "guessing the majority"),
            (
                Figure("expected accuracy", *own.accuracy),
                Figure("majority class", float(classes.counts.max()) / classes.records),
                Figure("naive Bayes of the same releases", *plain.accuracy),
                Figure("gain over the majority class", *own.gain, unit="points"),
            ),
            SUPPOSED if own.supposed else "",
        )
    return None


Estimate = tuple[float, float, float]
"""An estimate and the two ends of its 95 % interval."""


@dataclass(frozen=True)
class _Scores:
    accuracy: Estimate
    gain: Estimate
    supposed: bool


@dataclass(frozen=True)
class _Share:
    """A share of records as a linear function of tables, for evaluation on any marginals.

    `terms` has the weights of the cells of each table, by the table's variables; `base` is a
    constant term. `spread` is the possible effect of the columns' correlation on the share. `minor`
    is the largest plausible share of predictions other than the majority class.
    """

    base: float
    terms: Mapping[tuple[str, ...], Tensor]
    spread: float = 0.0
    minor: float = 1.0

    def on(self, judge: _Judge) -> float:
        parts = ((judge.table(names), weights) for names, weights in self.terms.items())
        return self.base + sum(float((w * t.counts).sum()) / t.records for t, w in parts)

    def variance(self, judge: _Judge) -> float:
        parts = ((judge.table(names), weights) for names, weights in self.terms.items())
        each = (t.covariance_of(w[None], population=True)[0, 0] / t.records**2 for t, w in parts)
        return math.fsum(max(float(one), 0.0) for one in each)

    def less(self, name: str, code: int, size: int) -> _Share:
        category = -(np.arange(size) == code).astype(float)
        terms = dict(self.terms)
        (whole,) = [own for own in terms if own[0] == name][:1]
        shaped = category.reshape(-1, *(1 for _ in whole[1:]))
        terms[whole] = terms[whole] + shaped
        return _Share(self.base, terms, self.spread, self.minor)


def _scored(judges: Sequence[_Judge], models: Sequence[Predictor]) -> _Scores:
    whole, target = judges[0], models[0].target
    majority = int(np.argmax(whole.classes.counts))
    shares = [judge.right(model, majority) for judge, model in zip(judges, models, strict=True)]
    estimates = []
    for own in (shares, [s.less(target.name, majority, target.size) for s in shares]):
        # Each half's model on the other half, and the model of all records on all records.
        crossed = [(own[1], judges[2]), (own[2], judges[1])]
        scores = [_mean_of(crossed), _mean_of([(own[0], whole)])]
        (low, high), error = sorted(value for value, _ in scores), max(e for _, e in scores)
        half = math.hypot(normal_quantile(LEVEL) * error, own[0].spread)
        estimates.append(((low + high) / 2, low - half, high + half))
    accuracy, gain = estimates
    if shares[0].spread:
        # Where a model predicts the majority class, it gains nothing over guessing that class.
        guess = _Share(0.0, {(target.name,): (np.arange(target.size) == majority) * 1.0})
        largest, minor = guess.on(whole), shares[0].minor
        most = minor + normal_quantile(LEVEL) * math.sqrt(guess.variance(whole))
        gain = _clipped(gain, 0.0 - minor, minor)
        accuracy = _clipped(accuracy, largest - most, largest + most)
    return _Scores(_clipped(accuracy, 0.0, 1.0), _clipped(gain, -1.0, 1.0), shares[0].spread > 0)


def _mean_of(parts: Sequence[tuple[_Share, _Judge]]) -> tuple[float, float]:
    value = math.fsum(share.on(judge) for share, judge in parts)
    variance = math.fsum(share.variance(judge) for share, judge in parts)
    return value / len(parts), math.sqrt(variance) / len(parts)


def _clipped(estimate: Estimate, least: float, most: float) -> Estimate:
    _, low, high = estimate
    if low > most or high < least:
        low, high = least, most
    low, high = max(low, least), min(high, most)
    return (low + high) / 2, low, high


@dataclass(frozen=True, eq=False)
class _Judge:
    marginals: Marginals
    target: str
    names: tuple[str, ...]

    def table(self, names: tuple[str, ...]) -> MarginalTable:
        if names not in self._tables:
            self._tables[names] = self.marginals.unbiased(names) or self.marginals.marginal(names)
        return self._tables[names]

    @cached_property
    def _tables(self) -> dict[tuple[str, ...], MarginalTable]:
        return {}

    @property
    def classes(self) -> MarginalTable:
        return self.table((self.target,))

    @cached_property
    def naive_bayes(self) -> BayesClassifier:
        options = BayesClassifierOptions("naive-bayes")
        return learn_bayes_classifier(self.marginals, self.target, self.names, options)

    def right(self, model: Predictor, majority: int) -> _Share:
        return self._tabulated(model) or self._drawn(model, majority)

    def _tabulated(self, model: Predictor) -> _Share | None:
        names, alone = (self.target, *model.used), not model.used
        domain = self.marginals.domain.project(names)
        if not alone and (domain.size > TABLE_CELLS or not self.marginals.can_estimate(names)):
            return None
        with suppress(LimitExceeded):
            if not alone and self.marginals.unbiased(names) is None:
                return None
            cells = np.indices(domain.shape).reshape(len(names), -1)
            predicted = _predicted(model, dict(zip(names, cells, strict=True)))
            share = _Share(0.0, {names: (predicted == cells[0]).reshape(domain.shape) * 1.0})
            return share if alone or math.sqrt(share.variance(self)) <= MOST_ERROR else None
        return None

    def _drawn(self, model: Predictor, majority: int) -> _Share:
        """Return the share of correct predictions, on records drawn from the columns' tables."""
        used, prior = model.used, self.naive_bayes.prior.probability
        known = {a.name: a.family.probability for a in self.naive_bayes.attributes}
        tables = {name: known[name] for name in used}
        classes, codes = _records(prior, tables, 0.0)
        predicted = _predicted(model, codes)
        right = (predicted == classes) * 1.0
        share = _linear(self.target, right, classes, codes, prior, tables)
        other = _linear(self.target, (predicted != majority) * 1.0, classes, codes, prior, tables)
        differences, others = [], []
        for rho in self._correlations(prior, tables):
            classes, codes = _records(prior, tables, rho)
            predicted = _predicted(model, codes)
            differences.append(float(np.mean(predicted == classes)) - float(right.mean()))
            others.append(float(np.mean(predicted != majority)))
        low, middle, high = differences
        most = max(abs(low - middle), abs(high - middle))
        minor = max(others) + normal_quantile(LEVEL) * math.sqrt(other.variance(self))
        spread = math.hypot(most, UNMODELLED)
        return _Share(share.base + middle, share.terms, spread, min(minor, 1.0))

    def _correlations(self, prior: Tensor, tables: Mapping[str, Tensor]) -> tuple[float, ...]:
        """Return the smallest, likely and largest correlation of columns within a class."""
        bits = {attribute.name: attribute.information for attribute in self.naive_bayes.attributes}
        first = sorted(tables, key=lambda name: -bits[name])[:PAIRED]
        paired = {name: tables[name] for name in tables if name in first}
        mean, deviation = learn_redundancy(self.marginals, prior, paired).likely
        far = normal_quantile(LEVEL) * math.hypot(deviation, UNEVEN)
        least = -1 / max(len(tables) - 1, 1)
        return tuple(min(max(rho, least), MOST_ALIKE) for rho in (mean - far, mean, mean + far))


def _predicted(model: Predictor, codes: Mapping[str, Codes]) -> Codes:
    length = len(next(iter(codes.values()), ()))
    every = {name: codes.get(name, np.zeros(length, np.uint8)) for name in model.inputs.names}
    return model.predict(every)


def _linear(
    target: str,
    hits: Tensor,
    classes: Codes,
    codes: Mapping[str, Codes],
    prior: Tensor,
    tables: Mapping[str, Tensor],
) -> _Share:
    """Return the mean of `hits`, which drawn records have, as a linear function of the tables."""
    size = np.bincount(classes, minlength=len(prior))
    of_class = np.bincount(classes, hits, len(prior)) / np.maximum(size, 1)
    terms: dict[tuple[str, ...], Tensor] = {(target,): of_class}
    base = float(hits.mean()) - float(of_class @ prior)
    for name, table in tables.items():
        cell = classes * table.shape[1] + codes[name]
        drawn = np.bincount(cell, minlength=table.size).reshape(table.shape)
        hit = np.bincount(cell, hits, table.size).reshape(table.shape)
        # The share in a rarely drawn cell is close to that of its class.
        weights = (hit + of_class[:, None]) / (drawn + 1) - of_class[:, None]
        terms[target, name] = weights
        base -= float((weights * table * prior[:, None]).sum())
    return _Share(base, terms)


def _records(
    prior: Tensor, tables: Mapping[str, Tensor], rho: float
) -> tuple[Codes, dict[str, Codes]]:
    """Draw classes and columns; the columns' evidence for the class has the correlation `rho`.

    Given the class, each column is distributed as in its table. Its categories are ordered by their
    evidence for the class and drawn by a normal score. A shared part of the scores correlates them.
    """
    rng = stream(0)
    classes = rng.choice(len(prior), DRAWS, p=prior).astype(np.uint32)
    scores = rng.standard_normal((len(tables), DRAWS))
    # Rescaling the mean score gives all pairs the same correlation, down to -1 / (columns - 1).
    scores -= (1 - math.sqrt(max(1 + rho * len(tables) / (1 - rho), 0.0))) * scores.mean(axis=0)
    scores /= math.sqrt(max(float(np.square(scores).mean()), _LEAST))
    codes = {}
    for (name, table), own in zip(tables.items(), scores, strict=True):
        uniform = ndtr(own)
        evidence = np.log(table) - np.log(table).mean(axis=0)
        column = np.zeros(DRAWS, np.uint32)
        for code, (shares, own) in enumerate(zip(table, evidence, strict=True)):
            order, rows = np.argsort(own, kind="stable"), classes == code
            ends = np.cumsum(shares[order])
            place = np.searchsorted(ends, uniform[rows] * ends[-1])
            column[rows] = order[np.minimum(place, len(order) - 1)]
        codes[name] = column
    return classes, codes


def structure_worth(marginals: Marginals, structure: Structure) -> Worth | None:
    """Return an assessment of a network's links against noise, or None if none is testable.

    The two variables of each link are tested for independence. Noise is expected to produce the
    number of links whose evidence exceeds the usual penalty, (log N)/2 per parameter, by chance.
    """
    nodes, links = structure.nodes, structure.links
    tests = _p_values(marginals, links)
    if tests is None:
        return None
    sizes = [marginals.domain[name].size - 1 for name in nodes]
    pairs = list(itertools.combinations(sizes, 2))
    penalty = math.log(marginals.records)
    expected = math.fsum(float(chdtrc(a * b, a * b * penalty)) for a, b in pairs)
    p_value = min(1.0, len(pairs) * min(tests, default=1.0))
    figures = (
        Figure("links", float(len(links)), unit="number"),
        Figure("links expected from noise alone", expected, unit="number"),
        Figure("independence of all columns", p_value, unit="p-value"),
    )
    if not links:
        return Worth("No links: at this noise the columns look independent.", figures)
    shown = sum(len(pairs) * one < CHANCE for one in tests)
    if not shown:
        return Worth("These reports show no dependence between the columns.", figures)
    if len(links) == 1:
        return Worth("The link stands out from the noise.", figures)
    return Worth(f"{shown} of {len(links):,} links stand out from the noise.", figures)


def table_worth(marginals: Marginals, names: Sequence[str]) -> Worth | None:
    """Return whether the columns of a table depend on each other beyond chance, or None."""
    pairs = list(itertools.combinations(names, 2))[:PAIRS]
    tests = _p_values(marginals, pairs)
    if not tests:
        return None
    least = min(1.0, len(tests) * min(tests))
    figures = tuple(
        Figure(f"independence of {one} and {other}", p, unit="p-value")
        for p, (one, other) in sorted(zip(tests, pairs, strict=True))
    )
    if least >= CHANCE:
        return Worth("No dependence between the columns stands out from the noise.", figures)
    shown = sum(len(tests) * one < CHANCE for one in tests)
    if len(tests) == 1:
        return Worth("The two columns depend on each other.", figures)
    return Worth(f"{shown} of {len(tests)} pairs of columns depend on each other.", figures)


def rules_worth(options: RuleOptions, rules: Sequence[Rule], minimum_confidence: float) -> Worth:
    """Return an assessment of rules: how many have a lift that differs from 1 by more than chance.

    The count is compared with the count expected by chance, for rules with the same supports and
    errors whose two sides are independent.
    """
    shown = sum(low > 1 or high < 1 for low, high in (rule.lift_interval for rule in rules))
    chance, alone = (1 - options.confidence) * len(rules), 0.0
    for rule in rules:
        independent = rule.antecedent_support * rule.consequent_support
        least = max(options.minimum_support, rule.antecedent_support * minimum_confidence)
        error = max(rule.support_se, _LEAST)
        alone += float(ndtr((independent - least) / error))
    figures = (
        Figure("rules", float(len(rules)), unit="number"),
        Figure("rules whose sides depend on each other", float(shown), unit="number"),
        Figure("such rules expected from chance alone", chance, unit="number"),
        Figure("rules expected above the thresholds by chance", alone, unit="number"),
    )
    if not rules:
        return Worth("No rule reaches the thresholds.", figures)
    if shown <= chance + 2 * math.sqrt(chance):
        return Worth("No more rules than expected from chance alone.", figures)
    return Worth(f"{shown} of {_counted(len(rules), 'rule')} show more than chance.", figures)


def _p_values(marginals: Marginals, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
    found = []
    with suppress(*_NOT_SCORED):
        for one, other in pairs:
            test = marginals.independence([one], [other], [])
            freedom = test.degrees_of_freedom
            found.append(float(chdtrc(freedom, 2 * test.ratio)) if freedom else 1.0)
        return found
    return None


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
