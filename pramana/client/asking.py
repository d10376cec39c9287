"""From an estimator to the miner's job and back: its options are the job's, under the same names.

The messages take names, limits and defaults from the same option classes as the estimators; what is
called or arranged differently on the wire stands here, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import RootModel, TypeAdapter, ValidationError

from pramana.estimators.base import Estimator
from pramana.estimators.bayes import BayesClassifier, NaiveBayes
from pramana.estimators.linear import LinearClassifier
from pramana.estimators.network import BayesNet
from pramana.estimators.regression import Regression
from pramana.estimators.rules import AssociationRules, FrequentItemsets
from pramana.estimators.saved import LearnedFrom, plain
from pramana.estimators.tree import DecisionTree
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import shown
from pramana.model_sharing.combined_trees import CombinedTrees
from pramana_core.errors import OptionError
from pramana_core.estimation.tables.estimates import column_of
from pramana_core.learn.networks.structure import Scoring
from pramana_core.wire.learning.jobs import JobCreate, JobSpec
from pramana_core.wire.learning.learners import (
    MAX_LENGTH,
    AssociationRulesSpec,
    ContingencyTableSpec,
    CountsSpec,
)
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


_JOB: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)

Fields = dict[str, Any]

_TREE = {"features": "attributes"}
"""What options of a tree are called on the wire, where they are not called the same."""

_VERB = re.compile(r"^(Input|Value|Tuple|List|Dictionary|String) should ")


def job_of(learner: Estimator, counts: Mapping[str, Any]) -> JobSpec:
    """Return the job that learns at the miner what `fit` would learn here.

    Args:
        learner: the estimator; whether it is fitted does not matter.
        counts: `records`, and for learners of counts `estimator` and `order` (see `Study.run`).

    Raises:
        OptionError: an option that the miner would not take.
        StructureError: a structure that is none.
    """
    for kind, asked in _ASKED.items():
        if isinstance(learner, kind):
            return spec_of({**asked(learner), **counts})
    raise OptionError(
        f"learner must be one that miners know, not a {type(learner).__name__}; they know"
        f" {', '.join(kind.__name__ for kind in _ASKED)}.",
        where="learner",
    )


def learner_of(spec: JobSpec) -> Estimator:
    """Return an estimator that would ask for a job."""
    told = {
        name: getattr(spec, name)
        for name in type(spec).model_fields
        if name != "kind" and name not in CountsSpec.model_fields
    }
    match spec.kind:
        case "decision-tree":
            return DecisionTree(features=told.pop(_TREE["features"]), **told)
        case "linear-classifier":
            return LinearClassifier(**told)
        case "bayes-classifier" if told["model"] == "naive-bayes":
            return NaiveBayes(told["target"], told["features"], alpha=told["alpha"])
        case "bayes-classifier":
            return BayesClassifier(**told)
        case "association-rules":
            return AssociationRules(**told)
        case "model-sharing":
            return CombinedTrees(**told)
        case "regression":
            return Regression(**told)
        case "bayes-net-structure":
            found = asdict(told.pop("search").options())
            score = told.pop("score").model_dump()
            return BayesNet(search=found.pop("method"), scoring=score, **found, **told)
        case "bayes-net-parameters":
            return BayesNet(**told)
    raise OptionError(f"There is no estimator for jobs of the kind {spec.kind!r}.", where="job")


def spec_of(asked: Mapping[str, Any]) -> JobSpec:
    """Return the message of a job.

    Args:
        asked: its fields.

    Raises:
        OptionError: a field that the miner would not take.
    """
    try:
        spec = _JOB.validate_python(asked)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        # The first step names the kind of job.
        field = str(fault["loc"][1]) if len(fault["loc"]) > 1 else "kind"
        where = next((own for own, wire in _TREE.items() if wire == field), field)
        wanted = _VERB.sub("", fault["msg"])
        raise OptionError(
            f"{where} must {wanted[:1].lower()}{wanted[1:]}, not {shown(fault['input'])}.",
            where=where,
        ) from None
    options = getattr(spec, "options", None)
    if options is not None:
        with one_sentence():
            options()
    return spec


def written(spec: JobSpec) -> bytes:
    """Return what is sent for a job."""
    return JobCreate(spec=spec).model_dump_json().encode()


def _options(learner: Estimator) -> Fields:
    named = {name: plain(value) for name, value in learner.get_params().items()}
    return {"kind": learner.kind, **named}


def _of_tree(learner: DecisionTree) -> Fields:
    return {_TREE.get(name, name): value for name, value in _options(learner).items()}


def _of_naive_bayes(learner: NaiveBayes) -> Fields:
    return {**_options(learner), "model": "naive-bayes"}


def _of_linear(learner: LinearClassifier) -> Fields:
    asked = _options(learner)
    return asked | {"numeric": asked["numeric"] or {}}


def _of_itemsets(learner: FrequentItemsets) -> Fields:
    asked = _options(learner)
    # Without a limit here is with the widest that there is at a miner.
    return asked | {
        "max_length": MAX_LENGTH if asked["max_length"] is None else asked["max_length"]
    }


def _of_network(learner: BayesNet) -> Fields:
    task = learner.task()
    parameters = asdict(task.parameters)
    if task.structure is not None:
        parents = task.structure.as_dict()
        return {"kind": "bayes-net-parameters", "structure": parents, **parameters}
    score = task.scoring
    own = {
        field.name: getattr(score, field.name)
        for field in fields(Scoring)
        if field.name == "name" or getattr(score, field.name) != field.default
    }
    return {
        "kind": "bayes-net-structure",
        "variables": None if task.variables is None else list(task.variables),
        "score": own,
        "search": asdict(task.search),
        "draws": task.draws,
        "seed": task.seed,
        **parameters,
    }


_ASKED: Mapping[type[Estimator], Callable[[Any], Fields]] = {
    DecisionTree: _of_tree,
    NaiveBayes: _of_naive_bayes,
    BayesClassifier: _options,
    LinearClassifier: _of_linear,
    Regression: _options,
    CombinedTrees: _options,
    FrequentItemsets: _of_itemsets,
    BayesNet: _of_network,
}
"""What each estimator asks for, in the words of the wire; a class before those it refines."""


# Models as the miner answers them, as what a person has here: fitted estimators and frames.

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
