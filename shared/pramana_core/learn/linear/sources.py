"""What a linear classifier is fitted to: counts of all cells by class, or drawn records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import EstimationError
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.linear.columns import Cells, Column, Scaling
from pramana_core.learn.networks.network import sample_chunks
from pramana_core.marginals.counts import Marginals, Tensor
from pramana_core.progress import OnShare

_NO_VARIATION = 1e-12
"""A variance below this share of the squared range of a column's values counts as zero."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """The counts of each class in cells of the features: `counts` has shape (cells, classes)."""

    cells: Cells
    counts: Tensor

    @classmethod
    def of(cls, counts: Tensor) -> ClassCounts:
        """Return counts over all cells of the features and, last, the class."""
        shape, classes = counts.shape[:-1], counts.shape[-1]
        return cls(Cells.grid(shape), counts.reshape(-1, classes))

    @cached_property
    def totals(self) -> Tensor:
        """The records of all classes in each cell, shape (cells,)."""
        total: Tensor = self.counts.sum(axis=1)
        return total

    @cached_property
    def valid(self) -> bool:
        """Whether no count is negative."""
        return bool(self.counts.min() >= 0)

    def of_class(self, code: int) -> Tensor:
        """Return the records of one class in each cell, shape (cells,)."""
        own: Tensor = self.counts[:, code]
        return own


def drawn_counts(model: BayesClassifier, records: int, seed: int, on_share: OnShare) -> ClassCounts:
    """Return records drawn from a classifier's network, a cell each, with its class probabilities.

    `on_share` is called with the share done.
    """
    chunks, drawn = [], 0
    for chunk in sample_chunks(model.network, records, seed):
        chunks.append(chunk)
        drawn += len(chunk[model.target.name])
        on_share(drawn / records)
    codes = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in model.inputs.names}
    cells = Cells(tuple(codes.values()), model.inputs.shape)
    return ClassCounts(cells, model.probabilities(codes))


def scaled(
    columns: Sequence[Column], marginals: Marginals, variables: Domain
) -> tuple[tuple[Column, ...], Scaling]:
    """Return the columns with their estimated deviations, and how to scale them.

    Raises EstimationError if no column varies.
    """
    shares = {}
    for variable in variables:
        counts = marginals.marginal([variable.name]).counts
        shares[variable.name] = counts / counts.sum()
    known, kept, means = [], [], []
    for number, column in enumerate(columns):
        values, share = np.array(column.values), shares[column.variable]
        mean = float(values @ share)
        variance = float(np.square(values - mean) @ share)
        varies = variance > _NO_VARIATION * float(np.ptp(values)) ** 2
        deviation = float(np.sqrt(variance)) if varies else 0.0
        known.append(Column(column.variable, column.name, column.values, deviation))
        if varies:
            kept.append(number)
            means.append(mean)
    if not kept:
        raise EstimationError(
            "No column is estimated to vary, so none separates the classes.",
            remedy="Choose other features, or collect more records.",
        )
    return tuple(known), Scaling(tuple(known), tuple(kept), np.array(means))
