"""The columns of a frame as a tree sees them, and what an owner declares of them before.

Also here:

* Messages of shared trees as people pass them: objects, what JSON is made of, text, files.
* What combined trees are made by and told of: options, the saved form, the source, pseudo-data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from pydantic import Field, ValidationError

from pramana.estimators.saved import FORMAT as MODEL_FORMAT
from pramana.estimators.saved import LearnedFrom, plain
from pramana.frames.codes import mixed_columns
from pramana.frames.identifying import require_no_id
from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import Frame, as_frame, names_of, require_columns, shown
from pramana.reporting.files import require_version
from pramana_core.alike import did_you_mean
from pramana_core.errors import (
    InputError,
    MissingColumn,
    OptionError,
    TableError,
    TableUnreadable,
    UnknownCategory,
)
from pramana_core.learn.common.documents import DocumentPart, faults, parse_json, write_json
from pramana_core.mixed import CategoricalColumn, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import (
    CategoricalAttribute,
    Taxonomy,
    TreeSchema,
    schema_of,
)
from pramana_core.model_sharing.exchange.documents import LONGEST_LABEL
from pramana_core.model_sharing.global_models.combining import (
    CombineOptions,
    Method,
    generation_for,
)
from pramana_core.model_sharing.global_models.learning import GlobalOptions
from pramana_core.model_sharing.global_models.votes import VoteOptions
from pramana_core.wire.release_kinds import SharedTreeMessage

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from pramana_core.model_sharing.global_models.model import GlobalModel
    from pramana_core.model_sharing.tree import SharedTree


def require_declared(
    ranges: Any, categories: Any, taxonomies: Any, names: Sequence[str], target: str
) -> None:
    """Check the form of what is declared of columns, by name.

    Args:
        ranges: of some columns the least and the greatest number.
        categories: of some columns all labels.
        taxonomies: of some columns which categories belong together.
        names: the attributes.
        target: the column of the class.

    Raises:
        OptionError: one of them is no mapping, is of other columns, or has another form.
    """
    declared = {"ranges": ranges, "categories": categories, "taxonomies": taxonomies}
    for argument, given in declared.items():
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
    for name, groups in (taxonomies or {}).items():
        if not isinstance(groups, Taxonomy | Mapping | list | tuple):
            raise OptionError(
                f"taxonomies[{name!r}] must be a dict of lists by the name of the group, or rows of"
                f" a category and its ancestors, not {shown(groups)}.",
                where="taxonomies",
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


# Messages of shared trees as people pass them: objects, what JSON is made of, text, files.

FORMAT = "pramana"
KIND = "knowledge-model"
VERSION = 1

_FIELD = "model"
"""What a release calls its message."""

_WANTED = "a tree of pm.share_tree, its message, JSON text of it, or a file of it"


def written(content: SharedTreeMessage) -> str:
    """Return a message as the text of a file."""
    inner = content.model_dump(mode="json")
    return write_json({"format": FORMAT, "version": VERSION, "kind": KIND, "content": inner})


def content_of(given: Any, argument: str) -> SharedTreeMessage:
    """Return the message of whatever was passed.

    Args:
        given: an object with a `content`, what JSON is made of, JSON text, or the path of a file.
        argument: the parameter it was passed as.

    Raises:
        InputError: it is not one of these.
        TableUnreadable: there is no such file, or it is of a later version.
    """
    content = getattr(given, "content", None)
    if isinstance(content, SharedTreeMessage):
        return content
    if isinstance(given, SharedTreeMessage):
        return given
    if isinstance(given, Mapping):
        return _of_document(given, argument)
    if isinstance(given, Path) or (isinstance(given, str) and not given.lstrip().startswith("{")):
        return _of_file(Path(given), argument)
    if isinstance(given, str | bytes):
        return read_message(given, argument)
    raise InputError(f"{argument} must be {_WANTED}, not {shown(given)}.", where=argument)


def contents_of(messages: Any) -> list[SharedTreeMessage]:
    """Return the messages that were passed. Raises InputError, TableUnreadable."""
    alone = isinstance(messages, str | bytes | Path | Mapping) or hasattr(messages, "content")
    given = [messages] if alone else messages
    if not isinstance(given, Iterable) or isinstance(given, str) or getattr(given, "ndim", 1) != 1:
        raise InputError(
            f"messages must be a list of shared trees, not {shown(messages)}.", where="messages"
        )
    listed = list(given)
    if not listed:
        raise InputError("messages must be at least one shared tree, not none.", where="messages")
    return [content_of(one, f"messages[{place}]") for place, one in enumerate(listed)]


def read_message(text: str | bytes, argument: str) -> SharedTreeMessage:
    """Return the message of JSON text. Raises InputError."""
    try:
        document = parse_json(text)
    except (ValueError, TypeError):
        raise InputError(f"{argument} is not JSON.", where=argument) from None
    if not isinstance(document, Mapping):
        raise InputError(f"{argument} must be {_WANTED}; it is other JSON.", where=argument)
    return _of_document(document, argument)


def _of_file(path: Path, argument: str) -> SharedTreeMessage:
    source = f"{argument} {quoted([str(path)])}"
    try:
        if path.is_dir():
            raise TableUnreadable(
                f"{source} must be a file, not a folder; list the files in it.", where=argument
            )
        if not path.is_file():
            raise TableUnreadable(f"{source} must be a file that exists.", where=argument)
        text = path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no name of a file"
        raise TableUnreadable(f"{source} cannot be read ({why}).", where=argument) from None
    return read_message(text, source)


def _of_document(document: Mapping[str, Any], argument: str) -> SharedTreeMessage:
    """Read a message, bare or in a file's wrapping, or the release that has it."""
    if document.get("format") == MODEL_FORMAT:
        raise InputError(
            f"{argument} holds a model that was learned from trees, not a shared tree; pm.load"
            " reads it.",
            where=argument,
        )
    if document.get("format") == FORMAT:
        require_version(document.get("version"), VERSION, Path(argument))
        if document.get("kind") != KIND:
            raise InputError(f"{argument} holds no shared tree.", where=argument)
        document = document.get("content") or {}
    elif isinstance(document.get(_FIELD), Mapping):
        document = document[_FIELD]
    try:
        return SharedTreeMessage.model_validate(dict(document))
    except ValidationError as error:
        raise InputError(
            f"{argument} is no message of a shared tree: {faults(error)}.", where=argument
        ) from None


