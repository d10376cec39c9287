"""What owners say to each other in a joint session; unknown fields are refused by name.

A session runs through these in order: `Proposal` (the initiator's), an `Offer` of each owner, an
`Announcement` of each, then the `NetworkPart` of the model that each has learned. Who says which
of them in answer to what is in `owner_agent.peer.protocol.steps`.

Also here:

* What owners can agree to learn: the `task` of a session file, a class for each kind.
* `peers.toml`: what the initiator asks its peers to do together, validated whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from owner_agent.site.mistakes import all_mistakes
from owner_agent.site.site import Site, read_toml
from owner_agent.state.environment import Environment, WaitingTimes
from pramana_core.alike import first_few
from pramana_core.errors import PeerDeviated
from pramana_core.learn.common.options import (
    DRAWS,
    Draws,
    MaxParents,
    Method,
    ParameterOptions,
    Positive,
    ScoreName,
    Scoring,
    Search,
    Seed,
)
from pramana_core.wire.base import (
    MAX_PARTS,
    MAX_RECORDS,
    MAX_VARIABLES,
    Label,
    Message,
    Name,
    Sha256,
)
from pramana_core.wire.channels import PlanMessage, VariableMessage
from pramana_core.wire.jobs import (
    AssociationRulesTask,
    BayesClassifierTask,
    DecisionTreeTask,
    LinearClassifierTask,
    WithParameters,
)
from pramana_core.wire.releases import PartManifest
from pramana_core.wire.services import ProblemDetail

# What owners can agree to learn: the `task` of a session file, a class for each kind.
#
# A learner's options, their limits and defaults are those of the miner's jobs; without a
# `max_length` itemsets may be of any length.

MAX_COLUMNS = 64
"""Of so many variables at most an owner learns for itself."""

Labels = Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]
Columns = Annotated[list[Label], Field(min_length=1, max_length=MAX_COLUMNS)]
Parents = dict[Label, Annotated[list[Label], Field(max_length=64)]]


class ParametersTask(WithParameters):
    """The parameters of a network of known structure (Ma 5.2.1)."""

    kind: Literal["parameters"] = "parameters"
    structure: Annotated[Parents, Field(min_length=1, max_length=MAX_VARIABLES)]
    method: Method = ParameterOptions.method
    alpha: Positive = ParameterOptions.alpha


class StructureTask(WithParameters):
    """The structure along one order of all variables, and then its parameters (Ma 5.2.2)."""

    kind: Literal["structure"] = "structure"
    order: Labels
    max_parents: MaxParents = Search.max_parents
    score: ScoreName = Scoring.name
    draws: Draws = DRAWS
    seed: Seed = 0
    method: Method = ParameterOptions.method
    alpha: Positive = ParameterOptions.alpha


class TableTask(Message):
    """A contingency table, for the initiator alone."""

    kind: Literal["contingency-table"] = "contingency-table"
    variables: Annotated[list[Label], Field(min_length=1, max_length=32)]


class RulesTask(AssociationRulesTask):
    """Frequent itemsets and the rules between their parts, for the initiator alone (Ma 7.1).

    Items are the categories of the variables: all, those that `items` names (of the variables it
    names), or the one category `present`, of the variables that have it.
    """

    kind: Literal["association-rules"] = "association-rules"
    variables: Columns


class TreeTask(DecisionTreeTask):
    """A decision tree, for the initiator alone (Ma 7.2). A `significance` of 1 tests nothing."""

    kind: Literal["decision-tree"] = "decision-tree"
    attributes: Columns


class LinearTask(LinearClassifierTask):
    """A linear classifier, for the initiator alone (Ma 6)."""

    kind: Literal["linear-classifier"] = "linear-classifier"
    features: Columns


class BayesTask(BayesClassifierTask):
    """A Bayesian network classifier, for the initiator alone."""

    kind: Literal["bayes-classifier"] = "bayes-classifier"
    features: Columns


TaskMessage = Annotated[
    ParametersTask | StructureTask | TableTask | RulesTask | TreeTask | LinearTask | BayesTask,
    Field(discriminator="kind"),
]


LONGEST_SECONDS = 24 * 3600.0

SessionId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$", strict=True)]
Signature = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{128}$", strict=True)]
Partition = Literal["vertical"]
Form = Literal["aligned"]
"""How columns travel: with pseudonyms; sorted by their reports, without; or counted."""


class PeerMessage(Message):
    """What one owner sends to another.

    `wire_name` stands in the bytes that are signed, so it stays whatever the class is called.
    """

    wire_name: ClassVar[str]


class Statement(PeerMessage):
    """What an owner states and signs, once in a session; people call it by its `noun`."""

    noun: ClassVar[str]


class Proposal(PeerMessage):
    """What the initiator asks the others to do together; `seconds` from its arrival on."""

    wire_name = "Proposal"

    session: SessionId
    study: Name
    initiator: Name
    participants: Annotated[list[Name], Field(min_length=2, max_length=64)]
    partition: Partition = "vertical"
    task: TaskMessage
    seconds: Annotated[float, Field(gt=0, le=LONGEST_SECONDS, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(set(self.participants)) < len(self.participants):
            raise ValueError("the participants must be different owners")
        if self.initiator not in self.participants:
            raise ValueError("the initiator must be one of the participants")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON: what was agreed to, in one word."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def others(self, owner: str) -> list[str]:
        """Return the participants beside one of them."""
        return [name for name in self.participants if name != owner]


class OfferedVariable(Message):
    """A variable that the session names and this owner has."""

    variable: VariableMessage
    sensitive: bool


class EarlierSession(Message):
    """The newest session in which an owner saw what another announced, as a digest.

    `beginning` is when that other had last begun anew after a loss, as it said itself then.
    """

    digest: Sha256
    beginning: AwareDatetime | None = None


class Offer(Statement):
    """What an owner has that the session names; nothing has been randomized yet.

    `keys_digest` is SHA-256 of the ascending pseudonyms. `beginning` is when this owner last began
    anew after a loss, `earlier` what it remembers of the others.
    """

    wire_name = "Offer"
    noun = "offer"

    proposal: Sha256
    variables: Annotated[list[OfferedVariable], Field(min_length=1, max_length=MAX_VARIABLES)]
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)]
    keys_digest: Sha256
    beginning: AwareDatetime | None = None
    earlier: dict[Name, EarlierSession] = Field(default_factory=dict, max_length=64)

    @model_serializer(mode="wrap")
    def _without_absence(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Leave out what there is nothing to say of, so that a first offer is as it was."""
        written: dict[str, Any] = write(self)
        return {k: v for k, v in written.items() if v or k not in {"beginning", "earlier"}}


