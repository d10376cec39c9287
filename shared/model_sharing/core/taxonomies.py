"""Taxonomies: which categories of an attribute belong together, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.errors import DomainError


@dataclass(frozen=True)
class Taxonomy:
    """A taxonomy of categories: for each, the names of its ancestors from the nearest to the root.

    `ancestors[code]` are those of one category, the root left out; all have the same number, the
    taxonomy's height.
    """

    ancestors: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len({len(names) for names in self.ancestors}) != 1:
            raise DomainError("All categories of a taxonomy must have as many ancestors.")
        for level in range(1, self.height):
            above = {(names[level - 1], names[level]) for names in self.ancestors}
            if len({lower for lower, _ in above}) < len(above):
                raise DomainError(
                    f"A group of level {level} of a taxonomy is in two groups of the next."
                )

    @property
    def height(self) -> int:
        """How many levels of groups there are below the root."""
        return len(self.ancestors[0])

    def groups(self, level: int) -> tuple[tuple[int, ...], ...]:
        """Return the categories' codes by their group at a level, 1 .. height; sorted."""
        found: dict[str, list[int]] = {}
        for code, names in enumerate(self.ancestors):
            found.setdefault(names[level - 1], []).append(code)
        return tuple(sorted(map(tuple, found.values())))

    def require_over(self, name: str, categories: Sequence[str]) -> None:
        """Check that it is of these categories. Raises DomainError."""
        if len(self.ancestors) != len(categories):
            raise DomainError(
                f"The taxonomy of {name!r} is of {len(self.ancestors)} categories; the attribute"
                f" has {len(categories)}.",
                where=name,
            )
