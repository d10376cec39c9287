"""Whether several owners code a variable alike: its labels, and the unit of its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pramana_core.alike import first_few
from pramana_core.errors import DomainError


def require_same_labels(name: str, labels: Mapping[str, Sequence[str]]) -> None:
    """Refuse owners who code a variable differently, such as low and high with LOW and HIGH.

    A rare category may not occur at every owner, so that lists may differ a little. But each owner
    must share more than half of its labels with the owner of the longest list.

    Args:
        name: the variable.
        labels: each owner's labels.

    Raises:
        DomainError: two owners share too few of their labels.
    """
    longest = max(labels, key=lambda owner: len(labels[owner]))
    for owner, own in labels.items():
        if 2 * len(set(own) & set(labels[longest])) <= len(own):
            raise DomainError(
                f"Owners code {name!r} differently: {longest} has the categories"
                f" {first_few(labels[longest])}, {owner} has {first_few(own)}.",
                where=name,
                remedy="Let all owners use the same labels and declare the same categories, then"
                " make the trees again; or combine only trees with the same labels.",
            )


FACTOR = 3.0
"""Owners' ranges of a number differ suspiciously where one is more than this times as wide."""


def units_differ(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether two owners' ranges of a number look as if their units differed.

    They do where they have less than half of the narrower range in common, or where one is more
    than `FACTOR` times as wide as the other.
    """
    widths = sorted(high - low for low, high in (one, other))
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common < widths[0] / 2 or 0 < FACTOR * widths[0] < widths[1]


def units_warning(name: str, ranges: Mapping[str, tuple[float, float]]) -> str | None:
    """Return a warning where owners' ranges of a number look like different units, else None."""
    for owner, one in ranges.items():
        for other, ends in ranges.items():
            if units_differ(one, ends):
                return (
                    f"Check the units and codes of {name!r}: its values go from {one[0]:.4g} to"
                    f" {one[1]:.4g} at {owner}, from {ends[0]:.4g} to {ends[1]:.4g} at {other}."
                )
    return None
