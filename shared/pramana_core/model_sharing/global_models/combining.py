"""The one way from several owners' trees to a global model, whoever asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pramana_core.alike import first_few
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.common.distributions import stream
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.agreement import units_warning
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.combine_options import MOST_PSEUDO_RECORDS, CombineOptions
from pramana_core.model_sharing.drawn_sizes import GenerationOptions
from pramana_core.model_sharing.generating import RECORDS_AT_ONCE
from pramana_core.model_sharing.global_models.common_schema import common_schema
from pramana_core.model_sharing.global_models.conjunctive import RuleModel
from pramana_core.model_sharing.global_models.learning import GlobalOptions, learn_global
from pramana_core.model_sharing.global_models.model import GlobalModel, TreeModel
from pramana_core.model_sharing.global_models.pseudo_data import (
    labelled_chunks,
    pooled_chunks,
    together,
)
from pramana_core.model_sharing.global_models.votes import VotesModel
from pramana_core.model_sharing.tree import Leaf, SharedTree
from pramana_core.progress import Progress, unwatched

NUMBERS_AT_ONCE = 4_000_000
"""Of a chunk of pseudo-data: records times attributes and classes."""


@dataclass(frozen=True)
class CombinedModel:
    """A global model, and how it was made.

    Attributes:
        model: the model.
        options: how it was made.
        owners: the names of the owners, in the order of their trees.
        records: how many records the trees count together.
        pseudo_records: how many were drawn; 0 where none are.
        notes: how the model was made, then a warning for each variable that owners may code
            differently.
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
    """Return the global model of several owners' trees.

    Args:
        trees: one tree of each owner; their attributes have the same names.
        options: how they are combined.
        rng: the randomness of pseudo-data; by default that of `options.seed`.
        on_step: told of the progress; what it raises stops the work.
        owners: their names, for messages; by default `owner 1` and so on.

    Raises:
        ModelError, DomainError: the trees cannot be combined, see `common_schema`, or count no
            records.
        OptionError: there are not as many names as trees.
        LimitExceeded: more than `MOST_PSEUDO_RECORDS` would be drawn.
        NotInstalled: a tree is to be learned, and scikit-learn is not installed.
    """
    options = options or CombineOptions()
    names = tuple(owners or (f"owner {k + 1}" for k in range(len(trees))))
    if len(names) != len(trees):
        raise OptionError(f"{len(names)} owners are named for {len(trees)} trees.", where="owners")
    schema = common_schema(trees, names)
    on_step(0, 1)
    votes = VotesModel(tuple(trees))
    model: GlobalModel = votes
    pseudo, made = 0, f"The votes of {_trees(len(trees))}, without pseudo-data."
    if options.draws:
        model, pseudo = _learned(trees, votes, options, rng, on_step)
        made = _method_words(options, pseudo, len(trees), model)
    on_step(1, 1)
    return CombinedModel(
        model,
        options,
        names,
        sum(tree.records for tree in trees),
        pseudo,
        (made, *_differences(dict(zip(names, trees, strict=True)), schema)),
    )


