"""Conversion of a frame's columns to the attributes of a shared tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from pramana.estimators.saved import plain
from pramana.frames.codes import mixed_columns
from pramana.frames.identifying import require_no_id
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import Frame, as_frame, names_of, require_columns, shown
from pramana_core.errors import OptionError
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.table_schema import schema_of

Declared = Mapping[str, Any] | None


_RANGES = TypeAdapter(dict[str, tuple[float, float]])
_CATEGORIES = TypeAdapter(dict[str, list[Any]])


def require_declared(ranges: Any, categories: Any) -> None:
    """Check the form of declared ranges and categories. Raises OptionError."""
    for argument, given, form, words in (
        ("ranges", ranges, _RANGES, "the smallest and the largest number, such as (0, 120)"),
        ("categories", categories, _CATEGORIES, "a list of labels"),
    ):
        try:
            form.validate_python({} if given is None else plain(given))
        except ValidationError:
            raise OptionError(
                f"{argument} must be a dict of {words} by column, not {shown(given)}.",
                where=argument,
            ) from None


def undeclared(schema: TreeSchema, ranges: Declared, categories: Declared) -> list[str]:
    """Return the columns of a tree whose range or categories come from the records."""
    listed = schema.labels
    return [
        name
        for name in (*schema.names, schema.target.name)
        if name not in ((categories if name in listed else ranges) or {})
    ]


def training_columns(
    frame: Frame,
    target: str,
    features: str | Sequence[str] | None,
    ranges: Declared,
    categories: Declared,
    whole: Sequence[str] | None = None,
) -> tuple[TreeSchema, MixedTable, npt.NDArray[np.intp]]:
    """Return the schema of a frame of n rows, its attributes and its n class codes.

    Unless `whole` is given, a column has whole numbers if all its values are whole. Raises
    TableError, MissingColumn, OptionError, DomainError, UnknownCategory.
    """
    table = as_frame(frame, "frame")
    if not isinstance(target, str):
        raise OptionError(
            f"target must be the name of a column, not {shown(target)}.", where="target"
        )
    require_columns(table, [target], "target")
    names = [str(name) for name in table.columns if name != target]
    if features is not None:
        names = names_of(features, "features")
        require_columns(table, names, "features")
    if target in names or len(set(names)) < len(names) or (not names and features is not None):
        raise OptionError(
            f"features must name columns other than the target {target!r}, each once.",
            where="features",
        )
    require_declared(ranges, categories)
    for name in names:
        if name not in {**(categories or {}), **(ranges or {})}:
            require_no_id(table[name], name, "features")
    with one_sentence():
        mixed = mixed_columns(table, [*names, target], "frame")
        return schema_of(mixed, target, ranges=ranges, categories=categories, whole=whole)


def attribute_columns(schema: TreeSchema, frame: Frame) -> MixedTable:
    """Return the attributes of a tree's schema from a frame of n rows.

    Raises TableError, MissingColumn, UnknownCategory.
    """
    with one_sentence():
        table = mixed_columns(frame, schema.names, "frame")
        columns = [
            _labels(column) if isinstance(schema[column.name], CategoricalAttribute) else column
            for column in table.columns
        ]
        return schema.read(MixedTable(tuple(columns), table.records))


def _labels(column: Any) -> Any:
    if not isinstance(column, NumericColumn) or np.any(column.values != np.floor(column.values)):
        return column
    values, codes = np.unique(column.values, return_inverse=True)
    return CategoricalColumn(column.name, codes, tuple(str(int(value)) for value in values))
