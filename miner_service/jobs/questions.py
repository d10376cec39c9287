"""Questions to a model, each bounded: distributions, synthetic records, predictions.

Also here:

* What a job will take here: the prediction by its plans, corrected by the jobs this miner has
  run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from miner_service.kinds import kind_of
from miner_service.kinds.base import PreparedJob
from miner_service.kinds.costs import SEEN, Cost, correction
from miner_service.settings import Limits
from miner_service.store.schema import JobRow, ModelRow
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError, LimitExceeded, UnknownVariable
from pramana_core.learn.networks.network import BayesNet, posterior
from pramana_core.learn.networks.synthetic import sample_csv
from pramana_core.learn.prediction import Predictor, Value, encode_records
from pramana_core.marginals.counts import Tensor
from pramana_core.mixed.table import LARGEST, CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.wire.learning.jobs import JobSpec, read_job_spec
from pramana_core.wire.learning.models import (
    AnswerRow,
    ModelAnswer,
    ModelQuery,
    Prediction,
    PredictionAnswer,
    PredictionQuery,
)


def answer(network: BayesNet, query: ModelQuery, limits: Limits) -> ModelAnswer:
    """Answer a question.

    Raises:
        UnknownVariable, UnknownCategory, OptionError, NotInstalled: as `posterior` does.
        LimitExceeded: the answer is too long, or takes too large a table.
    """
    cells = network.domain.project(query.of).size if len(set(query.of)) == len(query.of) else 0
    if cells > limits.answer_cells:
        raise LimitExceeded(
            f"The answer has {cells} rows; {limits.answer_cells} are allowed.",
            where="of",
            remedy="Ask for fewer nodes at once.",
        )
    found = posterior(network, query.of, query.given)
    return ModelAnswer(
        of=query.of,
        given=query.given,
        given_probability=found.evidence_probability,
        rows=[AnswerRow(values=values, probability=p) for values, p in found.rows()],
    )


def synthetic(network: BayesNet, records: int, seed: int, limits: Limits) -> Iterator[str]:
    """Return synthetic records as CSV, piece by piece. Raises LimitExceeded."""
    nodes = len(network.structure.nodes)
    if records * nodes > limits.sample_cells:
        raise LimitExceeded(
            f"{records} records of {nodes} variables have {records * nodes} cells;"
            f" {limits.sample_cells} are allowed.",
            where="records",
            remedy=f"Ask for at most {limits.sample_cells // nodes} at once, with another seed"
            " each time.",
        )
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
    if len(query.records) > limits.prediction_records:
        raise LimitExceeded(
            f"{len(query.records)} records are asked for; {limits.prediction_records} are allowed.",
            where="records",
            remedy="Send them in several requests.",
        )
    labels = target.categories
    cells = len(query.records) * len(labels)
    if cells > limits.prediction_cells:
        raise LimitExceeded(
            f"{len(query.records)} records with the probabilities of {len(labels)} classes are"
            f" {cells} numbers; {limits.prediction_cells} are allowed.",
            where="records",
            remedy="Send the records in several requests.",
        )


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


# What a job will take here: the prediction by its plans, corrected by the jobs this miner has run.
#
# A machine is faster or slower than the one that rates were measured on, and a kind of job may be
# predicted too low or too high for the data at hand: the median of what the last jobs of a kind
# took, over what was predicted of them, corrects both.


@dataclass(frozen=True)
class Predicted:
    """What a job is predicted to take, and by what factor the time was corrected."""

    cost: Cost
    factor: float

    def note(self, row: JobRow) -> None:
        """Write it into the job's row."""
        row.predicted_seconds = self.cost.seconds
        row.predicted_bytes = self.cost.bytes
        row.predicted_factor = self.factor


def predicted(session: Session, spec: JobSpec, prepared: PreparedJob, limits: Limits) -> Predicted:
    """Predict what a job takes. Raises LimitExceeded if that is more than is allowed."""
    factor = correction(_ratios(session, spec))
    return Predicted(kind_of(spec).require_predicted(spec, prepared, limits, factor), factor)


def _ratios(session: Session, spec: JobSpec) -> list[float]:
    """Return what the last jobs of a kind took over what the plans alone had said."""
    query = (
        select(JobRow)
        .join(ModelRow, ModelRow.job == JobRow.id)
        .where(ModelRow.kind == kind_of(spec).makes)
        .where(JobRow.predicted_seconds.is_not(None), JobRow.started.is_not(None))
        .order_by(ModelRow.seq.desc())
        .limit(2 * SEEN)
    )
    found = []
    for row in session.scalars(query):
        ran, told = _seconds(row), row.predicted_seconds
        if ran is not None and told and read_job_spec(row.spec).kind == spec.kind:
            found.append(ran * (row.predicted_factor or 1.0) / told)
    return found[:SEEN]


def _seconds(row: JobRow) -> float | None:
    if row.started is None or row.finished is None:
        return None
    return (row.finished - row.started).total_seconds()
