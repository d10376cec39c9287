"""Records published l-diverse instead of trees: the baseline of Sharkey's section 4.2.

The levels at which anjana published tables that meet the paper's (c, l) were found once and are
kept in a file, so that who has no anjana still has its levels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import Fold, FoldModels, PreparedTable
from pramana_core.mixed import Floats, MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.global_models.learning import (
    GlobalName,
    GlobalOptions,
    learn_global,
)
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.requirements import (
    Cells,
    Hierarchy,
    Requirement,
    generalized,
    hierarchies_of,
)

PUBLISHED = Path(__file__).with_name("published.json")

REQUIREMENTS = tuple(
    Requirement(c=c, l=diverse) for diverse in (2, 3, 4, 5) for c in (20.0, 15.0, 10.0, 5.0)
)
"""Every (c, l) of section 4.2, from the weakest on."""

Levels = dict[str, int]


def label(requirement: Requirement) -> str:
    """Return a requirement as it is called in the file."""
    return f"k={requirement.k or 1:g} c={requirement.c or 0:g} l={requirement.l or 1}"


@dataclass(frozen=True)
class RecordedLevels:
    """Levels that a publisher chose, by requirement; checked anew on the records at hand.

    Where several were recorded for a requirement, those are taken that were chosen most often
    among those that the records meet it at.

    Attributes:
        found: for each requirement's `label` the levels of all its publications, None for nothing.
        name: the publisher that found them.
    """

    found: Mapping[str, Sequence[Levels | None]]
    name: str = "anjana"

    @classmethod
    def read(cls, path: Path, table: str) -> RecordedLevels:
        """Return what is recorded of a table. Raises OSError, ValueError, KeyError."""
        kept: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(kept["tables"][table], f"{kept['publisher']} {kept['version']}")

    def publish(
        self,
        schema: TreeSchema,
        table: MixedTable,
        classes: npt.NDArray[np.intp],
        requirements: Sequence[Requirement],
    ) -> list[Levels | None]:
        """See `Publisher`. Raises KeyError for a requirement of which nothing is recorded."""
        hierarchies = hierarchies_of(schema)
        cells = Cells.of(hierarchies, schema.read(table), classes, schema.classes)
        return [self._levels(cells, requirement) for requirement in requirements]

    def _levels(self, cells: Cells, requirement: Requirement) -> Levels | None:
        names = [h.attribute.name for h in cells.hierarchies]
        chosen = [levels for levels in self.found[label(requirement)] if levels is not None]
        ranked = sorted(chosen, key=lambda levels: -chosen.count(levels))
        for levels in ranked:
            if cells.groups([levels[name] for name in names]).meet(requirement):
                return dict(levels)
        return None


def recorded(table: str) -> RecordedLevels:
    """Return the levels at which anjana published a table."""
    return RecordedLevels.read(PUBLISHED, table)


def ldiversity(
    kept: PreparedTable,
    fold: Fold,
    options: SimulationOptions,
    *,
    publisher: RecordedLevels,
    asked: Requirement,
) -> FoldModels:
    """Return the model of the published training records; of none where nothing is published.

    All training records are at one publisher, whatever the number of owners (section 4.2).
    """
    table, codes = kept.attributes.rows(fold.train), kept.codes[fold.train]
    (levels,) = publisher.publish(kept.schema, table, codes, [asked])
    if levels is None:
        return FoldModels((), refused=options.owners)
    learning = GlobalOptions(seed=options.seed)
    model = learn_published(kept.schema, table, codes, levels, options.model, learning)
    return FoldModels((model,), pseudo_records=table.records)


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
    """Return the model of n records published at some levels, by attribute."""
    hierarchies = hierarchies_of(schema)
    public, records = generalized(schema, hierarchies, levels, table)
    learned = learn_global(public, records, classes, model, options)
    return PublishedModel(schema, hierarchies, levels, learned)
