"""The columns of a frame as a tree sees them, and what an owner declares of them before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana.frames.codes import mixed_columns
from pramana.frames.identifying import require_no_id
from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import Frame, as_frame, names_of, require_columns, shown
from pramana_core.alike import did_you_mean
from pramana_core.errors import MissingColumn, OptionError, TableError, UnknownCategory
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.exchange.documents import LONGEST_LABEL
from pramana_core.model_sharing.table_schema import schema_of


def require_declared(ranges: Any, categories: Any, names: Sequence[str], target: str) -> None:
    """Check the form of what is declared of columns: least and greatest numbers, and labels.

    Raises:
        OptionError: one of them is no mapping, is of other columns, or has another form.
    """
    for argument, given in {"ranges": ranges, "categories": categories}.items():
        _require_of(given, argument, [*names, target])
    for name, pair in (ranges or {}).items():
        if not _is_pair(pair):
            raise OptionError(
                f"ranges[{name!r}] must be the least and the greatest number, such as (0, 120), not"
                f" {shown(pair)}.",
                where="ranges",
            )
    for name, labels in (categories or {}).items():
        if isinstance(labels, Mapping) or not hasattr(labels, "__iter__"):
            raise OptionError(
                f"categories[{name!r}] must be a list of labels, not {shown(labels)}.",
                where="categories",
            )


def _require_of(given: Any, argument: str, names: Sequence[str]) -> None:
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise OptionError(
            f"{argument} must be a dict by column, not {shown(given)}.", where=argument
        )
    if unknown := [name for name in given if name not in names]:
        raise OptionError(
            f"{argument} names {quoted(unknown)}, no column of the"
            f" tree{did_you_mean(unknown, names)}; it has {quoted(names)}.",
            where=argument,
        )


def _is_pair(given: Any) -> bool:
    try:
        low, high = given
        float(low), float(high)
    except (TypeError, ValueError):
        return False
    return not isinstance(given, str)


def undeclared(schema: TreeSchema, ranges: Any, categories: Any) -> list[str]:
    """Return the columns of a tree whose range or categories were read from the records."""
    found = [
        one.name
        for one in schema.attributes
        if one.name not in ((categories if isinstance(one, CategoricalAttribute) else ranges) or {})
    ]
    if schema.target.name not in (categories or {}):
        found.append(schema.target.name)
    return found


def require_names(names: Sequence[str]) -> None:
    """Check that a message can hold the names of columns. Raises TableError."""
    for name in names:
        if not _fits(name):
            raise TableError(
                f"frame has a column called {name[:40]!r}, which cannot be in a message; give it a"
                f" name of 1 to {LONGEST_LABEL} letters without line breaks.",
                where=name[:40],
            )


def require_labels(schema: TreeSchema) -> None:
    """Check that a message can hold the categories of a tree. Raises TableError.

    A category is somebody's value: the sentence says only whose column it is in.
    """
    columns = {schema.target.name: schema.target.categories} | {
        one.name: one.categories
        for one in schema.attributes
        if isinstance(one, CategoricalAttribute)
    }
    for name, labels in columns.items():
        if wrong := sum(not _fits(label) for label in labels):
            raise TableError(
                f"Column {name!r} has categories that cannot be in a message, {wrong} of"
                f" {len(labels)}: each must have 1 to {LONGEST_LABEL} letters, not spaces alone,"
                " without line breaks; rename them.",
                where=name,
            )


def _fits(label: str) -> bool:
    plain = all(ord(letter) >= 32 and ord(letter) != 127 for letter in label)
    return bool(label.strip()) and len(label) <= LONGEST_LABEL and plain


Declared = Mapping[str, Any] | None


def training_columns(
    frame: Frame,
    target: str,
    features: str | Sequence[str] | None,
    ranges: Declared,
    categories: Declared,
    whole: Sequence[str] | None = None,
) -> tuple[TreeSchema, MixedTable, npt.NDArray[np.intp]]:
    """Return the schema of a frame of n rows, its attributes and its n class codes.

    Without `whole`, the columns of whole numbers are those whose values all are.

    Raises:
        TableError: it is no table, has empty cells, is of one class alone, a column identifies
            people, or a label cannot be in a message.
        MissingColumn: a column is named that it lacks.
        OptionError: what is declared is no mapping, of other columns, or of another form.
        DomainError: what is declared cannot be.
        UnknownCategory: a record has a category that is not declared.
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
    if not names and features is None:
        raise TableError(
            f"frame must have other columns than the target {target!r}: a tree asks for them.",
            where="frame",
        )
    if target in names or len(set(names)) < len(names) or not names:
        raise OptionError(
            f"features must be one or more other columns than the target {target!r}, each once.",
            where="features",
        )
    require_names([*names, target])
    require_declared(ranges, categories, names, target)
    for name in names:
        if name not in (categories or {}) and name not in (ranges or {}):
            require_no_id(table[name], name, "features")
    with one_sentence():
        mixed = mixed_columns(table, [*names, target], "frame")
        _require_classes(mixed, target, categories)
        read = schema_of(mixed, target, ranges=ranges, categories=categories, whole=whole)
    require_labels(read[0])
    return read


