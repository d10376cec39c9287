"""Bayesian network classifiers as frozen values."""

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
    """An attribute of a classifier; `family` has its parameters given all its parents.

    `information` is the attribute's information about the class given its other parents, in bits.
    """

    family: LearnedFamily
    information: Annotated[float, Ge(0)]

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.family.node

    @property
    def parents(self) -> tuple[str, ...]:
        """The parents of the attribute in addition to the class."""
        return self.family.parents[1:]


@dataclass(frozen=True, eq=False)
class BayesClassifier:
    """A `Predictor` that applies Bayes' theorem to the attributes in a network.

    Attributes:
        inputs, target: the variables used for predictions, and the class.
        model: the structure; for the option `auto`, the chosen structure.
        prior, attributes: the parameters of the class and of each input.
        options, records: the options of learning, and the number of records.
        notes: remarks, one sentence each, for readers of the model.
        weight: the factor of the attributes' log-likelihood, below 1 if redundant or noisy.

    Raises DomainError, StructureError: inputs, class, attributes or tables do not fit, or the
    attributes form a cycle. ChannelError: a row of a table is not a distribution.
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
            raise DomainError("The attributes must be the inputs, in the same order.")
        for family in (self.prior, *(a.family for a in self.attributes)):
            root = family.parents[:1]
            if (family is self.prior) != (not root) or root not in ((), (self.target.name,)):
                raise DomainError(
                    f"The first parent of {family.node!r} must be the class; the class itself"
                    " must not have parents.",
                    where=family.node,
                )
        _ = self.network

    @property
    def domain(self) -> Domain:
        """The inputs, followed by the class."""
        return self.inputs.join(Domain((self.target,)))

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs: predictions depend on all of them."""
        return self.inputs.names

    @cached_property
    def learned(self) -> LearnedBayesNet:
        """All parameters as a learned network, with the class first."""
        families = (self.prior, *(attribute.family for attribute in self.attributes))
        structure = Structure.of({f.node: f.parents for f in families})
        return LearnedBayesNet(self.domain, structure, self.records, families)

    @cached_property
    def network(self) -> BayesNet:
        """The network of class and attributes; if `weight` is 1, it gives the predictions."""
        return self.learned.network()

    @property
    def structure(self) -> Structure:
        """The attributes, each with its parents in addition to the class."""
        return Structure.of({attribute.name: attribute.parents for attribute in self.attributes})

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """The links between attributes as (parent, child) pairs."""
        return self.structure.links

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class codes of n records; a missing input is summed out."""
        chosen = first_largest_of_rows(self.probabilities(codes))
        return chosen.astype(np.min_scalar_type(self.target.size - 1))

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return the probability of each class, (n, classes); see `predict`."""
        columns = record_columns(self.inputs, codes, missing=True)
        known = dict(zip(self.inputs.names, columns, strict=True))
        shares, _ = infer(self.network, [self.target.name], known)
        prior = self.prior.probability
        # A record that is impossible in the network gets the classes' prior shares.
        shares = np.where(np.isnan(shares), prior, shares)
        if self.weight != 1:
            shares = prior ** (1 - self.weight) * shares**self.weight
        probabilities: Tensor = shares / shares.sum(axis=1, keepdims=True)
        return probabilities
