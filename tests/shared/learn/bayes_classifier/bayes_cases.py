"""A small world for Bayesian classifiers: a true joint distribution, its records, and reports."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.estimation.estimated import EstimatedMarginals
from tests.shared.learn.cases import Columns, exact, marginals, plan_of, reports

DOMAIN = Domain.of(
    colour=["red", "green", "blue"],
    size=["small", "large"],
    shape=["round", "long", "flat"],
    weight=["light", "heavy"],
    kind=["a", "b", "c"],
)
FEATURES = ("colour", "size", "shape", "weight")


def joint() -> npt.NDArray[np.float64]:
    """Return a distribution with links between the attributes: colour - size, size - shape."""
    rng = np.random.default_rng(5)
    prior = np.array([0.5, 0.3, 0.2])
    colour = rng.dirichlet([2.0] * 3, 3)
    size = rng.dirichlet([0.6] * 2, (3, 3))
    shape = rng.dirichlet([0.8] * 3, (3, 2))
    weight = rng.dirichlet([1.5] * 2, 3)
    made: npt.NDArray[np.float64] = np.einsum(
        "k,kc,kcs,ksh,kw->cshwk", prior, colour, size, shape, weight
    )
    return made


def drawn(records: int, seed: int = 3) -> Columns:
    """Draw records of the world."""
    cells = np.random.default_rng(seed).choice(DOMAIN.size, records, p=joint().ravel())
    codes = np.unravel_index(cells, DOMAIN.shape)
    return {n: c.astype(np.uint8) for n, c in zip(DOMAIN.names, codes, strict=True)}


def counted(columns: Columns) -> EstimatedMarginals:
    """Return the marginals of records as they are."""
    return exact(columns, DOMAIN)


def reported(columns: Columns, p: float, seed: int = 8) -> EstimatedMarginals:
    """Return the marginals estimated from records that were randomized, each column by itself."""
    plan = plan_of(DOMAIN, p)
    return marginals(reports(columns, plan, np.random.default_rng(seed)), plan)
