"""Predictions for the owner's own records, computed on site from a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from owner_agent.site.planning import raise_together
from owner_agent.site.site import Site, VariableSection
from owner_agent.site.table_source import TableSource
from owner_agent.table.encode import record_id_problems, rows_text
from owner_agent.table.table import detect, read_table
from pramana_core.alike import did_you_mean
from pramana_core.csv_text import csv_text
from pramana_core.domain import Variable
from pramana_core.encoding import UNKNOWN, encode
from pramana_core.errors import InputError, MissingColumn, OptionError, UnknownCategory
from pramana_core.learn.learners import read_predictor
from pramana_core.learn.prediction import Predictor
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.progress import Progress
from pramana_core.text_files import read_text
from pramana_core.wire.parts import code_dtype

ROW = "row"
"""The name of the column of row numbers, in a table without record ids."""


@dataclass(frozen=True)
class RecordSource:
    """A table of records to predict. `sections` say how to read some of its variables."""

    table: TableSource
    record_id: str | None = None
    sections: Mapping[str, VariableSection] = field(default_factory=dict)

    @classmethod
    def of_site(cls, site: Site, table: Path | None, record_id: str | None) -> RecordSource:
        """Return the records of a site file's table, or of another table in the same format."""
        sections = {section.name: section for section in site.file.variables}
        source = site.table
        if table is not None:
            source = replace(detect(table), dates_as_years=source.dates_as_years)
        return cls(source, record_id or site.file.record_id, sections)

    def column(self, variable: str) -> str:
        """Return the name of the column that contains a variable."""
        section = self.sections.get(variable)
        return variable if section is None else section.source

    def empty(self, variable: str) -> str | None:
        """Return the category that a variable's empty cells get."""
        section = self.sections.get(variable)
        return None if section is None else section.missing


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predicted class of each of n records: `codes` (n,), `probabilities` (n, classes) or None.

    `lacking` lists the model's variables without a column in the table; the model averages over
    their values. `hint` suggests column names that may be meant.
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
        """The count of records by predicted class."""
        found = np.bincount(self.codes, minlength=self.target.size).tolist()
        return dict(zip(self.target.categories, found, strict=True))

    def csv(self) -> bytes:
        """Return CSV with a row per record: its id, class, and the probability of each class."""
        labels = self.target.categories
        columns: list[list[Any]] = [self.ids.to_pylist(), [labels[code] for code in self.codes]]
        names = [self.id_name, self.target.name]
        if self.probabilities is not None:
            columns += self.probabilities.T.tolist()
            names += [f"{self.target.name}={label}" for label in labels]
        return csv_text(names, zip(*columns, strict=True)).encode()


def read_model(path: Path) -> Predictor:
    """Return the model in a file from the miner or from a session of owners. Raises InputError."""
    try:
        text = read_text(path)
        document = json.loads(text)
        if isinstance(document, dict) and isinstance(document.get("document"), dict):
            # The miner's answer contains the model together with its source.
            text = json.dumps(document["document"], ensure_ascii=False)
        return read_predictor(text)
    except (OSError, ValueError, RecursionError):
        raise InputError(
            f"The file {path} cannot be read as the JSON of a model.",
            where=str(path),
            remedy="Name the JSON file of a tree or classifier from a session or the miner.",
        ) from None


def predict(
    model: Predictor, source: RecordSource, watch: Progress, *, at_once: int = 1 << 16
) -> Predictions:
    """Predict all records, `at_once` at a time. Raises TableError, UnknownCategory, OptionError."""
    own = [source.record_id] if source.record_id else []
    id_name = source.record_id or ROW
    if id_name == model.target.name:
        raise OptionError(
            f"The record ids and the class would both have the name {id_name!r}.",
            where="record-id",
            remedy="Select another column of record ids with --record-id.",
        )
    columns = {v.name: source.column(v.name) for v in model.inputs}
    optional = set(columns.values()) - set(own) if model.sums_out else frozenset()
    wanted = list(dict.fromkeys([*own, *columns.values()]))
    table = read_table(source.table, wanted, optional)
    inputs = [v for v in model.inputs if columns[v.name] in table.columns]
    if not inputs:
        raise MissingColumn(
            f"The table {source.table} has none of the model's variables"
            f" {', '.join(map(repr, model.inputs.names))}.",
            where=str(source.table),
            remedy="Name a table with columns of these variables.",
        )
    problems = [p for name in own for p in record_id_problems(table.columns[name], name)]
    codes: dict[str, Codes] = {}
    for variable in inputs:
        column, empty = columns[variable.name], source.empty(variable.name)
        try:
            codes[variable.name] = _codes(
                table.columns[column], column, variable, empty, sums_out=model.sums_out
            )
        except UnknownCategory as error:
            problems.append(error)
    raise_together(problems)
    classes, shares = [], []
    for start in range(0, table.rows, at_once):
        watch(start, table.rows)
        part = {name: found[start : start + at_once] for name, found in codes.items()}
        classes.append(model.predict(part))
        shares.append(model.probabilities(part))
    watch(table.rows, table.rows)
    found = [share for share in shares if share is not None]
    lacking = [columns[name] for name in model.used if columns[name] not in table.columns]
    return Predictions(
        id_name,
        table.columns[own[0]] if own else pa.array(range(1, table.rows + 1)),
        model.target,
        np.concatenate(classes),
        np.concatenate(found) if found else None,
        tuple(dict.fromkeys(lacking)),
        did_you_mean(lacking, table.others),
    )


def _codes(
    text: pa.Array, column: str, variable: Variable, empty_category: str | None, *, sums_out: bool
) -> Codes:
    """Return the codes of a column; an empty cell without a category gets the variable's size."""
    empty = UNKNOWN
    if empty_category in variable.categories:
        empty = variable.categories.index(str(empty_category))
    elif sums_out:
        empty = variable.size
    found = encode(text, variable.categories, empty=empty)
    if (wrong := found < 0).any():
        raise UnknownCategory(
            f"Column {column!r} has values that the model does not know for {variable.name!r}, "
            f"in {rows_text(wrong)}.",
            where=column,
            remedy=f"Use one of {list(variable.categories)} in each cell, or a number if the "
            "categories are intervals.",
        )
    codes: Codes = found.astype(code_dtype(variable.size + sums_out))
    return codes