def _require_classes(table: MixedTable, target: str, categories: Declared) -> None:
    """Refuse records that are all of one class, where no others are declared. Raises TableError."""
    column = table[target]
    known = column.categories if isinstance(column, CategoricalColumn) else np.unique(column.values)
    if len(known) == 1 and target not in (categories or {}):
        raise TableError(
            f"All records have the same {target!r}: a tree tells two or more classes apart; if"
            f" there are others, list all with categories={{{target!r}: [...]}}.",
            where=target,
        )


def attribute_columns(schema: TreeSchema, frame: Frame) -> MixedTable:
    """Return the attributes of a frame of n rows as a tree asks for them.

    Raises:
        TableError: it is no table, a cell is empty, or a column has words in place of numbers.
        MissingColumn: an attribute is not there.
        UnknownCategory: a cell has a category that the tree does not know.
    """
    with one_sentence():
        table = mixed_columns(frame, schema.names, "frame")
        columns = [
            _labels(column) if isinstance(schema[column.name], CategoricalAttribute) else column
            for column in table.columns
        ]
        return schema.read(MixedTable(tuple(columns), table.records))


def _labels(column: Any) -> Any:
    """Return a column of whole numbers as one of categories that are called like them."""
    if not isinstance(column, NumericColumn) or np.any(column.values != np.floor(column.values)):
        return column
    values, codes = np.unique(column.values, return_inverse=True)
    return CategoricalColumn(column.name, codes, tuple(str(int(value)) for value in values))


def class_codes(schema: TreeSchema, frame: Frame, y: Any) -> npt.NDArray[np.intp]:
    """Return the class of each of n rows, of `y` or else of the frame's column.

    Raises:
        MissingColumn: neither is there.
        TableError: `y` has another length than the frame.
        UnknownCategory: a class that the tree does not know.
    """
    import pandas as pd

    table, name = as_frame(frame, "frame"), schema.target.name
    if y is None:
        if name not in table.columns:
            raise MissingColumn(
                f"y must be given, for frame has no column {name!r}; it has"
                f" {quoted(table.columns)}.",
                where=name,
            )
        y = table[name]
    values = pd.Series(np.asarray(y, dtype=object).ravel())
    if len(values) != len(table):
        raise TableError(
            f"y must have {len(table)} labels, one for each row of frame, not {len(values)}.",
            where="y",
        )
    known = {label: code for code, label in enumerate(schema.target.categories)}
    found = values.map(_label).map(known)
    if unknown := int(found.isna().sum()):
        raise UnknownCategory(
            f"y has {unknown} labels that are not among the classes {quoted(known)}.", where="y"
        )
    return np.asarray(found, dtype=np.intp)


def _label(value: Any) -> str:
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)
