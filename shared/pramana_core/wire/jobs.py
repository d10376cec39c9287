"""Jobs: what is asked of the miner, one specification per kind, and how far each is.

A job at the miner is a learner's task and which records it counts; owners agree on the task alone.
Fields follow the options in classes of their own where the JSON has had them there.

Also here:

* Model sharing: what is asked of the miner on released trees, and what is answered of them.
* What all jobs have in common, and the job that only counts.
* Regression on masked releases: what is asked of the miner, and what is answered.
* Bayesian networks.
* A job of any kind, as it is asked for and as it is told of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, Union, get_args, get_origin

import pydantic
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
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
    Positive,
    RegressionOptions,
    RuleOptions,
    Scoring,
    Search,
    Seed,
    Share,
    TreeOptions,
    types_of,
)
from pramana_core.model_sharing.combine_options import CombineOptions, Method
from pramana_core.wire.base import MAX_CATEGORIES, MAX_VARIABLES, Label, Message, Name, Records
from pramana_core.wire.release_kinds import RequirementMessage
from pramana_core.wire.services import ProblemDetail
from pramana_core.wire.study_plans import MAX_OWNERS

OptionsT = TypeVar("OptionsT")
MessageT = TypeVar("MessageT", bound=BaseModel)


class Finite(Message):
    """The base of messages whose numbers are finite."""

    model_config = ConfigDict(allow_inf_nan=False)


class WithOptions(Finite, Generic[OptionsT]):
    """The base of messages that carry options, as `options_from` gives them."""

    carried: ClassVar[type[Any]]

    def options(self) -> OptionsT:
        """Return what it carries. Raises OptionError."""
        options: OptionsT = options_in(self, self.carried)
        return options


def options_from(
    options: type[Any], **as_messages: Any
) -> Callable[[type[MessageT]], type[MessageT]]:
    """Give a message a field for each option that it does not declare itself, after its own.

    Args:
        options: the dataclass of the options.
        as_messages: the types of those options that messages bound more closely.
    """
    types = types_of(options) | as_messages

    def extended(message: type[MessageT]) -> type[MessageT]:
        more: dict[str, Any] = {
            field.name: (_strict(types[field.name]), _default(field))
            for field in fields(options)
            if field.name not in message.model_fields
        }
        made = create_model(
            message.__name__,
            __base__=message,
            __module__=message.__module__,
            __doc__=message.__doc__,
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
    """Return a type whose whole numbers and flags are read from nothing else."""
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


# Model sharing: what is asked of the miner on released trees, and what is answered of them.


@options_from(CombineOptions)
class _Combined(WithOptions[CombineOptions]):
    kind: Literal["model-sharing"]
    target: Label | None = None
    owners: Annotated[list[Name], Field(min_length=1, max_length=MAX_OWNERS)] | None = None
    method: Method = CombineOptions.method


class ModelSharingSpec(_Combined):
    """Combine the trees that owners released to one model, without any records.

    `target` is the class, by default the one of all trees, and `owners` whose trees are used, by
    default everybody's. `method` is how: `model` is learned from pseudo-data drawn from the paths
    (`pgen`), drawn evenly and labelled by the owner's tree (`basegen`), or labelled by all trees
    (`labelled`); or the trees themselves are the model, as `votes`. There are as many pseudo-data
    as the trees count, times `scale`, or `pseudo_records` in all. `seed` decides all that is drawn;
    `max_depth` and `min_leaf` are those of the model that is learned.
    """

    @model_validator(mode="after")
    def _consistent(self) -> ModelSharingSpec:
        if self.owners is not None and len(set(self.owners)) < len(self.owners):
            raise ValueError("an owner is named twice")
        return self


class UsedTreeMessage(Message):
    """A released tree that a model was made of, as its owner describes it, and how they agree.

    `paths` and `counted` are its paths and the records they count; `requirement`, `counts` and
    `epsilon` are what the release promises (see `SharedTreeMessage`). `class_match` is the
    share of pseudo-data, or where there are none of records drawn evenly, of which the model and
    this tree tell the same class, with its standard error; `path_match` the share of their paths
    that both have, null where the model is not one tree. Neither says how often the model is
    right: that cannot be known without true records.
    """

    release: str
    owner: str
    paths: int
    counted: float
    requirement: RequirementMessage | None
    counts: Literal["exact", "propagated", "noised"]
    epsilon: float | None
    class_match: float
    class_match_se: float
    path_match: float | None


# What all jobs have in common, and the job that only counts.

Variables = Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]


class CountsSpec(Message):
    """Which records a job counts, and how the true counts are estimated.

    `estimator` is that of the counts: by moments (where records are of different people with
    different noise, those with less noise count more), by moments with every record counting alike
    (`sum`), by maximum likelihood, or pooled over all sets of variables that hold them, of
    up to `order` variables that interact, which tells tables of few variables out of hundreds, also
    those that no record reports whole.
    An `order` that is left out follows the records: a table of up to 8 variables that they report
    together is told with all interactions, others by those of fewer. Of pooled tables the job says
    which it is, of itemsets it hangs on the table.
    `records` says what to do if the owners' records are not the same set: refuse
    (`identical`), use only those at every owner (`common`), or use all (`any`): what an owner does
    not report of a record is missing there, by no fault of its value, and several owners may report
    one variable of different records. Where a variable is missing of some records, `any` needs the
    estimator `ml` or `pooled`. Left out, it is `any` in a study of different people, else
    `identical`.
    """

    estimator: Literal["moment", "sum", "ml", "pooled"] = "moment"
    order: Annotated[int | None, Field(ge=1, le=8, strict=True)] = None
    records: Records | None = None

    @property
    def models(self) -> bool:
        """Whether the estimator may make tables of smaller ones."""
        return self.estimator == "pooled"

    @property
    def interacting(self) -> int:
        """The order; 2 where it is not settled yet."""
        return self.order or 2


class ContingencyTableSpec(CountsSpec):
    """Estimate how many records have each combination of categories of some variables."""

    kind: Literal["contingency-table"]
    variables: Variables


MAX_LENGTH = 12
"""Longer itemsets no job mines: its tables grow with the categories of as many variables."""

Flag = Annotated[bool, Field(strict=True)]


@options_from(RuleOptions)
class _RulesWanted(WithOptions[RuleOptions]):
    kind: Literal["association-rules"]
    minimum_support: Share
    minimum_confidence: MinimumConfidence = MINIMUM_CONFIDENCE
    certain: Flag = False


class AssociationRulesTask(_RulesWanted):
    """Find frequent itemsets and the rules between their parts (Ma 7.1, FRAPP 6).

    For the options see `RuleOptions`. Rules have a confidence of at least `minimum_confidence`; if
    `certain`, the lower end of its interval has.
    """

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
    """Find frequent itemsets and the rules between their parts (Ma 7.1, FRAPP 6).

    An item is a category of a variable. `items` names them by variable; without it they are all
    categories of `variables` (by default of all that are reported), or, with `present`, only the
    category of that name of those that have it. Itemsets have up to `max_length` items.

    `decisions` says how itemsets are held frequent: by their estimates (`point`), or so that the
    share of mistakes among them stays at `false_discovery` (`controlled`). `confidence` is that of
    all intervals, `against` what they and the tests are about: these very records, or the
    population they were drawn from.
    Rules have a confidence of at least `minimum_confidence`; if `certain`, the lower end of its
    interval has.
    """

    max_length: Annotated[int, Field(ge=1, le=MAX_LENGTH, strict=True)] = 8


@options_from(TreeOptions)
class DecisionTreeTask(WithOptions[TreeOptions]):
    """Learn a tree that tells a class from other variables; for the options see `TreeOptions`."""

    kind: Literal["decision-tree"]
    target: Label
    attributes: Variables | None = None


class DecisionTreeSpec(DecisionTreeTask, CountsSpec):
    """Learn a tree that tells a class from other variables (Ma 7.2).

    `target` is the class and `attributes` what it is told from, by default all else that is
    reported. A node is split by the attribute of the largest information gain, if
    chance alone would show as much in no more than a share `significance` of cases (null: without a
    test), if it tells as much of the class as `least_records` records without noise, and above
    `max_depth`. `prune` takes back splits that do not earn their description. `shrinkage` is by how
    much children's class probabilities usually differ from their parent's: the noisier a child's
    own, the more it takes of the parent's (null: nothing).
    """


Numbers = Annotated[tuple[float, ...], Field(min_length=2, max_length=MAX_CATEGORIES)]


@options_from(
    LinearOptions, numeric=Annotated[dict[Label, Numbers], Field(max_length=MAX_VARIABLES)]
)
class _Fitted(WithOptions[LinearOptions]):
    kind: Literal["linear-classifier"]
    target: Label
    features: Variables | None = None


class LinearClassifierTask(_Fitted):
    """Learn planes that tell a class from other variables; for the options see `LinearOptions`."""

    seed: Annotated[Seed, Field(strict=True)] = 0


class LinearClassifierSpec(LinearClassifierTask, CountsSpec):
    """Learn planes that tell a class from other variables (Ma 6).

    `target` is the class and `features` what it is told from, by default all else that is reported.
    `loss` is logistic, squared error, or the perceptron's, the share of records classified wrong;
    `l2` penalizes the squares of scaled weights. `encoding` makes of a variable without
    representatives a column per category or one of the categories' numbers; `numeric` gives such
    numbers by variable. `counts` are those that are fitted to: raw, expected, or (null) raw where
    these have a solution. `steps` is the most updates of the perceptron and `keep` says which of
    its weights stay, `sample` the records drawn from a learned network where all variables have
    too many cells together; `seed` decides these draws.
    """


@options_from(BayesClassifierOptions)
class BayesClassifierTask(WithOptions[BayesClassifierOptions]):
    """Learn a network with the class as its root; for the options see `BayesClassifierOptions`."""

    kind: Literal["bayes-classifier"]
    target: Label
    features: Variables | None = None


class BayesClassifierSpec(BayesClassifierTask, CountsSpec):
    """Learn a Bayesian network classifier: naive Bayes, or one with links between attributes.

    `target` is the class and `features` what it is told from, by default all else that is reported.
    `model` says on what an attribute depends besides the class: nothing (`naive-bayes`), one other
    (`tan`, the tree of the largest conditional mutual information), or (`auto`) the tree less its
    links that do not earn their parameters under the noise of the reports. `alpha` is added to
    every count.
    """


# Regression on masked releases: what is asked of the miner, and what is answered.


class RecordsSpec(Message):
    """Which records a job uses that learns from records as they are, and not from counts.

    `records` says what to do if the owners' records are not the same set: refuse (`identical`), use
    only those at every owner (`common`), or use all (`any`), of which each must have every column.
    Left out, it is `any` in a study of different people, else `identical`.
    """

    records: Records | None = None


@options_from(RegressionOptions)
class _FittedRegression(WithOptions[RegressionOptions]):
    kind: Literal["regression"]
    target: Label
    features: Variables | None = None


class RegressionSpec(_FittedRegression, RecordsSpec):
    """Learn how a numeric column depends on others, from masked records.

    `target` is the column and `features` are the columns that explain it, by default all others.
    `degree` is the highest power of a numeric column. `confidence` is that of all intervals. `seed`
    decides which records are left out together when the model is scored.
    """


class MaskingMessage(Message):
    """How the records of a release were masked, as its owner declares it.

    `masked` are the columns that hold no true values of their records, `copies` how many masked
    tables were released.
    """

    release: str
    owner: str
    method: str
    masked: list[str]
    copies: Annotated[int, Field(ge=1)]


# Bayesian networks.


class LikelihoodScore(Finite):
    """The default score: the likelihood of the reports, its penalty the same at every noise."""

    name: Literal["likelihood"] = "likelihood"


class BicScore(Finite):
    """BIC of estimated counts; `c_star` multiplies its penalty (Ma 5.5.2)."""

    name: Literal["bic"]
    eta: Share = Scoring.eta
    c_star: Positive = Scoring.c_star


class BayesianScore(Finite):
    """The Bayesian score of estimated counts (Ma 5.5.1); `alpha` is per cell."""

    name: Literal["bayesian"]
    eta: Share = Scoring.eta
    alpha: Positive = Scoring.alpha


class BdeuScore(Finite):
    """BDeu of estimated counts; the prior weighs as much as `equivalent_sample_size` records."""

    name: Literal["bdeu"]
    eta: Share = Scoring.eta
    equivalent_sample_size: Positive = Scoring.equivalent_sample_size


ScoreMessage = Annotated[
    LikelihoodScore | BicScore | BayesianScore | BdeuScore, Field(discriminator="name")
]


Order = Annotated[tuple[Label, ...], Field(min_length=1, max_length=MAX_VARIABLES)]


@options_from(Search, order=Order | None)
class SearchMessage(WithOptions[Search]):
    """How to search: K2 along `order`, or without one hill climbing.

    K2 as printed only adds parents; refined it also drops and exchanges them.
    """


class WithParameters(WithOptions[ParameterOptions]):
    """The base of messages that say how a network's parameters are learned."""

    def parameters(self) -> ParameterOptions:
        """Return how parameters are learned. Raises OptionError."""
        return options_in(self, ParameterOptions)


