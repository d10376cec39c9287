"""Studies: their people, tokens, and the privacy loss of their releases.

Numbers that JSON cannot represent are null: infinities, and a gamma that overflows.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from pramana_core.privacy import (
    DELTA,
    PRIOR,
    Amplification,
    Extremes,
    ShuffledReport,
    central_loss,
    known_set_loss,
)
from pramana_core.rounding import rounded_up
from pramana_core.wire.base import (
    MAX_RECORDS,
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
"""An epsilon as budget: the maximum sum of epsilons."""

DrawIds = Annotated[list[Sha256], Field(min_length=1, max_length=MAX_VARIABLES)]
"""The identity of the draws of each block of a plan, in order; see `ReleaseCreate`."""


def require_one_each(plan: PlanMessage, draws: list[str] | None) -> None:
    """Check that there are as many draws as blocks. Raises ValueError."""
    if draws is not None and len(draws) != len(plan.blocks):
        raise ValueError(f"`draws` has {len(draws)} entries for {len(plan.blocks)} blocks")


class AmplificationMessage(Message):
    """An amplification. `grows_to` is the largest value to which a belief of `prior` can grow."""

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
    """The loss of a record against a reader who cannot link reports to people, such as the miner.

    The loss is at most `epsilon`, except with probability `delta`. `epsilon` is null if the loss is
    unbounded or the bound is not computed, for the reason in `unstated`. The record with the
    largest loss hides among `records` records that agree in all known data. `known_set` is the
    epsilon against a reader who knows beforehand which set of variables the record reports. It is
    null if records do not report sets of variables.
    """

    epsilon: float | None = None
    known_set: float | None = None
    delta: float = DELTA
    records: int | None = None
    unstated: str = ""

    @classmethod
    def of(cls, report: ShuffledReport, records: int, delta: float = DELTA) -> CentralMessage:
        """Return the message for a record's joint report. Raises OptionError without records."""
        epsilon = central_loss(report, records, delta).epsilon
        if not math.isfinite(epsilon):
            return cls(records=records, unstated="the loss of a record is unbounded.")
        known = known_set_loss(report, records, delta)
        known_set = None if known is None else known.epsilon
        return cls(epsilon=epsilon, known_set=known_set, delta=delta, records=records)

    @property
    def description(self) -> str:
        """The bound as text, or the reason why it is missing."""
        if self.epsilon is None:
            return f"no central bound: {self.unstated}"
        stated = f"central epsilon {rounded_up(self.epsilon)} at delta {self.delta:g}"
        if self.known_set is None:
            return f"{stated} (among {self.records:,} similar records)"
        known = f"{rounded_up(self.known_set)} if a reader knows which variables a record reports"
        return f"{stated} (among {self.records:,} similar records; {known})"


class ExtremesMessage(Message):
    """The largest growth of a belief about one column, under each of two extreme assumptions.

    Either the columns are `independent`, or each determines all others (`determined`).
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
    """The loss of one column by its own draws; null if its true values are reported.

    `left` remains of the budget per column. It is null without a budget, and for true values.
    """

    owner: Name
    variable: str
    amplification: AmplificationMessage | None
    left: float | None


class OwnerPrivacy(ExtremesMessage):
    """The privacy loss of a record through one owner's releases."""

    owner: Name


class PrivacyBudget(Message):
    """The largest losses that a study allows, in epsilons; null means no limit.

    `max_epsilon_record` limits a record's loss if columns determine each other, and
    `max_epsilon_column` limits a column's loss from its own draws. `max_central_epsilon` limits the
    central epsilon of all releases, at `central_delta` among at least `central_records` records, if
    all releases have the same records. `left_for_record` is the largest further loss of a record
    that fits both of its limits with every plan, after all sent and announced releases; a plan
    whose own central epsilon fits may lose more. `left_for_columns` is the remainder of
    `max_epsilon_column`, for each variable that a release randomized.
    """

    max_epsilon_record: float | None
    max_epsilon_column: float | None
    max_central_epsilon: float | None = None
    central_delta: float = DELTA
    central_records: int | None = None
    left_for_record: float | None
    left_for_columns: Annotated[dict[str, float], Field(default_factory=dict)]

    @property
    def stated_delta(self) -> float:
        """The delta of the study's central bounds."""
        return DELTA if self.max_central_epsilon is None else self.central_delta


