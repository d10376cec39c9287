"""A small world for linear classifiers: a true joint distribution, and records."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain, Variable
from pramana_core.marginals.counts import Codes

DOMAIN = Domain(
    (
        Variable("colour", ("red", "green", "blue")),
        Variable("member", ("no", "yes")),
        Variable("size", ("<1", "1-2", "2-7", ">=7"), (0.5, 1.25, 4.0, 9.0)),
        Variable("class", ("low", "high")),
    )
)

SIZES = (0.5, 1.25, 4.0, 9.0)

Columns = dict[str, Codes]


def joint(classes: int = 2) -> npt.NDArray[np.float64]:
    """Return a distribution over colour, member, size and a class that a plane cannot predict."""
    rng = np.random.Generator(np.random.PCG64(17))
    features = rng.dirichlet(np.full(24, 4.0)).reshape(3, 2, 4, 1)
    colour, member, size = np.ix_([0.0, 0.9, -0.4], [0.0, 0.7], np.array(SIZES) / 6)
    kinds = (colour + member - size, size - 0.5 * member + 0 * colour, 0.3 + 0 * (colour + size))
    scores = np.stack([np.broadcast_to(kind, (3, 2, 4)) for kind in kinds], axis=-1)
    scores = scores[..., :classes]
    scores[1, 1, 2] += np.arange(classes)
    conditional = np.exp(scores)
    product: npt.NDArray[np.float64] = features * conditional / conditional.sum(-1, keepdims=True)
    return product


def domain(classes: int = 2) -> Domain:
    """Return the domain with a class of so many categories."""
    if classes == 2:
        return DOMAIN
    return Domain((*DOMAIN.variables[:-1], Variable("class", ("low", "high", "none")[:classes])))


def records(seed: int, number: int, classes: int = 2) -> Columns:
    """Draw records from `joint`."""
    rng = np.random.Generator(np.random.PCG64(seed))
    share = joint(classes)
    cells = rng.choice(share.size, size=number, p=share.ravel())
    codes = np.unravel_index(cells, share.shape)
    names = domain(classes).names
    return {n: c.astype(np.uint8) for n, c in zip(names, codes, strict=True)}


def matrix(columns: Columns) -> npt.NDArray[np.float64]:
    """Return the columns a classifier should have, made by hand."""
    return np.column_stack(
        [
            columns["colour"] == 1,
            columns["colour"] == 2,
            columns["member"] == 1,
            np.array(SIZES)[columns["size"]],
        ]
    ).astype(np.float64)
