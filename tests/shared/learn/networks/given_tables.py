"""Reported counts that are given as a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Table:
    """Reported counts given as a tensor over some columns."""

    def __init__(self, names: Sequence[str], tensor: np.ndarray):
        self.names, self.tensor = tuple(names), np.asarray(tensor)
        self.records = round(float(self.tensor.sum()))

    def table(self, names):
        gone = tuple(i for i, n in enumerate(self.names) if n not in names)
        left = [n for n in self.names if n in names]
        return self.tensor.sum(axis=gone).transpose([left.index(n) for n in names])
