"""Releases, their parts, and how the records of several owners align."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from shared.wire.base import KEY_COLUMN, MAX_PARTS, MAX_RECORDS, Label, Message, Name, Sha256
from shared.wire.plans import PlanMessage
from shared.wire.privacy import DrawIds, require_one_each


class PartManifest(Message):
    """What one part will hold: announced before any part is sent."""

    number: Annotated[int, Field(ge=0, lt=MAX_PARTS)]
    records: Annotated[int, Field(ge=1)]
    bytes: Annotated[int, Field(ge=1)]
    sha256: Sha256


class ReleaseCreate(Message):
    """The manifest of a release; `digest` is `release_digest(plan.digest, parts)`.

    `draws` has, per block of the plan, an opaque identity of the block's draws: equal in two
    releases of an owner exactly if every record's draw is the same, so that the second tells
    nothing new. Without it every release counts as drawn anew.
    """

    name: Name
    plan: PlanMessage
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)]
    parts: Annotated[list[PartManifest], Field(min_length=1, max_length=MAX_PARTS)]
    digest: Sha256
    draws: DrawIds | None = None

    @model_validator(mode="after")
    def _consistent(self) -> ReleaseCreate:
        if [part.number for part in self.parts] != list(range(len(self.parts))):
            raise ValueError("the parts must be numbered 0, 1, 2, ... in order")
        if sum(part.records for part in self.parts) != self.records:
            raise ValueError("the records of the parts do not add up to the records announced")
        names = [variable.name for block in self.plan.blocks for variable in block.variables]
        if KEY_COLUMN in names:
            raise ValueError(f"no variable may be called {KEY_COLUMN}")
        require_one_each(self.plan, self.draws)
        return self


ReleaseState = Literal["open", "sealed", "withdrawn"]


class Consistency(Message):
    """Whether a release's reports can have come from the channels of its plan.

    `p_value` bounds the probability that reports made as the plan says give so much evidence
    against it; `inconsistent` is a release where that is 0.001 or less. `variables` are those of
    the table that speaks most against the plan; `tables` were examined, `left_out` not, because
    they are too large or too many. What was `not-examined` has no p-value; `reason` says why.
    """

    state: Literal["consistent", "inconsistent", "not-examined"]
    p_value: Annotated[float, Field(ge=0, le=1)] | None
    variables: list[Label]
    tables: int
    left_out: int
    reason: str | None


class Release(Message):
    """A release as the miner has it.

    `consistency` is found when it is sealed; releases sealed by earlier versions have none.
    """

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
    consistency: Consistency | None = None


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


def release_digest(plan_digest: str, parts: list[PartManifest]) -> str:
    """Return the identity of a release's content: plan and parts in order."""
    lines = [plan_digest, *(f"{p.number}:{p.records}:{p.bytes}:{p.sha256}" for p in parts)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
