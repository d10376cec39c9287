"""Records made l-diverse by full-domain generalization: the baseline of Sharkey's section 4.2.

All training records are at one publisher. The levels at which anjana published two of the ten folds
are kept in a file, and are checked on the records at hand.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import Fold, FoldModels, PreparedTable
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.global_models.learning import learn_global
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.growing import GrowthOptions
from pramana_core.model_sharing.requirements import Requirement

TAXONOMIES = Path(__file__).with_name("taxonomies.toml")
PUBLISHED = Path(__file__).with_name("published.json")

REQUIREMENTS = tuple(
    Requirement(c=c, l=diverse) for diverse in (2, 3, 4, 5) for c in (20.0, 15.0, 10.0, 5.0)
)
"""Every (c, l) of section 4.2, from the weakest on."""

Levels = Mapping[str, int]


def label(requirement: Requirement) -> str:
    """Return the name of a requirement in the file of levels."""
    return f"k={requirement.k or 1:g} c={requirement.c or 0:g} l={requirement.l or 1}"


def names_at(attribute: CategoricalAttribute, groups: Mapping[str, Any], level: int) -> list[str]:
    """Return what each category is called: itself, its group, or `*`, from level 0 on."""
    if level == 0:
        return list(attribute.categories)
    group = {one: name for name, members in groups.items() for one in members}
    if level == 1 and group:
        return [group[one] for one in attribute.categories]
    return ["*"] * len(attribute.categories)


@dataclass(frozen=True)
class Publisher:
    """Publishes one of the paper's tables, all of whose attributes are categorical.

    Attributes:
        groups: which categories belong together, by attribute and group.
        levels: for each requirement's `label` the levels of all publications, None for nothing.
    """

    groups: Mapping[str, Mapping[str, Any]]
    levels: Mapping[str, Sequence[Levels | None]]

    @classmethod
    def of(cls, table: str) -> Publisher:
        """Return the publisher of a table. Raises OSError, ValueError, KeyError."""
        groups = tomllib.loads(TAXONOMIES.read_text(encoding="utf-8"))[table]
        return cls(groups, json.loads(PUBLISHED.read_text(encoding="utf-8"))["tables"][table])

    def generalized(
        self, schema: TreeSchema, table: MixedTable, levels: Levels
    ) -> tuple[TreeSchema, MixedTable]:
        """Return records with every attribute at its level, and the schema that they then have."""
        columns = []
        for attribute, column in zip(schema.attributes, schema.read(table).columns, strict=True):
            assert isinstance(attribute, CategoricalAttribute)  # noqa: S101 - as in the paper
            assert isinstance(column, CategoricalColumn)  # noqa: S101
            name = attribute.name
            called = names_at(attribute, self.groups.get(name, {}), levels[name])
            known = tuple(dict.fromkeys(called))
            places = np.array([known.index(one) for one in called])
            columns.append(CategoricalColumn(name, places[column.codes], known))
        attributes = tuple(CategoricalAttribute(c.name, c.categories) for c in columns)
        return TreeSchema(schema.target, attributes), MixedTable(tuple(columns), table.records)

    def choose(self, kept: PreparedTable, fold: Fold, required: Requirement) -> Levels | None:
        """Return the levels chosen most often among those that the training records meet it at."""
        chosen = [levels for levels in self.levels[label(required)] if levels is not None]
        for levels in sorted(chosen, key=lambda levels: -chosen.count(levels)):
            schema, records = self.generalized(
                kept.schema, kept.attributes.rows(fold.train), levels
            )
            codes = kept.codes[fold.train]
            if meets(class_counts(records, codes, schema.classes), required):
                return levels
        return None

    def way(self, kept: PreparedTable, fold: Fold, options: SimulationOptions) -> FoldModels:
        """Return the model of the published training records; of none where nothing is."""
        levels = self.choose(kept, fold, options.requirement)
        if levels is None:
            return FoldModels((), refused=options.owners)
        train, codes = kept.attributes.rows(fold.train), kept.codes[fold.train]
        schema, records = self.generalized(kept.schema, train, levels)
        learning = GrowthOptions(seed=options.seed)
        model = learn_global(schema, records, codes, options.model, learning)
        published = PublishedModel(self, kept.schema, levels, model)
        return FoldModels((published,), pseudo_records=train.records)


def class_counts(records: MixedTable, classes: npt.NDArray[np.intp], number: int) -> Floats:
    """Return the counts of the classes in each group of records that look alike."""
    codes = np.stack([c.codes for c in records.columns if isinstance(c, CategoricalColumn)], axis=1)
    group = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    counts = np.bincount(group * number + classes, minlength=(group.max() + 1) * number)
    return counts.reshape(-1, number).astype(np.float64)


def meets(counts: Floats, required: Requirement) -> bool:
    """Return whether each group meets a requirement by its exact class counts."""
    if counts.sum(axis=1).min() < (required.k or 1):
        return False
    ranked = -np.sort(-counts, axis=1)
    rest = ranked[:, (required.l or 1) - 1 :].sum(axis=1)
    return bool(np.all(ranked[:, 0] < (required.c or math.inf) * rest))


@dataclass(frozen=True)
class PublishedModel:
    """A model of a published table; records to classify are generalized alike.

    The paper does not say how its test records are classified by such a model; without this they
    would have values that it has never seen.
    """

    publisher: Publisher
    schema: TreeSchema
    levels: Levels
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
        return self.publisher.generalized(self.schema, table, self.levels)[1]
