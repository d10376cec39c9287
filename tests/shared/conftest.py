"""The channel families and an independent, dense way to compute what the fast code computes."""

from __future__ import annotations

import pytest

from pramana_core.channels import Dense, Grouped, Identity, Symmetric, Transition

FAMILIES: dict[str, Transition] = {
    "identity": Identity(3),
    "binary-symmetric": Symmetric.from_probability(2, 0.25),
    "multi-category": Symmetric.from_probability(3, 0.3),
    "more-moved-than-kept": Symmetric.from_probability(3, 0.9),
    "gamma-diagonal": Symmetric.from_gamma(4, 19.0),
    "binary": Dense.binary(0.1, 0.25),
    "ternary": Dense.ternary(0.1, 0.25),
    "dense": Dense.from_probabilities([[0.7, 0.2, 0.1], [0.0, 0.9, 0.1], [0.25, 0.25, 0.5]]),
    "grouped": Grouped.from_probability([[0, 2], [1, 3], [4]], 0.3),
    "grouped-unevenly": Grouped(
        ((2, 0), (1, 3, 4)), (Dense.binary(0.1, 0.3), Symmetric.from_gamma(3, 5.0))
    ),
}


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES.keys())
def channel(request: pytest.FixtureRequest) -> Transition:
    """Each family in turn."""
    return request.param


@pytest.fixture
def families() -> dict[str, Transition]:
    """All families by name."""
    return FAMILIES
