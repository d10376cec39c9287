"""The one way from several owners' trees to a global model, whoever asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

import numpy as np
from annotated_types import Ge, Le

from pramana_core.alike import first_few
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.learn.common.documents import stream
from pramana_core.learn.common.options import Seed, require_effect, require_limits
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.attributes import (
    CategoricalAttribute,
    NumericAttribute,
    TreeSchema,
    units_warning,
)
from pramana_core.model_sharing.generating import RECORDS_AT_ONCE, GenerationOptions
from pramana_core.model_sharing.global_models.learning import (
    GlobalName,
    GlobalOptions,
    learn_global,
)
from pramana_core.model_sharing.global_models.model import (
    ForestModel,
    GlobalModel,
    RuleModel,
    TreeModel,
    counting_people,
)
from pramana_core.model_sharing.global_models.votes import (
    MOST_LEAVES,
    LabellingOptions,
    Labels,
    VoteOptions,
    VotesModel,
    common_schema,
    labelled_chunks,
    pooled_chunks,
    product_tree,
    together,
)
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.progress import Progress, unwatched


def differences(trees: Mapping[str, SharedTree], schema: TreeSchema) -> tuple[str, ...]:
    """Return a warning for each variable that owners may code differently.

    Args:
        trees: each owner's tree.
        schema: their common schema.
    """
    declared = {owner: tree.schema for owner, tree in trees.items()}
    found = [
        _labels_warning(
            schema.target.name, {owner: one.target.categories for owner, one in declared.items()}
        )
    ]
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


Method = Literal["pgen", "basegen", "labelled", "votes", "product"]

_TREES_ALONE = ("votes", "product")

_DEFAULTS: dict[str, GenerationOptions] = {
    "pgen": GenerationOptions(),
    "basegen": GenerationOptions(),
    "labelled": GenerationOptions(numeric="marginal", absent="marginal", spread="even"),
}
"""How each method draws unless told otherwise: those of the paper as the paper does, and what is
labelled anew where the trees' owners have their records, for there the votes must be learned."""

NUMBERS_AT_ONCE = 4_000_000
"""Of a chunk of pseudo-data: records times attributes and classes."""

MOST_PSEUDO_RECORDS = 10_000_000
"""More are not drawn: a tree may count what it likes."""


@dataclass(frozen=True)
class CombineOptions:
    """How the trees of several owners become one model.

    Attributes:
        method: "pgen" and "basegen" learn `model` from all trees' pseudo-data (sections 2.2, 4);
            "labelled" from pseudo-data that the votes of all trees label; "votes" and "product" are
            the trees themselves, as votes or as one tree that says the same. "labelled" is the
            default: it gives any kind of model, and of those it is the nearest to what all records
            together would give (docs/model-sharing.md has the figures).
        model: what is learned from pseudo-data.
        generation: how pseudo-data are drawn, by default as `generation_for` the method; which of
            the two ways is said by `method`, but by `generation.method` where they are "labelled".
        labels: of "labelled" pseudo-data, the likeliest class or one drawn by its probability.
        votes: how the trees are weighed in "votes", "product" and "labelled".
        learning: the options of `model`; its seed is `seed`.
        most_leaves: the most leaves of a "product".
        seed: decides all that is drawn.

    Raises:
        OptionError: an unknown method or model, or a number out of its range.
    """

    method: Method = "labelled"
    model: GlobalName = "tree"
    generation: GenerationOptions | None = None
    labels: Labels = "likeliest"
    votes: VoteOptions = field(default_factory=VoteOptions)
    learning: GlobalOptions = field(default_factory=GlobalOptions)
    most_leaves: Annotated[int, Ge(2), Le(1_000_000)] = MOST_LEAVES
    seed: Seed = 0

    def __post_init__(self) -> None:
        require_limits(self)
        drawn, votes = ("pgen", "basegen", "labelled"), ("votes", "product", "labelled")
        require_effect(
            self,
            "method",
            self.method,
            model=drawn,
            labels=("labelled",),
            votes=votes,
            most_leaves=("product",),
        )
        if not self.draws and self.drawing != generation_for(self.method):
            raise OptionError(
                f"generation has no effect with the method {self.method!r}.", where="generation"
            )
        require_effect(
            self.learning,
            "model",
            self.model if self.draws else self.method,
            max_depth=("tree", "forest"),
            min_leaf=("tree", "forest", "conjunctive"),
            confidence=("tree",),
            trees=("forest",),
            most_leaves=("forest",),
            alpha=("naive-bayes",),
            held_out=("conjunctive",),
        )

    @property
    def draws(self) -> bool:
        """Whether pseudo-data are drawn."""
        return self.method not in _TREES_ALONE

    @property
    def drawing(self) -> GenerationOptions:
        """How pseudo-data are drawn."""
        return self.generation or generation_for(self.method)


def generation_for(method: Method, **given: Any) -> GenerationOptions:
    """Return how a method draws pseudo-data: by its own defaults where nothing is given.

    "pgen" and "basegen" draw as the paper does, every value evenly. "labelled" draws numbers and
    the attributes that a path does not ask for by the tree's own estimates, more evenly than by
    chance.

    Args:
        method: the method.
        given: options of `GenerationOptions` by name; None of one is the method's default.

    Raises:
        OptionError: an option is out of range.
    """
    asked = {name: value for name, value in given.items() if value is not None}
    return replace(_DEFAULTS.get(method, GenerationOptions()), **asked)


