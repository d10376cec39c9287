"""Thousands of sampled sets in a few lines: how many of each size, and how often each is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pramana_core.channels import RESOLUTION, Choice

_ALIKE = 1e-6
"""Equal shares are multiples of 2^-32 that may differ in their rounding."""


@dataclass(frozen=True)
class SizeOfSets:
    """The sets of one size: how many there are, and the share of records that report one."""

    variables: int
    sets: int
    probability: float

    def as_dict(self, records: int) -> dict[str, Any]:
        """Return JSON for a number of records."""
        return {
            "variables": self.variables,
            "sets": self.sets,
            "probability": self.probability,
            "records": self.probability * records,
        }


def sizes_of_sets(choices: Sequence[Choice]) -> tuple[SizeOfSets, ...]:
    """Return what there is of each size of sets, ascending."""
    sets: Counter[int] = Counter()
    weights: Counter[int] = Counter()
    for choice in choices:
        sets[len(choice.axes)] += 1
        weights[len(choice.axes)] += choice.weight
    return tuple(SizeOfSets(size, sets[size], weights[size] / RESOLUTION) for size in sorted(sets))


def described(sizes: Sequence[SizeOfSets]) -> str:
    """Say in a sentence how many sets of each size a record may report."""
    each = [
        f"{one.sets:,} set{'' if one.sets == 1 else 's'} of"
        f" {one.variables} variable{'' if one.variables == 1 else 's'} ({one.probability:.1%} of"
        " the records)"
        for one in sizes
    ]
    return f"A record reports one of {', '.join(each)}."


def range_of(what: str, shares: Sequence[float], records: int) -> str:
    """Say how many records are expected where shares of them differ: one number, or two."""
    low, high = (_about(share * records) for share in (min(shares), max(shares)))
    expected = low if low == high else f"{low} to {high}"
    return f"{what} is reported by about {expected} of {records:,} records."


def _about(records: float) -> str:
    return f"{records:.2g}" if records < 9.5 else f"{records:,.0f}"


def alike(shares: Sequence[float]) -> bool:
    """Whether shares are the same but for their rounding."""
    return max(shares) - min(shares) < _ALIKE
