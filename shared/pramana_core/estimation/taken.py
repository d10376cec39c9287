"""Which tables of a model were taken, and so what must be known of what was made of them."""

from __future__ import annotations

from pramana_core.estimation.pooled.tables import PooledTables
from pramana_core.estimation.tables.modelled import FittedModel, ModelledTable
from pramana_core.estimation.tables.pooled import PooledTable
from pramana_core.marginals.lack_of_fit import LackOfFit

Names = tuple[str, ...]


class Taken:
    """A note of the tables that somebody took, in their order, whether or not they were kept.

    Args:
        pooled: what tests pooled tables.
        whole: the note of which this is a part: what is noted here is noted there, too.
    """

    def __init__(self, pooled: PooledTables, whole: Taken | None = None):
        self._tables, self._whole = pooled, whole
        self._models: dict[tuple[Names, int], FittedModel] = {}
        self._pooled: dict[Names, None] = {}
        self._filled: dict[Names, None] = {}

    def note(self, names: Names, table: ModelledTable | PooledTable) -> None:
        """Note a table of some variables, named in the order of their domain."""
        if isinstance(table, ModelledTable):
            self._models[table.model.names, table.model.order] = table.model
        else:
            self._pooled[names] = None
        if table.filled_in:
            self._filled[names] = None
        if self._whole is not None:
            self._whole.note(names, table)

    def note_filled(self, names: Names) -> None:
        """Note variables of which something was made of smaller tables."""
        self._filled[names] = None
        if self._whole is not None:
            self._whole.note_filled(names)

    @property
    def lack_of_fit(self) -> tuple[LackOfFit, ...]:
        """Of each model of these tables, whether the reports contradict it."""
        models = tuple(model.lack_of_fit for model in list(self._models.values()))
        return (*models, *self._tables.lack_of_fit(list(self._pooled)))

    @property
    def filled_in(self) -> tuple[Names, ...]:
        """The variables of those tables that were made of smaller ones."""
        return tuple(self._filled)
