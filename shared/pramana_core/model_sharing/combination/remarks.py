"""What a reader of a global model must know of the trees that it was made of, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pramana_core.model_sharing.core.attributes import (
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.core.tree import Leaf, SharedTree

_NAMED = 6
"""So many names are listed; the others are counted."""


def remarks(trees: Mapping[str, SharedTree], schema: TreeSchema) -> tuple[str, ...]:
    """Return what must be known of owners' trees, by owner, that are combined in a schema."""
    return (
        *_alone(trees),
        *_unasked(trees, schema),
        *_untold(trees),
        *_differences(trees, schema),
        *_classes(trees, schema),
    )


def _alone(trees: Mapping[str, SharedTree]) -> Iterator[str]:
    """Name the trees that say the same of every record, or count none."""
    bare = [owner for owner, tree in trees.items() if isinstance(tree.root, Leaf)]
    if bare:
        leaves = _are(bare, "a single leaf", "single leaves")
        yield f"{_of(bare)} {leaves}: one class for all records."
    empty = [owner for owner, tree in trees.items() if not tree.records]
    if empty:
        yield f"{_of(empty)} count{_s(empty)} no records."


def _unasked(trees: Mapping[str, SharedTree], schema: TreeSchema) -> Iterator[str]:
    """Name the attributes that no tree, or only some trees, ask for."""
    asked = {
        owner: {name for path in tree.paths() for name in path.conditions}
        for owner, tree in trees.items()
    }
    lacking: dict[tuple[str, ...], list[str]] = {}
    for name in schema.names:
        without = tuple(owner for owner, names in asked.items() if name not in names)
        if without:
            lacking.setdefault(without, []).append(name)
    for owners, names in lacking.items():
        if len(owners) < len(trees):
            yield f"{_of(owners)} {_have(owners)} no condition on {_listed(names)}."
        else:
            which = "No tree has" if len(trees) > 1 else "The tree has no"
            condition = "a condition" if len(trees) > 1 else "condition"
            yield (
                f"{which} {condition} on {_listed(names)}: what is learned of"
                f" {'it' if len(names) == 1 else 'them'} is chance."
            )


def _untold(trees: Mapping[str, SharedTree]) -> Iterator[str]:
    """Name the trees whose misses are of classes that are not told."""
    short = [
        owner
        for owner, tree in trees.items()
        if tree.schema.classes > 2
        and any(leaf.distribution is None and leaf.miss for leaf in tree.leaves)
    ]
    if short:
        yield (
            f"{_of(short)} tell{_s(short)} hits and misses alone, so that it is not known of which"
            " other classes the misses are."
        )


def _differences(trees: Mapping[str, SharedTree], schema: TreeSchema) -> Iterator[str]:
    """Name the attributes whose ranges or categories were joined."""
    ranges, categories = [], []
    for attribute in schema.attributes:
        theirs = [tree.schema[attribute.name] for tree in trees.values()]
        if isinstance(attribute, NumericAttribute):
            ends = {(a.low, a.high) for a in theirs if isinstance(a, NumericAttribute)}
            if len(ends) > 1:
                ranges.append(f"{attribute.name} ({attribute.low:g} to {attribute.high:g})")
        elif len({a.categories for a in theirs if isinstance(a, CategoricalAttribute)}) > 1:
            categories.append(attribute.name)
    if ranges:
        yield f"Owners declare different ranges, which were joined: {_listed(ranges)}."
    if categories:
        yield f"Owners declare different categories, which were joined: {_listed(categories)}."


def _classes(trees: Mapping[str, SharedTree], schema: TreeSchema) -> Iterator[str]:
    """Name the classes that not all owners declare."""
    told = [tree.schema.target.categories for tree in trees.values()]
    some = [label for label in schema.target.categories if any(label not in one for one in told)]
    if some:
        which = "class" if len(some) == 1 else "classes"
        yield (
            f"Not all owners have the {which} {_listed(some)} of {schema.target.name}. Classes are"
            " matched by name alone: one that owners name differently counts as several."
        )


def _of(owners: Sequence[str]) -> str:
    if len(owners) == 1:
        return f"The tree of owner {owners[0]}"
    return f"The trees of owners {_listed(owners)}"


def _are(owners: Sequence[str], one: str, more: str) -> str:
    return f"is {one}" if len(owners) == 1 else f"are {more}"


def _have(owners: Sequence[str]) -> str:
    return "has" if len(owners) == 1 else "have"


def _s(owners: Sequence[str]) -> str:
    return "s" if len(owners) == 1 else ""


def _listed(names: Iterable[str]) -> str:
    """Return names in a row; of many the first, and how many more there are."""
    every = list(names)
    if len(every) > _NAMED:
        return f"{', '.join(every[:_NAMED])} and {len(every) - _NAMED} more"
    return " and ".join(filter(None, [", ".join(every[:-1]), *every[-1:]]))
