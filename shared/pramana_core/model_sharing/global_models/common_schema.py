"""One schema for the trees of several owners, who may declare different ranges and categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pramana_core.domain import Variable
from pramana_core.errors import ModelError
from pramana_core.model_sharing.agreement import require_same_labels
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.conditions import Condition, Values
from pramana_core.model_sharing.tree import Leaf, Node, SharedTree, Split, leaves_below


def common_schema(trees: Sequence[SharedTree], owners: Sequence[str] | None = None) -> TreeSchema:
    """Return the schema of several owners' trees, whose records are of the same attributes.

    The order of attributes is the first tree's. Ranges of numbers are joined, from the least to
    the greatest that any declares; numbers are whole where all say so. Categories and classes are
    those of any, in the order in which they first occur, tree by tree.

    Args:
        trees: one of each owner.
        owners: their names, for messages; by default `owner 1` and so on.

    Raises:
        ModelError: there is no tree; their classes have different names; an attribute is not in
            all of them, or has numbers in one and categories in another.
        DomainError: owners code an attribute or the class differently: see `require_same_labels`.
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
                f"{pair} do not both have the attributes {sorted(apart)}.",
                where=min(apart),
                remedy="Every owner declares the same attributes, including those that its tree"
                " does not use.",
            )
    require_same_labels(target.name, {schemas[s]: s.target.categories for s in schemas})
    if labels := _joined([schema.target.categories for schema in schemas], target.categories):
        target = Variable(target.name, labels)
    attributes = tuple(
        _common({owner: schema[name] for schema, owner in schemas.items()}) for name in first.names
    )
    return TreeSchema(target, attributes)


def in_schema(tree: SharedTree, schema: TreeSchema) -> SharedTree:
    """Return a tree with its categories and classes coded as in a wider schema.

    Categories that the tree does not know go, at each split, where most of its records do.

    Raises:
        ModelError, MissingColumn: the schema lacks something that the tree has.
    """
    if tree.schema == schema:
        return tree
    labels = _places(tree.schema.target.categories, schema.target.categories)
    known = {
        attribute.name: _places(attribute.categories, other.categories)
        for attribute in tree.schema.attributes
        if isinstance(attribute, CategoricalAttribute)
        and isinstance(other := schema[attribute.name], CategoricalAttribute)
    }
    unknown = {
        name: frozenset(range(_categories(schema, name))) - set(places)
        for name, places in known.items()
    }
    return SharedTree(schema, _recoded(tree.root, labels, known, unknown, schema.classes))


def _common(attributes: Mapping[str, Attribute]) -> Attribute:
    """Return what owners declare of one attribute as one declaration."""
    first = next(iter(attributes.values()))
    numbers = [a for a in attributes.values() if isinstance(a, NumericAttribute)]
    lists = {o: a.categories for o, a in attributes.items() if isinstance(a, CategoricalAttribute)}
    if numbers and lists:
        raise ModelError(
            f"{first.name!r} has categories in the trees of {', '.join(lists)} and numbers in the"
            " others.",
            where=first.name,
        )
    if numbers:
        return NumericAttribute(
            first.name,
            min(a.low for a in numbers),
            max(a.high for a in numbers),
            all(a.whole for a in numbers),
        )
    require_same_labels(first.name, lists)
    own = next(iter(lists.values()))
    return CategoricalAttribute(first.name, _joined(list(lists.values()), own) or own)


def _joined(lists: Sequence[tuple[str, ...]], first: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return all labels in the order in which they first occur; None if they are the first's."""
    found = tuple(dict.fromkeys(label for labels in lists for label in labels))
    return None if found == first else found


def _places(labels: Sequence[str], among: Sequence[str]) -> tuple[int, ...]:
    if missing := set(labels) - set(among):
        raise ModelError(f"The schema lacks the categories {sorted(missing)} of a tree.")
    places = {label: place for place, label in enumerate(among)}
    return tuple(places[label] for label in labels)


def _categories(schema: TreeSchema, name: str) -> int:
    attribute = schema[name]
    return len(attribute.categories) if isinstance(attribute, CategoricalAttribute) else 0


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
        if isinstance(condition, Values):
            codes = {known[node.attribute][code] for code in condition.codes}
            left = unknown[node.attribute]
            condition = Values(tuple(sorted(codes | left if place == most else codes)))
            inside = {**unknown, node.attribute: left if place == most else frozenset()}
        else:
            inside = unknown
        parts.append((condition, _recoded(below, labels, known, inside, classes)))
    return Split(node.attribute, tuple(parts))
