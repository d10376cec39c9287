"""Simulation of shared trees in folds: accuracy, class match and path match (Sharkey section 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana.simulate.model_sharing_options import COMBINING, SimulationOptions
from pramana.simulate.model_sharing_tables import SharingTable
from pramana.simulate.study import Series
from pramana_core.errors import OptionError, RequirementUnmet
from pramana_core.learn.common.distributions import stream
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.global_models.combining import combine
from pramana_core.model_sharing.global_models.learning import learn_global
from pramana_core.model_sharing.global_models.measures import accuracy, class_match, path_match
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.pruning import prune
from pramana_core.model_sharing.requirements import Requirement, released_form
from pramana_core.model_sharing.table_schema import schema_of
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.progress import OnShare

Rows = npt.NDArray[np.intp]

_FOLDS, _OWNERS, _TREES, _MINER = range(4)
"""The purposes of randomness; each has its own stream."""


@dataclass(frozen=True)
class Fold:
    """One fold of one run, both numbered from 0, with its held-out and its training records."""

    run: int
    number: int
    test: Rows
    train: Rows


@dataclass(eq=False)
class PreparedTable:
    """A table with basis models and trees that several simulations use. Raises TableError.

    Models and trees depend only on the options, so simulations without this have the same results.
    """

    table: SharingTable
    schema: TreeSchema = field(init=False)
    attributes: MixedTable = field(init=False)
    codes: Rows = field(init=False)
    _made: dict[tuple[Any, ...], Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        found = schema_of(self.table.records, self.table.target)
        self.schema, self.attributes, self.codes = found

    def folds(self, options: SimulationOptions) -> list[Fold]:
        """Return the folds of all runs. Raises OptionError for too few records."""
        records = self.attributes.records
        fewest = options.folds * options.owners
        if records < fewest or records - -(-records // options.folds) < options.owners:
            raise OptionError(
                f"{records:,} records are too few for {options.folds} folds and"
                f" {options.owners} owners.",
                where="folds",
                remedy="Take fewer folds or owners.",
            )
        found = []
        for run in range(options.runs):
            mixed = stream(options.seed, run, _FOLDS).permutation(records)
            for number, test in enumerate(np.array_split(mixed, options.folds)):
                train = np.setdiff1d(mixed, test)
                found.append(Fold(run, number, np.sort(test), train))
        return found

    def owners(self, fold: Fold, options: SimulationOptions) -> list[Rows]:
        """Return each owner's records: equal random parts of a fold's training records."""
        chance = stream(options.seed, fold.run, _OWNERS, fold.number, options.owners)
        return list(np.array_split(chance.permutation(fold.train), options.owners))

    def basis(self, fold: Fold, options: SimulationOptions) -> GlobalModel:
        """Return the global basis model, learned from all training records (section 2)."""
        key = ("basis", fold.run, fold.number, options.folds, options.seed, options.model)
        if key not in self._made:
            table, codes = self.attributes.rows(fold.train), self.codes[fold.train]
            growth = GrowthOptions(seed=options.seed)
            self._made[key] = learn_global(self.schema, table, codes, options.model, growth)
        found: GlobalModel = self._made[key]
        return found

    def trees(self, fold: Fold, options: SimulationOptions) -> list[SharedTree | None]:
        """Return each owner's tree before pruning.

        The entry is None if the tree is grown with the requirement and no split meets it.
        """
        requirement: Requirement | None = options.requirement if options.by == "growing" else None
        key = (
            "trees",
            fold.run,
            fold.number,
            options.folds,
            options.seed,
            options.owners,
            requirement,
        )
        if key not in self._made:
            parts = self.owners(fold, options)
            self._made[key] = [self._grown(rows, options.seed, requirement) for rows in parts]
        found: list[SharedTree | None] = self._made[key]
        return found

    def _grown(self, rows: Rows, seed: int, requirement: Requirement | None) -> SharedTree | None:
        table, codes = self.attributes.rows(rows), self.codes[rows]
        # A requirement needs no random draws.
        growth = GrowthOptions(seed=seed) if requirement is None else GrowthOptions()
        try:
            return grow_tree(self.schema, table, codes, growth, requirement=requirement)
        except RequirementUnmet:
            return None


@dataclass(frozen=True)
class FoldModels:
    """The models of a fold, whose results are averaged; empty if nothing was released.

    `refused` counts the owners without a release; `leaves` has the leaf count of each released
    tree; `pseudo_records` is None if the model was not learned from pseudo-records.
    """

    models: tuple[GlobalModel, ...]
    refused: int = 0
    leaves: tuple[float, ...] = ()
    pseudo_records: int | None = None


Way = Callable[[PreparedTable, Fold, SimulationOptions], FoldModels]


def pooled(kept: PreparedTable, fold: Fold, options: SimulationOptions) -> FoldModels:
    """Return the model of all records together, which is the global basis model."""
    return FoldModels((kept.basis(fold, options),))


def local(kept: PreparedTable, fold: Fold, options: SimulationOptions) -> FoldModels:
    """Return each owner's own unpruned tree; the results of the fold are means over the owners."""
    grown = kept.trees(fold, replace(options, by="pruning", requirement=None))
    trees = [tree for tree in grown if tree is not None]
    return FoldModels(tuple(trees), leaves=_leaves(trees))


