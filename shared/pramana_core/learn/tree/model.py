"""Decision trees as immutable values and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError
from pramana_core.learn.bayes_classifier.model import ChosenModel
from pramana_core.learn.common.documents import DocumentForm
from pramana_core.learn.common.inputs import record_columns, require_inputs
from pramana_core.learn.common.options import TreeOptions
from pramana_core.learn.tree.node import Node
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.ties import first_largest_of_rows

_CHUNK = 1 << 15
"""The number of records processed at a time; it is small enough for the processor's cache."""


@dataclass(frozen=True)
class DecisionTree:
    """A tree that predicts a class from other variables; a `Predictor`.

    `records` is the number of records from which the tree was learned. `through` names the model
    from which the counts come; it is None if the counts were estimated from reports. Raises
    DomainError: there are no inputs, the inputs include the class, a node does not fit the
    variables, or a path splits by the same variable twice. UnknownVariable: a node is split by a
    variable that is not an input.
    """

    inputs: Domain
    target: Variable
    root: Node
    records: int
    options: TreeOptions
    through: ChosenModel | None = None

    sums_out = True

    def __post_init__(self) -> None:
        require_inputs(self.inputs, self.target)
        self._require_fitting(self.root, frozenset())

    def _require_fitting(self, node: Node, path: frozenset[str]) -> None:
        if len(node.classes.counts) != self.target.size:
            raise DomainError(
                f"A node has counts of {len(node.classes.counts)} classes; {self.target.name!r} has"
                f" {self.target.size}.",
                where=self.target.name,
            )
        if node.split is None:
            if node.children:
                raise DomainError("A node has children but no split.")
            return
        name = node.split.attribute
        if name in path or len(node.children) != self.inputs[name].size:
            raise DomainError(
                f"A split by {name!r} repeats a split above it, or does not have a child for each"
                f" of the {self.inputs[name].size} categories.",
                where=name,
            )
        for child in node.children:
            self._require_fitting(child, path | {name})

    @property
    def domain(self) -> Domain:
        """The inputs, followed by the class."""
        return self.inputs.join(Domain((self.target,)))

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs by which some node is split."""
        questions = {node.split.attribute for node in self.root if node.split is not None}
        return tuple(name for name in self.inputs.names if name in questions)

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """The leaves in the order of category codes."""
        return tuple(node for node in self.root if node.split is None)

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class codes of n records; for a missing value, all children are averaged."""
        classes = first_largest_of_rows(self.probabilities(codes))
        return classes.astype(np.min_scalar_type(self.target.size - 1))

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor:
        """Return the probability of each class, (n, classes).

        A record with a missing value is divided among all children in proportion to their records
        (C4.5; Quinlan 1993, section 3.2).
        """
        columns = record_columns(self.inputs, codes, missing=True)
        found = np.zeros((len(columns[0]), self.target.size))
        for start in range(0, len(found), _CHUNK):
            part = [column[start : start + _CHUNK] for column in columns]
            self._spread(part, found[start : start + _CHUNK])
        return found

    def _spread(self, columns: Sequence[Codes], found: Tensor) -> None:
        everything = np.arange(len(found))
        waiting: list[tuple[Node, npt.NDArray[np.int64], Tensor]] = [
            (self.root, everything, np.ones(len(found)))
        ]
        while waiting:
            node, places, weights = waiting.pop()
            if not len(places):
                continue
            if node.split is None:
                found[places] += weights[:, None] * np.array(node.classes.probabilities)
                continue
            codes = columns[self.inputs.axis(node.split.attribute)][places]
            missing = codes == len(node.children)
            for code, (child, share) in enumerate(zip(node.children, _shares(node), strict=True)):
                met = (codes == code) | (missing & (share > 0))
                part = np.where(missing, share, 1.0) * weights
                waiting.append((child, places[met], part[met]))


def _shares(node: Node) -> Tensor:
    totals = np.maximum([child.classes.total for child in node.children], 0.0)
    whole = float(totals.sum())
    shares: Tensor = totals / whole if whole > 0 else np.full(len(totals), 1 / len(totals))
    return shares


DOCUMENT = DocumentForm("decision-tree", DecisionTree, "a decision tree")
"""The form of decision trees as JSON documents."""
