"""Jobs: a message for each kind of job that the miner runs, and the state of a job.

A job is a learning task and the records that it uses. When owners learn without a miner, they agree
on the task alone. This module does not load the mathematics, so the options of learners are
separate classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, fields
from datetime import datetime
from inspect import cleandoc
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, Union, get_args, get_origin

import pydantic
from pydantic import (
    BaseModel,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    TypeAdapter,
    create_model,
    model_validator,
)

from pramana_core.learn.common.options import (
    DRAWS,
    MINIMUM_CONFIDENCE,
    BayesClassifierOptions,
    Draws,
    LinearOptions,
    MinimumConfidence,
    ParameterOptions,
    RegressionOptions,
    RuleOptions,
    ScoreName,
    Scoring,
    Search,
    Seed,
    Share,
    TreeOptions,
    types_of,
)
from pramana_core.model_sharing.combine_options import CombineOptions, Method
from pramana_core.wire.base import (
    MAX_CATEGORIES,
    MAX_OWNERS,
    MAX_VARIABLES,
    Label,
    Message,
    Name,
    Records,
)
from pramana_core.wire.services import ProblemDetail

OptionsT = TypeVar("OptionsT")
MessageT = TypeVar("MessageT", bound=BaseModel)


class WithOptions(Message, Generic[OptionsT]):
    """The base of messages with options. The decorator `options_from` adds their fields."""

    carried: ClassVar[type[Any]]

    def options(self) -> OptionsT:
        """Return the options. Raises OptionError."""
        options: OptionsT = options_in(self, self.carried)
        return options


def options_from(
    options: type[Any], **as_messages: Any
) -> Callable[[type[MessageT]], type[MessageT]]:
    """Return a decorator that adds the description and the fields of `options` to a message class.

    Fields that the class already has remain. `as_messages` has the types of the options whose
    limits are tighter in messages.
    """
    types = types_of(options) | as_messages

    def extended(message: type[MessageT]) -> type[MessageT]:
        more: dict[str, Any] = {
            field.name: (_strict(types[field.name]), _default(field))
            for field in fields(options)
            if field.name not in message.model_fields
        }
        described = cleandoc(options.__doc__ or "").partition("\n\nRaises:")[0]
        made = create_model(
            message.__name__,
            __base__=message,
            __module__=message.__module__,
            __doc__=f"{cleandoc(message.__doc__ or '')}\n\n{described}",
            **more,
        )
        setattr(made, "carried", options)  # noqa: B010 - not every message has options alone
        return made

    return extended


def options_in(message: BaseModel, options: type[OptionsT]) -> OptionsT:
    """Return the options that a message carries. Raises OptionError."""
    names = (field.name for field in fields(options))  # type: ignore[arg-type]
    return options(**{name: getattr(message, name) for name in names})


def _strict(kind: Any) -> Any:
    """Return a type that accepts whole numbers and flags only without conversion."""
    if kind in (int, bool):
        return Annotated[kind, pydantic.Field(strict=True)]
    if get_origin(kind) is Annotated:
        return Annotated[(_strict(kind.__origin__), *kind.__metadata__)]
    if type(None) in get_args(kind):
        return Union[tuple(map(_strict, get_args(kind)))]  # noqa: UP007 - of a list of types
    return kind


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return pydantic.Field(default_factory=field.default_factory)
    return ... if field.default is MISSING else field.default


Variables = Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]


class RecordsSpec(Message):
    """The records that a job uses.

    If the owners' records are not the same set, `records` decides: `identical` rejects the job,
    `common` uses the records that every owner has, and `any` uses all records. The default is `any`
    in a study of different people, otherwise `identical`.
    """

    records: Records | None = None


EstimatorName = Literal["moment", "sum", "ml", "pooled"]


class CountsSpec(RecordsSpec):
    """The records that a job counts, and how the true counts are estimated.

    `estimator` is `moment` (the moment estimator, with less weight for noisier records), `sum` (the
    moment estimator with equal weights), `ml` (maximum likelihood) or `pooled` (tables of few
    variables from overlapping sets, also tables of variables that no record reports together). The
    default depends on the plans of the records. `order` is the largest number of variables that
    interact in pooled tables; its default depends on the records. With records `any`, a variable
    that an owner does not report is missing from that owner's records. Whether it is missing must
    not depend on its value. If records lack variables, the estimator must be `ml` or `pooled`.
    """

    estimator: EstimatorName | None = None
    order: Annotated[int | None, Field(ge=1, le=8, strict=True)] = None

    @property
    def models(self) -> bool:
        """Whether the estimator may compose tables from smaller ones."""
        return self.estimator == "pooled"


class ContingencyTableSpec(CountsSpec):
    """Estimate the count of records with each combination of categories of some variables.

    For a table of one variable, `groups` has the categories, or the inner groups, of each group, as
    in `{"north": {"coast": ["A"], "hills": ["B", "C"]}, "south": ["D"]}`. The default is the groups
    that the variable's owner states, if any; `{}` means none. With groups, the model also has
    `levels`: the counts of groups and categories, with small categories in one row.
    """

    kind: Literal["contingency-table"]
    variables: Variables
    groups: dict[str, JsonValue] | None = None


@options_from(RuleOptions)
class AssociationRulesTask(WithOptions[RuleOptions]):
    """Find frequent itemsets and the rules between their parts (Ma 7.1, FRAPP 6).

    An item is a category of a variable. `items` names them by variable. The default is all
    categories of `variables` (by default, of all reported variables). With `present`, the default
    is the category of that name, for each variable that has it. Rules have a confidence of at least
    `minimum_confidence`; with `certain`, the lower end of its interval must be at least that.
    """

    kind: Literal["association-rules"]
    minimum_support: Share
    minimum_confidence: MinimumConfidence = MINIMUM_CONFIDENCE
    certain: Annotated[bool, Field(strict=True)] = False
    variables: Variables | None = None
    present: Label | None = None
    items: (
        Annotated[
            dict[Label, Annotated[list[Label], Field(min_length=1, max_length=MAX_CATEGORIES)]],
            Field(min_length=1, max_length=MAX_VARIABLES),
        ]
        | None
    ) = None


class AssociationRulesSpec(AssociationRulesTask, CountsSpec):
    __doc__ = AssociationRulesTask.__doc__


@options_from(TreeOptions)
class DecisionTreeTask(WithOptions[TreeOptions]):
    """Learn a tree that predicts the class `target` from `attributes` (Ma 7.2).

    The attributes are by default all other reported variables.
    """

    kind: Literal["decision-tree"]
    target: Label
    attributes: Variables | None = None


class DecisionTreeSpec(DecisionTreeTask, CountsSpec):
    __doc__ = DecisionTreeTask.__doc__


Numbers = Annotated[tuple[float, ...], Field(min_length=2, max_length=MAX_CATEGORIES)]


@options_from(
    LinearOptions, numeric=Annotated[dict[Label, Numbers], Field(max_length=MAX_VARIABLES)]
)
class LinearClassifierTask(WithOptions[LinearOptions]):
    """Learn planes that predict the class `target` from `features` (Ma 6).

    The features are by default all other reported variables. `seed` determines all random draws.
    """

    kind: Literal["linear-classifier"]
    target: Label
    features: Variables | None = None
    seed: Annotated[Seed, Field(strict=True)] = 0


class LinearClassifierSpec(LinearClassifierTask, CountsSpec):
    __doc__ = LinearClassifierTask.__doc__


@options_from(BayesClassifierOptions)
class BayesClassifierTask(WithOptions[BayesClassifierOptions]):
    """Learn a Bayesian network that predicts the class `target`, its root, from `features`.

    The features are by default all other reported variables.
    """

    kind: Literal["bayes-classifier"]
    target: Label
    features: Variables | None = None


class BayesClassifierSpec(BayesClassifierTask, CountsSpec):
    __doc__ = BayesClassifierTask.__doc__


@options_from(Scoring)
class ScoreMessage(WithOptions[Scoring]):
    """The score by which a search evaluates links, with the options of the score."""

    name: ScoreName = Scoring.name


Order = Annotated[tuple[Label, ...], Field(min_length=1, max_length=MAX_VARIABLES)]


@options_from(Search, order=Order | None)
class SearchMessage(WithOptions[Search]):
    """The options of the search for a structure."""


class WithParameters(Message):
    """The base of messages with options for learning the parameters of a network."""

    def parameters(self) -> ParameterOptions:
        """Return the options for learning parameters. Raises OptionError."""
        return options_in(self, ParameterOptions)


@options_from(ParameterOptions)
class _NetworkSpec(CountsSpec, WithParameters):
    """The fields of a job that learns the parameters of a Bayesian network."""


class BayesNetParametersSpec(_NetworkSpec):
    """Learn the parameters of a network of given structure (Ma 5.4).

    `structure` lists the parents of every node. `method` is `ml`, or `map` with a Dirichlet prior
    whose parameter for each cell is `alpha`.
    """

    kind: Literal["bayes-net-parameters"] = "bayes-net-parameters"
    structure: Annotated[dict[Label, list[Label]], Field(min_length=1, max_length=MAX_VARIABLES)]


class BayesNetStructureSpec(_NetworkSpec):
    """Learn the structure of a network over some variables, then its parameters (Ma 5.5).

    `variables` are by default all reported ones. The confidence of each link comes from `draws`
    bootstrap samples, which `seed` determines; 0 computes no confidence. `method` and `alpha` are
    as in `bayes-net-parameters`.
    """

    kind: Literal["bayes-net-structure"]
    variables: Variables | None = None
    score: ScoreMessage = ScoreMessage()
    search: SearchMessage = SearchMessage()
    draws: Annotated[Draws, Field(strict=True)] = DRAWS
    seed: Annotated[Seed, Field(strict=True)] = 0


@options_from(RegressionOptions)
class RegressionSpec(WithOptions[RegressionOptions], RecordsSpec):
    """Learn how a numeric column, `target`, depends on `features`, from masked records.

    The features are by default all other columns. With records `any` each record must have every
    column.
    """

    kind: Literal["regression"]
    target: Label
    features: Variables | None = None


@options_from(CombineOptions)
class ModelSharingSpec(WithOptions[CombineOptions]):
    """Combine the trees that owners released into one model, without records.

    `target` is the class, by default the common class of all trees; `owners` are the owners whose
    trees are used, by default all.
    """

    kind: Literal["model-sharing"]
    target: Label | None = None
    owners: Annotated[list[Name], Field(min_length=1, max_length=MAX_OWNERS)] | None = None
    method: Method = CombineOptions.method

    @model_validator(mode="after")
    def _consistent(self) -> ModelSharingSpec:
        if self.owners is not None and len(set(self.owners)) < len(self.owners):
            raise ValueError("`owners` has a duplicate")
        return self


def _kind_of(spec: Any) -> str | None:
    if isinstance(spec, dict):
        kind = spec.get("kind", "bayes-net-parameters")
        return kind if isinstance(kind, str) else None
    return getattr(spec, "kind", None)


JobSpec = Annotated[
    Annotated[BayesNetParametersSpec, Tag("bayes-net-parameters")]
    | Annotated[BayesNetStructureSpec, Tag("bayes-net-structure")]
    | Annotated[ContingencyTableSpec, Tag("contingency-table")]
    | Annotated[AssociationRulesSpec, Tag("association-rules")]
    | Annotated[DecisionTreeSpec, Tag("decision-tree")]
    | Annotated[LinearClassifierSpec, Tag("linear-classifier")]
    | Annotated[BayesClassifierSpec, Tag("bayes-classifier")]
    | Annotated[RegressionSpec, Tag("regression")]
    | Annotated[ModelSharingSpec, Tag("model-sharing")],
    Discriminator(_kind_of),
]

_JOB_SPEC: TypeAdapter[JobSpec] = TypeAdapter(JobSpec)


def read_job_spec(text: str) -> JobSpec:
    """Read the JSON of a job's specification. Raises ValueError."""
    return _JOB_SPEC.validate_json(text)


Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class JobName(Message):
    """The name of a job."""

    name: Title


