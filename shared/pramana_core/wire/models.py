"""Models, the questions to them and the answers."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from pramana_core.learn.common.worth import Figure, Worth
from pramana_core.marginals.lack_of_fit import filled_in_words
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.wire.base import Message, Name, Sha256
from pramana_core.wire.channels import NamedVariable
from pramana_core.wire.jobs import Job, JobSpec
from pramana_core.wire.privacy import (
    AmplificationMessage,
    CentralMessage,
    Owner,
    Study,
    StudyPrivacy,
    TokenEnding,
)
from pramana_core.wire.releases import Alignment, Release

FILLED_IN = 64
"""The most tables made of smaller ones that a model names."""


class ParameterMessage(Message):
    """One parameter Pr(node = value | parents), with both of its errors.

    `estimate` is the raw ratio of estimated counts and may lie outside [0, 1]; `probability` is its
    projection. `se` is the standard error against the population, `se_records` against the true
    records (randomization noise alone); these three are null where the parents' configuration has
    no positive estimated count. `interval` is the 95 % interval against the population (Fieller).
    """

    node: str
    value: str
    parents: dict[str, str]
    estimate: float | None
    probability: float
    se: float | None
    se_records: float | None
    interval: tuple[float, float]


class NodeMessage(Message):
    """A node with its categories, the numbers that stand for them if it has any, and parents."""

    name: str
    categories: list[str]
    representatives: list[float] | None = None
    parents: list[str]


class LinkMessage(Message):
    """A link and its evidence, which a given structure lacks.

    `gain` is the link's gain given the child's other parents, in nats above the penalty;
    `inflation` by how many times randomization multiplies the chance part of the plain gain, null
    where that is infinite. `confidence` is the probability of the link by bootstrap, if one link is
    expected among all pairs; null without bootstrap. `compelled` says whether all equivalent
    structures direct the link so.
    """

    parent: str
    child: str
    gain: float | None
    inflation: float | None
    confidence: float | None
    compelled: bool | None


class LackOfFitMessage(Message):
    """Whether the reports contradict pooled tables that counts were taken from.

    Interactions of at most `order` of the `variables` are tested against those of one more.
    `statistic` is the ratio of the reports' deviation to its expectation under the model; times
    `degrees_of_freedom` it is near a chi-square. It, they and the `p_value` are null where nothing
    can be tested, for the `reason` given. `warning` says in words that the reports do not fit.
    """

    variables: list[str]
    order: int
    statistic: float | None
    degrees_of_freedom: float | None
    p_value: float | None
    reason: str
    warning: str


class FigureMessage(Message):
    """A number about a model, with its 95 % interval where it has one."""

    name: str
    value: float
    low: float | None
    high: float | None
    unit: Literal["share", "points", "number", "p-value"]


class WorthMessage(Message):
    """What a model is worth: a sentence, the figures behind it, and what their intervals suppose.

    A classifier has its expected accuracy beside the majority class and the naive Bayes classifier
    of the same releases; a network, rules and a table have what was found beside chance.
    """

    verdict: str
    figures: list[FigureMessage]
    supposes: str

    @classmethod
    def of(cls, worth: Worth | None) -> WorthMessage | None:
        """Return the message of what a model is worth, where that is known."""
        return None if worth is None else cls.model_validate(asdict(worth))

    def to_worth(self) -> Worth:
        """Return what the model is worth."""
        figures = tuple(Figure(**figure.model_dump()) for figure in self.figures)
        return Worth(self.verdict, figures, self.supposes)


class ModelHead(Message):
    """What every model states: the records it was learned from, and the job, whose name it has.

    `releases` maps each release used, by id, to the digest of its content; `inconsistent` those
    that are inconsistent with their plan to the p-value (an owner sees its own there).
    `lack_of_fit` tests each set of pooled variables that counts were taken from; `filled_in` are
    the first sets of variables whose tables were made of smaller ones. `told` is the amplification
    of one person's whole record over all owners, null where nothing bounds it, for whoever knows
    which report is whose; `central` holds against all others who see what it was learned from, and
    is null for an owner.
    `worth` says what the model is worth, null where that cannot be estimated.
    """

    id: str
    name: str = ""
    study: Name
    job: str
    spec: JobSpec
    records: int
    releases: dict[str, Sha256]
    inconsistent: Annotated[dict[str, float], Field(default_factory=dict)]
    lack_of_fit: Annotated[list[LackOfFitMessage], Field(default_factory=list)]
    filled_in: Annotated[list[list[str]], Field(default_factory=list)]
    created: datetime
    told: AmplificationMessage
    central: CentralMessage | None = None
    worth: WorthMessage | None = None

    @property
    def filled_in_told(self) -> str:
        """A sentence on `filled_in`; empty if it is."""
        return filled_in_words(self.filled_in)


class BayesNetMessage(ModelHead):
    """A learned Bayesian network: what was learned, from what, and how surely."""

    kind: Literal["bayes-net"] = "bayes-net"
    nodes: list[NodeMessage]
    links: Annotated[list[LinkMessage], Field(default_factory=list)]
    parameters: list[ParameterMessage]


class CellMessage(Message):
    """The number of records with a combination of categories, with both errors.

    `count` is the raw estimate, which may be fractional or negative; `projected` the nearest counts
    that are not negative and sum to the records. `se_population` is the standard error against the
    population, `se_records` against the true records (randomization noise alone). `interval` is the
    95 % interval against the population, within 0 and the records.
    """

    values: dict[str, str]
    count: float
    projected: float
    se_records: float
    se_population: float
    interval: tuple[float, float]


class ContingencyTableMessage(ModelHead):
    """Estimated counts of every combination of categories, the last variable's fastest."""

    kind: Literal["contingency-table"] = "contingency-table"
    variables: list[NamedVariable]
    cells: list[CellMessage]