# What combined trees are made by and told of: options, the saved form, the source, pseudo-data.

_LARGEST = 700.0
"""Beyond it the amplification is no floating-point number."""

_NUMBERS = ("scale", "smoothing", "product_leaves")
"""Options that must be numbers, which the packages below compare without asking."""


class SavedTrees(DocumentPart):
    """What is saved of combined trees: the model, and what it was made of."""

    model: dict[str, Any]
    trees: int = Field(ge=1)
    pseudo_records: int = Field(ge=0)
    notes: list[str]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> SavedTrees:
        """Read what was saved. Raises InputError."""
        try:
            return cls.model_validate(dict(document))
        except ValidationError as error:
            raise InputError(f"The document holds no combined trees: {faults(error)}.") from None


def combine_options(given: Mapping[str, Any]) -> CombineOptions:
    """Return how trees are combined, from an estimator's options. Raises OptionError."""
    numbers = {name: plain(given[name]) for name in _NUMBERS}
    for name, number in numbers.items():
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise OptionError(f"{name} must be a number, not {shown(number)}.", where=name)
    method: object = given["method"]
    if not isinstance(method, str):
        raise OptionError(
            f"method must be one of {', '.join(get_args(Method))}, not {shown(method)}.",
            where="method",
        )
    drawn = plain(given["pseudo_records"])
    if drawn is not None and (isinstance(drawn, bool) or not isinstance(drawn, int) or drawn < 1):
        raise OptionError(
            "pseudo_records must be a whole number of at least 1, or None for as many as the trees"
            f" count, not {shown(drawn)}.",
            where="pseudo_records",
        )
    learning = {one.name: plain(given[one.name]) for one in fields(GlobalOptions)}
    return CombineOptions(
        method=given["method"],
        model=given["model"],
        generation=generation_for(
            given["method"],
            records=drawn,
            scale=numbers["scale"],
            numeric=given["numeric"],
            absent=given["absent"],
            misses=given["misses"],
            spread=given["spread"],
        ),
        labels=given["labels"],
        votes=VoteOptions(given["weights"], numbers["smoothing"]),
        learning=GlobalOptions(**learning),
        most_leaves=numbers["product_leaves"],
        seed=learning["seed"],
    )


def source_of(records: int, epsilon: float, method: str) -> LearnedFrom:
    """Return what trees were learned from: different people's records, each bounded by epsilon."""
    gamma = math.exp(epsilon) if epsilon < _LARGEST else math.inf
    return LearnedFrom(records, (), gamma, epsilon, method)


def records_frame(table: MixedTable) -> pd.DataFrame:
    """Return records as a frame with categorical columns."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            labels: Any = list(column.categories)
            columns[column.name] = pd.Categorical.from_codes(column.codes, labels)
        else:
            columns[column.name] = column.values
    return pd.DataFrame(columns)


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
