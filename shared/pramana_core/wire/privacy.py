"""Studies: the people and tokens in them, and the privacy that their releases cost.

Numbers that JSON cannot write are null: infinities, and a gamma that overflows.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from pramana_core.privacy import DELTA, PRIOR, Amplification, Extremes, central_loss
from pramana_core.wire.base import (
    MAX_VARIABLES,
    Label,
    Message,
    Name,
    People,
    Sha256,
    holding,
    meaning,
)
from pramana_core.wire.channels import PlanMessage

Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""A budget: the most that epsilons may add up to."""

DrawIds = Annotated[list[Sha256], Field(min_length=1, max_length=MAX_VARIABLES)]
"""Per block of a plan, in order, what identifies its draws; see `ReleaseCreate`."""


def require_one_each(plan: PlanMessage, draws: list[str] | None) -> None:
    """Check that there is an identity of draws for each block. Raises ValueError."""
    if draws is not None and len(draws) != len(plan.blocks):
        raise ValueError(f"there are {len(draws)} draws for {len(plan.blocks)} blocks")


class AmplificationMessage(Message):
    """An amplification; `grows_to` is what a belief of `prior` (see `StudyPrivacy`) can reach."""

    epsilon: float | None
    gamma: float | None
    grows_to: float

    @classmethod
    def of(cls, amplification: Amplification) -> AmplificationMessage:
        """Return the message of an amplification."""
        return cls(
            epsilon=amplification.epsilon if math.isfinite(amplification.epsilon) else None,
            gamma=amplification.gamma if math.isfinite(amplification.gamma) else None,
            grows_to=amplification.grown(PRIOR),
        )

    def to_amplification(self) -> Amplification:
        """Return the amplification."""
        return Amplification(math.inf if self.epsilon is None else self.epsilon)


class CentralMessage(Message):
    """What a record loses to whoever does not know whose report is whose, such as the miner alone.

    That is `epsilon`, but for a chance of `delta`; it is null where nothing bounds it, and where
    `unstated` says why no such bound is stated. The record that loses most hides among `records`
    that agree in all that is known of them.
    """

    epsilon: float | None = None
    delta: float = DELTA
    records: int | None = None
    unstated: str = ""

    @classmethod
    def of(cls, local: Amplification, records: int) -> CentralMessage:
        """Return the message of reports with a local bound. Raises OptionError: no records."""
        epsilon = central_loss(local, records).epsilon
        if not math.isfinite(epsilon):
            return cls(records=records, unstated="nothing bounds the loss of a record.")
        return cls(epsilon=epsilon, records=records)

    @property
    def description(self) -> str:
        """The bound in words, or why there is none."""
        if self.epsilon is None:
            return f"no central bound: {self.unstated}"
        return (
            f"central epsilon {self.epsilon:.4g} at delta {self.delta:g}"
            f" ({self.records:,} records alike)"
        )


class ExtremesMessage(Message):
    """The most a belief about one column can grow by, at both extremes.

    Columns are `independent` of each other, or each determines all others (`determined`).
    """

    independent: AmplificationMessage
    determined: AmplificationMessage

    @classmethod
    def of(cls, extremes: Extremes) -> ExtremesMessage:
        """Return the message of both extremes."""
        return ExtremesMessage(
            independent=AmplificationMessage.of(extremes.independent),
            determined=AmplificationMessage.of(extremes.determined),
        )


class ColumnPrivacy(Message):
    """What one column's own draws disclose; null: it is reported as it is.

    `left` is what a budget per column leaves for it; null without one, and for a column reported as
    it is.
    """

    owner: Name
    variable: str
    amplification: AmplificationMessage | None
    left: float | None


class OwnerPrivacy(ExtremesMessage):
    """What one owner's releases told of a record."""

    owner: Name


class PrivacyBudget(Message):
    """The most that a study may disclose, in epsilons; null: no limit.

    `max_epsilon_record` limits a record's loss if columns determine each other,
    `max_epsilon_column` that of a column by its own draws. `left_for_record` is what releases that
    left or were announced leave of the first; `left_for_columns` of the second, for each variable
    that one of them randomized. `max_epsilon_record` keeps a central budget, too: an epsilon at
    `central_delta` among at least `central_records` records.
    """

    max_epsilon_record: float | None
    max_epsilon_column: float | None
    max_central_epsilon: float | None = None
    central_delta: float = DELTA
    central_records: int | None = None
    left_for_record: float | None
    left_for_columns: Annotated[dict[str, float], Field(default_factory=dict)]


