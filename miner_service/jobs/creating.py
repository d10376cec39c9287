"""Jobs as they are asked for: created as rows, and cancelled.

Also here:

* Pseudo-data as Parquet, drawn again from the released trees and written piece by piece.
* What the releases that a model is learned from tell of one person, over all their owners.
* Questions to a model, each bounded: distributions, synthetic records, predictions.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy.orm import Session

from miner_service.intake.study_privacy import told_of
from miner_service.intake.unbounded import unbounded_of
from miner_service.kinds import kind_of
from miner_service.kinds.base import PreparedJob
from miner_service.services import Services
from miner_service.settings import Limits
from miner_service.store import queue as job_rows
from miner_service.store.people import find_study, study_message
from miner_service.store.queue import UNFINISHED, add_line, create_job, finish
from miner_service.store.schema import ReleaseRow
from pramana_core.domain import Domain, Variable
from pramana_core.encoding import Value
from pramana_core.errors import InputError, LimitExceeded, UnknownVariable
from pramana_core.learn.networks.inference import posterior
from pramana_core.learn.networks.network import BayesNet, sample_csv
from pramana_core.learn.prediction import Predictor, encode_records
from pramana_core.marginals.counts import Tensor
from pramana_core.mixed import LARGEST, CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.privacy import Amplification, told_by
from pramana_core.wire.base import default_records
from pramana_core.wire.jobs import Job, JobCreate, JobSpec, read_job_spec
from pramana_core.wire.models import (
    AnswerRow,
    ModelAnswer,
    ModelQuery,
    Prediction,
    PredictionAnswer,
    PredictionQuery,
)
from pramana_core.wire.releases import Alignment, secrets_differ


def answer(network: BayesNet, query: ModelQuery, limits: Limits) -> ModelAnswer:
    """Answer a question.

    Raises:
        UnknownVariable, UnknownCategory, OptionError, LimitExceeded: as `posterior` does.
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


def create(services: Services, study: str, body: JobCreate) -> tuple[Job, bool]:
    """Create a job, or find the same one created before; say whether it is to run.

    Raises:
        StructureError, RecordsDoNotAlign, VariablesMissing, Conflict, LimitExceeded: it cannot
            run, or its key belongs to another job.
        QuotaExceeded: too many jobs of the study wait.
    """
    with services.database.read() as session:
        find_study(session, study)
        if body.key is not None:
            known = job_rows.job_by_key(session, study, body.key)
            if known is not None and _same(read_job_spec(known.spec), body.spec):
                return job_rows.job_message(session, known, services.now()), False
        spec, prepared = settled(services, session, study, body.spec)
    with services.database.write() as session:
        row, to_run = create_job(
            session,
            study=study,
            key=body.key or _default_key(spec, prepared.alignment),
            default_key=body.key is None,
            spec=spec,
            releases=[source.release for source in prepared.sources],
            most_queued=services.settings.quotas.queued_jobs,
            now=services.now(),
        )
        if to_run:
            if prepared.alignment.secrets == "different" and row.records == "any":
                add_line(session, row, _twice(prepared.alignment), services.now())
            for told in prepared.copied:
                add_line(session, row, f"Warning: {told}", services.now())
        return job_rows.job_message(session, row, services.now()), to_run


def settled(
    services: Services, session: Session, study: str, asked: JobSpec
) -> tuple[JobSpec, PreparedJob]:
    """Return a job as it would run, and on what. Raises as `create` does."""
    if getattr(asked, "records", "identical") is None:
        people = study_message(find_study(session, study)).people
        asked = asked.model_copy(update={"records": default_records(people)})
    prepared = services.prepare(session, study, asked)
    spec = kind_of(asked).settled(asked, prepared)
    return spec, prepared


def _default_key(spec: JobSpec, alignment: Alignment) -> str:
    """Return the key of a job that names none: equal for equal work on equal data."""
    work = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    content = f"{work}\n{alignment.digest}"
    return "job-" + hashlib.sha256(content.encode()).hexdigest()[:16]


def _same(known: JobSpec, asked: JobSpec) -> bool:
    """Whether a job is the one asked for; what it left open was settled as in that."""
    left = [name for name in ("estimator", "order", "records") if getattr(asked, name, 0) is None]
    return known == asked.model_copy(update={name: getattr(known, name, None) for name in left})


def _twice(alignment: Alignment) -> str:
    """Say that records that are put together may be of the same people."""
    return (
        f"Warning: {secrets_differ(alignment.secret_groups)} One person has other pseudonyms under"
        " each, so a person whom several owners know counts once for each of them."
    )


def cancel(services: Services, identifier: str) -> Job:
    """Cancel a job; one that is finished stays as it is. Raises NotFound."""
    with services.database.write() as session:
        row = job_rows.find_job(session, identifier)
        if row.state in UNFINISHED:
            finish(session, row, "cancelled", services.now())
        return job_rows.job_message(session, row, services.now())


# Pseudo-data as Parquet, drawn again from the released trees and written piece by piece.


class _Pipe:
    """A file that is only written, and read as it grows."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> int:
        """Take bytes."""
        self._pieces.append(bytes(data))
        return len(self._pieces[-1])

    def flush(self) -> None:
        """Do nothing: there is nothing behind it."""

    def close(self) -> None:
        """Note that nothing more comes."""
        self.closed = True

    def taken(self) -> bytes:
        """Return what was written since it was last asked."""
        found = b"".join(self._pieces)
        self._pieces.clear()
        return found


def parquet_pieces(chunks: Iterator[MixedTable]) -> Iterator[bytes]:
    """Return tables of the same columns as one Parquet file, a row group for each, piece by piece.

    Categories are written as dictionaries. The first chunk is drawn at once, so that what is wrong
    is said before anything is sent.
    """
    first = next(chunks)
    return _pieces(first, chunks)


def _pieces(first: MixedTable, rest: Iterator[MixedTable]) -> Iterator[bytes]:
    pipe = _Pipe()
    table = _arrow(first)
    with pq.ParquetWriter(pa.PythonFile(pipe, mode="w"), table.schema) as writer:
        for one in itertools.chain([table], map(_arrow, rest)):
            writer.write_table(one)
            yield pipe.taken()
    yield pipe.taken()


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


# What the releases that a model is learned from tell of one person, over all their owners.


def told_to(session: Session, study: str, rows: Sequence[ReleaseRow]) -> Amplification:
    """Return the amplification of one person's whole record, if columns determine each other.

    It is infinite where a release carries no gamma, or no column of them is randomized. Columns
    that are told as they are count in none where others are randomized, as in the study's sums.
    """
    disclosures = [block for row in rows for block in told_of(row)]
    if any(unbounded_of(row) for row in rows) or not any(block.randomized for block in disclosures):
        return Amplification(math.inf)
    apart = find_study(session, study).people == "different"
    return told_by(disclosures, different_people=apart).record.determined
