"""Models, with their parameters, errors and assessments, and the dashboard that lists them."""

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
"""The maximum number of composed tables that a model lists."""


class ParameterMessage(Message):
    """One parameter Pr(node = value | parents), with both of its errors.

    `estimate` is the raw ratio of estimated counts and may lie outside [0, 1]; `probability` is its
    projection. `se` is the standard error against the population, `se_records` against the true
    records (randomization noise alone). `estimate`, `se` and `se_records` are null where the
    parents' configuration has no positive estimated count. `interval` is the 95 % interval against
    the population (Fieller).
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
    """A node with its categories, their numeric values if any, and its parents."""

    name: str
    categories: list[str]
    representatives: list[float] | None = None
    parents: list[str]


class LinkMessage(Message):
    """A link of a network, with the evidence for it unless the structure was given.

    `gain` is the score's gain from the link, given the child's other parents, in nats above the
    penalty. `inflation` is the factor by which randomization multiplies the chance part of the gain
    without penalty, null if infinite. `confidence` is the link's probability by bootstrap, if one
    link is expected among all pairs; in a forest learned from pairs, chains over a neighbour are
    further explanations. It is null without bootstrap. `compelled` is true if all
    equivalent structures give the link this direction.
    """

    parent: str
    child: str
    gain: float | None
    inflation: float | None
    confidence: float | None
    compelled: bool | None


class LackOfFitMessage(Message):
    """A test of whether the reports contradict the pooled tables that supplied counts.

    Interactions of at most `order` of the `variables` are tested against interactions of one
    more variable. `statistic` is the ratio of the reports' deviation to its expectation under the
    model; `degrees_of_freedom` times `statistic` is approximately chi-square distributed.
    `statistic`, `degrees_of_freedom` and `p_value` are null if no test is possible; `reason` says
    why. `warning` is a sentence if the reports do not fit.
    """

    variables: list[str]
    order: int
    statistic: float | None
    degrees_of_freedom: float | None
    p_value: float | None
    reason: str
    warning: str


class FigureMessage(Message):
    """A measure of a model's quality, with its 95 % interval if it has one."""

    name: str
    value: float
    low: float | None
    high: float | None
    unit: Literal["share", "points", "number", "p-value"]


class WorthMessage(Message):
    """An assessment of a model: a sentence, its measures, and the assumptions of their intervals.

    A classifier has its expected accuracy, compared with the majority class and with the naive
    Bayes classifier of the same releases; a network, rules and a table have their findings,
    compared with chance.
    """

    verdict: str
    figures: list[FigureMessage]
    supposes: str

    @classmethod
    def of(cls, worth: Worth | None) -> WorthMessage | None:
        """Return the message of a model's assessment, or None if it is unknown."""
        return None if worth is None else cls.model_validate(asdict(worth))

    def to_worth(self) -> Worth:
        """Return the message's assessment: its verdict, figures and assumptions."""
        figures = tuple(Figure(**figure.model_dump()) for figure in self.figures)
        return Worth(self.verdict, figures, self.supposes)