class JobCreate(Message):
    """A job to create; a request with the same key and specification returns the same job."""

    key: Name | None = None
    spec: JobSpec


JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class JobLine(Message):
    """A line of a job's log, with the run that wrote it and the time."""

    run: int
    at: datetime
    line: str


LOG_LINES = 20
"""The maximum number of lines in a job's message. These are the last lines of its log."""


class Job(Message):
    """The state of a job. `progress` runs from 0 to 1. `name` is for people and may change.

    `inconsistent` maps the id of each release that is inconsistent with its plan to the p-value; an
    owner sees only its own releases there. `started` is the start of the last run, and
    `seconds_left` the estimated remaining seconds of that run. `runs` counts the job's runs,
    including the next one; `worker` ran the last one. `log` has the last lines, but only in the
    response for a single job. Owners see neither worker nor log.
    """

    id: str
    study: Name
    key: Name
    name: str = ""
    spec: JobSpec
    state: JobState
    progress: Annotated[float, Field(ge=0, le=1)]
    model: str | None
    problem: ProblemDetail | None
    created: datetime
    finished: datetime | None
    inconsistent: Annotated[dict[str, float], Field(default_factory=dict)]
    started: datetime | None = None
    seconds_left: float | None = None
    worker: str | None = None
    runs: int | None = None
    log: Annotated[list[JobLine], Field(default_factory=list)]
