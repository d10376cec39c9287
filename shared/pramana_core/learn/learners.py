"""The learners of a class, one entry each: jobs, estimators and simulations read it.

`miner_service.kinds.classifiers` has what a job may cost, `pramana.estimators` the estimators.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
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
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress, unwatched

OptionsT = TypeVar("OptionsT")
ModelT = TypeVar("ModelT", bound=Predictor)

DOCUMENT = "document"
"""The form that every model has: JSON that loses nothing."""


@dataclass(frozen=True, eq=False)
class ClassLearner(Generic[OptionsT, ModelT]):
    """A learner that predicts a class from other variables.

    Attributes:
        kind: its name in jobs, models and saved estimators.
        options: its options, a frozen dataclass.
        fit: learns from marginals, the class, the features (None: all others), options, a seed, and
            a function that is called at each step.
        documents: a model as JSON.
        forms: writes a model in its other forms, by name; the second argument is the model's name.
        together: the most features whose counts together with the class are needed; None: all.
        features: the name of the features in jobs.
    """

    kind: str
    options: type[OptionsT]
    fit: Callable[[Marginals, str, Sequence[str] | None, OptionsT, int, Progress], ModelT]
    documents: DocumentForm[ModelT]
    forms: Mapping[str, Callable[[ModelT, str], str]]
    together: Callable[[OptionsT], int | None]
    features: str = "features"

    def learn(
        self,
        marginals: Marginals,
        target: str,
        features: Sequence[str] | None,
        options: OptionsT,
        *,
        seed: int = 0,
        on_step: Progress = unwatched,
    ) -> ModelT:
        """Return the model; see `fit` for errors raised."""
        return self.fit(marginals, target, features, options, seed, on_step)

    def write(self, model: ModelT, form: str = DOCUMENT, name: str = "classifier") -> str:
        """Return a model in one of its forms; JSON loses nothing."""
        if form == DOCUMENT:
            return write_json(self.document(model))
        return self.forms[form](model, name)

    def document(self, model: ModelT) -> dict[str, Any]:
        """Return a model as JSON."""
        return self.documents.write(model)

    def read(self, text: str) -> ModelT:
        """Read a model from its JSON; see `DocumentForm.read`."""
        return self.documents.read(text)


TREE = ClassLearner(
    kind="decision-tree",
    options=TreeOptions,
    fit=lambda counts, target, attributes, options, _seed, on_step: learn_tree(
        counts, target, attributes, options, on_step
    ),
    documents=TREE_DOCUMENT,
    forms={
        "svg": lambda tree, _: draw_tree(tree).svg(),
        "text": lambda tree, _: write_tree_text(tree, show_weights=True),
    },
    together=lambda options: options.max_depth,
    features="attributes",
)
"""Decision trees."""

LINEAR = ClassLearner(
    kind="linear-classifier",
    options=LinearOptions,
    fit=lambda counts, target, features, options, seed, on_step: learn_linear(
        counts, target, features, options, seed=seed, on_step=on_step
    ),
    documents=LINEAR_DOCUMENT,
    forms={
        "svg": lambda model, _: weights_chart(model).svg(),
        "csv": lambda model, _: weights_csv(model),
    },
    together=lambda _options: None,
)
"""Linear classifiers."""

BAYES = ClassLearner(
    kind="bayes-classifier",
    options=BayesClassifierOptions,
    fit=lambda counts, target, features, options, _seed, on_step: learn_bayes_classifier(
        counts, target, features, options, on_step
    ),
    documents=BAYES_DOCUMENT,
    forms={
        "svg": lambda model, _: draw_bayes_classifier(model),
        "text": lambda model, _: write_bayes_classifier_text(model),
        "bif": lambda model, name: write_bif(model.network, name),
    },
    together=lambda options: options.depends_on + 1,
)
"""Bayesian network classifiers, naive Bayes among them."""

LEARNERS: Mapping[str, ClassLearner[Any, Any]] = {
    learner.kind: learner for learner in (BAYES, TREE, LINEAR)
}
"""Every learner of a class, by its kind."""


def read_predictor(text: str) -> Predictor:
    """Read a Bayesian or linear classifier or a decision tree from its JSON, whichever it is.

    Raises:
        InputError: the text is none of them.
        Others: see `DocumentForm.read`.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(
            "The text is not JSON.", remedy="Give the JSON of a model that predicts."
        ) from None
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in LEARNERS:
        raise InputError(
            "The document is not a model that predicts.",
            where="kind",
            remedy=f"Its kind must be one of {sorted(LEARNERS)}.",
        )
    predictor: Predictor = LEARNERS[kind].read(text)
    return predictor
