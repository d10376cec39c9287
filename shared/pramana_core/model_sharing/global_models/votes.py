"""Votes: the trees of several owners combined as they are, without pseudo-data.

Also here:

* The product of several owners' trees: one tree whose leaves are where all theirs meet.
* The pseudo-data of several owners' trees, together in one schema.
* Pseudo-data labelled by the votes of all trees, in place of the one tree each came from.
* One schema for the trees of several owners, who may declare different ranges and categories.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge

from pramana_core.domain import Variable
from pramana_core.errors import LimitExceeded, ModelError
from pramana_core.learn.common.options import require_limits
from pramana_core.mixed import (
    CategoricalColumn,
    Column,
    Floats,
    MixedTable,
    NumericColumn,
    coded_as,
)
from pramana_core.model_sharing.attributes import (
    Attribute,
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
    require_same_labels,
)
from pramana_core.model_sharing.generating import (
    RECORDS_AT_ONCE,
    GenerationOptions,
    extent_of,
    generate_chunks,
    shared_out,
)
from pramana_core.model_sharing.tree import (
    MOST_DEPTH,
    Condition,
    Interval,
    Leaf,
    Node,
    SharedTree,
    Split,
    Values,
    leaves_below,
    whole,
)
from pramana_core.ties import first_largest, first_largest_of_rows


def common_schema(trees: Sequence[SharedTree], owners: Sequence[str] | None = None) -> TreeSchema:
    """Return the schema of several owners' trees, whose records are of the same attributes.

    The order of attributes is the first tree's. Ranges of numbers are joined, from the least to
    the greatest that any declares; numbers are whole where all say so. Categories and classes are
    those of any, in the order in which they first occur, tree by tree. A taxonomy is kept where
    the categories are the same and all trees that have one agree.

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
    taxonomies = {
        a.taxonomy
        for a in attributes.values()
        if isinstance(a, CategoricalAttribute) and a.taxonomy
    }
    agreed = len(taxonomies) == 1 and len(set(lists.values())) == 1
    joined = _joined(list(lists.values()), own) or own
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


Weights = Literal["equal", "records", "leaves"]


@dataclass(frozen=True)
class VoteOptions:
    """How the votes of trees are weighed.

    Attributes:
        weights: what the class shares of the leaf that a record is in are weighed by: "equal" for
            each tree; "records", those of the whole tree; "leaves", those of the leaf, so that
            the trees' counts are added up.
        smoothing: how many records, spread evenly over the classes, are added to each leaf
            (Laplace): the fewer records a leaf has, the less its shares are believed. Spread by
            the tree's class distribution instead they drown the rare classes: on car, five
            records so added cost 9 points of accuracy.

    Raises:
        OptionError: an option is out of range.
    """

    weights: Weights = "equal"
    smoothing: Annotated[float, Ge(0)] = 1.0

    def __post_init__(self) -> None:
        require_limits(self)


@dataclass(frozen=True)
class VotesModel:
    """The trees of several owners as one classifier.

    A tree also votes on records with categories that its owner never had: as on most of its records
    there (`in_schema`), with its full weight. So owners should declare the same categories.

    Attributes:
        trees: the trees, put in the schema that they have in common.
        options: how their votes are weighed.

    Raises:
        ModelError: the trees cannot be combined, see `common_schema`.
    """

    trees: tuple[SharedTree, ...]
    options: VoteOptions = field(default_factory=VoteOptions)
    kind: Literal["votes"] = "votes"

    def __post_init__(self) -> None:
        schema = common_schema(self.trees)
        object.__setattr__(self, "trees", tuple(in_schema(tree, schema) for tree in self.trees))

    @property
    def schema(self) -> TreeSchema:
        """The class and the attributes."""
        return self.trees[0].schema

    @cached_property
    def _tables(self) -> tuple[Floats, ...]:
        """For each tree, what each of its leaves says of each class: leaves x classes."""
        return tuple(_table(tree, self.options) for tree in self.trees)

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class, n x classes; see `GlobalModel`."""
        records = self.schema.read(table)
        return self.of_leaves([tree.leaf_of(records) for tree in self.trees])

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the class code of each of n records; of a tie the first. See `GlobalModel`."""
        return first_largest_of_rows(self.probabilities(table))

    def of_leaves(self, leaves: Sequence[npt.NDArray[np.intp]]) -> Floats:
        """Return the probabilities of n records from the leaf each has in each tree.

        They are the sum over the trees of what the leaves say, made to add up to 1.
        """
        votes: Floats = sum(
            (table[at] for table, at in zip(self._tables, leaves, strict=True)),
            np.zeros((len(leaves[0]), self.schema.classes)),
        )
        totals = votes.sum(axis=1, keepdims=True)
        even = np.full_like(votes, 1 / self.schema.classes)
        found: Floats = np.divide(votes, totals, out=even, where=totals > 0)
        return found


