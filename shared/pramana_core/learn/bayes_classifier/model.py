"""Bayesian network classifiers as values: tables of each attribute given the class, and more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError
from pramana_core.learn.common.inputs import record_columns, require_inputs
from pramana_core.learn.common.options import BayesClassifierOptions, Share
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, LearnedFamily
from pramana_core.learn.networks.inference import infer
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.ties import first_largest_of_rows

ChosenModel = Literal["naive-bayes", "tan"]


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of a classifier: the `family` of its parameters given the class and other
    parents.

    `information` is what it adds about the class given its other parents, in bits.
    """

    family: LearnedFamily
    information: Annotated[float, Ge(0)]

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
    """Predicts a class from attributes by Bayes' theorem in a network; a `Predictor`.

    Attributes:
        inputs, target: the variables that predict, and the class.
        model: the structure; with `auto` among the options, the chosen one.
        prior, attributes: the parameters of the class and of each input.
        options, records: how it was learned, and from how many records.
        notes: sentences for the reader.
        weight: multiplies the attributes' log-likelihood; below 1 for redundant or noisy evidence.

    Raises DomainError, StructureError: inputs, class, attributes or tables do not fit, or form a
    circle. ChannelError: a row of a table is not a distribution.
    """

    inputs: Domain
    target: Variable
    model: ChosenModel
    prior: LearnedFamily
    attributes: tuple[Attribute, ...]
    options: BayesClassifierOptions
    records: int
    notes: tuple[str, ...] = ()
    weight: Share = 1.0

    sums_out = True

    def __post_init__(self) -> None:
        require_inputs(self.inputs, self.target)
        if tuple(attribute.name for attribute in self.attributes) != self.inputs.names:
            raise DomainError("The attributes are not the inputs, in their order.")
        for family in (self.prior, *(a.family for a in self.attributes)):
            root = family.parents[:1]
            if (family is self.prior) != (not root) or root not in ((), (self.target.name,)):
                raise DomainError(
                    f"{family.node!r} must depend on the class first, and the class on nothing.",
                    where=family.node,
                )
        _ = self.network

    @property
    def domain(self) -> Domain:
        """The inputs and then the class."""
        return self.inputs.join(Domain((self.target,)))

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs: predictions depend on all of them."""
        return self.inputs.names

    @cached_property
    def learned(self) -> LearnedBayesNet:
        """All parameters, of the class first, as those of a network."""
        families = (self.prior, *(attribute.family for attribute in self.attributes))
        structure = Structure.of({f.node: f.parents for f in families})
        return LearnedBayesNet(self.domain, structure, self.records, families)

    @cached_property
    def network(self) -> BayesNet:
        """The network that predicts where `weight` is 1."""
        return self.learned.network()

    @property
    def structure(self) -> Structure:
        """The attributes and what each depends on besides the class."""
        return Structure.of({attribute.name: attribute.parents for attribute in self.attributes})

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The (parent, child) pairs of attributes."""
        return self.structure.links

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class code of each of n records; missing inputs are summed out."""
        chosen = first_largest_of_rows(self.probabilities(codes))
        return chosen.astype(np.min_scalar_type(self.target.size - 1))

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return the probability of each class, (n, classes); see `predict`."""
        columns = record_columns(self.inputs, codes, missing=True)
        known = dict(zip(self.inputs.names, columns, strict=True))
        shares, _ = infer(self.network, [self.target.name], known)
        prior = self.prior.probability
        # Of a record that the network excludes nothing is known but the classes' own shares.
        shares = np.where(np.isnan(shares), prior, shares)
        if self.weight != 1:
            shares = prior ** (1 - self.weight) * shares**self.weight
        found: Tensor = shares / shares.sum(axis=1, keepdims=True)
        return found