def shared(kept: PreparedTable, fold: Fold, options: SimulationOptions) -> FoldModels:
    """Return the miner's model of the trees that owners release."""
    found = [released(kept, fold, options, owner) for owner in range(options.owners)]
    trees = [tree for tree in found if tree is not None]
    if not trees:
        return FoldModels((), refused=len(found))
    chance = stream(options.seed, fold.run, _MINER, fold.number, options.owners)
    combined = combine(trees, options.combining, chance)
    return FoldModels(
        (combined.model,),
        refused=len(found) - len(trees),
        leaves=_leaves(trees),
        pseudo_records=combined.pseudo_records or None,
    )


def released(
    kept: PreparedTable, fold: Fold, options: SimulationOptions, owner: int
) -> SharedTree | None:
    """Return the tree that an owner releases; None if it cannot meet the requirement."""
    if options.epsilon is not None:
        from pramana_core.model_sharing.private import GeneratorNoise, grow_private_tree

        rows = kept.owners(fold, options)[owner]
        table, codes = kept.attributes.rows(rows), kept.codes[rows]
        chance = stream(options.seed, fold.run, _TREES, fold.number, options.owners, owner)
        noise = GeneratorNoise(chance)
        return grow_private_tree(kept.schema, table, codes, options.epsilon, noise).tree
    tree = kept.trees(fold, options)[owner]
    if tree is not None and options.requirement is not None:
        try:
            tree = prune(tree, options.requirement, options.counts)
        except RequirementUnmet:
            return None
    return None if tree is None else released_form(tree, options.leaf_counts)


def _leaves(trees: Sequence[SharedTree]) -> tuple[float, ...]:
    return tuple(float(len(tree.leaves)) for tree in trees)


WAYS: Mapping[str, Way] = {
    "pooled": pooled,
    "local": local,
    **dict.fromkeys(COMBINING, shared),
}
"""All methods; `Method` lists their names too."""


@dataclass(frozen=True)
class FoldResult:
    """The results of one fold; fold and run are counted from 1.

    Attributes:
        accuracy: the share of held-out records with correctly predicted class.
        class_match: the share of held-out records with the class that the global basis model
            predicts.
        path_match: the share of paths in common with the basis tree; None unless both are trees.
        basis_accuracy: the accuracy of the global basis model.
        majority: the accuracy of the training records' most frequent class.
        refused: the count of owners who could not meet the requirement and released nothing.
        learned: whether a model was learned; without one the most frequent class is predicted.
        leaves: the mean leaf count of released trees; None without any.
        pseudo_records: the count of pseudo-records; None if the model was not learned from any.
    """

    run: int
    fold: int
    accuracy: float
    class_match: float
    path_match: float | None
    basis_accuracy: float
    majority: float
    refused: int
    learned: bool
    leaves: float | None
    pseudo_records: int | None
    seconds: float


