"""The messages between owners, analysts and the miner.

JSON bodies are pydantic models that refuse unknown fields; records travel as Arrow IPC streams.
Everything a service reads from outside passes through here, so what passes is well formed.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    Tag,
    TypeAdapter,
    model_serializer,
    model_validator,
)

from shared.domain import Variable
from shared.plan import Block, Plan
from shared.transition import (
    CHOICES,
    MIXTURE_CELLS,
    MIXTURE_RESOLUTION,
    RESOLUTION,
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    StructuralZeros,
    Symmetric,
    Transition,
    UnitTransition,
    Withheld,
)

KEY_BYTES = 16
"""Length of a record pseudonym."""

KEY_COLUMN = "__key__"
"""The column of pseudonyms in a part; no variable may have this name."""

PROBLEM_MEDIA_TYPE = "application/problem+json"

MAX_PARTS = 10_000
MAX_VARIABLES = 4_096
MAX_CATEGORIES = 65_536
MAX_RECORDS = 1 << 33
MAX_CHOICES = CHOICES
MAX_PARENTS = 8
MAX_DRAWS = 2_000
MAX_ASKED = 16


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", strict=True)]
"""A name of a study, owner, release or job: letters, digits and `. _ -`, at most 64."""

Label = Annotated[str, StringConstraints(min_length=1, max_length=256, strict=True)]
"""A variable's or category's name."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", strict=True)]
Probability32 = Annotated[int, Field(ge=0, le=RESOLUTION, strict=True)]


class Message(BaseModel):
    """The base of all messages: frozen, unknown fields refused by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# Plans -------------------------------------------------------------------------------------------


class IdentityMessage(Message):
    """A variable that is not randomized."""

    family: Literal["identity"]
    size: Annotated[int, Field(ge=2, le=RESOLUTION, strict=True)]

    def to_transition(self) -> UnitTransition:
        """Return the channel."""
        return Identity(self.size)


class SymmetricMessage(Message):
    """A symmetric channel; `off` is the probability of each other category, times 2^32."""

    family: Literal["symmetric"]
    size: Annotated[int, Field(ge=2, le=RESOLUTION, strict=True)]
    off: Probability32

    def to_transition(self) -> UnitTransition:
        """Return the channel. Raises NotStochastic."""
        return Symmetric(self.size, self.off)


class RandomSymmetricMessage(Message):
    """A symmetric channel drawn anew for every record; `spread` is how far `off` varies."""

    family: Literal["random-symmetric"]
    size: Annotated[int, Field(ge=2, le=RESOLUTION, strict=True)]
    off: Probability32
    spread: Probability32

    def to_transition(self) -> Transition:
        """Return the channel. Raises NotStochastic."""
        return RandomSymmetric(self.size, self.off, self.spread)


class WithheldMessage(Message):
    """Variables that are not reported."""

    family: Literal["withheld"]
    size: Annotated[int, Field(ge=2, le=MIXTURE_CELLS, strict=True)]

    def to_transition(self) -> Transition:
        """Return the channel."""
        return Withheld(self.size)


class MixtureMessage(Message):
    """A symmetric channel over a product; `keep` is the probability of keeping, times 2^64."""

    family: Literal["mixture"]
    size: Annotated[int, Field(ge=2, le=MIXTURE_CELLS, strict=True)]
    keep: Annotated[int, Field(ge=0, le=MIXTURE_RESOLUTION, strict=True)]

    def to_transition(self) -> Transition:
        """Return the channel."""
        return Mixture(self.size, self.keep)


class DenseMessage(Message):
    """A transition matrix row by row, times 2^32."""

    family: Literal["dense"]
    rows: Annotated[
        list[Annotated[list[Probability32], Field(min_length=2, max_length=MAX_CATEGORIES)]],
        Field(min_length=2, max_length=MAX_CATEGORIES),
    ]

    def to_transition(self) -> UnitTransition:
        """Return the channel. Raises NotStochastic, ChannelError."""
        return Dense(tuple(tuple(row) for row in self.rows))


class GroupedMessage(Message):
    """A block-diagonal matrix: groups of category codes and a channel (or null) for each."""

    family: Literal["grouped"]
    groups: list[list[Annotated[int, Field(ge=0, strict=True)]]]
    channels: list[UnitChannelMessage | None]

    def to_transition(self) -> UnitTransition:
        """Return the channel. Raises ChannelError."""
        return Grouped(
            tuple(tuple(group) for group in self.groups),
            tuple(c.to_transition() if c is not None else None for c in self.channels),
        )


class StructuralZerosMessage(Message):
    """A channel over the possible categories; the impossible codes never appear."""

    family: Literal["structural-zeros"]
    size: Annotated[int, Field(ge=2, le=RESOLUTION, strict=True)]
    impossible: Annotated[
        list[Annotated[int, Field(ge=0, strict=True)]], Field(max_length=MAX_CATEGORIES)
    ]
    channel: UnitChannelMessage

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError."""
        return StructuralZeros(self.size, tuple(self.impossible), self.channel.to_transition())


