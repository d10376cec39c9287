"""What the cells of an experiment share: folds, owners' records, their trees, global basis models.

All of it is a function of the seed, the run and the fold (and of the owners, where there are some),
so that a cell finds what another one made, and gives the same numbers if nothing was kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_tables import SharingTable
from pramana_core.errors import OptionError, RequirementUnmet
from pramana_core.learn.common.documents import stream
from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.global_models.learning import GlobalOptions, learn_global
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.growing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.schemas import schema_of
from pramana_core.model_sharing.tree import SharedTree

Rows = npt.NDArray[np.intp]

_FOLDS, _OWNERS, _TREES, _MINER = range(4)
"""What randomness is for: each has a stream of its own."""


@dataclass(frozen=True)
class Fold:
    """One fold of one run.

    Attributes:
        run: which run, from 0.
        number: which fold of it, from 0.
        test: the records held out.
        train: all others.
    """

    run: int
    number: int
    test: Rows
    train: Rows


@dataclass(eq=False)
class PreparedTable:
    """A table, and what was made of it for the cells of an experiment.

    Raises:
        TableError: the table has no class or no attribute.
    """

    table: SharingTable
    taxonomies: Any = None
    schema: TreeSchema = field(init=False)
    attributes: MixedTable = field(init=False)
    codes: Rows = field(init=False)
    _made: dict[tuple[Any, ...], Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        found = schema_of(self.table.records, self.table.target, taxonomies=self.taxonomies)
        self.schema, self.attributes, self.codes = found

    def folds(self, options: SimulationOptions) -> list[Fold]:
        """Return the folds of all runs. Raises OptionError where records are too few."""
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
        """Return each owner's records of a fold: equal parts of the training records, at random."""
        chance = stream(options.seed, fold.run, _OWNERS, fold.number, options.owners)
        return list(np.array_split(chance.permutation(fold.train), options.owners))

    def basis(self, fold: Fold, options: SimulationOptions) -> GlobalModel:
        """Return the global basis model, learned from all training records (section 2)."""
        key = ("basis", fold.run, fold.number, options.folds, options.seed, options.model)
        if key not in self._made:
            table, codes = self.attributes.rows(fold.train), self.codes[fold.train]
            asked = GlobalOptions(seed=options.seed)
            self._made[key] = learn_global(self.schema, table, codes, options.model, asked)
        found: GlobalModel = self._made[key]
        return found

    def trees(self, fold: Fold, options: SimulationOptions) -> list[SharedTree | None]:
        """Return each owner's own tree, before any pruning.

        None stands where a tree is grown with the requirement, and not even one split meets it.
        """
        asked: Requirement | None = options.requirement if options.by == "growing" else None
        key = ("trees", fold.run, fold.number, options.folds, options.seed, options.owners, asked)
        if key not in self._made:
            parts = self.owners(fold, options)
            self._made[key] = [self._grown(rows, options.seed, asked) for rows in parts]
        found: list[SharedTree | None] = self._made[key]
        return found

    def _grown(self, rows: Rows, seed: int, asked: Requirement | None) -> SharedTree | None:
        table, codes = self.attributes.rows(rows), self.codes[rows]
        growth = GrowthOptions(seed=seed)
        try:
            return grow_tree(self.schema, table, codes, growth, requirement=asked)
        except RequirementUnmet:
            return None


def miner_stream(fold: Fold, options: SimulationOptions) -> np.random.Generator:
    """Return the randomness of the miner in a fold."""
    return stream(options.seed, fold.run, _MINER, fold.number, options.owners)


def owner_stream(fold: Fold, options: SimulationOptions, owner: int) -> np.random.Generator:
    """Return the randomness of an owner's private tree."""
    return stream(options.seed, fold.run, _TREES, fold.number, options.owners, owner)


# What a method makes of a fold, whichever method it is.


@dataclass(frozen=True)
class FoldModels:
    """What a method makes of a fold.

    Attributes:
        models: what predicts; several are measured one by one, none if there is nothing to learn.
        refused: how many owners released nothing.
        leaves: of each released tree.
        pseudo_records: how many the model was learned from; None where it was from none.
    """

    models: tuple[GlobalModel, ...]
    refused: int = 0
    leaves: tuple[float, ...] = ()
    pseudo_records: int | None = None


Way = Callable[[PreparedTable, Fold, SimulationOptions], FoldModels]