@dataclass(frozen=True)
class CombinedModel:
    """A global model, and what it was made of.

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
        owners: their names, for what is said; by default `owner 1` and so on.

    Raises:
        ModelError, DomainError: the trees cannot be combined, see `common_schema`, or count no
            records.
        OptionError: there are not as many names as trees.
        LimitExceeded: more than `MOST_PSEUDO_RECORDS` would be drawn, or a product is too large.
        NotInstalled: a tree or a forest is to be learned, and scikit-learn is not installed.
    """
    options = options or CombineOptions()
    names = (
        tuple(owners) if owners is not None else tuple(f"owner {k + 1}" for k in range(len(trees)))
    )
    if len(names) != len(trees):
        raise OptionError(f"{len(names)} owners are named for {len(trees)} trees.", where="owners")
    schema = common_schema(trees, names)
    pseudo = 0
    if options.draws:
        model, pseudo = _learned(trees, schema, options, rng, on_step)
    else:
        on_step(0, 1)
        votes = VotesModel(tuple(trees), options.votes)
        product = options.method == "product"
        model = TreeModel(product_tree(votes, options.most_leaves)) if product else votes
    on_step(1, 1)
    found = differences(dict(zip(names, trees, strict=True)), schema)
    notes = (_made(options, pseudo, len(trees), model), *found)
    return CombinedModel(model, options, names, sum(t.records for t in trees), pseudo, notes)


def pseudo_chunks(
    trees: Sequence[SharedTree],
    options: CombineOptions | None = None,
    rng: np.random.Generator | None = None,
    per_chunk: int | None = None,
) -> Iterator[MixedTable]:
    """Return the pseudo-data that `combine` learns from, in chunks: attributes, then the class.

    The same whatever the size of chunks, which by default hold at most `RECORDS_AT_ONCE` records
    and `NUMBERS_AT_ONCE` numbers. Arguments and errors are as those of `combine`; nothing is drawn
    by "votes" and "product".

    Raises:
        OptionError: the method draws no pseudo-data.
    """
    options = options or CombineOptions()
    if not options.draws:
        raise OptionError(
            f"The method {options.method!r} draws no pseudo-data.",
            where="method",
            remedy=f"Choose one of {sorted(set(get_args(Method)) - set(_TREES_ALONE))}.",
        )
    rng = stream(options.seed) if rng is None else rng
    generation = options.drawing
    _require_few(trees, generation)
    if per_chunk is None:
        schema = common_schema(trees)
        width = len(schema.names) + schema.classes
        per_chunk = max(1, min(RECORDS_AT_ONCE, NUMBERS_AT_ONCE // width))
    if options.method == "labelled":
        labelling = LabellingOptions(generation, options.labels)
        return labelled_chunks(VotesModel(tuple(trees), options.votes), rng, labelling, per_chunk)
    way: Literal["pgen", "basegen"] = "pgen" if options.method == "pgen" else "basegen"
    return pooled_chunks(trees, rng, replace(generation, method=way), per_chunk)


def _learned(
    trees: Sequence[SharedTree],
    schema: TreeSchema,
    options: CombineOptions,
    rng: np.random.Generator | None,
    on_step: Progress,
) -> tuple[GlobalModel, int]:
    """Return the model of pseudo-data, and how many records these are."""
    chunks = []
    for chunk in pseudo_chunks(trees, options, rng):
        on_step(0, 1)
        chunks.append(chunk)
    table = together(chunks)
    target = table[schema.target.name]
    codes = target.codes if isinstance(target, CategoricalColumn) else np.zeros(0, dtype=np.intp)
    learning = replace(options.learning, seed=options.seed)
    model = learn_global(schema, table, codes, options.model, learning, on_step)
    people = sum(tree.records for tree in trees)
    return counting_people(model, table, _known(trees, schema, options), people), table.records


def _known(
    trees: Sequence[SharedTree], schema: TreeSchema, options: CombineOptions
) -> Callable[[MixedTable], Floats]:
    """Return what tells of pseudo-records how probable each class is.

    Classes that were drawn say it themselves, on the average of a leaf; the likeliest do not.
    """
    if options.method == "labelled" and options.labels == "likeliest":
        return VotesModel(tuple(trees), options.votes).probabilities

    def drawn(table: MixedTable) -> Floats:
        target = table[schema.target.name]
        codes = target.codes if isinstance(target, CategoricalColumn) else np.zeros(0, np.intp)
        found: Floats = np.eye(schema.classes)[codes]
        return found

    return drawn


def _require_few(trees: Sequence[SharedTree], generation: GenerationOptions) -> None:
    counted = sum(tree.records for tree in trees)
    wanted = counted * generation.scale if generation.records is None else generation.records
    if wanted > MOST_PSEUDO_RECORDS:
        raise LimitExceeded(
            f"{wanted:,.0f} pseudo-records are too many; at most {MOST_PSEUDO_RECORDS:,} are"
            " drawn.",
            where="records",
            remedy="Ask for a number of records; the trees' counts then only weigh them.",
        )


_DRAWN = {
    "pgen": "drawn from the paths of {trees}",
    "basegen": "drawn evenly and labelled each by one of {trees}",
    "labelled": "labelled by the votes of {trees}",
}


def _made(options: CombineOptions, pseudo: int, trees: int, model: GlobalModel) -> str:
    """Say how a model was made."""
    many = f"the trees of {trees} owners" if trees > 1 else "the tree of one owner"
    if options.draws:
        how = _DRAWN[options.method].format(trees=many)
        said = f"Learned from {pseudo:,} pseudo-records, {how}."
        if isinstance(model, (TreeModel, ForestModel, RuleModel)):
            said += " Its leaves count the people for whom these stand, not pseudo-records."
        if options.method == "basegen":
            said += " Each was given the class of its tree's leaf: probabilities are too sure."
        return said
    if isinstance(model, TreeModel):
        leaves = len(model.tree.leaves)
        return f"The product of {many}: {leaves:,} leaves, where those of all of them meet."
    return f"The votes of {many}, without pseudo-data."
