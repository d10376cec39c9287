"""Decision trees, linear and Bayesian classifiers: the limits of their jobs, and their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from miner_service.kinds.base import Content, render, write_document
from miner_service.kinds.bounds import (
    FEWER,
    Extent,
    can_estimate,
    require_network,
    require_table,
    weighs_reports,
)
from miner_service.kinds.counts import CountsKind
from miner_service.settings import Limits
from pramana_core.domain import Domain, Variable
from pramana_core.errors import OptionError, require_at_most
from pramana_core.estimation.information import INFORMATION_CELLS
from pramana_core.learn.bayes_classifier.exchange import NAMES
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.common.options import LinearOptions
from pramana_core.learn.common.worth import Worth
from pramana_core.learn.learners import BAYES, DOCUMENT, LINEAR, TREE, ClassLearner
from pramana_core.learn.linear.columns import columns_of
from pramana_core.learn.linear.fitting import CELLS
from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.tree.words import model_note
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress
from pramana_core.wire.jobs import BayesClassifierSpec, DecisionTreeSpec, LinearClassifierSpec
from pramana_core.wire.models import (
    BayesClassifierMessage,
    DecisionTreeMessage,
    DocumentMessage,
    LinearClassifierMessage,
)

MOST_NODES = 20_000
"""The maximum number of nodes of a tree."""

MOST_COLUMNS = 2_048
"""Maximum number of columns of a linear classifier, which needs the product of each pair."""

MOST_CLASSES = 256
"""The maximum number of classes of a linear classifier; each class has its own plane."""

MOST_WEIGHTS = 1 << 14
"""The maximum number of weights of all planes together."""

MOST_DRAWN = 1 << 24
"""The maximum number of records drawn from a network, times the count of classes."""

_FORMS = ("svg", "text", "bif")
"""The forms in which a model is available, in addition to its page and its document."""

SpecT = TypeVar("SpecT", bound=DecisionTreeSpec | LinearClassifierSpec | BayesClassifierSpec)
MessageT = TypeVar("MessageT", bound=DocumentMessage)


class _ClassifierKind(CountsKind[SpecT, MessageT]):
    """A kind of job that learns to predict a class."""

    learner: ClassVar[ClassLearner[Any, Any]]
    called: ClassVar[str] = "classifier"
    template: ClassVar[str]
    on_page: ClassVar[Sequence[str]] = ("svg", "text")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        forms = [form for form in _FORMS if form in cls.learner.forms]
        written = {form: partial(cls._write, form) for form in forms}
        cls.views = {"page": cls._page, **written, DOCUMENT: write_document}

    @classmethod
    def _model(cls, message: MessageT) -> Any:
        return cls.learner.read(write_document(message))

    @classmethod
    def _write(cls, form: str, message: MessageT) -> str:
        return cls.learner.write(cls._model(message), form, message.study)

    @classmethod
    def _page(cls, message: MessageT) -> str:
        model = cls._model(message)
        written = {form: cls.learner.write(model, form) for form in cls.on_page}
        return render(cls.template, message, classifier=model, **written, **cls.shown(model))

    @classmethod
    def shown(cls, model: Any) -> Mapping[str, Any]:  # noqa: ARG003
        """Return the additional template variables for a model's page."""
        return {}

    def check(self, spec: SpecT) -> None:
        spec.options()
        named = self._inputs(spec) or ()
        if len(set(named)) < len(named) or spec.target in named:
            where = self.learner.features
            raise OptionError(
                "A variable is listed twice, or is the class itself.",
                where=where,
                remedy=f"List each variable once in `{where}`, without the class.",
            )

    def variables(self, spec: SpecT, reported: Domain) -> tuple[str, ...]:
        """Return the features (by default all other reported variables) and, last, the class."""
        names = [name for name in self._inputs(spec) or reported.names if name != spec.target]
        if not names:
            raise OptionError(
                "Only the class is reported, so no variable can predict it.", where="target"
            )
        return (*names, spec.target)

    def _inputs(self, spec: SpecT) -> list[str] | None:
        named: list[str] | None = getattr(spec, self.learner.features)
        return named

    def require_affordable(self, spec: SpecT, extent: Extent, limits: Limits) -> None:  # noqa: ARG002
        """Check that the count of variables is affordable. Each kind also checks its own tables."""
        require_at_most(
            len(extent.variables),
            limits.search_variables,
            f"variables of the {self.called}",
            self.learner.features,
            FEWER,
        )

    def learn(self, spec: SpecT, marginals: Marginals, on_step: Progress) -> Content:
        features = [name for name in marginals.domain.names if name != spec.target]
        seed = getattr(spec, "seed", 0)
        model = self.learner.learn(
            marginals, spec.target, features, spec.options(), seed=seed, on_step=on_step
        )
        self.require_readable(model)
        on_step(1, 1)
        return {"document": self.learner.document(model)}

    def worth(self, spec: SpecT, marginals: Marginals, content: Content) -> Worth | None:
        model = self.learner.read(write_json(content["document"]))
        return self.learner.worth(marginals, model, getattr(spec, "seed", 0))

    def require_readable(self, model: Any) -> None:
        """Check that the model is not too large to read. Raises LimitExceeded."""


