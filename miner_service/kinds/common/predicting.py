"""What jobs that learn to predict a class have in common, and the documents of their models."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.common.documents import write_json
from pramana_core.wire.learning.models import (
    BayesClassifierMessage,
    DecisionTreeMessage,
    LinearClassifierMessage,
    ModelSharingMessage,
    RegressionMessage,
)

Predicting = (
    BayesClassifierMessage
    | DecisionTreeMessage
    | LinearClassifierMessage
    | RegressionMessage
    | ModelSharingMessage
)
"""The models that predict, a class or a number."""


def require_among(target: str, others: Sequence[str] | None, where: str) -> None:
    """Check that a class is told from other variables.

    Raises:
        OptionError: one of them is named twice, or is the class itself.
    """
    names = others or ()
    if len(set(names)) < len(names) or target in names:
        raise OptionError(
            "A variable is named twice, or is the class itself.",
            where=where,
            remedy=f"Name in `{where}` other variables than the class, each once.",
        )


def predicted_from(target: str, others: Sequence[str] | None, reported: Domain) -> tuple[str, ...]:
    """Return the variables of such a job, the class last: by default all that are reported.

    Raises:
        OptionError: nothing but the class is reported.
    """
    names = [name for name in others or reported.names if name != target]
    if not names:
        raise OptionError(
            "Only the class is reported: there is nothing to predict it from.", where="target"
        )
    return (*names, target)


def read_document(message: Predicting) -> str:
    """Return the JSON of a model in the form that every `Predictor` is read from."""
    return json.dumps(message.document, ensure_ascii=False, allow_nan=False)


def write_document(message: Predicting) -> str:
    """Return the same as lines, for a file."""
    return write_json(message.document)