@options_from(ParameterOptions)
class _ParameterOptions(CountsSpec, WithParameters):
    """How parameters are learned; see `BayesNetParametersSpec`."""


class BayesNetParametersSpec(_ParameterOptions):
    """Learn the parameters of a network of given structure (Ma 5.4).

    `structure` lists the parents of every node. `alpha` is the Dirichlet parameter of each cell
    and belongs to method `map`.
    """

    kind: Literal["bayes-net-parameters"] = "bayes-net-parameters"
    structure: Annotated[dict[Label, list[Label]], Field(min_length=1, max_length=MAX_VARIABLES)]


class BayesNetStructureSpec(_ParameterOptions):
    """Learn the structure of a network over some variables, then its parameters (Ma 5.5).

    `variables` are by default all that are reported. `draws` bootstrap samples, which `seed`
    decides, tell how sure each link is; 0 draws none. The other options are those of
    `bayes-net-parameters`; a score other than the likelihood uses their estimator too.
    """

    kind: Literal["bayes-net-structure"]
    variables: Variables | None = None
    score: ScoreMessage = LikelihoodScore()
    search: SearchMessage = SearchMessage()
    draws: Annotated[Draws, Field(strict=True)] = DRAWS
    seed: Annotated[Seed, Field(strict=True)] = 0

    def scoring(self) -> Scoring:
        """Return what a link is worth."""
        return Scoring(**self.score.model_dump())


