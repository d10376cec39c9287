"""Randomized response by pure-ldp."""

from __future__ import annotations

import math
from collections.abc import Callable

from benchmarks.bench.peers import columns


def pure_ldp(
    folder: str,
    name: str,
    categories: int,
    gamma: float,
) -> Callable[[], object]:
    """Report every code of a column by direct encoding at epsilon = log gamma."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    codes = columns(folder)[name].tolist()
    client = DEClient(math.log(gamma), categories, index_mapper=lambda code: code)
    return lambda: [client.privatise(code) for code in codes]
