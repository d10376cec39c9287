"""Bayesian network classifiers as values: tables of each attribute given the class, and more.

Also here:

* The posterior of the class in a network whose every node depends on it, missing values summed
  out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, OptionError
from pramana_core.learn.common.documents import record_columns_or_missing
from pramana_core.learn.common.options import BayesClassifierOptions
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, LearnedFamily
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.ties import first_largest_of_rows

# The posterior of the class in a network whose every node depends on it, missing values summed
# out.
#
# Variable elimination over the missing attributes alone, for all records of one pattern of missing
# cells at once: an observed attribute is an index into its table.

_AT_ONCE = 1 << 15
"""Records whose scores are added up together."""

_SUMMED_AT_ONCE = 1 << 20
"""The most numbers of one factor while missing values are summed out."""

_LEAST = 1e-300
"""What stands for a probability of 0, which has no logarithm."""

_Factor = tuple[Tensor, tuple[str, ...]]
"""Logarithms for each record, class and category of some missing attributes."""


@dataclass(frozen=True, eq=False)
class LogPosterior:
    """Scores classes by records; `network` is over the inputs and the class, its one root."""

    network: BayesNet
    inputs: Domain
    target: Variable
    weight: float = 1.0

    def scores(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return ln P(class) + weight ln P(what is known of the record | class), (n, classes).

        Raises:
            UnknownVariable, DomainError: see `record_columns_or_missing`.
        """
        columns = dict(
            zip(self.inputs.names, record_columns_or_missing(self.inputs, codes), strict=True)
        )
        length = len(next(iter(columns.values())))
        scores = np.empty((length, self.target.size))
        for start in range(0, length, _AT_ONCE):
            part = {name: column[start : start + _AT_ONCE] for name, column in columns.items()}
            self._fill(scores[start : start + _AT_ONCE], part)
        if self.weight != 1:
            own = self._logs[self.target.name]
            scores = own + self.weight * (scores - own)
        return scores

    def _fill(self, scores: Tensor, columns: Mapping[str, Codes]) -> None:
        absent = np.stack([columns[v.name] == v.size for v in self.inputs], axis=1)
        if not absent.any():
            scores[...] = self._of_pattern(columns, frozenset())
            return
        patterns, pattern = np.unique(absent, axis=0, return_inverse=True)
        for number, row in enumerate(patterns):
            missing = frozenset(np.array(self.inputs.names, dtype=object)[row])
            places = np.flatnonzero(pattern.ravel() == number)
            for some in np.array_split(places, 1 + len(places) // self._most(missing)):
                scores[some] = self._of_pattern({n: c[some] for n, c in columns.items()}, missing)

    def _most(self, missing: frozenset[str]) -> int:
        """Return how many records can be summed together."""
        largest = max((self.inputs[name].size for name in missing), default=1)
        return max(1, _SUMMED_AT_ONCE // (self.target.size * largest**2))

    def _of_pattern(self, columns: Mapping[str, Codes], missing: frozenset[str]) -> Tensor:
        length = len(next(iter(columns.values())))
        scores = np.tile(self._logs[self.target.name], (length, 1))
        factors: list[_Factor] = []
        for name in self._needed(missing):
            scope = (*self.network.structure.parents[name][1:], name)
            known = [n for n in scope if n not in missing]
            left = tuple(n for n in scope if n in missing)
            if not left:
                scores += self._logs[name][tuple(columns[n] for n in known)]
                continue
            # The axes that stay are put last, so that the records' codes index the others.
            axes = [*map(scope.index, known), len(scope), *map(scope.index, left)]
            table = np.transpose(self._logs[name], axes)
            taken = table[tuple(columns[n] for n in known)] if known else table[None]
            factors.append((taken, left))
        for factor, _ in _eliminated(factors):
            scores += factor
        return scores

    def _needed(self, missing: frozenset[str]) -> list[str]:
        """Return the attributes that a posterior depends on: not those that sum to 1."""
        needed: list[str] = []
        asked: set[str] = set()
        for name in reversed(self.network.structure.order):
            if name != self.target.name and (name not in missing or name in asked):
                needed.append(name)
                asked.update(self.network.structure.parents[name])
        return needed

    @cached_property
    def _logs(self) -> dict[str, Tensor]:
        """The logarithms of the tables, the class last: an index of codes gives all classes."""
        tables = self.network.tables
        return {
            name: np.moveaxis(np.log(np.maximum(table, _LEAST)), 0, -1)
            for name, table in tables.items()
        }


def _eliminated(factors: Sequence[_Factor]) -> Iterator[_Factor]:
    """Yield the product of factors with all missing attributes summed out, part by part.

    All are logarithms: a missing attribute may have so many children that their product is too
    small for a number.
    """
    left = list(factors)
    while names := sorted({name for _, scope in left for name in scope}):
        scopes = [set(scope) for _, scope in left]
        name = min(names, key=lambda n: len(set().union(*(s for s in scopes if n in s))))
        met = [factor for factor in left if name in factor[1]]
        left = [factor for factor in left if name not in factor[1]]
        kept = tuple(sorted({n for _, scope in met for n in scope} - {name}))
        product = sum(_spread(factor, (*kept, name)) for factor in met)
        left.append((logsumexp(product, axis=-1), kept))
    yield from left


def _spread(factor: _Factor, names: tuple[str, ...]) -> Tensor:
    """Return a factor with an axis for each name, of length 1 for those it does not depend on."""
    table, scope = factor
    ordered = np.transpose(table, [0, 1, *(2 + scope.index(n) for n in names if n in scope)])
    return np.expand_dims(ordered, tuple(2 + i for i, n in enumerate(names) if n not in scope))


ChosenModel = Literal["naive-bayes", "tan"]


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of a classifier.

    `family` are its parameters given the class and then its other parents: raw with their errors,
    and the `probability` that predicts, proper and moved towards what is surer. `information` is
    what it tells of the class by these, given its other parents, in bits.
    """

    family: LearnedFamily
    information: float

    @property
    def name(self) -> str:
        """The attribute."""
        return self.family.node

    @property
    def parents(self) -> tuple[str, ...]:
        """The attributes that it depends on besides the class."""
        return self.family.parents[1:]


@dataclass(frozen=True, eq=False)
class BayesClassifier:
    """Tells a class from attributes by Bayes' theorem in a network; a `Predictor`.

    Attributes:
        inputs: the variables that a prediction is made from.
        target: the class.
        model: the structure; with `auto` among the options, that which was chosen.
        prior: the parameters of the class.
        attributes: those of each input, in the order of the inputs.
        options: how it was learned.
        records: the number of records behind the counts.
        notes: what the reader must know.
        weight: the logarithm of the probability of all attributes given the class is multiplied
            by it; 1, or less where they repeat each other or may say what is noise.

    Raises:
        DomainError: no inputs, the class among them, attributes that are not the inputs, or a table
            that does not fit them.
        StructureError: attributes that depend on each other in a circle.
        NotStochastic: a row of a table that is not a distribution.
        OptionError: a weight that is not above 0 and at most 1.
    """

    inputs: Domain
    target: Variable
    model: ChosenModel
    prior: LearnedFamily
    attributes: tuple[Attribute, ...]
    options: BayesClassifierOptions
    records: int
    notes: tuple[str, ...] = ()
    weight: float = 1.0

    sums_out = True

    def __post_init__(self) -> None:
        if not len(self.inputs) or self.target.name in self.inputs:
            raise DomainError(
                f"{self.target.name!r} needs one or more other variables to be predicted from.",
                where=self.target.name,
            )
        if tuple(attribute.name for attribute in self.attributes) != self.inputs.names:
            raise DomainError("The attributes are not the inputs, in their order.")
        for family in (self.prior, *(a.family for a in self.attributes)):
            root = family.parents[:1]
            if (family is self.prior) != (not root) or root not in ((), (self.target.name,)):
                raise DomainError(
                    f"{family.node!r} must depend on the class first, and the class on nothing.",
                    where=family.node,
                )
        if not 0 < self.weight <= 1:
            raise OptionError(
                f"The weight of the attributes must be above 0 and at most 1, not {self.weight}.",
                where="weight",
            )
        _ = self.network

    @property
    def domain(self) -> Domain:
        """The inputs and then the class."""
        return self.inputs.join(Domain((self.target,)))

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs: predictions hang on all of them."""
        return self.inputs.names

    @cached_property
    def learned(self) -> LearnedBayesNet:
        """All parameters, of the class first, as those of a network."""
        families = (self.prior, *(attribute.family for attribute in self.attributes))
        structure = Structure.of({f.node: f.parents for f in families})
        return LearnedBayesNet(self.domain, structure, self.records, families)

    @cached_property
    def network(self) -> BayesNet:
        """The network that predicts, where `weight` is 1; to be asked and sampled as any other."""
        return self.learned.network()

    @property
    def structure(self) -> Structure:
        """The attributes and what each depends on besides the class."""
        return Structure.of({attribute.name: attribute.parents for attribute in self.attributes})

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The (parent, child) pairs of attributes."""
        return self.structure.links

    @cached_property
    def _posterior(self) -> LogPosterior:
        return LogPosterior(self.network, self.inputs, self.target, self.weight)

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class code of each of n records; see `Predictor`.

        An input that is not among the codes, and a code equal to its number of categories, is
        missing: it is summed out. Of classes that are equally probable the first is predicted.
        """
        chosen = first_largest_of_rows(self.probabilities(codes))
        return chosen.astype(np.min_scalar_type(self.target.size - 1))

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return the probability of each class, (n, classes); see `predict`."""
        scores = self._posterior.scores(codes)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        found: Tensor = shares / shares.sum(axis=1, keepdims=True)
        return found
