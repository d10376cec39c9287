"""Combination of several owners' trees into one global model, by pseudo-data or by votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pramana_core.alike import first_few
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.common.distributions import stream
from pramana_core.mixed import (
    CategoricalColumn,
    Column,
    Floats,
    MixedTable,
    NumericColumn,
    coded_as,
)
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.combine_options import MOST_PSEUDO_RECORDS, CombineOptions
from pramana_core.model_sharing.generating import (
    GenerationOptions,
    generate,
    shared_out,
)
from pramana_core.model_sharing.global_models.common_schema import common_schema, units_warning
from pramana_core.model_sharing.global_models.conjunctive import RuleModel
from pramana_core.model_sharing.global_models.learning import learn_global
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.growing import GrowthOptions
from pramana_core.model_sharing.tree import Leaf, SharedTree
from pramana_core.progress import Progress, unwatched

NUMBERS_AT_ONCE = 4_000_000
"""The most class probabilities of pseudo-records that are computed at once."""


@dataclass(frozen=True)
class CombinedModel:
    """A global model, and the trees and records that it was made from.

    `owners` are in the order of the trees. `records` is the number of records in the trees.
    `pseudo_records` is the number of pseudo-records drawn, 0 for votes. `notes` warn of variables
    that owners may code differently.
    """

    model: GlobalModel
    options: CombineOptions
    owners: tuple[str, ...]
    records: float
    pseudo_records: int
    notes: tuple[str, ...]


def combine(
    trees: Sequence[SharedTree],
    options: CombineOptions | None = None,
    rng: np.random.Generator | None = None,
    on_step: Progress = unwatched,
    *,
    owners: Sequence[str] | None = None,
) -> CombinedModel:
    """Return the global model of several owners' trees, one tree for each owner.

    Without `rng`, pseudo-data are drawn with `options.seed`. By default, the owners are named
    `owner 1` and so on. Raises ModelError, DomainError, OptionError: the trees have no records, the
    numbers of trees and owners differ, or the trees have no common schema (`common_schema`).
    LimitExceeded: more than `MOST_PSEUDO_RECORDS` would be drawn. NotInstalled: the model is a
    tree, and scikit-learn is not installed.
    """
    options = options or CombineOptions()
    names = tuple(owners or (f"owner {k + 1}" for k in range(len(trees))))
    if len(names) != len(trees):
        raise OptionError(f"{len(names)} owner names for {len(trees)} trees.", where="owners")
    schema = common_schema(trees, names)
    on_step(0, 1)
    votes = VotesModel(tuple(trees))
    model: GlobalModel = votes
    of_trees = f"the trees of {len(trees)} owners" if len(trees) > 1 else "the tree of one owner"
    pseudo, made = 0, f"The votes of {of_trees}, without pseudo-data."
    if options.draws:
        model, pseudo = _learned(trees, votes, options, rng, on_step)
        how = _DRAWN[options.method].format(trees=of_trees)
        made = f"Learned from {pseudo:,} pseudo-records, {how}."
        if isinstance(model, SharedTree | RuleModel):
            made += " Its leaves count the people in the trees, not pseudo-records."
        if options.method == "basegen":
            made += " Each has the class of its tree's leaf, so probabilities are too extreme."
    on_step(1, 1)
    notes = (made, *_differences(dict(zip(names, trees, strict=True)), schema))
    return CombinedModel(model, options, names, sum(t.records for t in trees), pseudo, notes)


_DRAWN = {
    "pgen": "drawn from the paths of {trees}",
    "basegen": "drawn evenly and each labelled by one of {trees}",
    "labelled": "labelled by the votes of {trees}",
}


def pseudo_data(
    trees: Sequence[SharedTree], options: CombineOptions, rng: np.random.Generator
) -> MixedTable:
    """Return the pseudo-data from which `combine` learns.

    Raises the errors of `combine`, and OptionError if the method draws no pseudo-data.
    """
    if not options.draws:
        raise OptionError(
            f"The method {options.method!r} draws no pseudo-data.",
            where="method",
            remedy="Choose `pgen`, `basegen` or `labelled`.",
        )
    wanted = options.pseudo_records or options.scale * sum(tree.records for tree in trees)
    if wanted > MOST_PSEUDO_RECORDS:
        raise LimitExceeded(
            f"{wanted:,.0f} pseudo-records are too many; the limit is {MOST_PSEUDO_RECORDS:,}.",
            where="records",
            remedy="Set pseudo_records; the trees' counts then only decide the share of each tree.",
        )
    generation = GenerationOptions(
        "basegen" if options.method == "basegen" else "pgen",
        options.pseudo_records,
        options.scale,
        estimated=options.method == "labelled",
    )
    if options.method == "labelled":
        return labelled_data(VotesModel(tuple(trees)), rng, generation)
    return pooled_data(trees, rng, generation)


def pooled_data(
    trees: Sequence[SharedTree], rng: np.random.Generator, options: GenerationOptions
) -> MixedTable:
    """Return the pseudo-data of trees, one after another, each with its own random stream.

    If the number of pseudo-records is given, it is divided in proportion to the trees' records.
    """
    schema = common_schema(trees)
    each: list[GenerationOptions | None] = [options] * len(trees)
    if options.records is not None:
        counts = np.array([tree.records for tree in trees])
        sizes = shared_out(counts if counts.sum() else np.ones(len(trees)), options.records)
        each = [replace(options, records=int(size)) if size else None for size in sizes]
    tables = []
    for tree, randomness, one in zip(trees, rng.spawn(len(trees)), each, strict=True):
        if one is not None:
            drawn = generate(tree, randomness, one)
            target = coded_as(drawn[schema.target.name], schema.target.categories, "tree")
            tables.append(MixedTable((*schema.read(drawn).columns, target), drawn.records))
    return together(tables)


def labelled_data(
    votes: VotesModel, rng: np.random.Generator, options: GenerationOptions
) -> MixedTable:
    """Return the pseudo-data of trees, with classes decided by the votes of all trees."""
    attributes = pooled_data(votes.trees, rng.spawn(1)[0], options).project(votes.schema.names)
    target = votes.schema.target
    codes = np.concatenate([votes.predict(some) for some in _parts(attributes, votes.schema)])
    column = CategoricalColumn(target.name, codes, target.categories)
    return MixedTable((*attributes.columns, column), attributes.records)


def _parts(table: MixedTable, schema: TreeSchema) -> Iterator[MixedTable]:
    """Yield a table's records in parts for which class probabilities fit into memory."""
    step = max(1, NUMBERS_AT_ONCE // schema.classes)
    for start in range(0, max(table.records, 1), step):
        yield table.rows(np.arange(start, min(start + step, table.records)))


def together(tables: Sequence[MixedTable]) -> MixedTable:
    """Return one table of the records of all tables, at least one, which have the same columns."""
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


def _learned(
    trees: Sequence[SharedTree],
    votes: VotesModel,
    options: CombineOptions,
    rng: np.random.Generator | None,
    on_step: Progress,
) -> tuple[GlobalModel, int]:
    # Each tree uses its own schema, so that it draws no value unknown to its owner.
    table = pseudo_data(trees, options, stream(options.seed) if rng is None else rng)
    on_step(0, 1)
    schema = votes.schema
    learning = GrowthOptions(options.max_depth, options.min_leaf, options.seed)
    model = learn_global(schema, table, _classes(table, schema), options.model, learning)
    people = sum(tree.records for tree in trees)

    def drawn(some: MixedTable) -> Floats:
        found: Floats = np.eye(schema.classes)[_classes(some, schema)]
        return found

    known = votes.probabilities if options.method == "labelled" else drawn
    return counting_people(model, table, known, people), table.records


def _classes(table: MixedTable, schema: TreeSchema) -> npt.NDArray[np.intp]:
    target = table[schema.target.name]
    return target.codes if isinstance(target, CategoricalColumn) else np.zeros(0, dtype=np.intp)


def counting_people(
    model: GlobalModel, table: MixedTable, known: Callable[[MixedTable], Floats], people: float
) -> GlobalModel:
    """Return a model whose leaves count the people represented, not the pseudo-records.

    The class shares of a leaf become the mean class probabilities that `known` gives for its
    pseudo-records, because the many pseudo-records would otherwise make the leaf too confident. A
    naive Bayes model is returned unchanged.
    """
    if not isinstance(model, SharedTree | RuleModel):
        return model
    leaves = len(model.leaves) if isinstance(model, SharedTree) else 2
    counts = np.zeros((leaves, model.schema.classes))
    each = people / max(table.records, 1)
    for some in _parts(table, model.schema):
        records = model.schema.read(some)
        place = model.leaf_of if isinstance(model, SharedTree) else model.covers
        np.add.at(counts, np.asarray(place(records), dtype=np.intp), each * known(some))
    if isinstance(model, SharedTree):
        return model.with_leaves(map(Leaf.of, counts))
    others, covered = (tuple(row) for row in counts.tolist())
    return replace(model, covered=covered, others=others)


def _differences(trees: Mapping[str, SharedTree], schema: TreeSchema) -> tuple[str, ...]:
    declared = {owner: tree.schema for owner, tree in trees.items()}
    target = schema.target.name
    found = [_labels_warning(target, {o: one.target.categories for o, one in declared.items()})]
    for name in schema.names:
        theirs = {owner: one[name] for owner, one in declared.items()}
        numbers = {o: (a.low, a.high) for o, a in theirs.items() if isinstance(a, NumericAttribute)}
        lists = {o: a.categories for o, a in theirs.items() if isinstance(a, CategoricalAttribute)}
        found.append(units_warning(name, numbers) or _labels_warning(name, lists))
    return tuple(filter(None, found))


def _labels_warning(name: str, lists: Mapping[str, Sequence[str]]) -> str | None:
    every = dict.fromkeys(label for labels in lists.values() for label in labels)
    for owner, labels in lists.items():
        if lacking := [label for label in every if label not in labels]:
            return (
                f"{owner} has no category {first_few(lacking)} of {name!r}. Labels are matched by"
                " name: check that all owners use the same labels."
            )
    return None