class OneHotMessage(Message):
    """A variable reported as a set of items, each flipped with probability `flip` / 2^32."""

    family: Literal["one-hot"]
    size: Annotated[int, Field(ge=2, strict=True)]
    flip: Probability32

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError."""
        return OneHot(self.size, self.flip)


Sizes = Annotated[
    list[Annotated[int, Field(ge=2, le=MAX_CATEGORIES, strict=True)]],
    Field(min_length=1, max_length=MAX_VARIABLES),
]


class CutAndPasteMessage(Message):
    """The cut-and-paste operator over variables reported as items.

    `paste` is rho times 2^32; `of` is the number of variables whose items are kept among.
    """

    family: Literal["cut-and-paste"]
    sizes: Sizes
    cut: Annotated[int, Field(ge=0, le=MAX_VARIABLES, strict=True)]
    paste: Probability32
    of: Annotated[int, Field(ge=1, le=MAX_VARIABLES, strict=True)]

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError."""
        return CutAndPaste(tuple(self.sizes), self.cut, self.paste, self.of)


class ChoiceMessage(Message):
    """One subset of a sampled block, its probability times 2^32, and its channel."""

    axes: Annotated[
        list[Annotated[int, Field(ge=0, strict=True)]],
        Field(min_length=1, max_length=MAX_VARIABLES),
    ]
    weight: Probability32
    channel: ChannelMessage

    def to_choice(self) -> Choice:
        """Return the choice. Raises ChannelError."""
        return Choice(tuple(self.axes), self.weight, self.channel.to_transition())


