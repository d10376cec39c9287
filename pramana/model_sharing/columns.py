"""The columns of a frame as a tree sees them: its class, its attributes, all rows complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.categories import require_no_id
from pramana.frames.mixed import mixed_columns
from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import Frame, as_frame, names_of, require_columns, shown
from pramana.model_sharing.declared import require_declared, require_labels, require_names
from pramana_core.errors import MissingColumn, OptionError, TableError, UnknownCategory
from pramana_core.mixed.table import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.schemas import schema_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from pramana_core.model_sharing.global_models.model import GlobalModel
    from pramana_core.model_sharing.tree import SharedTree

Declared = Mapping[str, Any] | None


def training_columns(
    frame: Frame,
    target: str,
    features: str | Sequence[str] | None,
    ranges: Declared,
    categories: Declared,
    taxonomies: Declared,
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
    require_declared(ranges, categories, taxonomies, names, target)
    for name in names:
        if name not in (categories or {}) and name not in (ranges or {}):
            require_no_id(table[name], name, "features")
    with one_sentence():
        mixed = mixed_columns(table, [*names, target], "frame")
        _require_classes(mixed, target, categories)
        read = schema_of(
            mixed, target, ranges=ranges, taxonomies=taxonomies, categories=categories, whole=whole
        )
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


class ClassTeller:
    """What tells the classes of a frame's rows by the attributes of a tree's schema."""

    @property
    def _fitted(self) -> SharedTree | GlobalModel:
        """What predicts. Raises NotFitted where it was not made yet."""
        raise NotImplementedError

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes' labels, (classes,)."""
        return np.array(self._fitted.schema.target.categories, dtype=object)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the attributes, (attributes,)."""
        return np.array(self._fitted.schema.names, dtype=object)

    def predict(self, frame: Frame) -> npt.NDArray[Any]:
        """Return the class of each row.

        Args:
            frame: a table of n rows with all attributes; other columns are ignored.

        Returns:
            labels, (n,).

        Raises:
            NotFitted: there is no model yet.
            TableError: it is no table, or a cell is empty or of another type.
            MissingColumn: an attribute is not there.
            UnknownCategory: a category that the model does not know.
        """
        return self.classes_[self._fitted.predict(attribute_columns(self._fitted.schema, frame))]

    def predict_proba(self, frame: Frame) -> npt.NDArray[np.float64]:
        """Return the probability of each class, in the order of `classes_`, (n, classes).

        Where leaves tell hits and misses alone, the misses are spread evenly. Raises as `predict`.
        """
        return self._fitted.probabilities(attribute_columns(self._fitted.schema, frame))

    def score(self, frame: Frame, y: Any = None) -> float:
        """Return the share of rows whose class is predicted right.

        Args:
            frame: a table as in `predict`.
            y: the true classes, n labels; by default the frame's column of the target.

        Raises:
            TableError: y has another length than the frame.
            MissingColumn: neither y nor the target's column is there.
            UnknownCategory: a true class that is none of the classes.
            Others: see `predict`.
        """
        schema = self._fitted.schema
        found = self._fitted.predict(attribute_columns(schema, frame))
        return float(np.mean(found == class_codes(schema, frame, y)))
