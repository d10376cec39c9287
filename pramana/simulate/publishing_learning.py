"""Models of published tables: learned from generalized records, asked about records as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import Floats, MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.full_domain import Hierarchy, generalized, hierarchies_of
from pramana_core.model_sharing.global_models.learning import (
    GlobalName,
    GlobalOptions,
    learn_global,
)
from pramana_core.model_sharing.global_models.model import GlobalModel


@dataclass(frozen=True)
class PublishedModel:
    """A model of a published table.

    Its attributes have generalized values, so that records it is asked about are generalized to
    the same levels first: which these are is public. The paper does not say how its test records
    are classified by such a model; without this they would have values that it has never seen.

    Attributes:
        schema: of the records as they are.
        hierarchies: of the attributes.
        levels: at which each is published.
        model: learned from the published table.
    """

    schema: TreeSchema
    hierarchies: tuple[Hierarchy, ...]
    levels: Mapping[str, int]
    model: GlobalModel

    @property
    def kind(self) -> str:
        """Which model it is."""
        return self.model.kind

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the class code of each of n records."""
        return self.model.predict(self._at_levels(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class of n records: n x classes."""
        return self.model.probabilities(self._at_levels(table))

    def _at_levels(self, table: MixedTable) -> MixedTable:
        return generalized(self.schema, self.hierarchies, self.levels, table)[1]


def learn_published(
    schema: TreeSchema,
    table: MixedTable,
    classes: npt.NDArray[np.intp],
    levels: Mapping[str, int],
    model: GlobalName = "tree",
    options: GlobalOptions | None = None,
) -> PublishedModel:
    """Return the model of records published at some levels.

    Args:
        schema: the class and the attributes, with their taxonomies.
        table: the attributes of n records.
        classes: their class codes, n.
        levels: of each attribute, by name.
        model: its kind.
        options: how it is learned.

    Raises:
        MissingColumn, TableError, UnknownCategory: see `TreeSchema.read`.
        NotInstalled: the learner needs what is not installed.
    """
    hierarchies = hierarchies_of(schema)
    public, records = generalized(schema, hierarchies, levels, table)
    learned = learn_global(public, records, classes, model, options)
    return PublishedModel(schema, hierarchies, levels, learned)
