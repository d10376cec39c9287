"""Sharing simulated fold by fold: accuracy, class match and path match (section 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pramana.simulate.model_sharing_folds import Fold, FoldModels, PreparedTable
from pramana.simulate.model_sharing_methods import way_of
from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_tables import SharingTable
from pramana.simulate.study import Series, spread
from pramana_core.model_sharing.global_models.model import (
    GlobalModel,
    TreeModel,
    accuracy,
    class_match,
    path_match,
)
from pramana_core.progress import OnShare


@dataclass(frozen=True)
class FoldResult:
    """What one fold shows.

    Attributes:
        run, fold: which, from 1.
        accuracy: the share of the held-out records whose class is predicted right.
        class_match: the share of them that the global basis model gives the same class.
        path_match: the share of paths that the tree and the basis tree have in common; None where
            one of them is no tree.
        basis_accuracy: the accuracy of the global basis model.
        majority: the accuracy of the training records' most frequent class.
        refused: how many owners could not meet the requirement and released nothing.
        learned: whether there was a model. Without one the most frequent class is predicted.
        leaves: of a released tree, on average; None where none was released.
        pseudo_records: how many the model was learned from; None where it was from none.
        seconds: how long it took.
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
    """A simulation: what was asked, and what each fold shows."""

    table: SharingTable
    options: SimulationOptions
    folds: tuple[FoldResult, ...]

    def spread(self, name: str) -> dict[str, float | None]:
        """Return mean and standard deviation of a number over all folds of all runs."""
        rows = tuple({name: getattr(fold, name)} for fold in self.folds)
        return spread(Series(rows), name)

    @property
    def refused(self) -> int:
        """How many trees were not released because they could not meet the requirement."""
        return sum(fold.refused for fold in self.folds)

    @property
    def without_model(self) -> int:
        """In how many folds nobody released a tree."""
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
    clock: Callable[[], float] = time.perf_counter,
) -> Simulation:
    """Simulate sharing on a table.

    Args:
        table: the records.
        options: what is simulated.
        on_step: told the share of the folds that is done.
        kept: what other cells on the same table made; many cells are faster with one.
        clock: seconds.

    Raises:
        OptionError: there are too few records for so many folds and owners.
        LimitExceeded: a product of trees is too large.
        NotInstalled: scikit-learn is not installed.
    """
    held = kept or PreparedTable(table, dict(options.taxonomies) or None)
    folds = held.folds(options)
    rows = []
    on_step(0.0)
    for done, fold in enumerate(folds, 1):
        began = clock()
        made = way_of(options.method)(held, fold, options)
        rows.append(_measured(held, fold, options, made, clock() - began))
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
        shared.append(_paths_shared(model, basis))
    if not made.models:
        right.append(float(np.mean(true == frequent)))
        alike.append(float(np.mean(basis.predict(test) == frequent)))
    return FoldResult(
        run=fold.run + 1,
        fold=fold.number + 1,
        accuracy=float(np.mean(right)),
        class_match=float(np.mean(alike)),
        path_match=_mean([share for share in shared if share is not None]),
        basis_accuracy=accuracy(basis, test, true).value,
        majority=float(np.mean(true == frequent)),
        refused=made.refused,
        learned=bool(made.models),
        leaves=_mean(made.leaves),
        pseudo_records=made.pseudo_records,
        seconds=seconds,
    )


def _paths_shared(model: GlobalModel, basis: GlobalModel) -> float | None:
    if isinstance(model, TreeModel) and isinstance(basis, TreeModel):
        return path_match(model.tree, basis.tree)
    return None


def _mean(numbers: Sequence[float]) -> float | None:
    return float(np.mean(numbers)) if numbers else None