class DecisionTreeKind(_ClassifierKind[DecisionTreeSpec, DecisionTreeMessage]):
    """Jobs that learn decision trees."""

    spec, message = DecisionTreeSpec, DecisionTreeMessage
    learner, called, template = TREE, "tree", "tree.html.j2"

    @classmethod
    def shown(cls, model: Any) -> Mapping[str, Any]:
        return {"through": model_note(model)}

    def require_affordable(self, spec: DecisionTreeSpec, extent: Extent, limits: Limits) -> None:
        """Check variables, splits and the tables needed. Raises LimitExceeded."""
        variables, layout, _records = extent
        super().require_affordable(spec, extent, limits)
        attributes = layout.domain.project(variables[:-1])
        require_at_most(
            max(attributes.shape) * layout.domain[spec.target].size,
            INFORMATION_CELLS,
            "cells of the table of a split",
            "attributes",
            FEWER,
        )
        if not can_estimate(spec, variables, layout):
            # The tree is grown on a model learned from the class with one or two attributes.
            require_network(spec, spec.target, attributes.names, 1, layout, limits)
            return
        if weighs_reports(spec):
            return
        depth = spec.options().max_depth
        most = len(variables) if depth is None else min(depth + 1, len(variables))
        require_table(spec, layout.largest(variables, most), layout, limits, where="max_depth")

    def require_readable(self, model: Any) -> None:
        """Check that the tree has at most `MOST_NODES` nodes. Raises LimitExceeded."""
        require_at_most(
            sum(1 for _ in model.root),
            MOST_NODES,
            "nodes of the tree",
            "max_depth",
            "Lower the maximum depth or the significance level.",
        )


def _require_few_classes(
    spec: LinearClassifierSpec, domain: Domain, columns: int, *, tabulated: bool
) -> None:
    classes, sample = domain[spec.target].size, spec.options().sample
    drawn = 0 if tabulated else classes * sample
    bounds = (
        (classes, MOST_CLASSES, "classes", "target"),
        (classes * columns, MOST_WEIGHTS, f"weights of {classes} classes", "features"),
        (drawn, MOST_DRAWN, f"scores of {sample} drawn records", "sample"),
    )
    remedy = "Choose a class with fewer categories, fewer features or a smaller sample."
    for number, most, what, where in bounds:
        require_at_most(number, most, what, where, remedy)


def _columns(options: LinearOptions, features: Domain) -> int:
    def of(variable: Variable) -> int:
        numbers = variable.representatives or variable.name in options.numeric
        return 1 if numbers or options.encoding == "ordinal" else variable.size - 1

    return sum(map(of, features))


class LinearClassifierKind(_ClassifierKind[LinearClassifierSpec, LinearClassifierMessage]):
    """Jobs that learn linear classifiers."""

    spec, message = LinearClassifierSpec, LinearClassifierMessage
    learner, template, on_page = LINEAR, "linear.html.j2", ("svg",)

    def require_affordable(
        self, spec: LinearClassifierSpec, extent: Extent, limits: Limits
    ) -> None:
        """Check columns, classes and tables. Raises LimitExceeded, UnknownVariable, OptionError."""
        variables, layout, _records = extent
        domain = layout.domain.project(variables)
        features = domain.project(variables[:-1])
        options = spec.options()
        columns = _columns(options, features)
        super().require_affordable(spec, extent, limits)
        remedy = 'Choose fewer features, or the encoding "ordinal".'
        require_at_most(columns, MOST_COLUMNS, "columns of the classifier", "features", remedy)
        together = domain.size <= CELLS and can_estimate(spec, variables, layout)
        tabulated = together if options.basis is None else options.basis == "cells"
        _require_few_classes(spec, domain, columns, tabulated=tabulated)
        columns_of(features, options)
        if tabulated:
            require_table(spec, variables, layout, limits, where="features")
            return
        require_network(spec, spec.target, features.names, 1, layout, limits)


class BayesClassifierKind(_ClassifierKind[BayesClassifierSpec, BayesClassifierMessage]):
    """Jobs that learn Bayesian network classifiers."""

    spec, message = BayesClassifierSpec, BayesClassifierMessage
    learner, template = BAYES, "bayes.html.j2"

    @classmethod
    def shown(cls, model: Any) -> Mapping[str, Any]:
        structure = draw_structure(model.structure).svg() if model.links else ""
        return {"name": NAMES[model.model], "structure": structure}

    def require_affordable(self, spec: BayesClassifierSpec, extent: Extent, limits: Limits) -> None:
        """Check the variables, the largest table and the parameters. Raises LimitExceeded."""
        variables, layout, _records = extent
        super().require_affordable(spec, extent, limits)
        most = spec.options().depends_on
        require_network(spec, spec.target, variables[:-1], most, layout, limits)
