"""Predictions of a learned model for the owner's own records: the model travels, they do not.

A record's values are mapped to the model's variables by name. Nothing is sent, and what is written
is for this owner alone. No message quotes a cell, even where the site file calls the column not
sensitive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.site.planning import planned, raise_together
from owner_agent.site.site import Site, VariableSection
from owner_agent.table.encode import encode_column, record_id_problems, rows_text
from owner_agent.table.table import TextTable, read_table
from pramana_core.alike import did_you_mean
from pramana_core.csv_text import csv_text
from pramana_core.domain import Domain, Variable
from pramana_core.encoding import CategoryReader
from pramana_core.errors import (
    InputError,
    MissingColumn,
    OptionError,
    PramanaError,
    UnknownCategory,
)
from pramana_core.learn.learners import read_predictor
from pramana_core.learn.prediction import Predictor
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.progress import Progress
from pramana_core.spellings import LabelReader
from pramana_core.text_files import read_text
from pramana_core.wire.parts import code_dtype


@dataclass(frozen=True)
class InputSource:
    """Where the records are, and what the site file says of their columns."""

    table: Path
    record_id: str | None = None
    sections: Mapping[str, VariableSection] | None = None
    variables: Mapping[str, Variable] | None = None

    @classmethod
    def of_site(cls, site: Site, table: Path | None, record_id: str | None) -> InputSource:
        """Return the records that a site file describes, in another table if one is given."""
        sections = {section.name: section for section in site.file.variables}
        return cls(
            table or site.table, record_id or site.file.record_id, sections, planned(site).variables
        )

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the table's columns of a variable."""
        section = (self.sections or {}).get(name)
        return (name,) if section is None else (section.source,)


def _read(source: InputSource, inputs: Domain, *, missing: bool) -> TextTable:
    """Read the columns that a model needs, and the record ids.

    Where values may be `missing` so may columns, as long as there is one.

    Raises:
        TableError: the table cannot be read, or lacks columns.
    """
    columns = [column for name in inputs.names for column in source.columns(name)]
    own = [source.record_id] if source.record_id else []
    asked = list(dict.fromkeys([*own, *columns]))
    table = read_table(source.table, asked, set(columns) - set(own) if missing else frozenset())
    if not any(set(source.columns(name)) <= set(table.columns) for name in inputs.names):
        raise MissingColumn(
            f"The table {source.table} has no column of the model's variables"
            f" {', '.join(map(repr, inputs.names))}.",
            where=str(source.table),
            remedy="Name a table that has some of them.",
        )
    return table


def _encoded(
    source: InputSource,
    table: TextTable,
    inputs: Domain,
    watch: Callable[[int], None],
    *,
    missing: bool,
) -> dict[str, Codes]:
    """Return the codes of a model's inputs; `watch` is called with the number of those done.

    Where values may be `missing`, a variable without a column is left out, and an empty cell that
    is no category has the variable's number of categories as its code.

    Raises:
        TableError, UnknownCategory: all that is wrong with the table, together.
    """
    problems: list[PramanaError] = []
    if source.record_id:
        problems += record_id_problems(table.columns[source.record_id], source.record_id)
    columns = {}
    for number, variable in enumerate(inputs):
        watch(number)
        if set(source.columns(variable.name)) <= set(table.columns):
            try:
                columns[variable.name] = _column(source, table, variable, missing=missing)
            except PramanaError as error:
                problems.append(error)
    raise_together(problems)
    return columns


def _column(source: InputSource, table: TextTable, variable: Variable, *, missing: bool) -> Codes:
    """Return a column as codes of the model's variable.

    The site file says how a cell is read where its categories are the model's, in any order;
    otherwise a cell holds one of the model's labels, or a number where they are intervals.
    """
    section = (source.sections or {}).get(variable.name)
    column = source.columns(variable.name)[0]
    empty = pc.equal(table.columns[column], "").to_numpy(zero_copy_only=False)
    if section is not None and source.variables is not None:
        own = source.variables[variable.name]
        to_model = LabelReader(variable.categories)
        places = [to_model.code(label) for label in own.categories]
        told = section.missing is not None or not (missing and empty.any())
        if told and sorted(place for place in places if place is not None) == [*range(own.size)]:
            hidden = section.model_copy(update={"sensitive": True})
            return np.array(places, _dtype(variable.size))[encode_column(table, hidden, own)]
    reader, distinct = CategoryReader(variable), table.columns[column].dictionary_encode()
    known = [reader.code(text) for text in distinct.dictionary.to_pylist()]
    found = np.array([-1 if code is None else code for code in known])[distinct.indices.to_numpy()]
    if missing:
        found[empty & (found < 0)] = variable.size
    if (wrong := found < 0).any():
        also = ", or a number" if reader.cuts is not None else ""
        hint = (
            " The site file gives this variable other categories."
            if section is not None
            else " With --site the site file says how cells are read."
        )
        raise UnknownCategory(
            f"Column {column!r} holds values of {variable.name!r} that the model does not know in"
            f" {rows_text(wrong)}.",
            where=column,
            remedy=f"Each cell must hold one of {list(variable.categories)}{also}.{hint}",
        )
    codes: Codes = found.astype(_dtype(variable.size + missing))
    return codes