class SampledMessage(Message):
    """Each record reports one of several subsets of the block's variables."""

    family: Literal["sampled"]
    sizes: Sizes
    choices: Annotated[list[ChoiceMessage], Field(min_length=1, max_length=MAX_CHOICES)]

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError, NotStochastic."""
        return Sampled(tuple(self.sizes), tuple(c.to_choice() for c in self.choices))


UnitChannelMessage = Annotated[
    IdentityMessage | SymmetricMessage | DenseMessage | GroupedMessage,
    Field(discriminator="family"),
]
"""Channels that one 32-bit draw can report."""

ChannelMessage = Annotated[
    IdentityMessage
    | SymmetricMessage
    | DenseMessage
    | GroupedMessage
    | StructuralZerosMessage
    | RandomSymmetricMessage
    | MixtureMessage
    | WithheldMessage
    | OneHotMessage
    | CutAndPasteMessage
    | SampledMessage,
    Field(discriminator="family"),
]


class VariableMessage(Message):
    """A variable's name, its categories in code order, and the numbers they stand for, if any."""

    name: Label
    categories: Annotated[list[Label], Field(min_length=2, max_length=MAX_CATEGORIES)]
    representatives: (
        Annotated[
            list[Annotated[float, Field(allow_inf_nan=False, strict=True)]],
            Field(min_length=2, max_length=MAX_CATEGORIES),
        ]
        | None
    ) = None

    # A return type would stand in the API's document in place of the fields.
    @model_serializer(mode="wrap")
    def _without_absence(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Leave the key out where there are no numbers, as the canonical JSON does."""
        written: dict[str, Any] = write(self)
        return {key: value for key, value in written.items() if value is not None}

    def to_variable(self) -> Variable:
        """Return the variable. Raises DomainError."""
        numbers = None if self.representatives is None else tuple(self.representatives)
        return Variable(self.name, tuple(self.categories), numbers)


class BlockMessage(Message):
    """Variables randomized together by one channel."""

    variables: Annotated[list[VariableMessage], Field(min_length=1, max_length=MAX_VARIABLES)]
    channel: ChannelMessage

    def to_block(self) -> Block:
        """Return the block. Raises PlanError, ChannelError, DomainError."""
        return Block(tuple(v.to_variable() for v in self.variables), self.channel.to_transition())


class PlanMessage(Message):
    """The canonical JSON of a plan (see `Plan.as_dict`, which writes it)."""

    blocks: Annotated[list[BlockMessage], Field(min_length=1, max_length=MAX_VARIABLES)]

    @classmethod
    def from_plan(cls, plan: Plan) -> PlanMessage:
        """Wrap a plan."""
        return cls.model_validate(plan.as_dict())

    def to_plan(self) -> Plan:
        """Return the plan. Raises PlanError, ChannelError, DomainError."""
        return Plan(tuple(block.to_block() for block in self.blocks))


# Studies, people ---------------------------------------------------------------------------------


class StudyCreate(Message):
    """A new study."""

    name: Name
    title: Annotated[str, StringConstraints(max_length=500)] = ""


class Study(StudyCreate):
    """A study: the scope of owners, releases, jobs and models."""

    created: datetime


class TokenCreate(Message):
    """A token for an analyst of a study."""

    name: Name


class TokenIssued(Message):
    """A bearer token; the only time it is shown."""

    id: str
    role: Literal["analyst", "owner"]
    study: Name
    name: Name
    token: str


class TokenInfo(Message):
    """What is known of a token after it was issued."""

    id: str
    role: Literal["admin", "analyst", "owner"]
    study: Name | None
    name: Name
    created: datetime
    revoked: bool


class InvitationCreate(Message):
    """An invitation for one owner to join a study."""

    owner: Name
    valid_hours: Annotated[int, Field(ge=1, le=24 * 90)] = 24 * 7


class Invitation(Message):
    """An invitation; `secret` is there only in the answer that creates it."""

    id: str
    study: Name
    owner: Name
    expires: datetime
    accepted: bool
    secret: str | None = None


class InvitationAccept(Message):
    """An owner takes up an invitation and is given its token."""

    secret: Annotated[str, StringConstraints(min_length=16, max_length=256)]


class Owner(Message):
    """An owner in a study."""

    name: Name
    joined: datetime
    active: bool


# Releases ----------------------------------------------------------------------------------------


class PartManifest(Message):
    """What one part will hold: announced before any part is sent."""

    number: Annotated[int, Field(ge=0, lt=MAX_PARTS)]
    records: Annotated[int, Field(ge=1)]
    bytes: Annotated[int, Field(ge=1)]
    sha256: Sha256


class ReleaseCreate(Message):
    """The manifest of a release; `digest` is `release_digest(plan.digest, parts)`."""

    name: Name
    plan: PlanMessage
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)]
    parts: Annotated[list[PartManifest], Field(min_length=1, max_length=MAX_PARTS)]
    digest: Sha256

    @model_validator(mode="after")
    def _consistent(self) -> ReleaseCreate:
        if [part.number for part in self.parts] != list(range(len(self.parts))):
            raise ValueError("the parts must be numbered 0, 1, 2, ... in order")
        if sum(part.records for part in self.parts) != self.records:
            raise ValueError("the records of the parts do not add up to the records announced")
        names = [variable.name for block in self.plan.blocks for variable in block.variables]
        if KEY_COLUMN in names:
            raise ValueError(f"no variable may be called {KEY_COLUMN}")
        return self


ReleaseState = Literal["open", "sealed", "withdrawn"]


class Release(Message):
    """A release as the miner has it."""

    id: str
    study: Name
    owner: Name
    name: Name
    state: ReleaseState
    plan: PlanMessage
    plan_digest: Sha256
    records: int
    parts: int
    parts_received: list[int]
    digest: Sha256
    created: datetime
    sealed: datetime | None


class PartJson(Message):
    """A small part as JSON: pseudonyms in hexadecimal and codes per variable."""

    keys: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$", strict=True)]],
        Field(min_length=1),
    ]
    columns: dict[Label, list[Annotated[int, Field(ge=0, lt=1 << 32, strict=True)]]]


class PartReceipt(Message):
    """A part was stored durably."""

    release: str
    number: int
    sha256: Sha256
    records: int


# Alignment, jobs, models -------------------------------------------------------------------------


class AlignedOwner(Message):
    """One owner's records in an alignment; see `Alignment` for when `not_everywhere` is null."""

    owner: Name
    release: str
    records: int
    keys_digest: Sha256
    not_everywhere: int | None


AlignmentState = Literal["waiting", "identical", "partial", "disjoint", "mismatch"]


class Alignment(Message):
    """Which records are found at which owners: a checked fact, from the sealed releases.

    `identical`: all owners reported the same set of records. `partial`: only `in_all` of
    `in_any`. `disjoint`: no record is at every owner. `waiting`: no release is sealed yet, or an
    owner that joined has none in use (`missing`).

    An owner is shown its own row only, `mismatch` instead of `partial` and `disjoint`, and numbers
    only if the state is `identical`: else it could learn whether a person is known to another
    owner by publishing that one record.
    """

    study: Name
    state: AlignmentState
    owners: list[AlignedOwner]
    missing: list[Name]
    in_all: int | None
    in_any: int | None
    digest: Sha256


class LikelihoodScore(Message):
    """The default score: the likelihood of the reports, its penalty the same at every noise."""

    name: Literal["likelihood"] = "likelihood"


Eta = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


class BicScore(Message):
    """BIC of estimated counts; `c_star` multiplies its penalty (Ma 5.5.2)."""

    name: Literal["bic"]
    eta: Eta = 1.0
    c_star: Positive = 1.0


class BayesianScore(Message):
    """The Bayesian score of estimated counts (Ma 5.5.1); `alpha` is per cell."""

    name: Literal["bayesian"]
    eta: Eta = 1.0
    alpha: Positive = 1.0


class BdeuScore(Message):
    """BDeu of estimated counts; the prior weighs as much as `equivalent_sample_size` records."""

    name: Literal["bdeu"]
    eta: Eta = 1.0
    equivalent_sample_size: Positive = 10.0


ScoreMessage = Annotated[
    LikelihoodScore | BicScore | BayesianScore | BdeuScore, Field(discriminator="name")
]


class SearchMessage(Message):
    """How to search: K2 along `order`, or without one hill climbing.

    Hill climbing goes on for `tabu` moves after the last improvement. K2 as printed only adds
    parents; refined it also drops and exchanges them.
    """

    order: Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)] | None = None
    max_parents: Annotated[int, Field(ge=1, le=MAX_PARENTS, strict=True)] = 3
    tabu: Annotated[int, Field(ge=0, le=1000, strict=True)] = 50
    refine: Annotated[bool, Field(strict=True)] = True