_NUMBERS = ("accuracy", "class_match", "path_match", "basis_accuracy", "majority", "leaves")


@dataclass(frozen=True)
class Simulation:
    """A simulation of shared trees: its options and the results of each fold."""

    table: SharingTable
    options: SimulationOptions
    folds: tuple[FoldResult, ...]

    def spread(self, name: str) -> dict[str, float | None]:
        """Return mean and standard deviation of a number over all folds of all runs."""
        return Series(tuple({name: getattr(fold, name)} for fold in self.folds)).spread(name)

    @property
    def refused(self) -> int:
        """The count of trees that were not released because they could not meet the requirement."""
        return sum(fold.refused for fold in self.folds)

    @property
    def without_model(self) -> int:
        """The count of folds in which no owner released a tree."""
        return sum(not fold.learned for fold in self.folds)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "table": self.table.name,
            "target": self.table.target,
            "records": self.table.records.records,
            "note": self.table.note,
            "options": self.options.as_dict(),
            **{name: self.spread(name) for name in _NUMBERS},
            "refused": self.refused,
            "trees": self.options.owners * len(self.folds),
            "without_model": self.without_model,
            "seconds": sum(fold.seconds for fold in self.folds),
            "folds": [asdict(fold) for fold in self.folds],
        }


def simulate(
    table: SharingTable,
    options: SimulationOptions,
    on_step: OnShare = lambda _share: None,
    kept: PreparedTable | None = None,
    way: Way | None = None,
) -> Simulation:
    """Simulate sharing on a table.

    Args:
        table: the records.
        options: the options of the simulation.
        on_step: called with the share of folds that are done.
        kept: the table with the models and trees of earlier simulations, to save time.
        way: the function that makes the models of a fold, in place of the options' method.

    Raises OptionError, NotInstalled.
    """
    prepared, way = kept or PreparedTable(table), way or WAYS[options.method]
    folds = prepared.folds(options)
    rows = []
    on_step(0.0)
    for done, fold in enumerate(folds, 1):
        began = time.perf_counter()
        made = way(prepared, fold, options)
        rows.append(_measured(prepared, fold, options, made, time.perf_counter() - began))
        on_step(done / len(folds))
    return Simulation(table, options, tuple(rows))


def _measured(
    kept: PreparedTable, fold: Fold, options: SimulationOptions, made: FoldModels, seconds: float
) -> FoldResult:
    test, true = kept.attributes.rows(fold.test), kept.codes[fold.test]
    basis = kept.basis(fold, options)
    frequent = int(np.bincount(kept.codes[fold.train]).argmax())
    right, alike, shared = [], [], []
    for model in made.models:
        right.append(accuracy(model, test, true).value)
        alike.append(class_match(model, basis, test).value)
        if isinstance(model, SharedTree) and isinstance(basis, SharedTree):
            shared.append(path_match(model, basis))
    if not made.models:
        right.append(float(np.mean(true == frequent)))
        alike.append(float(np.mean(basis.predict(test) == frequent)))
    return FoldResult(
        run=fold.run + 1,
        fold=fold.number + 1,
        accuracy=float(np.mean(right)),
        class_match=float(np.mean(alike)),
        path_match=_mean(shared),
        basis_accuracy=accuracy(basis, test, true).value,
        majority=float(np.mean(true == frequent)),
        refused=made.refused,
        learned=bool(made.models),
        leaves=_mean(made.leaves),
        pseudo_records=made.pseudo_records,
        seconds=seconds,
    )


def _mean(numbers: Sequence[float]) -> float | None:
    return float(np.mean(numbers)) if numbers else None