class ItemMessage(Message):
    """An item: a category of a variable."""

    variable: str
    category: str


Estimate = float | None
"""A number, or null where the reports tell nothing of it."""


class ItemsetMessage(Message):
    """An itemset and its support, a share of the records.

    `items` are indices in the model's `items`. `support` is the raw estimate and may lie outside
    [0, 1]; `se_records` and `se_population` are its standard errors against the true records and
    their population. `interval` is of the kind and confidence of the job, `verdict` what it says of
    the minimum support, `chosen` whether the itemset is held frequent, `p_value` that of "this
    itemset or a subset of it is below the minimum".
    """

    items: list[int]
    support: Estimate
    se_records: Estimate
    se_population: Estimate
    interval: tuple[Estimate, Estimate]
    verdict: Literal["frequent", "not frequent", "undecided"]
    chosen: bool
    p_value: Estimate


class RuleMessage(Message):
    """A rule `antecedent -> consequent`; both are indices in the model's `items`.

    Estimates are raw; errors and intervals are of the kind and confidence of the job.
    """

    antecedent: list[int]
    consequent: list[int]
    antecedent_support: Estimate
    consequent_support: Estimate
    support: Estimate
    support_se: Estimate
    support_interval: tuple[Estimate, Estimate]
    confidence: Estimate
    confidence_se: Estimate
    confidence_interval: tuple[Estimate, Estimate]
    lift: Estimate
    lift_se: Estimate
    lift_interval: tuple[Estimate, Estimate]
    leverage: Estimate
    leverage_se: Estimate
    leverage_interval: tuple[Estimate, Estimate]


class AssociationRulesMessage(ModelHead):
    """Itemsets held frequent or not ruled out, and the rules between those held frequent.

    `examined` counts all itemsets that were estimated. Those of `modelled_from` items or more are
    estimated from a model of shorter ones.
    """

    kind: Literal["association-rules"] = "association-rules"
    items: list[ItemMessage]
    examined: int
    modelled_from: int | None = None
    itemsets: list[ItemsetMessage]
    rules: list[RuleMessage]


class DocumentMessage(ModelHead):
    """A model with a document."""

    kind: str
    document: Annotated[
        dict[str, Any],
        Field(description="What predictions are made from, here and where it travels."),
    ]


class DecisionTreeMessage(DocumentMessage):
    """A decision tree."""

    kind: Literal["decision-tree"] = "decision-tree"


class LinearClassifierMessage(DocumentMessage):
    """A linear classifier."""

    kind: Literal["linear-classifier"] = "linear-classifier"


class BayesClassifierMessage(DocumentMessage):
    """A Bayesian network classifier."""

    kind: Literal["bayes-classifier"] = "bayes-classifier"


class MaskingMessage(Message):
    """How the records of a release were masked, as its owner declares it.

    `masked` are the columns that hold no true values of their records.
    """

    release: str
    owner: str
    method: str
    masked: list[str]


class RegressionMessage(DocumentMessage):
    """A regression on masked records; `masking` says how they were masked, release by release."""

    kind: Literal["regression"] = "regression"
    masking: list[MaskingMessage]


class UsedTreeMessage(Message):
    """A released tree that a model was learned from, as its owner describes it.

    `paths` and `counted` are its paths and the records they count; `requirement`, `counts` and
    `epsilon` are what the release promises (see `SharedTreeMessage`). `class_match` is the share of
    pseudo-data, or where there are none of records drawn evenly, for which the model and this tree
    predict the same class, with its standard error; `path_match` the share of their paths that both
    have, null where the model is not one tree. Neither says how often the model is right.
    """

    release: str
    owner: str
    paths: int
    counted: float
    requirement: Requirement | None
    counts: Literal["exact", "propagated", "noised"]
    epsilon: float | None
    class_match: float
    class_match_se: float
    path_match: float | None


class ModelSharingMessage(DocumentMessage):
    """A model of released trees.

    `records` is the number of records that the trees count, `pseudo_records` the number drawn to
    learn from. `notes` are sentences on how it was learned. With `holds_releases` the trees
    themselves are the model: it is deleted when one of them is withdrawn.
    """

    kind: Literal["model-sharing"] = "model-sharing"
    trees: list[UsedTreeMessage]
    pseudo_records: int
    notes: list[str]
    holds_releases: bool


ModelMessage = Annotated[
    BayesNetMessage
    | ContingencyTableMessage
    | AssociationRulesMessage
    | DecisionTreeMessage
    | LinearClassifierMessage
    | BayesClassifierMessage
    | RegressionMessage
    | ModelSharingMessage,
    Field(discriminator="kind"),
]


class ModelEntry(Message):
    """A model in a list; `addresses` are those at which it can be read, shown and asked.

    `verdict` says what it is worth; `warnings` are those of the pooled tables that its counts were
    taken from.
    """

    id: str
    name: str = ""
    job: str
    kind: str
    created: datetime
    addresses: list[str]
    verdict: str = ""
    warnings: list[str]


class DashboardStudy(Message):
    """One study on the dashboard."""

    study: Study
    owners: list[Owner]
    releases: list[Release]
    alignment: Alignment
    privacy: StudyPrivacy
    jobs: list[Job]
    models: list[ModelEntry]


class Dashboard(Message):
    """What the caller may see, at one moment; `ending` are tokens that end soon."""

    at: datetime
    studies: list[DashboardStudy]
    ending: Annotated[list[TokenEnding], Field(default_factory=list)]