class _ParameterOptions(Message):
    """How parameters are learned; see `BayesNetParametersSpec`."""

    method: Literal["ml", "map"] = "ml"
    alpha: Positive = 1.0
    estimator: Literal["moment", "ml", "log-linear"] = "moment"
    order: Annotated[int, Field(ge=1, le=8, strict=True)] = 2
    records: Literal["identical", "common", "any"] = "identical"


class BayesNetParametersSpec(_ParameterOptions):
    """Learn the parameters of a network of given structure (Ma 5.4).

    `structure` lists the parents of every node. `alpha` is the Dirichlet parameter of each cell
    and belongs to method `map`. `estimator` is that of the counts: by moments, by maximum
    likelihood, or by a log-linear model with interactions of up to `order` variables, which alone
    can tell tables that no record reports whole. `records` says what to do if the owners' records
    are not the same set: refuse (`identical`), use only those at every owner (`common`), or use
    all (`any`): what an owner does not report of a record is missing there, by no fault of its
    value, and several owners may report one variable of different records. Where a variable is
    missing of some records, `any` needs the estimator `ml`.
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
    variables: Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)] | None = None
    score: ScoreMessage = LikelihoodScore()
    search: SearchMessage = SearchMessage()
    draws: Annotated[int, Field(ge=0, le=MAX_DRAWS, strict=True)] = 200
    seed: Annotated[int, Field(ge=0, lt=1 << 53, strict=True)] = 0


def _kind_of(spec: Any) -> str | None:
    """Return the kind of a job; one that names none learns parameters."""
    if isinstance(spec, dict):
        kind = spec.get("kind", "bayes-net-parameters")
        return kind if isinstance(kind, str) else None
    return getattr(spec, "kind", None)


JobSpec = Annotated[
    Annotated[BayesNetParametersSpec, Tag("bayes-net-parameters")]
    | Annotated[BayesNetStructureSpec, Tag("bayes-net-structure")],
    Discriminator(_kind_of),
]

_JOB_SPEC: TypeAdapter[BayesNetParametersSpec | BayesNetStructureSpec] = TypeAdapter(JobSpec)


def read_job_spec(text: str) -> BayesNetParametersSpec | BayesNetStructureSpec:
    """Read the JSON of a job's specification. Raises ValueError."""
    return _JOB_SPEC.validate_json(text)