class PlannedLoss(Message):
    """The plan that the study's owners agreed on, by its digest, and a record's loss under it."""

    digest: Sha256
    record: AmplificationMessage


class UnboundedRelease(Message):
    """A release that no gamma bounds: its columns, and a sentence with the reason.

    `confidential` are the columns computed from true values, and `told` those with true values.
    """

    owner: Name
    kind: str
    confidential: list[Label]
    told: list[Label]
    statement: str


class ChangedReports(Message):
    """Records that an owner's releases report differently although a block's draws are the same.

    The values of these records changed. Readers of the `releases` can see this, and no epsilon
    bounds what they learn. In the release with the most such records, `records` of `of` records
    differ from earlier releases. `not_compared` is the count of releases with these draws that
    could not be compared.
    """

    owner: Name
    variables: list[Label]
    releases: int
    records: int
    of: int
    not_compared: int


class StudyPrivacy(Message):
    """The privacy loss from all releases of a study.

    `record` is the loss of one record over all owners. It is the sum over owners or, with
    `different_people`, the largest loss at one owner. `at_several` is then the sum, which applies
    to a person who is at several owners despite the declaration. Losses from parts of one study
    plan are added within each set of variables. `people` is the study's declaration about its
    owners' people, and `study_plan` is the plan that the owners agreed on. `unbounded` are the
    releases without a gamma, which the sums exclude. `changed` are the records that releases report
    differently although the draws are the same. In both, an owner sees only its own releases, and
    it sees sums that follow from the declaration alone. `warnings` list contradictions between
    releases and the declaration, missing checks, and releases that sums exclude. `record` applies
    to a reader who knows which report belongs to whom, `central` to the miner alone, an analyst or
    the public. `central` is null in a forecast.
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
        """A sentence on the declaration about the owners' people, and on a person's loss."""
        claim = f"The study says that its owners {holding(self.people)}"
        if self.people != "different" or self.at_several is None:
            return f"{claim}: {meaning(self.people)}."
        most, summed = (
            extremes.determined.to_amplification() for extremes in (self.record, self.at_several)
        )
        own = f"{claim}: a person's loss is due to one owner, gamma {most.written_gamma} at most"
        if summed == most:
            return f"{own}."
        return (
            f"{own}; if the study is wrong, {summed.written_gamma} for a person whom all owners"
            " have."
        )


class PrivacyQuestion(Message):
    """A planned release: its plan, its draws, and its owner (by default the caller).

    `linkage` is the fingerprint of the owner's linkage secret; see `ReleaseCreate`.
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
    """A study's privacy before and after a release; `refused` is why it would be rejected, or null.

    `before` and `after` each have the budget and what remains of it at that moment.
    """

    before: StudyPrivacy
    after: StudyPrivacy
    refused: str | None


Role = Literal["admin", "analyst", "owner", "monitor", "gateway"]
"""The role of a token's holder. A monitor sees the health of the service but no study; a gateway
delivers reports of single records."""

ValidDays = Annotated[int, Field(ge=1, le=3650)]
"""The days for which a token is valid."""


