"""Domains, requirements and problems of the designer's tests."""

from __future__ import annotations

import itertools

from pramana_core.design import Learn, Problem, Requirements, goal
from pramana_core.domain import Domain

GAMMA = 19.0


def sized(*sizes: int) -> Domain:
    return Domain.of(**{f"v{i}": [str(c) for c in range(s)] for i, s in enumerate(sizes)})


def demands(domain: Domain, gamma: float = GAMMA, owners: int = 1) -> Requirements:
    """All variables sensitive, dealt out in order to some owners."""
    ends = [len(domain) * i // owners for i in range(owners + 1)]
    names = [domain.names[low:high] for low, high in itertools.pairwise(ends)]
    held = tuple((f"o{i}", own) for i, own in enumerate(names)) if owners > 1 else ()
    return Requirements(domain, gamma, owners=held)


def problem(
    domain: Domain,
    learn: Learn,
    records: int,
    *,
    gamma: float = GAMMA,
    owners: int = 1,
    **how: object,
) -> Problem:
    wanted = goal(domain, learn, **how)  # type: ignore[arg-type]
    return Problem(demands(domain, gamma, owners), wanted, records)