class JobCreate(Message):
    """A job; the same key with the same specification is the same job."""

    key: Name | None = None
    spec: JobSpec


JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class ProblemDetail(Message):
    """An RFC 9457 problem document."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    where: str | None = None
    remedy: str | None = None
    instance: str | None = None


class Job(Message):
    """A job's state; `progress` runs from 0 to 1."""

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


class ParameterMessage(Message):
    """One parameter Pr(node = value | parents), with both of its errors.

    `estimate` is the raw ratio of estimated counts and may lie outside [0, 1]; `probability` is
    its projection, valid in a network. `se` is the standard error against the population the
    records were drawn from, `se_records` against the true records themselves (randomization
    noise alone). All three are null where the parents' configuration has no positive estimated
    count. `interval` is the 95 % interval against the population (Fieller).
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
    """A node with its categories and parents."""

    name: str
    categories: list[str]
    parents: list[str]


class LinkMessage(Message):
    """A link and how far it can be trusted; in a given structure nothing is said of it.

    `gain` is what the link is worth given the child's other parents, in nats above the penalty.
    `inflation` is how many times randomization multiplies the chance part of the plain gain; null
    where that is infinite, because a channel has no inverse. `confidence` is the share of bootstrap
    samples of the records in which the link keeps a positive gain; null if none were drawn.
    `compelled` says whether all structures that say the same of the variables direct the link so.
    """

    parent: str
    child: str
    gain: float | None
    inflation: float | None
    confidence: float | None
    compelled: bool | None


class BayesNetMessage(Message):
    """A learned Bayesian network: what was learned, from what, and how surely."""

    id: str
    study: Name
    job: str
    kind: Literal["bayes-net"] = "bayes-net"
    spec: JobSpec
    records: int
    releases: dict[str, Sha256]
    nodes: list[NodeMessage]
    links: list[LinkMessage] = []
    parameters: list[ParameterMessage]
    created: datetime


class ModelQuery(Message):
    """A question to a model: the joint distribution of the nodes `of`, given categories."""

    of: Annotated[list[Label], Field(min_length=1, max_length=MAX_ASKED)]
    given: Annotated[dict[Label, Label], Field(max_length=MAX_VARIABLES)] = {}


class AnswerRow(Message):
    """The probability of one combination of categories."""

    values: dict[str, str]
    probability: float


class ModelAnswer(ModelQuery):
    """The answer: every combination of categories, and how probable what was given is itself."""

    given_probability: float
    rows: list[AnswerRow]


class DashboardStudy(Message):
    """One study on the dashboard."""

    study: Study
    owners: list[Owner]
    releases: list[Release]
    alignment: Alignment
    jobs: list[Job]


class Dashboard(Message):
    """What the caller may see, at one moment."""

    at: datetime
    studies: list[DashboardStudy]


Item = TypeVar("Item")


class Page(Message, Generic[Item]):
    """One page of a list; `next` is the cursor of the next page, or null."""

    items: list[Item]
    next: str | None = None


def release_digest(plan_digest: str, parts: list[PartManifest]) -> str:
    """Return the identity of a release's content: plan and parts in order."""
    lines = [plan_digest, *(f"{p.number}:{p.records}:{p.bytes}:{p.sha256}" for p in parts)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def problem_of(body: Any) -> ProblemDetail | None:
    """Read a problem document, or None if the body is not one."""
    try:
        return ProblemDetail.model_validate(body)
    except ValueError:
        return None


GroupedMessage.model_rebuild()
