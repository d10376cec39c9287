"""Linear classifiers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from miner_service.kinds import counting
from miner_service.kinds.affordability import (
    predicted_from,
    read_document,
    require_among,
    require_network,
    require_table,
    write_document,
)
from miner_service.kinds.base import Content, render
from miner_service.kinds.costs import Reduction, Work, fewer, lower
from miner_service.kinds.counting import RecordLayout, estimated
from miner_service.kinds.counts import CountsKind
from miner_service.settings import Limits
from pramana_core.domain import Domain, Variable
from pramana_core.errors import LimitExceeded
from pramana_core.learn.linear.columns import columns_of
from pramana_core.learn.linear.exchange import draw_weights, linear_json, read_linear_json
from pramana_core.learn.linear.fitting import CELLS, learn_linear
from pramana_core.learn.linear.model import LinearClassifier
from pramana_core.learn.linear.options import LinearOptions
from pramana_core.marginals.counts import Marginals
from pramana_core.progress import Progress
from pramana_core.wire.learning.jobs import LinearClassifierSpec
from pramana_core.wire.learning.models import LinearClassifierMessage

MOST_COLUMNS = 2_048
"""A classifier with more columns is not fitted: products of all pairs of them are needed."""

MOST_CLASSES = 256
"""Among more classes none is told: each is a plane that is fitted by itself."""

MOST_WEIGHTS = 1 << 14
"""The columns of all classes' planes together."""

MOST_DRAWN = 1 << 24
"""The records drawn from a network, times the classes."""


def _require_few_classes(
    spec: LinearClassifierSpec, domain: Domain, columns: int, *, tabulated: bool
) -> None:
    """Bound the planes, their weights, and the scores of records that are drawn."""
    classes, sample = domain[spec.target].size, spec.options().sample
    drawn = 0 if tabulated else classes * sample
    bounds = (
        (classes, MOST_CLASSES, "classes", "target"),
        (classes * columns, MOST_WEIGHTS, f"weights of {classes} classes", "features"),
        (drawn, MOST_DRAWN, f"scores of {sample} drawn records", "sample"),
    )
    for number, most, what, where in bounds:
        if number > most:
            raise LimitExceeded(
                f"The classifier would have {number} {what}; {most} are allowed.",
                where=where,
                remedy="Choose a class of fewer categories, fewer features or a smaller sample.",
            )


def _columns(options: LinearOptions, variable: Variable) -> int:
    numbers = variable.representatives or variable.name in options.numeric
    one = numbers or options.encoding == "ordinal"
    return 1 if one else variable.size - 1


def _model(message: LinearClassifierMessage) -> LinearClassifier:
    return read_linear_json(read_document(message))


def _draw(message: LinearClassifierMessage) -> str:
    return draw_weights(_model(message))


def _page(message: LinearClassifierMessage) -> str:
    model = _model(message)
    return render("linear.html.j2", message, classifier=model, picture=draw_weights(model))


class LinearClassifierKind(CountsKind[LinearClassifierSpec, LinearClassifierMessage]):
    """Linear classifiers."""

    spec, message = LinearClassifierSpec, LinearClassifierMessage
    views: ClassVar = {"page": _page, "svg": _draw, "document": write_document}
    predictor = staticmethod(_model)

    def check(self, spec: LinearClassifierSpec) -> None:
        spec.options()
        require_among(spec.target, spec.features, "features")

    def variables(self, spec: LinearClassifierSpec, reported: Domain) -> tuple[str, ...]:
        return predicted_from(spec.target, spec.features, reported)

    def require_affordable(
        self,
        spec: LinearClassifierSpec,
        variables: tuple[str, ...],
        layout: RecordLayout,
        limits: Limits,
    ) -> None:
        """Bound columns, classes, and the table of all variables or else those of a model of them.

        Raises:
            LimitExceeded: they are too many.
            UnknownVariable, OptionError: `numeric` does not fit the features.
        """
        domain = layout.domain.project(variables)
        features = domain.project([name for name in variables if name != spec.target])
        options = spec.options()
        columns = sum(_columns(options, feature) for feature in features)
        if len(variables) > limits.search_variables or columns > MOST_COLUMNS:
            raise LimitExceeded(
                f"The classifier would have {columns} columns of {len(variables) - 1} features;"
                f" {MOST_COLUMNS} columns of {limits.search_variables - 1} features are allowed.",
                where="features",
                remedy='Choose fewer features, or the encoding "ordinal".',
            )
        tabulated = domain.size <= CELLS and estimated(spec).told(variables, layout)
        _require_few_classes(spec, domain, columns, tabulated=tabulated)
        columns_of(features, options)
        if tabulated:
            require_table(spec, variables, layout, limits, where="features")
            return
        require_network(spec, spec.target, features.names, 1, layout, limits)

    def work(
        self,
        spec: LinearClassifierSpec,
        variables: tuple[str, ...],
        layout: RecordLayout,
        records: int,
    ) -> Work:
        """Return the work of the counts that planes are fitted to, and of the planes."""
        domain, options = layout.domain.project(variables), spec.options()
        features = domain.project([name for name in variables if name != spec.target])
        columns = 1 + sum(_columns(options, feature) for feature in features)
        classes = domain[spec.target].size
        planes = 1 if classes == 2 else classes
        if domain.size <= CELLS and estimated(spec).told(variables, layout):
            rows = domain.size
            source = counting.table(spec, variables, layout, records, 2)
        elif options.loss == "least-squares":
            rows = 0
            number = math.comb(len(variables), 2)
            largest = sorted(variables, key=lambda name: -domain[name].size)[:2]
            source = counting.table(spec, largest, layout, records, number)
            source += Work({"fitted": float(columns) ** 3}, 40.0 * columns**2)
        else:
            rows = options.sample
            source = counting.network(spec, variables, layout, records, 1)
            source += Work({"drawn": rows * len(variables)}, 16.0 * rows * len(variables))
        fitted = Work({"planes": float(rows) * columns * planes}, 24.0 * rows * columns)
        if options.loss == "perceptron":
            fitted += Work({"steps": options.steps * planes * (1 + rows / 2_000)})
        return source + fitted

    def less(
        self, spec: LinearClassifierSpec, variables: tuple[str, ...], layout: RecordLayout
    ) -> Iterator[Reduction[LinearClassifierSpec]]:
        names = [name for name in variables if name != spec.target]
        names.sort(key=lambda name: -layout.domain[name].size)
        options = spec.options()

        def some(most: int) -> LinearClassifierSpec:
            kept = names[:most]
            known = {name: numbers for name, numbers in options.numeric.items() if name in kept}
            return spec.model_copy(update={"features": kept, "numeric": known})

        yield fewer(names, "features", some)
        if options.loss == "perceptron":
            yield lower(
                options.steps, "steps", lambda most: spec.model_copy(update={"steps": most})
            )
        yield from counting.less_order(spec)

    def learn(self, spec: LinearClassifierSpec, marginals: Marginals, on_step: Progress) -> Content:
        features = [name for name in marginals.domain.names if name != spec.target]
        model = learn_linear(
            marginals, spec.target, features, spec.options(), seed=spec.seed, on_step=on_step
        )
        return {"document": linear_json(model)}
