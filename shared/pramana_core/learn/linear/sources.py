"""What a linear classifier is fitted to: counts of all cells by class, or drawn records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.linear.columns import Cells
from pramana_core.learn.networks.network import sample_chunks
from pramana_core.marginals.counts import Tensor
from pramana_core.progress import OnShare


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
