"""The learners that predict a class, with one entry each for jobs, estimators and simulations.

`miner_service.kinds.classifiers` limits the jobs, and `pramana.estimators` has the estimators.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pramana_core.errors import InputError
from pramana_core.learn.bayes_classifier.exchange import DOCUMENT as BAYES_DOCUMENT
from pramana_core.learn.bayes_classifier.exchange import (
    draw_bayes_classifier,
    write_bayes_classifier_text,
)
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.common.documents import DocumentForm, write_json
from pramana_core.learn.common.options import BayesClassifierOptions, LinearOptions, TreeOptions
from pramana_core.learn.common.worth import Worth
from pramana_core.learn.linear.drawing import weights_chart
from pramana_core.learn.linear.fitting import learn_linear
from pramana_core.learn.linear.model import DOCUMENT as LINEAR_DOCUMENT
from pramana_core.learn.linear.model import weights_csv
from pramana_core.learn.networks.bif import write_bif
from pramana_core.learn.prediction import Predictor
from pramana_core.learn.tree.drawing import draw_tree
from pramana_core.learn.tree.growth import learn_tree
from pramana_core.learn.tree.model import DOCUMENT as TREE_DOCUMENT
from pramana_core.learn.tree.text import write_tree_text
from pramana_core.learn.worth import classifier_worth
from pramana_core.marginals.counts import Marginals

OptionsT = TypeVar("OptionsT")
ModelT = TypeVar("ModelT", bound=Predictor)

DOCUMENT = "document"
"""The form that every model can be written in: JSON with full precision."""


@dataclass(frozen=True, eq=False)
class ClassLearner(Generic[OptionsT, ModelT]):
    """A learner that predicts a class from other variables.

    Attributes:
        kind: the learner's name in jobs, models and saved estimators.
        options: the type of its options, a frozen dataclass.
        learn: a function of marginals, class, features (None for all others), options, seed and
            progress.
        documents: how a model is written as JSON and read back.
        forms: functions that write a model in other forms, by the name of the form.
        features: the name that jobs use for the features.
    """

    kind: str
    options: type[OptionsT]
    learn: Callable[..., ModelT]
    documents: DocumentForm[ModelT]
    forms: Mapping[str, Callable[[ModelT, str], str]]
    features: str = "features"

    def worth(self, marginals: Marginals, model: ModelT, seed: int = 0) -> Worth | None:
        """Return an assessment of a learned model, or None; see `classifier_worth`."""

        def learn(part: Marginals) -> ModelT:
            target, inputs, options = model.target.name, model.inputs.names, model.options
            return self.learn(part, target, inputs, options, seed=seed)

        return classifier_worth(marginals, model, learn)

    def write(self, model: ModelT, form: str = DOCUMENT, name: str = "classifier") -> str:
        """Return a model as text in one of its forms."""
        return (
            write_json(self.document(model)) if form == DOCUMENT else self.forms[form](model, name)
        )

    def document(self, model: ModelT) -> dict[str, Any]:
        """Return a model as JSON data."""
        return self.documents.write(model)

    def read(self, text: str) -> ModelT:
        """Read a model from its JSON text. Raises the errors of `DocumentForm.read`."""
        return self.documents.read(text)


def _without_seed(learn: Callable[..., ModelT]) -> Callable[..., ModelT]:
    return lambda *given, seed=0, **named: learn(*given, **named)  # noqa: ARG005


TREE = ClassLearner(
    kind="decision-tree",
    options=TreeOptions,
    learn=_without_seed(learn_tree),
    documents=TREE_DOCUMENT,
    forms={
        "svg": lambda tree, _: draw_tree(tree).svg(),
        "text": lambda tree, _: write_tree_text(tree, show_weights=True),
    },
    features="attributes",
)
"""The learner of decision trees."""

LINEAR = ClassLearner(
    kind="linear-classifier",
    options=LinearOptions,
    learn=learn_linear,
    documents=LINEAR_DOCUMENT,
    forms={
        "svg": lambda model, _: weights_chart(model).svg(),
        "csv": lambda model, _: weights_csv(model),
    },
)
"""The learner of linear classifiers."""

BAYES = ClassLearner(
    kind="bayes-classifier",
    options=BayesClassifierOptions,
    learn=_without_seed(learn_bayes_classifier),
    documents=BAYES_DOCUMENT,
    forms={
        "svg": lambda model, _: draw_bayes_classifier(model),
        "text": lambda model, _: write_bayes_classifier_text(model),
        "bif": lambda model, name: write_bif(model.network, name),
    },
)
"""The learner of Bayesian network classifiers, including naive Bayes."""

LEARNERS: Mapping[str, ClassLearner[Any, Any]] = {
    learner.kind: learner for learner in (BAYES, TREE, LINEAR)
}
"""The learners by kind."""


def read_predictor(text: str) -> Predictor:
    """Read a decision tree, Bayesian or linear classifier from its JSON. Raises InputError."""
    try:
        kind = json.loads(text)["kind"]
        learner = LEARNERS[kind]
    except (ValueError, RecursionError, TypeError, LookupError):
        raise InputError(
            "The text is not the JSON document of a predictive model.",
            where="kind",
            remedy=f"Its kind must be one of {sorted(LEARNERS)}.",
        ) from None
    predictor: Predictor = learner.read(text)
    return predictor
