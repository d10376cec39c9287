"""Strata of several layouts of one true table, and their probabilities cell by cell."""

from __future__ import annotations

import itertools

import numpy as np

from pramana_core.channels import Dense, Grouped, Identity, Symmetric, Transition, Withheld
from pramana_core.estimation.axes import Stratum

RECTANGULAR = Dense.from_probabilities([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4]])
SHAPE = (2, 3, 2)
BINARY = Dense.binary(0.1, 0.25)
TERNARY = Symmetric.from_probability(3, 0.3)
WIDE = Dense.from_probabilities([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
SWAPS = Grouped(
    ((0, 3), (1, 2), (4,), (5,)), (Dense.binary(0.3, 0.1), Dense.binary(0.2, 0.4), None, None)
)

LAYOUTS: dict[str, tuple[tuple[tuple[int, ...], Transition], ...]] = {
    "each-alone": (((0,), BINARY), ((1,), TERNARY), ((2,), Identity(2))),
    "another-order": (((2,), WIDE), ((0,), BINARY), ((1,), TERNARY)),
    "jointly": (((0, 1), SWAPS), ((2,), WIDE)),
    "jointly-apart": (((1,), TERNARY), ((2, 0), Symmetric.from_gamma(4, 7.0))),
    "backwards": (((1, 0), SWAPS), ((2,), BINARY)),
    "one-absent": (((2,), BINARY), ((0,), WIDE)),
    "two-absent": (((1,), TERNARY),),
    "one-withheld": (((0,), BINARY), ((1,), Withheld(3)), ((2,), WIDE)),
}


def stratum_of(name: str, seed: int = 0, shape: tuple[int, ...] = SHAPE) -> Stratum:
    parts = LAYOUTS[name]
    sizes = [channel.shape[1] for _, channel in parts]
    reported = np.random.default_rng(seed).integers(20, 300, sizes).astype(float)
    channels = tuple(channel for _, channel in parts)
    return Stratum(reported, channels, tuple(group for group, _ in parts), shape)


def listed(stratum: Stratum) -> np.ndarray:
    """Pr(report | true cell), cell by cell and report by report: (cells, reports)."""
    matrices = [c.matrix() for c in stratum.channels]
    cells = list(np.ndindex(*stratum.shape))
    reports = list(np.ndindex(*stratum.reported.shape))
    dense = np.empty((len(cells), len(reports)))
    for (row, cell), (column, report) in itertools.product(enumerate(cells), enumerate(reports)):
        probability = 1.0
        for matrix, group, code in zip(matrices, stratum.groups, report, strict=True):
            sizes = [stratum.shape[axis] for axis in group]
            probability *= matrix[np.ravel_multi_index([cell[a] for a in group], sizes), code]
        dense[row, column] = probability
    return dense


def drawn(true: np.ndarray, channels: tuple[Transition, ...], records: int, seed: int) -> Stratum:
    """Reports of records of a law, each channel reporting one axis, or one alone all of them."""
    empty = Stratum(np.zeros([c.shape[1] for c in channels]), channels)
    law = empty.expected(true.reshape(*empty.shape, 1))[:, 0]
    counts = np.random.default_rng(seed).multinomial(records, law / law.sum())
    return Stratum(counts.reshape(empty.reported.shape).astype(float), channels)
