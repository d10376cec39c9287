"""Models as the miner answers them, as what a person has here: fitted estimators and frames."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import RootModel

from pramana.estimators.base import Estimator
from pramana.estimators.saved import LearnedFrom
from pramana_core.estimation.tables.estimates import column_of
from pramana_core.wire.learning.counting import ContingencyTableSpec
from pramana_core.wire.learning.learners import AssociationRulesSpec
from pramana_core.wire.learning.models import (
    AssociationRulesMessage,
    BayesClassifierMessage,
    ContingencyTableMessage,
    DecisionTreeMessage,
    LinearClassifierMessage,
    ModelMessage,
    ModelSharingMessage,
    RegressionMessage,
)

if TYPE_CHECKING:
    import pandas as pd

EstimatorT = TypeVar("EstimatorT", bound=Estimator)

_OF_RULES = {"kind", "records", "items", "examined", "modelled_from", "itemsets", "rules"}

_WITH_DOCUMENT = (
    DecisionTreeMessage,
    LinearClassifierMessage,
    BayesClassifierMessage,
    RegressionMessage,
)

NUMBERS = ("count", "se_records", "se_population")


class Served(RootModel[ModelMessage]):
    """A model of any kind, as the miner answers it."""


def fitted(learner: EstimatorT, model: ModelMessage, source: LearnedFrom) -> EstimatorT:
    """Return an estimator like the one that asked, with what the miner learned.

    Raises:
        InputError: the miner's document is no such model.
    """
    made = type(learner)(**learner.get_params())
    return made.restore(document_of(model), source)


def document_of(model: ModelMessage) -> dict[str, Any]:
    """Return what was learned as the packages below write it."""
    if isinstance(model, _WITH_DOCUMENT):
        return model.document
    if isinstance(model, AssociationRulesMessage):
        spec = cast(AssociationRulesSpec, model.spec)
        told = model.model_dump(mode="json", include=_OF_RULES)
        return {**told, "options": asdict(spec.options())}
    if isinstance(model, ModelSharingMessage):
        return {
            "model": model.document,
            "trees": len(model.trees),
            "pseudo_records": model.pseudo_records,
            "notes": model.notes,
        }
    # A network is read from what the miner answers, which has its parameters one by one.
    return model.model_dump(mode="json")


def table_frame(model: ContingencyTableMessage) -> pd.DataFrame:
    """Return a contingency table as `EstimatedCounts.table` does, a row per cell."""
    import pandas as pd

    columns: dict[str, Any] = {
        column_of(variable.name): pd.Categorical(
            [cell.values[variable.name] for cell in model.cells], categories=variable.categories
        )
        for variable in model.variables
    }
    columns |= {name: [getattr(cell, name) for cell in model.cells] for name in NUMBERS}
    columns |= {
        end: [cell.interval[place] for cell in model.cells]
        for place, end in enumerate(("low", "high"))
    }
    if cast(ContingencyTableSpec, model.spec).models:
        columns["filled_in"] = bool(model.filled_in)
    return pd.DataFrame(columns)


def warnings_in(model: ModelMessage) -> tuple[str, ...]:
    """Return what must be known before a model is trusted: of releases, and of how counts fit."""
    strange = [
        f"Release {release} does not fit its plan (p = {p:.2g}); ask its owner what was changed."
        for release, p in model.inconsistent.items()
    ]
    told = [*(test.warning for test in model.lack_of_fit), model.filled_in_told]
    return (*strange, *filter(None, told))