def _dtype(size: int) -> np.dtype[np.unsignedinteger]:
    return np.dtype(code_dtype(size))


ROW = "row"
"""The column of the records' numbers, where nothing else names them."""


@dataclass(frozen=True)
class ReadModel:
    """A model that was read: its kind, and what predicts."""

    kind: str
    predictor: Predictor


@dataclass(frozen=True, eq=False)
class Predictions:
    """The class of each record.

    Attributes:
        id_name: what the records are named by.
        ids: their names, n of them.
        target: the class.
        codes: the class code of each record, (n,).
        probabilities: of each class, (n, classes), if they were asked for.
        lacking: the columns that the model uses and the table lacks, which were summed out.
        hint: what these may be called in the table, in brackets; else nothing.
    """

    id_name: str
    ids: pa.Array
    target: Variable
    codes: Codes
    probabilities: Tensor | None
    lacking: tuple[str, ...] = ()
    hint: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """How many records were given each class."""
        found = np.bincount(self.codes, minlength=self.target.size).tolist()
        return dict(zip(self.target.categories, found, strict=True))

    def csv(self) -> bytes:
        """Return a row for each record: its name, its class, and the probabilities."""
        labels = self.target.categories
        columns: list[list[Any]] = [self.ids.to_pylist(), [labels[code] for code in self.codes]]
        names = [self.id_name, self.target.name]
        if self.probabilities is not None:
            columns += self.probabilities.T.tolist()
            names += [f"{self.target.name}={label}" for label in labels]
        return csv_text(names, zip(*columns, strict=True)).encode()


def read_model(path: Path) -> ReadModel:
    """Read a model that predicts, as the miner or a session of owners wrote it.

    Raises:
        InputError: the file cannot be read, or holds no model that predicts.
    """
    try:
        text = read_text(path)
        document = json.loads(text)
    except (OSError, ValueError, RecursionError):
        raise _no_model(path) from None
    if isinstance(document, dict) and isinstance(document.get("document"), dict):
        # The miner tells besides what its model was learned from.
        document = document["document"]
        text = json.dumps(document, ensure_ascii=False)
    try:
        kind = document.get("kind") if isinstance(document, dict) else None
        return ReadModel(str(kind or ""), read_predictor(text))
    except RecursionError:
        raise _no_model(path) from None


def _no_model(path: Path) -> InputError:
    return InputError(
        f"The file {path} cannot be read as the JSON of a model.",
        where=str(path),
        remedy="Name the tree.json, linear.json or bayes.json of a session, or a model as the"
        " miner answers it.",
    )


def predict(
    model: ReadModel,
    source: InputSource,
    watch: Progress,
    *,
    probabilities: bool,
    all_columns: bool = False,
    at_once: int = 1 << 16,
) -> Predictions:
    """Predict the class of every record of a table.

    Args:
        model: what predicts.
        source: the records.
        watch: told of the progress.
        probabilities: whether those of all classes are asked for.
        all_columns: whether a table that lacks a column which the model uses is refused.
        at_once: how many records are predicted at once.

    Raises:
        TableError: the table cannot be read, lacks columns, or record ids are missing or repeated.
        UnknownCategory: cells hold none of the model's categories, and are not empty where the
            model sums out what is missing; rows are named, no value is.
        OptionError: probabilities of a model that has none, or ids that are named like the class.
    """
    predictor = model.predictor
    id_name = source.record_id or ROW
    if id_name == predictor.target.name:
        raise OptionError(
            f"The records and the class would both be called {id_name!r}.",
            where="record-id",
            remedy="Name the column of the record ids with --record-id.",
        )
    inputs = predictor.inputs
    missing = predictor.sums_out
    table = _read(source, inputs, missing=missing)
    wanted = dict.fromkeys(column for name in predictor.used for column in source.columns(name))
    lacking = [column for column in wanted if column not in table.columns]
    hint = did_you_mean(lacking, table.others)
    if lacking and all_columns:
        raise MissingColumn(
            f"The table {source.table} has no column {', '.join(map(repr, lacking))}{hint}, which"
            " the model uses.",
            where=str(source.table),
            remedy="Correct the table, or leave out --all-columns: what is missing is summed out.",
        )
    steps = len(inputs) + -(-table.rows // at_once)
    columns = _encoded(source, table, inputs, lambda done: watch(done, steps), missing=missing)
    codes, shares = [], []
    for start in range(0, table.rows, at_once):
        watch(len(inputs) + start // at_once, steps)
        part = {name: found[start : start + at_once] for name, found in columns.items()}
        codes.append(predictor.predict(part))
        if probabilities:
            shares.append(_probabilities(model, part))
    watch(steps, steps)
    ids = (
        table.columns[source.record_id] if source.record_id else pa.array(range(1, table.rows + 1))
    )
    whole = np.concatenate(shares) if probabilities else None
    found = np.concatenate(codes)
    return Predictions(id_name, ids, predictor.target, found, whole, tuple(lacking), hint)


def _probabilities(model: ReadModel, columns: Mapping[str, Codes]) -> Tensor:
    shares = model.predictor.probabilities(columns)
    if shares is None:
        raise OptionError(
            f"This {model.kind} predicts classes, not their probabilities.",
            where="probabilities",
            remedy="Leave --probabilities out, or use a model with the logistic loss.",
        )
    return shares
