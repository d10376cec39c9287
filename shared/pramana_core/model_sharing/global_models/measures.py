"""The accuracy of a global model, and the agreement of two models (Sharkey 2008, section 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.errors import EmptyTable, ModelError, TableError
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.conditions import Condition, Interval, whole
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.tree import Path, SharedTree

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Share:
    """A share of records. The standard error sqrt(p (1 - p) / n) assumes independent records."""

    value: float
    records: int

    @property
    def standard_error(self) -> float:
        """The standard error of the share as an estimate for the population of the records."""
        return math.sqrt(self.value * (1 - self.value) / self.records)


def accuracy(model: GlobalModel, table: MixedTable, classes: Codes) -> Share:
    """Return the share of n records whose class a model predicts correctly. Raises TableError."""
    _require_records(table)
    if len(classes) != table.records:
        raise TableError(f"There are {len(classes)} classes for {table.records} records.")
    return Share(float((model.predict(table) == classes).mean()), table.records)


def class_match(one: GlobalModel, other: GlobalModel, table: MixedTable) -> Share:
    """Return the share of records classified alike by two models. Raises ModelError, EmptyTable."""
    if one.schema.target != other.schema.target:
        raise ModelError("The two models do not predict the same classes.", where="target")
    _require_records(table)
    return Share(float((one.predict(table) == other.predict(table)).mean()), table.records)


def path_match(one: SharedTree, other: SharedTree) -> float:
    """Return the share of paths (sets of conditions) that two trees have in common."""
    ours, theirs = ({_labels(tree.schema, p) for p in tree.paths()} for tree in (one, other))
    return len(ours & theirs) / len(ours | theirs)


def _labels(schema: TreeSchema, path: Path) -> frozenset[object]:
    return frozenset(
        (name, _named(schema, name, condition))
        for name, condition in path.conditions.items()
        if condition != whole(schema, name)
    )


def _named(schema: TreeSchema, name: str, condition: Condition) -> object:
    attribute = schema[name]
    if isinstance(condition, Interval) or not isinstance(attribute, CategoricalAttribute):
        return condition
    return frozenset(attribute.categories[code] for code in condition.codes)


def _require_records(table: MixedTable) -> None:
    if not table.records:
        raise EmptyTable("Measuring a model needs at least one record.")
