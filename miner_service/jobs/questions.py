"""Questions to a model, each bounded: distributions, synthetic records, predictions."""

from __future__ import annotations

from collections.abc import Iterator

from miner_service.settings import Limits
from shared.errors import LimitExceeded
from shared.learn.networks.inference import posterior
from shared.learn.networks.network import BayesNet
from shared.learn.networks.synthetic import sample_csv
from shared.learn.prediction import Predictor, encode_records
from shared.wire.learning.models import (
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
    if len(query.records) > limits.prediction_records:
        raise LimitExceeded(
            f"{len(query.records)} records are asked for; {limits.prediction_records} are allowed.",
            where="records",
            remedy="Send them in several requests.",
        )
    labels = predictor.target.categories
    cells = len(query.records) * len(labels)
    if cells > limits.prediction_cells:
        raise LimitExceeded(
            f"{len(query.records)} records with the probabilities of {len(labels)} classes are"
            f" {cells} numbers; {limits.prediction_cells} are allowed.",
            where="records",
            remedy="Send the records in several requests.",
        )
    codes = encode_records(predictor.inputs, query.records, missing=predictor.sums_out)
    found = [labels[code] for code in predictor.predict(codes)]
    shares = predictor.probabilities(codes)
    rows = [None] * len(found) if shares is None else shares.tolist()
    return PredictionAnswer(
        target=predictor.target.name,
        classes=list(labels),
        predictions=[
            Prediction(label=label, probabilities=row)
            for label, row in zip(found, rows, strict=True)
        ],
    )
