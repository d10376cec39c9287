"""What each method makes of a fold: the owners' part, and the miner's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from pramana.simulate.model_sharing_folds import (
    Fold,
    FoldModels,
    PreparedTable,
    Way,
    miner_stream,
    owner_stream,
)
from pramana.simulate.model_sharing_options import COMBINING, SimulationOptions
from pramana.simulate.publishers import publisher_of
from pramana.simulate.publishing_learning import learn_published
from pramana_core.errors import OptionError, RequirementUnmet
from pramana_core.model_sharing.combination.combining import CombineOptions, combine
from pramana_core.model_sharing.combination.combining import Method as Combining
from pramana_core.model_sharing.combination.votes import VoteOptions
from pramana_core.model_sharing.global_models.learning import GlobalOptions
from pramana_core.model_sharing.global_models.model import TreeModel
from pramana_core.model_sharing.pruning import PruningOptions, prune
from pramana_core.model_sharing.requirements import released_form
from pramana_core.model_sharing.tree import SharedTree

# Records published l-diverse instead of trees: the baseline of Sharkey's section 4.2.


def ldiversity(kept: PreparedTable, fold: Fold, options: SimulationOptions) -> FoldModels:
    """Return the model of the published training records; of none where nothing is published.

    All training records are at one publisher, whatever the number of owners (section 4.2).

    Raises:
        NotInstalled: there is no publisher.
        OptionError: nothing is required, or the publisher failed.
    """
    asked = options.judged
    if asked is None:
        raise OptionError("Records are made l-diverse for a given c and l.", where="l")
    publisher = publisher_of(options.publisher)
    table, codes = kept.attributes.rows(fold.train), kept.codes[fold.train]
    (levels,) = publisher.publish(kept.schema, table, codes, [asked])
    if levels is None:
        return FoldModels((), refused=options.owners)
    learning = GlobalOptions(seed=options.seed)
    model = learn_published(kept.schema, table, codes, levels, options.model, learning)
    return FoldModels((model,), pseudo_records=table.records)


def way_of(method: str) -> Way:
    """Return what makes a model of a fold. Raises OptionError for a method that is not there."""
    if method not in WAYS:
        raise OptionError(
            f"method must be one of {', '.join(WAYS)}, not {method!r}.", where="method"
        )
    return WAYS[method]


def pooled(kept: PreparedTable, fold: Fold, options: SimulationOptions) -> FoldModels:
    """All records at one place: the global basis model itself."""
    return FoldModels((kept.basis(fold, options),))


def local(kept: PreparedTable, fold: Fold, options: SimulationOptions) -> FoldModels:
    """Each owner alone, by its own unpruned tree: the mean over the owners is what counts."""
    grown = kept.trees(fold, options.with_(by="pruning", requirement=None))
    trees = [tree for tree in grown if tree is not None]
    return FoldModels(
        tuple(map(TreeModel, trees)), leaves=tuple(float(len(tree.leaves)) for tree in trees)
    )


def shared(kept: PreparedTable, fold: Fold, options: SimulationOptions) -> FoldModels:
    """Owners release trees, and the miner combines them."""
    found = [released(kept, fold, options, owner) for owner in range(options.owners)]
    trees = [tree for tree in found if tree is not None]
    if not trees:
        return FoldModels((), refused=len(found))
    asked = CombineOptions(
        method=cast("Combining", options.method),
        model=options.model,
        learning=GlobalOptions(seed=options.seed),
        generation=options.generation,
        votes=VoteOptions(weights=options.weights),
    )
    combined = combine(trees, asked, miner_stream(fold, options))
    return FoldModels(
        (combined.model,),
        refused=len(found) - len(trees),
        leaves=_leaves(trees),
        pseudo_records=combined.pseudo_records or None,
    )


def released(
    kept: PreparedTable, fold: Fold, options: SimulationOptions, owner: int
) -> SharedTree | None:
    """Return the tree that an owner releases; None where it cannot meet the requirement."""
    if options.epsilon is not None:
        return private(kept, fold, options, owner, options.epsilon)
    tree = kept.trees(fold, options)[owner]
    if tree is None:
        return None
    if options.requirement is None:
        return released_form(tree, options.told)
    try:
        asked = PruningOptions(options.merge, options.counts, options.least_gain)
        return released_form(prune(tree, options.requirement, asked).tree, options.told)
    except RequirementUnmet:
        return None


def private(
    kept: PreparedTable, fold: Fold, options: SimulationOptions, owner: int, epsilon: float
) -> SharedTree:
    """Return the differentially private tree that an owner releases."""
    from pramana_core.model_sharing.private import GeneratorNoise, grow_private_tree

    rows = kept.owners(fold, options)[owner]
    made = grow_private_tree(
        kept.schema,
        kept.attributes.rows(rows),
        kept.codes[rows],
        epsilon,
        GeneratorNoise(owner_stream(fold, options, owner)),
    )
    return made.tree


def _leaves(trees: Sequence[SharedTree]) -> tuple[float, ...]:
    return tuple(float(len(tree.leaves)) for tree in trees)


WAYS: Mapping[str, Way] = {
    "pooled": pooled,
    "local": local,
    **dict.fromkeys(COMBINING, shared),
    "ldiversity": ldiversity,
}
"""Every method; who adds one adds its name to `Method`, too."""