def pseudo_chunks(
    trees: Sequence[SharedTree],
    options: CombineOptions | None = None,
    rng: np.random.Generator | None = None,
    per_chunk: int | None = None,
) -> Iterator[MixedTable]:
    """Return the pseudo-data that `combine` learns from, in chunks: attributes, then the class.

    The same whatever the size of chunks, which by default hold at most `RECORDS_AT_ONCE` records
    and `NUMBERS_AT_ONCE` numbers. Arguments and errors are as those of `combine`.

    Raises:
        OptionError: the method draws no pseudo-data.
    """
    options = options or CombineOptions()
    if not options.draws:
        raise OptionError(
            f"The method {options.method!r} draws no pseudo-data.",
            where="method",
            remedy="Choose `pgen`, `basegen` or `labelled`.",
        )
    rng = stream(options.seed) if rng is None else rng
    wanted = options.pseudo_records or options.scale * sum(tree.records for tree in trees)
    if wanted > MOST_PSEUDO_RECORDS:
        raise LimitExceeded(
            f"{wanted:,.0f} pseudo-records are too many; at most {MOST_PSEUDO_RECORDS:,} are"
            " drawn.",
            where="records",
            remedy="Ask for a number of records; the trees' counts then only weigh them.",
        )
    if per_chunk is None:
        schema = common_schema(trees)
        width = len(schema.names) + schema.classes
        per_chunk = max(1, min(RECORDS_AT_ONCE, NUMBERS_AT_ONCE // width))
    generation = GenerationOptions(
        "basegen" if options.method == "basegen" else "pgen",
        options.pseudo_records,
        options.scale,
        estimated=options.method == "labelled",
    )
    if options.method == "labelled":
        return labelled_chunks(VotesModel(tuple(trees)), rng, generation, per_chunk)
    return pooled_chunks(trees, rng, generation, per_chunk)


def _learned(
    trees: Sequence[SharedTree],
    votes: VotesModel,
    options: CombineOptions,
    rng: np.random.Generator | None,
    on_step: Progress,
) -> tuple[GlobalModel, int]:
    """Return the model of pseudo-data, and how many records these are."""
    chunks = []
    # By each tree's own schema: a value that its owner does not know is not drawn from its paths.
    for chunk in pseudo_chunks(trees, options, rng):
        on_step(0, 1)
        chunks.append(chunk)
    table, schema = together(chunks), votes.schema
    learning = GlobalOptions(options.max_depth, options.min_leaf, options.seed)
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


_AT_ONCE = 65_536
"""Pseudo-records whose probabilities are kept at the same time."""


def counting_people(
    model: GlobalModel, table: MixedTable, known: Callable[[MixedTable], Floats], people: float
) -> GlobalModel:
    """Return a model of pseudo-records that counts people in its leaves, by what is known of them.

    A tree learned from pseudo-records that are each of their likeliest class is sure of all that it
    says, and the more of them are drawn the more they seem to be. Here a leaf says the mean of what
    is known of its pseudo-records, and counts the people for whom these stand.

    Args:
        model: what was learned from the records; naive Bayes stays as it is.
        table: n pseudo-records with their attributes and class.
        known: returns the probability of each class of some of them, by class.
        people: for how many they stand together.
    """
    if not isinstance(model, TreeModel | RuleModel):
        return model
    leaves = len(model.tree.leaves) if isinstance(model, TreeModel) else 2
    counts = np.zeros((leaves, model.schema.classes))
    each = people / max(table.records, 1)
    for start in range(0, table.records, _AT_ONCE):
        some = table.rows(np.arange(start, min(start + _AT_ONCE, table.records)))
        records = model.schema.read(some)
        place = model.tree.leaf_of if isinstance(model, TreeModel) else model.covers
        np.add.at(counts, np.asarray(place(records), dtype=np.intp), each * known(some))
    if isinstance(model, TreeModel):
        return TreeModel(model.tree.with_leaves(map(Leaf.of, counts)))
    others, covered = (tuple(row) for row in counts.tolist())
    return replace(model, covered=covered, others=others)


def _differences(trees: Mapping[str, SharedTree], schema: TreeSchema) -> tuple[str, ...]:
    """Return a warning for each variable that owners may code differently."""
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
    """Return a warning where some owners lack labels of a variable, else None."""
    every = dict.fromkeys(label for labels in lists.values() for label in labels)
    for owner, labels in lists.items():
        if lacking := [label for label in every if label not in labels]:
            return (
                f"{owner} has no category {first_few(lacking)} of {name!r}. Labels are matched by"
                " name: check that all owners use the same ones."
            )
    return None


_DRAWN = {
    "pgen": "drawn from the paths of {trees}",
    "basegen": "drawn evenly and labelled each by one of {trees}",
    "labelled": "labelled by the votes of {trees}",
}


def _method_words(options: CombineOptions, pseudo: int, trees: int, model: GlobalModel) -> str:
    """Say how a model was made of pseudo-data."""
    how = _DRAWN[options.method].format(trees=_trees(trees))
    said = f"Learned from {pseudo:,} pseudo-records, {how}."
    if isinstance(model, TreeModel | RuleModel):
        said += " Its leaves count the people for whom these stand, not pseudo-records."
    if options.method == "basegen":
        said += " Each was given the class of its tree's leaf: probabilities are too sure."
    return said


def _trees(number: int) -> str:
    return f"the trees of {number} owners" if number > 1 else "the tree of one owner"