class PlannedLoss(Message):
    """The plan that the study's owners agreed on, by its digest, and what it tells of a record."""

    digest: Sha256
    record: AmplificationMessage


class UnboundedRelease(Message):
    """A release without a gamma: its columns, and what that means in words.

    `confidential` are the columns computed from true values, `told` those that hold true values.
    """

    owner: Name
    kind: str
    confidential: list[Label]
    told: list[Label]
    statement: str


class ChangedReports(Message):
    """Records that an owner's releases report differently by the same draws of one block.

    Their values changed, and whoever has the `releases` knows it; no epsilon bounds that.
    `records` of `of` are so in one release beside the earlier ones, the one where it is most.
    `not_compared` releases by these draws could not be compared with the others.
    """

    owner: Name
    variables: list[Label]
    releases: int
    records: int
    of: int
    not_compared: int


class StudyPrivacy(Message):
    """What everything released for a study discloses.

    `record` is about one record over all owners: the sum over owners, or, with `different_people`,
    the largest owner's; `at_several` is then the sum, which holds for a person who is at several
    owners all the same. Parts of one study plan add set by set. `people` is what the study says of
    its owners' records, `study_plan` the plan that they agreed on. `unbounded` are the releases
    without a gamma, which no sum counts; `changed` the records that releases report differently by
    the same draws. An owner sees its own of these, and sums by what the study says alone.
    `warnings` say where what arrived contradicts what the study says, or could not be checked, and
    that sums leave something out. `record` holds against whoever knows which report is whose,
    `central` against the miner alone, an analyst or the public; it is null in a forecast.
    """

    study: Name
    prior: float
    columns: list[ColumnPrivacy]
    owners: list[OwnerPrivacy]
    record: ExtremesMessage
    central: CentralMessage | None = None
    different_people: bool
    budget: PrivacyBudget
    people: People = "overlapping"
    at_several: ExtremesMessage | None = None
    study_plan: PlannedLoss | None = None
    unbounded: list[UnboundedRelease] = Field(default_factory=list)
    changed: list[ChangedReports] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)

    @property
    def people_said(self) -> str:
        """What the study says of its people, and what that means for one of them, in a sentence."""
        said = f"The study says that its owners {holding(self.people)}"
        if self.people != "different" or self.at_several is None:
            return f"{said}: {meaning(self.people)}."
        most, summed = (
            extremes.determined.to_amplification() for extremes in (self.record, self.at_several)
        )
        own = f"{said}: a person loses what her own owner tells, gamma {most.written_gamma} at most"
        if summed == most:
            return f"{own}."
        return (
            f"{own}; {summed.written_gamma} for a person whom all know, if the study is wrong about"
            " that."
        )


class PrivacyQuestion(Message):
    """A release that might be made: its plan, its draws, and by whom (the caller, if left out).

    `linkage` is the fingerprint of its linkage secret, see `ReleaseCreate`.
    """

    plan: PlanMessage
    draws: DrawIds | None = None
    linkage: Sha256 | None = None
    owner: Name | None = None

    @model_validator(mode="after")
    def _consistent(self) -> PrivacyQuestion:
        require_one_each(self.plan, self.draws)
        return self


class PrivacyForecast(Message):
    """What a study comes to before and after a release; `refused` says why it would not be taken.

    The budget and what is left of it are those of each moment.
    """

    before: StudyPrivacy
    after: StudyPrivacy
    refused: str | None


Role = Literal["admin", "analyst", "owner", "monitor", "gateway"]
"""What a token's holder is; a monitor sees how the service fares, and nothing of a study; a gateway
brings reports of single records."""

ValidDays = Annotated[int, Field(ge=1, le=3650)]
"""For how many days a token is good."""


