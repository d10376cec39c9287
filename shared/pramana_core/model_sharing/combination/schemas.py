"""One schema for the trees of several owners, who may declare different ranges and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pramana_core.domain import Variable
from pramana_core.errors import DomainError, ModelError
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
)
from pramana_core.model_sharing.tree import (
    Condition,
    Leaf,
    Node,
    SharedTree,
    Split,
    Values,
    leaves_below,
)

_NAMED = 6
"""So many classes are named in a refusal."""


def common_schema(trees: Sequence[SharedTree]) -> TreeSchema:
    """Return the schema of several owners' trees, whose records are of the same attributes.

    The order of attributes is the first tree's. Ranges of numbers are joined, from the least to
    the greatest that any declares; numbers are whole where all say so. Categories and classes are
    those of any, in the order in which they first occur, tree by tree. A taxonomy is kept where
    the categories are the same and all trees that have one agree.

    Raises:
        ModelError: there is no tree; their classes have different names; an attribute is not in
            all of them, or has numbers in one and categories in another.
        DomainError: some trees have no class in common with any of the others, such as yes and no
            with ja and nein.
    """
    if not trees:
        raise ModelError("There must be at least one tree.", where="trees")
    schemas = list(dict.fromkeys(tree.schema for tree in trees))
    first = schemas[0]
    for schema in schemas[1:]:
        if schema.target.name != first.target.name:
            raise ModelError(
                f"One tree tells {first.target.name!r}, another {schema.target.name!r}: only trees"
                " of the same class can be combined.",
                where=schema.target.name,
            )
        if apart := set(first.names) ^ set(schema.names):
            raise ModelError(
                f"Attributes {sorted(apart)} are not in all trees.",
                where=min(apart),
                remedy="Every owner declares the same attributes, also those that its tree does"
                " not ask for.",
            )
    _require_related(schemas)
    target = first.target
    if labels := _joined([schema.target.categories for schema in schemas], target.categories):
        target = Variable(target.name, labels)
    attributes = tuple(_common([schema[name] for schema in schemas]) for name in first.names)
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


def _require_related(schemas: Sequence[TreeSchema]) -> None:
    """Refuse trees that fall into groups without a class in common. Raises DomainError."""
    target, known = schemas[0].target, set(schemas[0].target.categories)
    left = [set(schema.target.categories) for schema in schemas[1:]]
    while left:
        if all(known.isdisjoint(classes) for classes in left):
            raise DomainError(
                f"Trees have no class of {target.name!r} in common: some tell"
                f" {sorted(known)[:_NAMED]}, others {sorted(set().union(*left))[:_NAMED]}.",
                where=target.name,
                remedy="Let all owners give the classes the same names, or combine the trees of"
                " each group alone.",
            )
        joined = [classes for classes in left if not known.isdisjoint(classes)]
        left = [classes for classes in left if known.isdisjoint(classes)]
        known = known.union(*joined)


def _common(attributes: Sequence[Attribute]) -> Attribute:
    first = attributes[0]
    numbers = [a for a in attributes if isinstance(a, NumericAttribute)]
    categories = [a for a in attributes if isinstance(a, CategoricalAttribute)]
    if numbers and categories:
        raise ModelError(
            f"{first.name!r} has numbers in one tree and categories in another.", where=first.name
        )
    if numbers:
        return NumericAttribute(
            first.name,
            min(a.low for a in numbers),
            max(a.high for a in numbers),
            all(a.whole for a in numbers),
        )
    lists = [a.categories for a in categories]
    joined = _joined(lists, lists[0]) or lists[0]
    taxonomies = {a.taxonomy for a in categories if a.taxonomy is not None}
    agreed = len(taxonomies) == 1 and len(set(lists)) == 1
    return CategoricalAttribute(first.name, joined, taxonomies.pop() if agreed else None)


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
        told = node.distribution
        if told is not None:
            spread = np.zeros(classes)
            spread[list(labels)] = told
            told = tuple(spread.tolist())
        return replace(node, label=labels[node.label], distribution=told)
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