class ModelHead(Message):
    """The common fields of all models: the records of the model, and the name of its job.

    `releases` maps the id of each release used to the digest of its content. `inconsistent` maps
    the releases that are inconsistent with their plan to the p-value (an owner sees only its own
    releases there). `lack_of_fit` tests each set of pooled variables that supplied counts;
    `filled_in` are the first sets of variables whose tables were composed from smaller tables.
    `told` is the amplification of one person's whole record over all owners, null if unbounded,
    against a reader who knows which report belongs to whom. `central` is the bound against all
    other readers of the model's sources; it is null for an owner. `worth` is the assessment of the
    model, null if it cannot be estimated.
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
        """A sentence on `filled_in`, or an empty string."""
        return filled_in_words(self.filled_in)


class BayesNetMessage(ModelHead):
    """A learned Bayesian network: its nodes, parameters and links, with errors and evidence."""

    kind: Literal["bayes-net"] = "bayes-net"
    nodes: list[NodeMessage]
    links: Annotated[list[LinkMessage], Field(default_factory=list)]
    parameters: list[ParameterMessage]


class CellMessage(Message):
    """The count of records with a combination of categories, with both errors.

    `count` is the raw estimate, which may be fractional or negative. `projected` are the nearest
    counts that are not negative and sum to the count of records. `se_population` is the standard
    error against the population, `se_records` against the true records (randomization noise alone).
    `interval` is the 95 % interval against the population, between 0 and the count of records.
    """

    values: dict[str, str]
    count: float
    projected: float
    se_records: float
    se_population: float
    interval: tuple[float, float]


class LevelMessage(Message):
    """The count of a group of categories, of a category, or of the small categories of a group.

    `level` is 1 for the outermost groups; `within` is the enclosing group. Small categories of a
    group form one row, which is `pooled` and named `n others`: those whose counts are too small to
    differ from zero in a test of all categories together. The errors of that row include the effect
    of this choice.
    """

    level: int
    within: str
    category: str
    categories: int
    pooled: bool = False
    count: float
    low: float
    high: float
    se_records: float
    se_population: float


class ContingencyTableMessage(ModelHead):
    """Estimated counts of every combination of categories; the last variable varies fastest.

    `levels` are the counts of the job's `groups`; a group's count is the sum of its contents.
    """

    kind: Literal["contingency-table"] = "contingency-table"
    variables: list[NamedVariable]
    cells: list[CellMessage]
    levels: Annotated[list[LevelMessage], Field(default_factory=list)]


class ItemMessage(Message):
    """An item: a category of a variable."""

    variable: str
    category: str


Estimate = float | None
"""An estimate; null if the reports do not determine it."""


class ItemsetMessage(Message):
    """An itemset and its support, a share of the records.

    `items` are indices in the model's `items`. `support` is the raw estimate and may lie outside
    [0, 1]; `se_records` and `se_population` are its standard errors against the true records and
    their population. `interval` has the kind and confidence of the job; `verdict` compares it with
    the minimum support. `chosen` shows whether the itemset counts as frequent. `p_value` is for the
    hypothesis that the support of the itemset or of a subset is below the minimum.
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

    Estimates are raw; errors and intervals have the kind and confidence of the job.
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
    """Itemsets that are frequent or undecided, and the rules between the frequent ones.

    `examined` counts all itemsets that were estimated. Itemsets of `modelled_from` items or more
    are estimated from a model of shorter itemsets.
    """

    kind: Literal["association-rules"] = "association-rules"
    items: list[ItemMessage]
    examined: int
    modelled_from: int | None = None
    itemsets: list[ItemsetMessage]
    rules: list[RuleMessage]


class DocumentMessage(ModelHead):
    """A model whose content is a document."""

    kind: str
    document: Annotated[
        dict[str, Any],
        Field(description="The document from which predictions are computed."),
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
    """How the records of a release were masked, as declared by its owner.

    `masked` are the columns that contain no true values.
    """

    release: str
    owner: str
    method: str
    masked: list[str]


class RegressionMessage(DocumentMessage):
    """A regression on masked records; `masking` describes the masking of each release."""

    kind: Literal["regression"] = "regression"
    masking: list[MaskingMessage]


class UsedTreeMessage(Message):
    """A released tree that a model was learned from, as its owner describes it.

    `paths` and `counted` are the counts of its paths and of the records on them; `requirement`,
    `counts` and `epsilon` are the release's guarantees (see `SharedTreeMessage`). `class_match` is
    the share of records for which the model and this tree predict the same class, with its standard
    error, over the pseudo-data or, without any, evenly drawn records. `path_match` is the share of
    their paths that both have, null if the model is not one tree. Neither measures how often the
    model is right.
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

    `records` is the count of records in the trees, `pseudo_records` the count drawn to learn from.
    `notes` are sentences on the learning. With `holds_releases` the trees themselves are the model:
    the model is deleted when one of them is withdrawn.
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
    """A model in a list; `addresses` are the paths at which it can be read, shown and queried.

    `verdict` is a sentence on the quality of the model; `warnings` are about its pooled tables.
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
    """A study as the dashboard shows it."""

    study: Study
    owners: list[Owner]
    releases: list[Release]
    alignment: Alignment
    privacy: StudyPrivacy
    jobs: list[Job]
    models: list[ModelEntry]


class Dashboard(Message):
    """Everything that the caller may see, at one moment; `ending` lists tokens that expire soon."""

    at: datetime
    studies: list[DashboardStudy]
    ending: Annotated[list[TokenEnding], Field(default_factory=list)]
