"""Small populations of known laws, and the plans by which their records are reported."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from benchmarks.coverage.setting import Numbers
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Domain
from pramana_core.plan import Block, Plan


def domain_of(*sizes: int) -> Domain:
    """Return variables a, b, ... of these numbers of categories."""
    return Domain.of(**{name: "stuvwxyz"[:k] for name, k in zip("abcdef", sizes, strict=False)})


def interacting(domain: Domain, strength: float, order: int = 2, seed: int = 5) -> Numbers:
    """Return a law with effects of all sets of up to `order` variables, normal on the log scale."""
    rng = np.random.default_rng(seed)
    height = np.zeros(domain.shape)
    axes = range(len(domain))
    for size in range(1, order + 1):
        for chosen in itertools.combinations(axes, size):
            effect = rng.normal(size=[domain.shape[a] for a in chosen]) * strength
            height += effect.reshape([domain.shape[a] if a in chosen else 1 for a in axes])
    theta = np.exp(height)
    return np.asarray(theta / theta.sum(), dtype=np.float64)


def parity(domain: Domain, kept: float = 0.95) -> Numbers:
    """Return a law of bits whose third is the parity of the first two, mostly."""
    first, second, third, *_ = np.indices(domain.shape)
    law = np.where(first ^ second == third, kept, 1 - kept)
    return np.asarray(law / law.sum(), dtype=np.float64)


def apart_given_last(domain: Domain, seed: int = 5) -> Numbers:
    """Return a law by which all variables but the last are independent given it."""
    rng = np.random.default_rng(seed)
    last = rng.dirichlet(np.full(domain.shape[-1], 5.0))
    law = last
    for size in reversed(domain.shape[:-1]):
        own = rng.dirichlet(np.full(size, 3.0), size=len(last)).T
        law = own.reshape(size, *[1] * (law.ndim - 1), len(last)) * law
    return np.asarray(law, dtype=np.float64)


def columns(domain: Domain, p: float) -> Plan:
    """Return a plan that changes each value on its own with probability p."""
    return Plan(
        tuple(Block((v,), Symmetric.from_gamma(v.size, (1 - p) * (v.size - 1) / p)) for v in domain)
    )


def sampled(domain: Domain, sets: Sequence[Sequence[int]], gamma: float) -> Plan:
    """Return a plan by which each record reports one of some sets of variables."""
    choices = tuple(
        Choice(
            tuple(axes),
            RESOLUTION // len(sets),
            Symmetric.from_gamma(math.prod(domain.shape[a] for a in axes), gamma),
        )
        for axes in sets
    )
    return Plan((Block(domain.variables, Sampled(domain.shape, choices)),))


def sampled_pairs(domain: Domain, gamma: float) -> Plan:
    """Return a plan by which each record reports one pair of variables."""
    return sampled(domain, list(itertools.combinations(range(len(domain)), 2)), gamma)
