"""Taxonomies: which categories of an attribute belong together, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pramana_core.errors import DomainError, LimitExceeded

MOST_LEVELS = 20
"""Taxonomies higher than this are refused: nested ones are walked through level by level."""

Groups = Mapping[str, "Groups | Sequence[str]"]
"""Groups by name, each of categories or of further groups."""


@dataclass(frozen=True)
class Taxonomy:
    """A taxonomy of categories: for each, the names of its ancestors from the nearest to the root.

    `ancestors[code]` are those of one category, the root left out; all have the same number, the
    taxonomy's height.

    Raises:
        DomainError: the categories have different numbers of ancestors or none, a name is empty,
            or a group is in two groups of the next level.
        LimitExceeded: there are more than `MOST_LEVELS` levels.
    """

    ancestors: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if len({len(names) for names in self.ancestors}) != 1 or not self.height:
            raise DomainError(
                "All categories of a taxonomy must have as many ancestors, and at least one."
            )
        if self.height > MOST_LEVELS:
            raise LimitExceeded(
                f"A taxonomy has {self.height} levels; at most {MOST_LEVELS} are read.",
                remedy="Leave levels out.",
            )
        if not all(name for names in self.ancestors for name in names):
            raise DomainError("A group of a taxonomy has no name.")
        for level in range(1, self.height):
            above = {(names[level - 1], names[level]) for names in self.ancestors}
            if len({lower for lower, _ in above}) < len(above):
                raise DomainError(
                    f"A group of level {level} of a taxonomy is in two groups of the next."
                )

    @classmethod
    def of(cls, categories: Sequence[str], groups: Groups) -> Taxonomy:
        """Return the taxonomy of nested groups: `{"Europe": {"Baltic": ["EE", "LV"], ...}, ...}`.

        Where branches have different heights, a category of a low one is a group of its own at the
        levels that it lacks.

        Raises:
            DomainError: a category is in no group or in two, or a group has a member that is none.
            LimitExceeded: there are more than `MOST_LEVELS` levels.
        """
        found: dict[str, tuple[str, ...]] = {}
        for category, above in _members(groups, ()):
            if category in found:
                raise DomainError(f"Category {category!r} is twice in a taxonomy.", where=category)
            found[category] = above
        return cls(_over(categories, found))

    @classmethod
    def of_rows(cls, categories: Sequence[str], rows: Sequence[Sequence[str]]) -> Taxonomy:
        """Return the taxonomy of rows: a category, then its ancestors from the nearest upwards.

        A last ancestor that all share is the root, and is left out.

        Raises:
            DomainError: as `of`, and a row is empty.
        """
        found: dict[str, tuple[str, ...]] = {}
        for number, (category, *above) in enumerate(filter(None, rows), 1):
            if category in found:
                raise DomainError(
                    f"Category {category!r} is twice in a taxonomy, again in row {number}.",
                    where=category,
                )
            found[category] = tuple(above)
        tops = {above[-1] if above else None for above in found.values()}
        if len(tops) == 1 and all(len(above) > 1 for above in found.values()):
            found = {category: above[:-1] for category, above in found.items()}
        return cls(_over(categories, found))

    @property
    def height(self) -> int:
        """How many levels of groups there are below the root."""
        return len(self.ancestors[0])

    def require_over(self, name: str, categories: Sequence[str]) -> None:
        """Check that it is of these categories. Raises DomainError."""
        if len(self.ancestors) != len(categories):
            raise DomainError(
                f"The taxonomy of {name!r} is of {len(self.ancestors)} categories; the attribute"
                f" has {len(categories)}.",
                where=name,
            )


def _members(groups: Groups, above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each category of nested groups, with its ancestors from the nearest upwards."""
    if len(above) >= MOST_LEVELS:
        raise LimitExceeded(f"A taxonomy has more than {MOST_LEVELS} levels.")
    for name, members in groups.items():
        if isinstance(members, Mapping):
            yield from _members(members, (name, *above))
        elif isinstance(members, str):
            raise DomainError(
                f"Group {name!r} of a taxonomy must list its categories, not be a text.", where=name
            )
        else:
            for category in members:
                yield category, (name, *above)


def _over(
    categories: Sequence[str], known: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """Return the ancestors of the categories, all of one height."""
    if lacking := [category for category in categories if category not in known]:
        raise DomainError(f"Categories {lacking} are in no group of the taxonomy.")
    if unknown := [category for category in known if category not in set(categories)]:
        raise DomainError(
            f"A taxonomy groups {unknown}, which are no categories.",
            remedy="Declare all categories, also those that no record has.",
        )
    height = max((len(above) for above in known.values()), default=0)
    return tuple((c,) * (height - len(known[c])) + known[c] for c in categories)
