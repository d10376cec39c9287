"""One schema for the trees of several owners, and checks on whether they code variables alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pramana_core.alike import first_few
from pramana_core.domain import Variable
from pramana_core.errors import DomainError, ModelError
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.conditions import Condition, Values
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split, leaves_below

FACTOR = 3.0
"""Owners' numeric ranges are suspicious if their widths differ by more than this factor."""


def common_schema(trees: Sequence[SharedTree], owners: Sequence[str] | None = None) -> TreeSchema:
    """Return one schema for several owners' trees, whose records have the same attributes.

    Attributes are in the order of the first tree. Ranges are joined. An attribute is of whole
    numbers if all owners declare it so. Categories are in the order of their first occurrence.
    Raises ModelError: there is no tree, or attributes or classes differ. DomainError: owners have
    too few labels in common.
    """
    if not trees:
        raise ModelError("There must be at least one tree.", where="trees")
    names = owners or [f"owner {number}" for number in range(1, len(trees) + 1)]
    schemas: dict[TreeSchema, str] = {}
    for tree, owner in zip(trees, names, strict=True):
        schemas.setdefault(tree.schema, owner)
    first, *others = schemas
    target = first.target
    for schema in others:
        pair = f"The trees of {schemas[first]} and {schemas[schema]}"
        if schema.target.name != target.name:
            raise ModelError(
                f"{pair} predict different classes, {target.name!r} and {schema.target.name!r}.",
                where=schema.target.name,
            )
        if apart := set(first.names) ^ set(schema.names):
            raise ModelError(
                f"{pair} differ in the attributes {sorted(apart)}.",
                where=min(apart),
                remedy="Let all owners declare the same attributes, including those that their"
                " tree does not use.",
            )
    labels = _joined(target.name, {schemas[s]: s.target.categories for s in schemas})
    if labels != target.categories:
        target = Variable(target.name, labels)
    return TreeSchema(
        target, tuple(_common({o: s[name] for s, o in schemas.items()}) for name in first.names)
    )


def _common(attributes: Mapping[str, Attribute]) -> Attribute:
    name = next(iter(attributes.values())).name
    numbers = [a for a in attributes.values() if isinstance(a, NumericAttribute)]
    lists = {o: a.categories for o, a in attributes.items() if isinstance(a, CategoricalAttribute)}
    if numbers and lists:
        raise ModelError(
            f"{name!r} has categories in the trees of {', '.join(lists)} but numbers in others.",
            where=name,
        )
    if lists:
        return CategoricalAttribute(name, _joined(name, lists))
    low, high = min(a.low for a in numbers), max(a.high for a in numbers)
    return NumericAttribute(name, low, high, all(a.whole for a in numbers))


def _joined(name: str, lists: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    longest = max(lists, key=lambda owner: len(lists[owner]))
    for owner, own in lists.items():
        if 2 * len(set(own) & set(lists[longest])) <= len(own):
            raise DomainError(
                f"Owners code {name!r} differently: {longest} has the categories"
                f" {first_few(lists[longest])}, {owner} has {first_few(own)}.",
                where=name,
                remedy="Let all owners declare the same categories and grow their trees again; or"
                " combine only trees with the same labels.",
            )
    return tuple(dict.fromkeys(label for labels in lists.values() for label in labels))


def units_warning(name: str, ranges: Mapping[str, tuple[float, float]]) -> str | None:
    """Return a warning if the numeric ranges of owners suggest different units, otherwise None.

    Ranges are suspicious if they share less than half of the narrower one, or if one is more than
    `FACTOR` times as wide as the other.
    """
    for owner, one in ranges.items():
        for other, ends in ranges.items():
            widths = sorted(high - low for low, high in (one, ends))
            common = min(one[1], ends[1]) - max(one[0], ends[0])
            if common < widths[0] / 2 or 0 < FACTOR * widths[0] < widths[1]:
                return (
                    f"Check the units and codes of {name!r}: its values go from {one[0]:.4g} to"
                    f" {one[1]:.4g} at {owner}, from {ends[0]:.4g} to {ends[1]:.4g} at {other}."
                )
    return None


def in_schema(tree: SharedTree, schema: TreeSchema) -> SharedTree:
    """Return a tree with the codes of a wider schema.

    In each split, categories that the tree does not have are assigned to the part with most
    records. Raises ModelError: the schema lacks an attribute or a category of the tree.
    """
    if tree.schema == schema:
        return tree
    known = {name: _places(own, schema.labels[name]) for name, own in tree.schema.labels.items()}
    unknown = {
        name: frozenset(range(len(schema.labels[name]))) - set(places)
        for name, places in known.items()
    }
    labels = known[schema.target.name]
    return SharedTree(schema, _recoded(tree.root, labels, known, unknown, schema.classes))


def _places(labels: Sequence[str], among: Sequence[str]) -> tuple[int, ...]:
    if missing := set(labels) - set(among):
        raise ModelError(f"The schema does not have the categories {sorted(missing)} of a tree.")
    places = {label: place for place, label in enumerate(among)}
    return tuple(places[label] for label in labels)


def _recoded(
    node: Node,
    labels: tuple[int, ...],
    known: dict[str, tuple[int, ...]],
    unknown: dict[str, frozenset[int]],
    classes: int,
) -> Node:
    if isinstance(node, Leaf):
        distribution = node.distribution
        if distribution is not None:
            spread = np.zeros(classes)
            spread[list(labels)] = distribution
            distribution = tuple(spread.tolist())
        return replace(node, label=labels[node.label], distribution=distribution)
    records = [sum(leaf.records for leaf in leaves_below(below)) for _, below in node.parts]
    most = max(range(len(node.parts)), key=records.__getitem__)
    parts: list[tuple[Condition, Node]] = []
    for place, (condition, below) in enumerate(node.parts):
        inside = unknown
        if isinstance(condition, Values):
            codes = {known[node.attribute][code] for code in condition.codes}
            left = unknown[node.attribute]
            condition = Values(tuple(sorted(codes | left if place == most else codes)))
            inside = {**unknown, node.attribute: left if place == most else frozenset()}
        parts.append((condition, _recoded(below, labels, known, inside, classes)))
    return Split(node.attribute, tuple(parts))