class Package(Message):
    """One peer's share of columns: plan and content, before a byte of it has left."""

    form: Form
    plan: PlanMessage
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)]
    parts: Annotated[list[PartManifest], Field(min_length=1, max_length=MAX_PARTS)]
    digest: Sha256


class BlockCost(Message):
    """What one draw of an owner's block tells of these variables, to all its peers together.

    A null epsilon is infinite; where the values themselves are sent it is not `randomized`.
    """

    variables: Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]
    epsilon: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    randomized: bool


class Announcement(Statement):
    """What an owner would send to whom, at what cost, and (`offers`) the digest of all offers."""

    wire_name = "Announcement"
    noun = "announcement"

    proposal: Sha256
    offers: Sha256
    packages: dict[Name, Package]
    costs: Annotated[list[BlockCost], Field(max_length=MAX_VARIABLES)]


_Row = Annotated[
    list[Annotated[float, Field(allow_inf_nan=False)] | None], Field(max_length=1 << 24)
]


class FamilyMessage(Message):
    """The parameters of one node, each list in C order of (parents..., node); see LearnedFamily."""

    node: Label
    parents: Annotated[list[Label], Field(max_length=64)]
    estimate: _Row
    probability: _Row
    se: _Row
    se_records: _Row
    low: _Row
    high: _Row


class StatedLink(Message):
    """One learned link and what speaks for it; see LearnedLink. An infinite inflation is null."""

    parent: Label
    child: Label
    gain: Annotated[float, Field(allow_inf_nan=False)]
    inflation: Annotated[float, Field(allow_inf_nan=False)] | None
    confidence: Annotated[float, Field(allow_inf_nan=False)] | None


class NetworkPart(Statement):
    """The families of one owner's variables: its part of the network."""

    wire_name = "Part"
    noun = "part"

    proposal: Sha256
    families: Annotated[list[FamilyMessage], Field(max_length=MAX_VARIABLES)]
    links: Annotated[list[StatedLink], Field(max_length=MAX_VARIABLES * 16)]
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)]


