"""Regressions, learned from masked records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from miner_service.kinds.affordability import read_document, write_document
from miner_service.kinds.base import Content, render
from miner_service.kinds.costs import Reduction, Work, fewer
from miner_service.kinds.masked import MaskedTables, RecordsKind, TableExtent
from miner_service.settings import Limits
from pramana_core.errors import LimitExceeded, OptionError
from pramana_core.progress import Progress
from pramana_core.regression.documents import (
    chance,
    number,
    read_regression_json,
    regression_json,
    said_of_model,
    tree_lines,
    warnings,
    write_regression_csv,
    write_regression_text,
)
from pramana_core.regression.drawing import draw_curves, draw_effects, draw_fit
from pramana_core.regression.forms import TreeForm
from pramana_core.regression.inputs import Feature, require_features
from pramana_core.regression.learning import learn_regression
from pramana_core.regression.model import RegressionModel
from pramana_core.regression.terms import MOST_NUMBERS, MOST_TERMS, count_terms
from pramana_core.regression.trees import require_installed
from pramana_core.wire.learning.jobs import MaskingMessage, RegressionSpec
from pramana_core.wire.learning.models import RegressionMessage
from pramana_core.wire.releases.masked import TableColumn

KERNELS, DEPTH = 300, 64
"""What a kernel regression and a tree count as columns for the work."""


def _features(spec: RegressionSpec, extent: TableExtent) -> list[Feature]:
    wanted = spec.features
    return [
        Feature(column.name, None if column.categories is None else tuple(column.categories))
        for column in extent.columns
        if column.name != spec.target and (wanted is None or column.name in wanted)
    ]


def _model(message: RegressionMessage) -> RegressionModel:
    return read_regression_json(read_document(message))


def _draw(message: RegressionMessage) -> str:
    return draw_effects(_model(message))


def _page(message: RegressionMessage) -> str:
    model = _model(message)
    form = model.form
    return render(
        "regression.html.j2",
        message,
        regression=model,
        said=said_of_model(model),
        effects=draw_effects(model),
        curves=draw_curves(model) if isinstance(form, TreeForm) and model.curves else None,
        fit=draw_fit(model),
        warnings=warnings(model),
        tree="\n".join(tree_lines(form)) if isinstance(form, TreeForm) else None,
        number=number,
        chance=chance,
    )


class RegressionKind(RecordsKind[RegressionSpec, RegressionMessage]):
    """Regressions."""

    spec, message = RegressionSpec, RegressionMessage
    views: ClassVar = {
        "page": _page,
        "svg": _draw,
        "text": lambda message: write_regression_text(_model(message)),
        "csv": lambda message: write_regression_csv(_model(message)),
        "document": write_document,
    }

    def check(self, spec: RegressionSpec) -> None:
        if spec.options().model == "tree":
            require_installed()
        if spec.features is not None:
            require_features(spec.features, spec.target)

    def variables(self, spec: RegressionSpec, released: Sequence[TableColumn]) -> tuple[str, ...]:
        """Return the features and, last, the target. Raises OptionError."""
        kinds = {column.name: column.type for column in released}
        if kinds.get(spec.target, "numeric") != "numeric":
            raise OptionError(
                f"The target {spec.target!r} has categories; a regression explains a number.",
                where="target",
                remedy="Name a numeric column.",
            )
        names = spec.features or [name for name in kinds if name != spec.target]
        require_features(names, spec.target)
        return (*names, spec.target)

    def require_affordable(self, spec: RegressionSpec, extent: TableExtent, limits: Limits) -> None:
        """Bound the columns of the fit and the work.

        Raises:
            LimitExceeded: they are too many.
        """
        options = spec.options()
        features = _features(spec, extent)
        degree = options.degree if options.model == "polynomial" else 1
        terms = count_terms(features, degree, interactions=options.interactions)
        if len(features) >= limits.search_variables or terms > MOST_TERMS:
            raise LimitExceeded(
                f"The regression would have {terms} terms of {len(features)} features; {MOST_TERMS}"
                f" terms of {limits.search_variables - 1} features are allowed.",
                where="degree" if degree > 1 else "features",
                remedy="Choose fewer features, those of fewer categories, or a lower degree.",
            )
        columns = {"kernel": KERNELS, "tree": max(terms, DEPTH)}.get(options.model, 1 + terms)
        rows = extent.records * extent.copies
        if rows * columns > MOST_NUMBERS:
            raise LimitExceeded(
                f"A {options.model} regression on {extent.records:,} records of {extent.copies}"
                f" copies would hold {rows * columns:,} numbers; {MOST_NUMBERS:,} are allowed.",
                where="model",
                remedy="Choose a linear model, or fewer features.",
            )

    def work(self, spec: RegressionSpec, extent: TableExtent) -> Work:
        options = spec.options()
        features = _features(spec, extent)
        terms = count_terms(
            features,
            options.degree if options.model == "polynomial" else 1,
            interactions=options.interactions,
        )
        rows = float(extent.records * extent.copies)
        read = Work({"counted": 8 * rows * len(extent.columns)}, 24 * rows * len(extent.columns))
        if options.model == "tree":
            return read + Work({"grown": rows * (1 + terms) * options.max_depth}, 16 * rows * terms)
        columns = KERNELS if options.model == "kernel" else 1 + terms
        return read + Work({"fitted": rows * columns**2}, 24 * rows * columns)

    def less(
        self, spec: RegressionSpec, extent: TableExtent
    ) -> Iterator[Reduction[RegressionSpec]]:
        features = sorted(
            _features(spec, extent), key=lambda feature: -len(feature.categories or "1")
        )
        names = [feature.name for feature in features]
        yield fewer(
            names, "features", lambda most: spec.model_copy(update={"features": names[:most]})
        )

    def learn(self, spec: RegressionSpec, tables: MaskedTables, on_step: Progress) -> Content:
        names = tables.copies[0].names
        features = [name for name in names if name != spec.target]
        model = learn_regression(tables.copies, spec.target, features, spec.options(), on_step)
        masking = [
            MaskingMessage(
                release=source.release,
                owner=source.owner,
                method=source.table.method,
                masked=[name for name in source.table.masked if name in names],
                copies=source.table.copies,
            )
            for source in tables.sources
        ]
        return {"masking": masking, "document": regression_json(model)}
