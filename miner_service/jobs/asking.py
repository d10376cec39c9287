"""Bounded questions to a model: distributions, synthetic records, predictions, pseudo-data."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from miner_service.settings import Limits
from pramana_core.domain import Domain, Variable
from pramana_core.encoding import Value
from pramana_core.errors import InputError, UnknownVariable, require_at_most
from pramana_core.learn.networks.inference import posterior
from pramana_core.learn.networks.network import BayesNet, sample_csv
from pramana_core.learn.prediction import Predictor, encode_records
from pramana_core.marginals.counts import Tensor
from pramana_core.mixed import LARGEST, CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.wire.models import (
    AnswerRow,
    ModelAnswer,
    ModelQuery,
    Prediction,
    PredictionAnswer,
    PredictionQuery,
)

_BLOCK = 1 << 20
"""Bytes of a file sent at once."""


def answer(network: BayesNet, query: ModelQuery, limits: Limits) -> ModelAnswer:
    """Answer a question.

    Raises:
        UnknownVariable, UnknownCategory, OptionError, LimitExceeded: as `posterior` does.
        LimitExceeded: the answer is too long, or takes too large a table.
    """
    distinct = len(set(query.of)) == len(query.of)
    nodes = network.domain.project(query.of if distinct else ())
    require_at_most(
        nodes.size, limits.answer_cells, "rows of the answer", "of", "Ask for fewer nodes at once."
    )
    shares, given = posterior(network, query.of, query.given)
    rows = [
        AnswerRow(
            values={v.name: v.categories[i] for v, i in zip(nodes, cell, strict=True)},
            probability=float(shares[cell]),
        )
        for cell in np.ndindex(*nodes.shape)
    ]
    return ModelAnswer(of=query.of, given=query.given, given_probability=given, rows=rows)


def synthetic(network: BayesNet, records: int, seed: int, limits: Limits) -> Iterator[str]:
    """Return synthetic records as CSV, piece by piece. Raises LimitExceeded."""
    nodes = len(network.structure.nodes)
    remedy = f"Ask for at most {limits.sample_cells // nodes} at once, each with another seed."
    require_at_most(records * nodes, limits.sample_cells, "sampled cells", "records", remedy)
    return sample_csv(network, records, seed)


def predictions(predictor: Predictor, query: PredictionQuery, limits: Limits) -> PredictionAnswer:
    """Predict the class of records, of which nothing is kept.

    Raises:
        UnknownVariable, UnknownCategory, InputError: a record does not fit the model's inputs; it
            is named by its number and the variable, never by its value.
        LimitExceeded: there are too many.
    """
    _require_few(query, predictor.target, limits)
    codes = encode_records(predictor.inputs, query.records, missing=predictor.sums_out)
    shares = predictor.probabilities(codes)
    return _answer(predictor.target, predictor.predict(codes).tolist(), shares)


def classified(model: GlobalModel, query: PredictionQuery, limits: Limits) -> PredictionAnswer:
    """Predict the class of records of numbers and categories, of which nothing is kept.

    Raises:
        UnknownVariable, UnknownCategory, InputError: as `predictions`; no value may be left out.
        LimitExceeded: there are too many.
    """
    target = model.schema.target
    _require_few(query, target, limits)
    table = read_records(model.schema, query.records)
    return _answer(target, model.predict(table).tolist(), model.probabilities(table))


def _answer(target: Variable, codes: Sequence[int], shares: Tensor | None) -> PredictionAnswer:
    labels = target.categories
    rows = [None] * len(codes) if shares is None else shares.tolist()
    return PredictionAnswer(
        target=target.name,
        classes=list(labels),
        predictions=[
            Prediction(label=labels[code], probabilities=row)
            for code, row in zip(codes, rows, strict=True)
        ],
    )


def _require_few(query: PredictionQuery, target: Variable, limits: Limits) -> None:
    records, remedy = len(query.records), "Send the records in several requests."
    cells = records * len(target.categories)
    require_at_most(records, limits.prediction_records, "records", "records", remedy)
    require_at_most(cells, limits.prediction_cells, "class probabilities", "records", remedy)


def read_records(schema: TreeSchema, records: Sequence[Mapping[str, Value | None]]) -> MixedTable:
    """Return the table of records that give a value to each attribute of a schema.

    Categories are read as `encode_records` reads them, numbers only from numbers.

    Raises:
        UnknownVariable: a record names what is no attribute.
        UnknownCategory, InputError: a value is not one of its attribute's, or absent; it is named
            by its record's number and its attribute alone.
    """
    for number, record in enumerate(records, 1):
        if unknown := [name for name in record if name not in schema.names]:
            raise UnknownVariable(
                f"Record {number} has a value of {unknown[0]!r}, which is no attribute here.",
                where=unknown[0],
                remedy=f"The attributes are {list(schema.names)}.",
            )
    columns: list[Column] = []
    for attribute in schema.attributes:
        name = attribute.name
        if isinstance(attribute, CategoricalAttribute):
            domain = Domain((Variable(name, attribute.categories),))
            codes = encode_records(domain, [{name: record.get(name)} for record in records])[name]
            columns.append(CategoricalColumn(name, codes.astype(np.intp), attribute.categories))
        else:
            numbers = [_number(record.get(name), name, k) for k, record in enumerate(records, 1)]
            columns.append(NumericColumn(name, np.array(numbers, dtype=np.float64)))
    return MixedTable(tuple(columns), len(records))


def _number(value: Value | None, name: str, record: int) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(
            f"Record {record} has no number of {name!r}.",
            where=name,
            remedy="Give every attribute of numbers a finite number.",
        )
    if abs(value) > LARGEST:
        raise InputError(
            f"Record {record} has a number of {name!r} beyond {LARGEST:g}.", where=name
        )
    return float(value)


def parquet_pieces(chunks: Iterator[MixedTable]) -> Iterator[bytes]:
    """Return tables of the same columns as the bytes of one Parquet file, a row group for each.

    Categories are written as dictionaries. The file is written first: errors come before any byte.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as it is sent
    table = _arrow(next(chunks))
    with pq.ParquetWriter(file, table.schema) as writer:
        writer.write_table(table)
        for one in chunks:
            writer.write_table(_arrow(one))
    file.seek(0)

    def pieces() -> Iterator[bytes]:
        with file:
            yield from iter(lambda: file.read(_BLOCK), b"")

    return pieces()


def _arrow(table: MixedTable) -> pa.Table:
    columns = {}
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            labels = pa.array(list(column.categories), pa.string())
            codes = pa.array(np.asarray(column.codes, dtype=np.int32))
            columns[column.name] = pa.DictionaryArray.from_arrays(codes, labels)
        else:
            columns[column.name] = pa.array(column.values)
    return pa.table(columns)
