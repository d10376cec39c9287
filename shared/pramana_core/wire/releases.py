"""Releases, their parts, how the records of several owners align, and whether a linkage fits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from pramana_core.errors import LinkageDiffers
from pramana_core.wire.base import (
    KEY_COLUMN,
    MAX_PARTS,
    MAX_RECORDS,
    Label,
    Message,
    Name,
    People,
    Sha256,
    holding,
)
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.privacy import DrawIds, require_one_each
from pramana_core.wire.release_kinds import (
    KINDS,
    RANDOMIZED,
    MaskedTableMessage,
    ReleaseKind,
    ReleaseKindName,
    SharedTreeMessage,
)


class PartManifest(Message):
    """What one part will hold: announced before any part is sent."""

    number: Annotated[int, Field(ge=0, lt=MAX_PARTS)]
    records: Annotated[int, Field(ge=1)]
    bytes: Annotated[int, Field(ge=1)]
    sha256: Sha256


class ReleaseBody(Message):
    """What a message on a release says of its kind, and what the release holds.

    Of the contents there is the one of the kind: a `plan` of randomized records, the `table` of
    masked ones, or a shared tree, `model`.
    """

    kind: ReleaseKindName = RANDOMIZED
    plan: PlanMessage | None = None
    table: MaskedTableMessage | None = None
    model: SharedTreeMessage | None = None

    @model_validator(mode="after")
    def _of_one_kind(self) -> ReleaseBody:
        for kind in KINDS.values():
            there = getattr(self, kind.field) is not None
            if there != (kind.name == self.kind):
                raise ValueError(
                    f"a release of kind {self.kind} has a {self.release_kind.field}, and nothing of"
                    " another kind"
                )
        return self

    @property
    def release_kind(self) -> ReleaseKind[Any, Any]:
        """Its kind."""
        return KINDS[self.kind]

    @property
    def content(self) -> Any:
        """The message of what it holds."""
        return getattr(self, self.release_kind.field)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its variables."""
        kind = self.release_kind
        return tuple(kind.columns(kind.read(self.content)))


