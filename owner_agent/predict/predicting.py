"""Predictions of a learned model for the owner's own records: the model travels, they do not.

A record's values are mapped to the model's variables by name. Nothing is sent, and what is written
is for this owner alone.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from owner_agent.predict.inputs import InputSource, columns_lacking, encode_inputs, read_source
from pramana_core.domain import Variable
from pramana_core.errors import InputError, MissingColumn, OptionError
from pramana_core.errors.alike import did_you_mean
from pramana_core.learn.prediction import Predictor, read_predictor
from pramana_core.marginals.counts import Codes, Tensor
from pramana_core.progress import Progress

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
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))
        return text.getvalue().encode()


def read_model(path: Path) -> ReadModel:
    """Read a model that predicts, as the miner or a session of owners wrote it.

    Raises:
        InputError: the file cannot be read, or holds no model that predicts.
    """
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise _no_model(path) from error
    if isinstance(document, dict) and isinstance(document.get("document"), dict):
        # The miner tells besides what its model was learned from.
        document = document["document"]
        text = json.dumps(document, ensure_ascii=False)
    try:
        return ReadModel(_kind(document), read_predictor(text))
    except RecursionError as error:
        raise _no_model(path) from error


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
    table = read_source(source, inputs, missing=missing)
    lacking = columns_lacking(source, table, predictor.used)
    hint = did_you_mean(lacking, table.others)
    if lacking and all_columns:
        raise MissingColumn(
            f"The table {source.table} has no column {', '.join(map(repr, lacking))}{hint}, which"
            " the model uses.",
            where=str(source.table),
            remedy="Correct the table, or leave out --all-columns: what is missing is summed out.",
        )
    steps = len(inputs) + -(-table.rows // at_once)
    columns = encode_inputs(source, table, inputs, lambda done: watch(done, steps), missing=missing)
    codes, shares = [], []
    for number, part in enumerate(_chunks(columns, table.rows, at_once)):
        watch(len(inputs) + number, steps)
        codes.append(predictor.predict(part))
        if probabilities:
            shares.append(_probabilities(model, part))
    watch(steps, steps)
    ids = table.columns[source.record_id] if source.record_id else _row_numbers(table.rows)
    whole = np.concatenate(shares) if probabilities else None
    found = np.concatenate(codes)
    return Predictions(id_name, ids, predictor.target, found, whole, tuple(lacking), hint)


def _kind(document: object) -> str:
    kind = document.get("kind") if isinstance(document, dict) else None
    return kind if isinstance(kind, str) else ""


def _chunks(columns: Mapping[str, Codes], rows: int, at_once: int) -> Iterator[dict[str, Codes]]:
    for start in range(0, rows, at_once):
        yield {name: codes[start : start + at_once] for name, codes in columns.items()}


def _probabilities(model: ReadModel, columns: Mapping[str, Codes]) -> Tensor:
    shares = model.predictor.probabilities(columns)
    if shares is None:
        raise OptionError(
            f"This {model.kind} predicts classes, not their probabilities.",
            where="probabilities",
            remedy="Leave --probabilities out, or use a model with the logistic loss.",
        )
    return shares


def _row_numbers(rows: int) -> pa.Array:
    return pa.array(np.arange(1, rows + 1))