class StudyCreate(Message):
    """A new study. Its budget, in epsilons, limits the loss from all owners together.

    The budget limits a record's loss, if its columns determine each other, and a column's loss from
    its own draws. `people` is `same`, `different`, or `overlapping` for owners who have the same
    people, different people, or partly the same (which assumes nothing). Only with `different` is a
    record's loss the loss at one owner instead of the sum. `max_central_epsilon` limits a record's
    loss, at `central_delta`, against readers who do not know which report belongs to whom. Each
    release must then have at least `central_records` records and no public column. The limit holds
    if all releases have the same records; otherwise the study's privacy may have a warning.
    """

    name: Name
    title: Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00]*$")] = ""
    max_epsilon_record: Epsilon | None = None
    max_epsilon_column: Epsilon | None = None
    max_central_epsilon: Epsilon | None = None
    central_delta: Annotated[float, Field(gt=0, lt=1)] = DELTA
    central_records: Annotated[int, Field(ge=1, le=MAX_RECORDS)] | None = None
    people: People = "overlapping"

    @model_validator(mode="after")
    def _central_among_records(self) -> Self:
        if (self.max_central_epsilon is None) != (self.central_records is None):
            raise ValueError(
                "a central budget needs both `max_central_epsilon` and `central_records`"
            )
        return self


BUDGET = (
    "max_epsilon_record",
    "max_epsilon_column",
    "max_central_epsilon",
    "central_delta",
    "central_records",
)
"""The names of the fields of a study's budget."""


class StudyStep(Message):
    """A next step of a study: the action, its actor, and its command, if there is one.

    `owners` are the owners whose custodians must act.
    """

    who: Literal["operator", "operator or custodian", "custodian", "analyst"]
    owners: list[Name] = Field(default_factory=list)
    what: str
    command: str | None = None

    @property
    def heading(self) -> str:
        """The actor and the action as text."""
        owners = f" of {', '.join(self.owners)}" if self.owners else ""
        return f"Next, the {self.who}{owners}: {self.what}"

    @property
    def line(self) -> str:
        """The step and its command in one line."""
        return f"{self.heading}." if self.command is None else f"{self.heading}: {self.command}"


class Study(StudyCreate):
    """A study: the scope of owners, releases, jobs and models.

    `awaited` owners are invited and have not joined; `next` lists the next steps and who takes
    them. Owners do not see steps that depend on jobs.
    """

    created: datetime
    awaited: list[Name] = Field(default_factory=list)
    next: list[StudyStep] = Field(default_factory=list)


class TokenCreate(Message):
    """A token for an analyst or a gateway; `valid_days` is by default set by the service."""

    name: Name
    role: Literal["analyst", "gateway"] = "analyst"
    valid_days: ValidDays | None = None


class TokenIssued(Message):
    """A bearer token, shown only once. Only tokens of admins and monitors have no study."""

    id: str
    role: Role
    study: Name | None
    name: Name
    token: str
    expires: datetime | None = None


class TokenInfo(Message):
    """What the miner stores about a token; it updates `last_used` at most once a minute."""

    id: str
    role: Role
    study: Name | None
    name: Name
    created: datetime
    revoked: bool
    expires: datetime | None = None
    last_used: datetime | None = None


class TokenEnding(Message):
    """A token that expires soon."""

    study: Name | None
    role: Role
    name: Name
    expires: datetime


class InvitationCreate(Message):
    """An invitation for one owner to join a study; the owner's token is valid for `valid_days`."""

    owner: Name
    valid_hours: Annotated[int, Field(ge=1, le=24 * 90)] = 24 * 7
    valid_days: ValidDays | None = None


class Invitation(Message):
    """An invitation; only the response that creates it has the `secret`."""

    id: str
    study: Name
    owner: Name
    expires: datetime
    accepted: bool
    secret: str | None = None


class InvitationAccept(Message):
    """An owner accepts an invitation and receives a token."""

    secret: Annotated[str, StringConstraints(min_length=16, max_length=256)]


class InvitationFile(Message):
    """A file for an invited owner: the miner's address, the owner's name there, and the secret."""

    miner: Annotated[str, StringConstraints(min_length=1, max_length=2048)]
    study: Name
    owner: Name
    secret: Annotated[str, StringConstraints(min_length=16, max_length=256)]
    expires: datetime


class AccessFile(Message):
    """A file for an analyst: the miner's address, the study, and the token."""

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