def _table(tree: SharedTree, options: VoteOptions) -> Floats:
    counts: Floats = tree.class_counts() + options.smoothing / tree.schema.classes
    totals = counts.sum(axis=1, keepdims=True)
    if options.weights == "leaves":
        return counts
    # A leaf without records says nothing.
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    found: Floats = shares * (tree.records if options.weights == "records" else 1.0)
    return found


# The product of several owners' trees: one tree whose leaves are where all theirs meet.
#
# It predicts as their votes do, and can be read, drawn and shared as any tree. Its size is that of
# the product partition, which grows quickly with numeric attributes and with owners.

MOST_LEAVES = 20_000
_LEAST_SHARE = 1e-9
"""A part that counts no record keeps so many: its class shares are those of the votes, too."""


def product_tree(votes: VotesModel, most_leaves: int = MOST_LEAVES) -> SharedTree:
    """Return the one tree that predicts as the votes of several do.

    A leaf counts what is expected there if the records of each tree's leaf are spread evenly over
    it, as PGEN spreads them, with the class shares of the votes.

    Args:
        votes: the trees' votes.
        most_leaves: the most leaves that are made.

    Raises:
        LimitExceeded: there would be more leaves, or the tree would be too deep.
    """
    return SharedTree(votes.schema, _Product(votes, most_leaves).tree())


@dataclass(frozen=True)
class _Place(Leaf):
    """A leaf with its number in its tree, and the logarithm of its share of the volume."""

    number: int = 0
    volume: float = 0.0


Box = dict[str, Condition]
"""What is asked of some attributes; nothing is of the others."""


class _Product:
    def __init__(self, votes: VotesModel, most: int) -> None:
        self._votes, self._most, self._made = votes, most, 0
        self._attributes: dict[str, Attribute] = {a.name: a for a in votes.schema.attributes}
        self._whole = {name: whole(votes.schema, name) for name in votes.schema.names}

    def tree(self) -> Node:
        numbered = (
            tree.with_leaves(
                _Place(p.leaf.label, p.leaf.hit, p.leaf.miss, None, k, self._volume(p.conditions))
                for k, p in enumerate(tree.paths())
            )
            for tree in self._votes.trees
        )
        return self._node(tuple(tree.root for tree in numbered), {}, 0)

    def _node(self, nodes: tuple[Node, ...], box: Box, depth: int) -> Node:
        if depth > MOST_DEPTH:
            raise self._limit(f"is deeper than {MOST_DEPTH} splits")
        while True:
            forks = ((k, node) for k, node in enumerate(nodes) if isinstance(node, Split))
            place, fork = next(forks, (0, None))
            if fork is None:
                return self._leaf([node for node in nodes if isinstance(node, _Place)], box)
            here = box.get(fork.attribute, self._whole[fork.attribute])
            parts = []
            for condition, below in fork.parts:
                left = _both(here, condition)
                if left is not None:
                    parts.append((left, (*nodes[:place], below, *nodes[place + 1 :])))
            if len(parts) > 1:
                break
            # A loop, not a call: of many deep trees there are many splits that split nothing.
            nodes = parts[0][1]
        return Split(
            fork.attribute,
            tuple(
                (left, self._node(here, {**box, fork.attribute: left}, depth + 1))
                for left, here in parts
            ),
        )

    def _leaf(self, places: Sequence[_Place], box: Box) -> Leaf:
        self._made += 1
        if self._made > self._most:
            raise self._limit(f"has more than {self._most:,} leaves")
        volume = self._volume(box)
        records = sum(p.records * math.exp(min(volume - p.volume, 0)) for p in places)
        shares = self._votes.of_leaves([np.array([p.number]) for p in places])[0]
        label = first_largest(shares)
        counts = tuple((shares * max(records, _LEAST_SHARE)).tolist())
        rest = sum(counts[:label]) + sum(counts[label + 1 :])
        return Leaf(label, counts[label], rest, counts)

    def _volume(self, box: Box) -> float:
        """Return the logarithm of a box's share of all that can be."""
        return sum(
            math.log(_share(self._attributes[name], condition)) for name, condition in box.items()
        )

    def _limit(self, what: str) -> LimitExceeded:
        return LimitExceeded(
            f"The product of {len(self._votes.trees)} trees {what}.",
            where="trees",
            remedy="Use their votes, which are the same classifier, or smaller trees.",
        )


def _share(attribute: Attribute, condition: Condition) -> float:
    """Return what share of an attribute's range or categories a condition leaves."""
    if isinstance(attribute, CategoricalAttribute):
        left = len(condition.codes) if isinstance(condition, Values) else 1
        return left / len(attribute.categories)
    extent = extent_of(attribute, condition if isinstance(condition, Interval) else None)
    return max((extent.high - extent.low) / (attribute.high - attribute.low), _LEAST_SHARE)


def _both(one: Condition, other: Condition) -> Condition | None:
    """Return what meets both conditions; None if nothing does."""
    if isinstance(one, Interval) and isinstance(other, Interval):
        above, up_to = max(one.above, other.above), min(one.up_to, other.up_to)
        return Interval(above, up_to) if above < up_to else None
    if isinstance(one, Values) and isinstance(other, Values):
        codes = tuple(sorted(set(one.codes) & set(other.codes)))
        return Values(codes) if codes else None
    return None


