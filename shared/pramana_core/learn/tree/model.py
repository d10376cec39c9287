"""Decision trees as values: what each node knows of the class, and how a record finds its leaf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError
from pramana_core.learn.bayes_classifier.model import ChosenModel
from pramana_core.learn.common.record_columns import record_columns_or_missing
from pramana_core.learn.tree.descent import Descent
from pramana_core.learn.tree.missing import spread_probabilities
from pramana_core.learn.tree.node import Node
from pramana_core.learn.tree.options import TreeOptions
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.ties import first_largest_of_rows


@dataclass(frozen=True)
class DecisionTree:
    """A tree that tells a class from other variables; a `Predictor`.

    `records` is the number of records it was learned from, `through` the model of the joint
    distribution that its counts follow from; None where the reports tell the counts themselves.

    Raises:
        DomainError: no inputs, the class among them, or a node that does not fit the variables or
            asks what was asked above it.
        UnknownVariable: a split by a variable that is not an input.
    """

    inputs: Domain
    target: Variable
    root: Node
    records: int
    options: TreeOptions
    through: ChosenModel | None = None

    sums_out = True

    def __post_init__(self) -> None:
        if not len(self.inputs) or self.target.name in self.inputs:
            raise DomainError(
                f"{self.target.name!r} needs one or more other variables to be predicted from.",
                where=self.target.name,
            )
        self._require_fitting(self.root, frozenset())

    def _require_fitting(self, node: Node, asked: frozenset[str]) -> None:
        if len(node.classes.counts) != self.target.size:
            raise DomainError(
                f"A node has counts of {len(node.classes.counts)} classes; {self.target.name!r} has"
                f" {self.target.size}.",
                where=self.target.name,
            )
        if node.split is None:
            if node.children:
                raise DomainError("A node has children and no question.")
            return
        name = node.split.attribute
        if name in asked or len(node.children) != self.inputs[name].size:
            raise DomainError(
                f"{name!r} is asked twice on a path."
                if name in asked
                else f"A question on {name!r} has {len(node.children)} children; it needs"
                f" {self.inputs[name].size}.",
                where=name,
            )
        for child in node.children:
            self._require_fitting(child, asked | {name})

    @property
    def domain(self) -> Domain:
        """The inputs and then the class."""
        return self.inputs.join(Domain((self.target,)))

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs that are asked for anywhere."""
        asked = {node.split.attribute for node in self.root if node.split is not None}
        return tuple(name for name in self.inputs.names if name in asked)

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """The leaves, those of a node's first category first."""
        return tuple(node for node in self.root if node.split is None)

    @cached_property
    def _descent(self) -> Descent:
        return Descent.of(self.inputs, self.root)

    def apply(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the place in `leaves` where each of n records ends. Raises as `predict`."""
        return self._descent.leaf_of(codes)

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class code of each of n records; see `Predictor`.

        A record with missing values is of the class that is the most probable on average over the
        leaves it may end in.
        """
        kind = np.min_scalar_type(self.target.size - 1)
        missing = self._with_missing(codes)
        if missing is not None:
            return first_largest_of_rows(missing).astype(kind)
        decisions = np.array([leaf.classes.decision for leaf in self.leaves])
        return decisions.astype(kind)[self.apply(codes)]

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return the probability of each class, (n, classes); see `Predictor`."""
        missing = self._with_missing(codes)
        if missing is not None:
            return missing
        table: Tensor = np.array([leaf.classes.probabilities for leaf in self.leaves])
        return table[self.apply(codes)]

    def _with_missing(self, codes: Mapping[str, Codes]) -> Tensor | None:
        """Return the probabilities of records of which values are missing; None if none are."""
        columns = record_columns_or_missing(self.inputs, codes)
        sizes = zip(columns, self.inputs.shape, strict=True)
        if not any(len(column) and int(column.max()) == size for column, size in sizes):
            return None
        return spread_probabilities(self.inputs, self.root, columns, self.target.size)