# A job of any kind, as it is asked for and as it is told of.


def _kind_of(spec: Any) -> str | None:
    """Return the kind of a job; one that names none learns parameters."""
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


class JobCreate(Message):
    """A job; the same key with the same specification is the same job."""

    key: Name | None = None
    spec: JobSpec


JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class JobLine(Message):
    """A line of a job's log: which run of the job left it, and when."""

    run: int
    at: datetime
    line: str


LOG_LINES = 20
"""So many of the last lines of its log a job carries itself."""


class Job(Message):
    """A job's state; `progress` runs from 0 to 1.

    `inconsistent` maps each of its releases that is inconsistent with its plan, by id, to the
    p-value; an owner sees its own there. `started` is when its last run began; `heartbeat_age` is
    how many seconds ago that run gave its last sign of life, `seconds_left` how many it may still
    take. `runs` counts its runs, with the one that is to come; `worker` has the last. `log` has the
    last lines, where one job is read. Owners do not see by whom a job is run, or what its log says.
    """

    id: str
    study: Name
    key: Name
    spec: JobSpec
    state: JobState
    progress: Annotated[float, Field(ge=0, le=1)]
    model: str | None
    problem: ProblemDetail | None
    created: datetime
    finished: datetime | None
    inconsistent: Annotated[dict[str, float], Field(default_factory=dict)]
    started: datetime | None = None
    heartbeat_age: float | None = None
    seconds_left: float | None = None
    worker: str | None = None
    runs: int | None = None
    log: Annotated[list[JobLine], Field(default_factory=list)]
