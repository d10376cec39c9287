"""Correlation matrices of (S, X) and of (S, Y): Pearson's and Spearman's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import stats

from pramana_core.mask.measures.core.compared import ComparedTables
from pramana_core.mixed.table import Floats

Kind = Literal["pearson", "spearman"]


@dataclass(frozen=True, eq=False)
class Correlations:
    """Two correlation matrices of the same columns.

    Attributes:
        kind: "pearson" or "spearman".
        labels: the columns, those of S first.
        told: how many of them are of S; their correlations with each other cannot change.
        original: of (S, X).
        masked: of (S, Y).
    """

    kind: Kind
    labels: tuple[str, ...]
    told: int
    original: Floats
    masked: Floats

    @cached_property
    def differences(self) -> Floats:
        """masked - original of every pair with a confidential column, each pair once."""
        above = np.triu_indices(len(self.labels), 1)
        found: Floats = (self.masked - self.original)[above][above[1] >= self.told]
        return found

    @property
    def largest(self) -> float:
        """The largest absolute difference; 0 if there are no pairs."""
        return float(np.max(np.abs(self.differences), initial=0.0))

    @property
    def mean(self) -> float:
        """The mean absolute difference; 0 if there are no pairs."""
        return float(np.mean(np.abs(self.differences))) if len(self.differences) else 0.0


def correlations(data: ComparedTables, kind: Kind) -> Correlations:
    """Return the correlation matrices of a true and a masked table; categories as indicators."""
    original = np.column_stack([data.told, data.true])
    masked = np.column_stack([data.told, data.masked])
    if kind == "spearman":
        original = np.apply_along_axis(stats.rankdata, 0, original)
        masked = np.apply_along_axis(stats.rankdata, 0, masked)
    labels = (*data.told_labels, *data.labels)
    return Correlations(kind, labels, data.told.shape[1], _matrix(original), _matrix(masked))


def _matrix(columns: Floats) -> Floats:
    """Return a correlation matrix; a column without variation correlates with nothing."""
    centred = columns - columns.mean(axis=0)
    size = np.linalg.norm(centred, axis=0)
    centred = centred / np.where(size > 0, size, 1.0)
    found: Floats = np.clip(centred.T @ centred, -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found