class ReleaseCreate(ReleaseBody):
    """The manifest of a release; `digest` is that of its content's digest and parts.

    It holds a `plan` or, of the kind `masked-records`, a `table`, or, of the kind
    `knowledge-model`, a `model`: that has neither records nor parts. `draws` has, per block of the
    plan, an opaque identity of the block's draws: equal in two releases of an owner exactly if
    every record's draw is the same, so that the second tells nothing new. Without it every release
    counts as drawn anew. `linkage` is the fingerprint of the secret that made its pseudonyms,
    HMAC-SHA-256(linkage secret, "pramana/linkage-fingerprint/1" || 0 || study): equal in releases
    of one study exactly if one person has one pseudonym in them. Nothing is concluded where it is
    not there. `keyed_draws` has, per block, an opaque identity of the key and the epoch that its
    draws are made by: equal in two releases of an owner exactly if a record of both has the same
    report in them, unless its value was changed. Unlike `draws` it is not another one where records
    were added or removed; reports are compared by it. `builds_on` are the digests of all releases
    to the study that the owner's ledger knows of, under whatever name the owner had: an
    announcement is refused if the miner has another of this owner, or one by the same keyed draws.
    """

    name: Name
    records: Annotated[int, Field(ge=0, le=MAX_RECORDS)] = 0
    parts: Annotated[list[PartManifest], Field(max_length=MAX_PARTS, default_factory=list)]
    digest: Sha256
    draws: DrawIds | None = None
    linkage: Sha256 | None = None
    keyed_draws: DrawIds | None = None
    builds_on: Annotated[list[Sha256], Field(max_length=MAX_PARTS)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> ReleaseCreate:
        kind = self.release_kind
        if kind.has_records and not (self.parts and self.records):
            raise ValueError(f"a release of kind {kind.name} must have records and parts")
        if not kind.has_records and (self.parts or self.records):
            raise ValueError(f"a release of kind {kind.name} has neither records nor parts")
        if not kind.has_records and self.linkage is not None:
            raise ValueError(f"a release of kind {kind.name} has no pseudonyms, and so no linkage")
        if [part.number for part in self.parts] != list(range(len(self.parts))):
            raise ValueError("the parts must be numbered 0, 1, 2, ... in order")
        if sum(part.records for part in self.parts) != self.records:
            raise ValueError("the records of the parts do not add up to the records announced")
        if KEY_COLUMN in kind.names(self.content):
            raise ValueError(f"no variable may be called {KEY_COLUMN}")
        if self.plan is not None:
            require_one_each(self.plan, self.draws)
            require_one_each(self.plan, self.keyed_draws)
        elif self.draws is not None or self.keyed_draws is not None:
            raise ValueError("there are draws, and no plan by which records were drawn")
        return self

    # A return type would stand in the API's document in place of the fields.
    @model_serializer(mode="wrap")
    def _of_its_kind(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Leave out what is not there, and the kind where it is that of randomized records."""
        written: dict[str, Any] = write(self)
        first = {"name": written.pop("name")} if "name" in written else {}
        if self.kind == RANDOMIZED:
            written.pop("kind", None)
        for name in ("linkage", "keyed_draws", "builds_on"):
            if getattr(self, name) is None:
                written.pop(name, None)
        absent = [kind.field for kind in KINDS.values() if kind.name != self.kind]
        return first | {key: value for key, value in written.items() if key not in absent}


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


class RepeatedReports(Message):
    """A release's reports of a block beside those of earlier releases of the owner by the same
    draws, which report a record the same unless its value was changed.

    `compared` is the number of those releases. `records` of this release are in one of them, too;
    `changed` of these are reported differently in one of `releases` (by id). `anew` says that some
    record's report is in none of them: the study's sums count the block as drawn anew.
    """

    variables: list[Label]
    compared: int
    records: int
    changed: int
    releases: list[str]
    anew: bool


class Release(ReleaseBody):
    """A release as the miner has it: what its kind holds, and the digest of that.

    `consistency` and `repeated` are found when it is sealed; `repeated` lists the randomized blocks
    whose draws an earlier release names, too. `linkage` is the fingerprint of its linkage secret,
    as it was announced: for its owner only.
    """

    id: str
    study: Name
    owner: Name
    name: Name
    state: ReleaseState
    plan_digest: Sha256 | None = None
    table_digest: Sha256 | None = None
    model_digest: Sha256 | None = None
    records: int
    parts: int
    parts_received: list[int]
    digest: Sha256
    created: datetime
    sealed: datetime | None
    consistency: Consistency | None = None
    linkage: Sha256 | None = None
    repeated: list[RepeatedReports] | None = None

    @property
    def content_digest(self) -> str:
        """The digest of what it holds."""
        return str(getattr(self, self.release_kind.digest_field))

    # A return type would stand in the API's document in place of the fields.
    @model_serializer(mode="wrap")
    def _of_its_kind(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Leave out what only other kinds have."""
        written: dict[str, Any] = write(self)
        others = [kind for kind in KINDS.values() if kind.name != self.kind]
        absent = {key for kind in others for key in (kind.field, kind.digest_field)}
        return {key: value for key, value in written.items() if key not in absent}


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


class SameReleases(Message):
    """Two owners' releases that are the same, or nearly so.

    `same` of `of` records, the larger release's, have the same pseudonym and the same values in all
    columns. Of shared trees, which have no records and are the same in all, both are 0.
    """

    owners: list[Name]
    releases: list[str]
    same: int
    of: int

    @property
    def told(self) -> str:
        """Say what is the same, and what follows."""
        owners = " and ".join(self.owners)
        if not self.of:
            what = "their shared trees are equal in all"
        else:
            what = (
                f"{self.same:,} of {self.of:,} records have the same pseudonym and the same values"
                " in all columns"
            )
        return (
            f"Owners {owners} sent the same release: {what}. Its people would count twice; one of"
            " the owners withdraws it, or asks what was published under its name."
        )


SecretsState = Literal["same", "different", "unknown"]
"""Whether releases were made under one linkage secret, as far as their fingerprints say."""

AlignmentState = Literal["waiting", "identical", "partial", "disjoint", "mismatch", "no-records"]


class Alignment(Message):
    """Which records are found at which owners: a checked fact, from sealed releases of one kind.

    `identical`: all owners reported the same set of records. `partial`: only `in_all` of
    `in_any`. `disjoint`: no record is at every owner. `waiting`: no such release is sealed
    yet, or an owner that joined has none in use, of whatever kind (`missing`). `no-records`: all
    releases in use are shared trees, of which no records can align.

    `secrets` says whether the releases were made under one linkage secret, by their fingerprints.
    Where they are `different`, one person has different pseudonyms, and that none is in common
    says nothing of people; `secret_groups` are then the owners who share one. `unknown`: a release
    has no fingerprint.

    `same` are the pairs of releases that two owners sent alike; no owner is shown any.

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
    secrets: SecretsState = "unknown"
    secret_groups: list[list[Name]] = Field(default_factory=list)
    same: list[SameReleases] = Field(default_factory=list)


def secrets_differ(groups: Iterable[Iterable[str]]) -> str:
    """Say that linkage secrets differ, and which owners have which."""
    each = "; another at ".join(", ".join(owners) for owners in groups)
    return f"The linkage secrets of the owners differ: one at {each}."


def release_digest(content_digest: str, parts: list[PartManifest]) -> str:
    """Return the identity of a release: that of what it holds, and its parts in order."""
    lines = [content_digest, *(f"{p.number}:{p.records}:{p.bytes}:{p.sha256}" for p in parts)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class LinkageQuestion(Message):
    """A linkage secret, by its `fingerprint`: as `linkage` of a release.

    It is asked for in the body of a request: addresses are written down on the way.
    """

    fingerprint: Sha256


class LinkageCheck(Message):
    """What the miner says of an owner's linkage secret, by its fingerprint, and of the study.

    `secrets` compares it with the newest releases of the other active owners, or with what they
    asked about before they released; `others` have `different` ones, and `unknown` says that one
    has no fingerprint, or that there is none yet. A release is `refused` where the study's owners
    may hold the same people and the secret of another release differs.
    """

    study: Name
    people: People
    secrets: SecretsState
    others: list[Name]
    refused: bool

    @property
    def difference(self) -> LinkageDiffers | None:
        """Why records under this secret cannot be joined with those of others; None if they can."""
        if not self.others or self.people == "different":
            return None
        return linkage_differs(self.study, self.people, self.others)

    def require_accepted(self) -> None:
        """Check that a release under this secret is taken. Raises LinkageDiffers."""
        if self.refused and (difference := self.difference) is not None:
            raise difference


def linkage_differs(study: str, people: People, others: list[str]) -> LinkageDiffers:
    """Return the error of a release under another linkage secret than that of other owners."""
    each = ", ".join(others)
    return LinkageDiffers(
        f"The linkage secret here differs from that of {each}, and study {study} says that"
        f" its owners {holding(people)}: one person would have other pseudonyms here, so"
        " that nothing could be joined, and the release would tell of the same people once more."
        " Nothing was sent.",
        where="linkage",
        remedy=f"Compare `owner-agent keys show` with {each}. If theirs is the one agreed on, take"
        " keys/linkage.key out of the state directory, and `owner-agent keys import linkage FILE`"
        " with theirs. If this one is, let them withdraw their releases, import it and publish"
        " again: that costs privacy a second time. If the owners hold different people, let whoever"
        f" runs the study say so with `miner-service study people {study} different`.",
    )
