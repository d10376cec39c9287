"""What a method makes of a fold, whichever method it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pramana.simulate.model_sharing.kept import Fold, Kept
from pramana.simulate.model_sharing.options import SimulationOptions
from pramana_core.model_sharing.global_models.model import GlobalModel


@dataclass(frozen=True)
class Made:
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


Way = Callable[[Kept, Fold, SimulationOptions], Made]