class StudyCreate(Message):
    """A new study; its budget, in epsilons, limits what all owners together disclose.

    It limits a record's loss, if its columns determine each other, and a column's by its own draws.
    `max_central_epsilon` limits a record's loss to whoever does not know whose report is whose, at
    `central_delta`: each release then has at least `central_records` records and no public column.
    `people` says whether the owners hold the `same` people, `different` ones, or some that are the
    same (`overlapping`, which assumes nothing): only where they are different does a record lose
    what its own owner discloses, and not the sum.
    """

    name: Name
    title: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")] = ""
    max_epsilon_record: Epsilon | None = None
    max_epsilon_column: Epsilon | None = None
    max_central_epsilon: Epsilon | None = None
    central_delta: Annotated[float, Field(gt=0, lt=1)] = DELTA
    central_records: Annotated[int, Field(ge=1)] | None = None
    people: People = "overlapping"

    @model_validator(mode="after")
    def _central_among_records(self) -> Self:
        if (self.max_central_epsilon is None) != (self.central_records is None):
            raise ValueError("a central budget has both max_central_epsilon and central_records")
        return self


BUDGET = (
    "max_epsilon_record",
    "max_epsilon_column",
    "max_central_epsilon",
    "central_delta",
    "central_records",
)
"""The fields of a study that are its budget."""


class StudyStep(Message):
    """A next step of a study: what it is, who takes it, and by which command, if by one.

    `owners` are those whose custodians it waits for.
    """

    who: Literal["operator", "operator or custodian", "custodian", "analyst"]
    owners: list[Name] = Field(default_factory=list)
    what: str
    command: str | None = None

    @property
    def heading(self) -> str:
        """Who takes the step, and what it is."""
        owners = f" of {', '.join(self.owners)}" if self.owners else ""
        return f"Next, the {self.who}{owners}: {self.what}"

    @property
    def line(self) -> str:
        """The step with its command, in a line."""
        return f"{self.heading}." if self.command is None else f"{self.heading}: {self.command}"


class Study(StudyCreate):
    """A study: the scope of owners, releases, jobs and models.

    `awaited` owners are invited and have not joined; `next` says what happens next, and who does
    it. An owner is not shown steps that depend on jobs.
    """

    created: datetime
    awaited: list[Name] = Field(default_factory=list)
    next: list[StudyStep] = Field(default_factory=list)


class TokenCreate(Message):
    """A token for an analyst or a gateway; without `valid_days` it is valid for the usual time."""

    name: Name
    role: Literal["analyst", "gateway"] = "analyst"
    valid_days: ValidDays | None = None


class TokenIssued(Message):
    """A bearer token; the only time it is shown. Only an admin's and a monitor's have no study."""

    id: str
    role: Role
    study: Name | None
    name: Name
    token: str
    expires: datetime | None = None


class TokenInfo(Message):
    """What is known of a token after it was issued; its use is noted once in a minute at most."""

    id: str
    role: Role
    study: Name | None
    name: Name
    created: datetime
    revoked: bool
    expires: datetime | None = None
    last_used: datetime | None = None


class TokenEnding(Message):
    """A token that ends soon."""

    study: Name | None
    role: Role
    name: Name
    expires: datetime


class InvitationCreate(Message):
    """An invitation for one owner to join a study; the owner's token is good for `valid_days`."""

    owner: Name
    valid_hours: Annotated[int, Field(ge=1, le=24 * 90)] = 24 * 7
    valid_days: ValidDays | None = None


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


class InvitationFile(Message):
    """What an invited owner is handed: where the miner is, who she is there, and the secret."""

    miner: Annotated[str, StringConstraints(min_length=1, max_length=2048)]
    study: Name
    owner: Name
    secret: Annotated[str, StringConstraints(min_length=16, max_length=256)]
    expires: datetime


class AccessFile(Message):
    """What an analyst is handed: where the miner is, the study, and the token."""

    miner: Annotated[str, StringConstraints(min_length=1, max_length=2048)]
    study: Name
    name: Name
    token: Annotated[str, StringConstraints(min_length=16, max_length=256)]
    expires: datetime | None


class Owner(Message):
    """An owner in a study."""

    name: Name
    joined: datetime
    active: bool