# The pseudo-data of several owners' trees, together in one schema.


def pooled_chunks(
    trees: Sequence[SharedTree],
    rng: np.random.Generator,
    options: GenerationOptions | None = None,
    per_chunk: int = RECORDS_AT_ONCE,
) -> Iterator[MixedTable]:
    """Return the pseudo-data of trees, one tree's after the other's, in chunks.

    Each tree draws from randomness of its own, so that the same `rng` gives the same records
    whatever the size of chunks, and a tree the same whatever trees come after it.

    Args:
        trees: the trees.
        rng: the randomness.
        options: as for one tree; a number of records is of all trees together, shared out in
            proportion to their counts.
        per_chunk: the most records of a chunk.

    Raises:
        ModelError: the trees cannot be combined, see `common_schema`, or count no records.
        OptionError: see `generate_chunks`.
    """
    options = options or GenerationOptions()
    schema = common_schema(trees)
    streams = rng.spawn(len(trees))
    for tree, stream, one in zip(trees, streams, _each(trees, options), strict=True):
        if one is not None:
            for chunk in generate_chunks(tree, stream, one, per_chunk):
                yield _in_schema(chunk, schema)


def together(tables: Sequence[MixedTable]) -> MixedTable:
    """Return the records of tables with the same columns, one after the other.

    Raises:
        ModelError: there are no tables.
    """
    if not tables:
        raise ModelError("There are no tables to put together.", where="tables")
    columns: list[Column] = []
    for name in tables[0].names:
        parts = [table[name] for table in tables]
        categorical = [part for part in parts if isinstance(part, CategoricalColumn)]
        if categorical:
            codes = np.concatenate([part.codes for part in categorical])
            columns.append(CategoricalColumn(name, codes, categorical[0].categories))
        else:
            numbers = [part.values for part in parts if isinstance(part, NumericColumn)]
            columns.append(NumericColumn(name, np.concatenate(numbers)))
    return MixedTable(tuple(columns), sum(table.records for table in tables))


def _each(
    trees: Sequence[SharedTree], options: GenerationOptions
) -> list[GenerationOptions | None]:
    """Return the options of each tree; None where it gives no record."""
    if options.records is None:
        return [options] * len(trees)
    counts = np.array([tree.records for tree in trees])
    if not counts.sum():
        counts = np.ones(len(trees))
    sizes = shared_out(counts, options.records)
    return [replace(options, records=int(size)) if size else None for size in sizes]


def _in_schema(table: MixedTable, schema: TreeSchema) -> MixedTable:
    attributes = schema.read(table)
    target = coded_as(table[schema.target.name], schema.target.categories, "tree")
    return MixedTable((*attributes.columns, target), table.records)


# Pseudo-data labelled by the votes of all trees, in place of the one tree each came from.
#
# A tree knows little of a region where its owner has few records; the votes know what all of them
# know. A model learned from such records is the votes in another form (cf. Craven and Shavlik
# 1996).

Labels = Literal["likeliest", "drawn"]


@dataclass(frozen=True)
class LabellingOptions:
    """How labelled pseudo-data are made.

    Attributes:
        generation: how many records are drawn, and how: from the paths ("pgen") or evenly
            ("basegen").
        labels: the "likeliest" class by the votes, or one "drawn" by its probability.

    Raises:
        OptionError: an option is out of range.
    """

    generation: GenerationOptions = field(default_factory=GenerationOptions)
    labels: Labels = "likeliest"

    def __post_init__(self) -> None:
        require_limits(self)


def labelled_chunks(
    votes: VotesModel,
    rng: np.random.Generator,
    options: LabellingOptions | None = None,
    per_chunk: int = RECORDS_AT_ONCE,
) -> Iterator[MixedTable]:
    """Return pseudo-data of the trees, labelled by their votes, in chunks.

    Args:
        votes: the votes of the trees that records are drawn from.
        rng: the randomness; the same gives the same records whatever the size of chunks.
        options: how many records, how they are drawn, and how labelled.
        per_chunk: the most records of a chunk.

    Raises:
        ModelError, OptionError: see `pooled_chunks`.
    """
    options = options or LabellingOptions()
    records, labels = rng.spawn(2)
    # Which classes misses take does not matter: all are labelled anew.
    generation = replace(options.generation, misses="uniform")
    for chunk in pooled_chunks(votes.trees, records, generation, per_chunk):
        attributes = chunk.project(votes.schema.names)
        if options.labels == "likeliest":
            codes = votes.predict(attributes)
        else:
            sums = np.cumsum(votes.probabilities(attributes), axis=1)
            drawn = labels.uniform(size=(chunk.records, 1)) * sums[:, -1:]
            codes = np.count_nonzero(sums <= drawn, axis=1)
        target = votes.schema.target
        column = CategoricalColumn(target.name, codes, target.categories)
        yield MixedTable((*attributes.columns, column), chunk.records)