class Signed(PeerMessage):
    """A statement of one owner, signed: whoever passes it on cannot change it."""

    wire_name = "Signed"

    owner: Name
    content: Annotated[str, StringConstraints(max_length=1 << 28)]
    signature: Signature


class Statements(PeerMessage):
    """The statements of all participants, as the initiator collected them."""

    wire_name = "Statements"

    all: Annotated[list[Signed], Field(min_length=1, max_length=64)]


class ResultAgreement(Statement):
    """The digest of the result an owner has made ready: signed, it is its word to write it."""

    wire_name = "Agreed"
    noun = "agreement"

    digest: Sha256


Phase = Literal[
    "offered",
    "announced",
    "agreed",
    "learning",
    "learned",
    "ready",
    "written",
    "finished",
    "ended",
]


class Status(PeerMessage):
    """How far an owner is with a session.

    `part` is there once learned, `agreed` (what all signed) once written, `problem` once ended.
    """

    wire_name = "Status"

    phase: Phase
    done: int = 0
    total: int = 0
    part: Signed | None = None
    digest: Sha256 | None = None
    agreed: Statements | None = None
    problem: ProblemDetail | None = None


class Ending(PeerMessage):
    """Why a session ends without a result, and who found out."""

    wire_name = "Ending"

    owner: Name
    problem: ProblemDetail


Read = TypeVar("Read", bound=PeerMessage)
Stated = TypeVar("Stated", bound=Statement)


def read(kind: type[Read], content: str | bytes, who: str) -> Read:
    """Read a message of another owner. Raises PeerDeviated, which quotes nothing of it."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        places = sorted({".".join(map(str, e["loc"][:2])) for e in error.errors()})
        raise PeerDeviated(
            f"{who} sent a malformed {kind.wire_name}, at {first_few(places)}.",
            where=who,
            remedy="Check that both owners run the same version of the agent.",
        ) from None


def digest_of(statements: list[Signed]) -> str:
    """Return the digest of all statements of one round, whoever passes them on in what order."""
    lines = sorted(
        f"{s.owner}:{hashlib.sha256(s.content.encode()).hexdigest()}" for s in statements
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


_SESSION_BYTES = 16

_Seconds = Annotated[float, Field(gt=0, le=LONGEST_SECONDS, allow_inf_nan=False)]


class SessionFile(BaseModel):
    """The content of `peers.toml`; without `participants` all known peers are asked."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    participants: Annotated[tuple[Name, ...] | None, Field(min_length=1)] = None
    partition: Partition = "vertical"
    seconds: _Seconds = WaitingTimes.work
    connect_seconds: _Seconds = WaitingTimes.connect
    task: TaskMessage

    def patient(self, environment: Environment) -> Environment:
        """Return the environment in which others are waited for as long as this file says."""
        patience = replace(environment.patience, work=self.seconds, connect=self.connect_seconds)
        return replace(environment, patience=patience)

    def allows(self, proposal: Proposal, own: str, known: Collection[str]) -> bool:
        """Whether a proposal is for what this file says, with all `known` peers if it names none.

        The initiator and the owner itself need not be named among the participants. How long it
        may last, and how soon others must take a call, is the initiator's affair.
        """
        named = {*(self.participants or known), proposal.initiator, own}
        return proposal.task == self.task and named == set(proposal.participants)


def load_session_file(path: Path) -> SessionFile:
    """Read and validate a session file. Raises ConfigError naming every mistake."""
    content = read_toml(path, "session", "Name it with --peers.")
    try:
        return SessionFile.model_validate(content)
    except ValidationError as error:
        raise all_mistakes(error, f"session file {path}", "docs/peers.md") from None


def proposal_of(file: SessionFile, site: Site, random_bytes: Callable[[int], bytes]) -> Proposal:
    """Return the proposal that a session file asks this owner to make. Raises ConfigError."""
    known = [peer.name for peer in site.peer.known]
    wanted = [name for name in file.participants or known if name != site.owner]
    try:
        return Proposal(
            session=random_bytes(_SESSION_BYTES).hex(),
            study=site.peer.study,
            initiator=site.owner,
            participants=[site.owner, *wanted],
            partition=file.partition,
            task=file.task,
            seconds=file.seconds,
        )
    except ValidationError as error:
        raise all_mistakes(error, "session file", "docs/peers.md") from None
