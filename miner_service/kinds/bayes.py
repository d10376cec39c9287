"""Bayesian network classifiers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from miner_service.kinds import counting
from miner_service.kinds.affordability import (
    predicted_from,
    read_document,
    require_among,
    require_network,
    write_document,
)
from miner_service.kinds.base import Content, render
from miner_service.kinds.costs import Reduction, Work, fewer, lower
from miner_service.kinds.counting import RecordLayout
from miner_service.kinds.counts import CountsKind
from miner_service.settings import Limits
from pramana_core.domain import Domain
from pramana_core.errors import LimitExceeded
from pramana_core.learn.bayes_classifier.exchange import (
    NAMES,
    bayes_classifier_json,
    draw_bayes_classifier,
    read_bayes_classifier_json,
    write_bayes_classifier_text,
)
from pramana_core.learn.bayes_classifier.learning import learn_bayes_classifier
from pramana_core.learn.bayes_classifier.model import BayesClassifier
from pramana_core.learn.networks.exchange.bif import write_bif
from pramana_core.learn.networks.exchange.documents import NetworkDocument
from pramana_core.learn.networks.exchange.drawing import draw_structure
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress
from pramana_core.wire.learning.jobs import BayesClassifierSpec
from pramana_core.wire.learning.models import BayesClassifierMessage


def _model(message: BayesClassifierMessage) -> BayesClassifier:
    return read_bayes_classifier_json(read_document(message))


def _network(message: BayesClassifierMessage) -> NetworkDocument:
    return NetworkDocument(_model(message).network)


def _draw(message: BayesClassifierMessage) -> str:
    return draw_bayes_classifier(_model(message))


def _write_text(message: BayesClassifierMessage) -> str:
    return write_bayes_classifier_text(_model(message))


def _write_bif(message: BayesClassifierMessage) -> str:
    return write_bif(_model(message).network, message.study)


def _page(message: BayesClassifierMessage) -> str:
    model = _model(message)
    return render(
        "bayes.html.j2",
        message,
        classifier=model,
        name=NAMES[model.model],
        picture=draw_bayes_classifier(model),
        structure=draw_structure(model.structure).svg() if model.links else "",
        text=write_bayes_classifier_text(model),
    )


class BayesClassifierKind(CountsKind[BayesClassifierSpec, BayesClassifierMessage]):
    """Bayesian network classifiers."""

    spec, message = BayesClassifierSpec, BayesClassifierMessage
    views: ClassVar = {
        "page": _page,
        "svg": _draw,
        "text": _write_text,
        "bif": _write_bif,
        "document": write_document,
    }
    network = staticmethod(_network)
    predictor = staticmethod(_model)

    def check(self, spec: BayesClassifierSpec) -> None:
        spec.options()
        require_among(spec.target, spec.features, "features")

    def variables(self, spec: BayesClassifierSpec, reported: Domain) -> tuple[str, ...]:
        return predicted_from(spec.target, spec.features, reported)

    def require_affordable(
        self,
        spec: BayesClassifierSpec,
        variables: tuple[str, ...],
        layout: RecordLayout,
        limits: Limits,
    ) -> None:
        """Bound the variables, the largest table that may be asked for, and all parameters.

        Raises:
            LimitExceeded: they are too many.
        """
        if len(variables) > limits.search_variables:
            raise LimitExceeded(
                f"The classifier has {len(variables)} variables; {limits.search_variables} are"
                " allowed.",
                where="features",
                remedy="Name those that matter in `features`.",
            )
        features = [name for name in variables if name != spec.target]
        most = spec.options().depends_on
        require_network(spec, spec.target, features, most, layout, limits)

    def work(
        self,
        spec: BayesClassifierSpec,
        variables: tuple[str, ...],
        layout: RecordLayout,
        records: int,
    ) -> Work:
        most = spec.options().depends_on
        return counting.network(spec, variables, layout, records, most)

    def less(
        self, spec: BayesClassifierSpec, variables: tuple[str, ...], layout: RecordLayout
    ) -> Iterator[Reduction[BayesClassifierSpec]]:
        names = [name for name in variables if name != spec.target]
        names.sort(key=lambda name: -layout.domain[name].size)
        yield fewer(
            names, "features", lambda most: spec.model_copy(update={"features": names[:most]})
        )
        options = spec.options()
        if options.model == "kdb":
            yield lower(
                options.max_parents,
                "max_parents",
                lambda most: spec.model_copy(update={"max_parents": most}),
            )
        yield from counting.less_order(spec)

    def learn(self, spec: BayesClassifierSpec, marginals: Marginals, on_step: Progress) -> Content:
        features = [name for name in marginals.domain.names if name != spec.target]
        model = learn_bayes_classifier(marginals, spec.target, features, spec.options(), on_step)
        return {"document": bayes_classifier_json(model)}
