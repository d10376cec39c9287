"""Releases, their parts, the alignment of owners' records, and checks of linkage secrets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

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
    """The manifest's entry for a part; the manifest is sent before any part."""

    number: Annotated[int, Field(ge=0, lt=MAX_PARTS)]
    records: Annotated[int, Field(ge=1)]
    bytes: Annotated[int, Field(ge=1)]
    sha256: Sha256


class ReleaseBody(Message):
    """The kind of a release and its content, under the key of the kind.

    The content is the `plan` of randomized records, the `table` of masked records, or a shared
    tree, `model`. `groups` are the groups of categories that the owner states for some variables of
    a plan, by the variable's name; see the `groups` of a contingency table. Groups are public, as
    categories are.
    """

    kind: ReleaseKindName = RANDOMIZED
    plan: PlanMessage | None = None
    table: MaskedTableMessage | None = None
    model: SharedTreeMessage | None = None
    groups: dict[Label, dict[str, JsonValue]] | None = None

    @model_validator(mode="after")
    def _of_one_kind(self) -> ReleaseBody:
        if self.groups is not None and self.plan is None:
            raise ValueError("`groups` need a plan")
        for kind in KINDS.values():
            there = getattr(self, kind.field) is not None
            if there != (kind.name == self.kind):
                raise ValueError(
                    f"a release of kind {self.kind} must have a {self.release_kind.field} and no"
                    " content of another kind"
                )
        return self

    @property
    def release_kind(self) -> ReleaseKind[Any, Any]:
        """The kind of the release."""
        return KINDS[self.kind]

    @property
    def content(self) -> Any:
        """The message with the release's content."""
        return getattr(self, self.release_kind.field)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the release's variables."""
        kind = self.release_kind
        return tuple(kind.columns(kind.read(self.content)))


class ReleaseCreate(ReleaseBody):
    """The manifest of a release. `digest` covers the digests of its content and parts.

    A `model` has neither records nor parts. `draws` has an opaque identifier of each block's draws.
    Two releases of an owner have the same identifier if and only if every record's draw is the
    same; without `draws`, every release counts as drawn again. `keyed_draws` has an opaque
    identifier of the key and epoch of each block's draws. Two releases of an owner have the same
    identifier if and only if a record in both has the same report unless its value was changed. The
    miner uses `keyed_draws` to compare reports. `linkage` is the fingerprint of the secret of the
    pseudonyms, HMAC-SHA-256(linkage secret, "pramana/linkage-fingerprint/1" || 0 || study).
    `builds_on` are the digests of all releases to the study in the owner's ledger. The miner
    rejects the announcement if it has received a release that is not in this list, by this owner or
    with the same keyed draws.
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
        if kind.has_records != bool(self.parts) or kind.has_records != bool(self.records):
            which = "records and parts" if kind.has_records else "neither records nor parts"
            raise ValueError(f"a release of kind {kind.name} must have {which}")
        if not kind.has_records and self.linkage is not None:
            raise ValueError(f"a release of kind {kind.name} has no pseudonyms, so no `linkage`")
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
            raise ValueError("`draws` and `keyed_draws` need a plan")
        return self

    # A return type would replace the fields in the OpenAPI document.
    @model_serializer(mode="wrap")
    def _of_its_kind(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Omit null fields. Omit the kind, too, if it is randomized records."""
        written: dict[str, Any] = write(self)
        first = {"name": written.pop("name")} if "name" in written else {}
        absent = {kind.field for kind in KINDS.values() if kind.name != self.kind}
        absent |= {
            n for n in ("linkage", "keyed_draws", "builds_on", "groups") if getattr(self, n) is None
        }
        absent |= {"kind"} if self.kind == RANDOMIZED else set()
        return first | {key: value for key, value in written.items() if key not in absent}


ReleaseState = Literal["open", "sealed", "withdrawn"]


class Consistency(Message):
    """The result of a test of whether a release's reports can come from the channels of its plan.

    `p_value` is an upper bound on the probability that honest reports give this much evidence
    against the plan; `inconsistent` means 0.001 or less. `variables` are the variables of the table
    with the most evidence. `tables` counts the examined tables, and `left_out` the tables that are
    too large or too many to examine. A `not-examined` release has no p-value, for a `reason` given.
    """

    state: Literal["consistent", "inconsistent", "not-examined"]
    p_value: Annotated[float, Field(ge=0, le=1)] | None
    variables: list[Label]
    tables: int
    left_out: int
    reason: str | None


class RepeatedReports(Message):
    """A comparison of a block's reports with the owner's earlier releases that used the same draws.

    `compared` is the count of those releases. `records` counts the records of this release that are
    also in one of them, and `changed` those that one of the `releases` (ids) reports differently.
    If `anew` is true, some record differs from all its earlier reports, and the study's sums count
    the block as drawn again.
    """

    variables: list[Label]
    compared: int
    records: int
    changed: int
    releases: list[str]
    anew: bool


class Release(ReleaseBody):
    """A release at the miner, with the digest of its content.

    Sealing adds `consistency` and `repeated` (the blocks whose draws an earlier release also has).
    `linkage` is the announced fingerprint, for its owner only.
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
        """The digest of the release's content."""
        return str(getattr(self, self.release_kind.digest_field))

    # A return type would replace the fields in the OpenAPI document.
    @model_serializer(mode="wrap")
    def _of_its_kind(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Omit the fields of other kinds, and empty groups."""
        written: dict[str, Any] = write(self)
        others = [kind for kind in KINDS.values() if kind.name != self.kind]
        absent = {key for kind in others for key in (kind.field, kind.digest_field)}
        absent |= set() if self.groups else {"groups"}
        return {key: value for key, value in written.items() if key not in absent}


class PartReceipt(Message):
    """The receipt for a durably stored part."""

    release: str
    number: int
    sha256: Sha256
    records: int


class AlignedOwner(Message):
    """The records of one owner in an alignment; `Alignment` says when `not_everywhere` is null."""

    owner: Name
    release: str
    records: int
    keys_digest: Sha256
    not_everywhere: int | None


class SameReleases(Message):
    """The releases of two owners that are identical or nearly so.

    `same` of `of` records (the count of the larger release) have the same pseudonym and the same
    values in all columns. For shared trees, which have no records, both counts are 0.
    """

    owners: list[Name]
    releases: list[str]
    same: int
    of: int

    @property
    def told(self) -> str:
        """Return a sentence on the equal records or trees, and on what follows from this."""
        equal = f"{self.same:,} of {self.of:,} records are" if self.of else "the trees are"
        return (
            f"Owners {' and '.join(self.owners)} sent the same release: {equal} equal. Its people"
            " would count twice; one of the owners must withdraw it."
        )


SecretsState = Literal["same", "different", "unknown"]
"""Whether releases used one linkage secret, according to their fingerprints."""

AlignmentState = Literal["waiting", "identical", "partial", "disjoint", "mismatch", "no-records"]


class Alignment(Message):
    """The distribution of records over owners: a checked fact from sealed releases of one kind.

    `identical`: all owners reported the same set of records. `partial`: only `in_all` of the
    `in_any` records are at every owner. `disjoint`: no record is at every owner. `waiting`: an
    active owner has no release in use (`missing`), or no owner has one. `no-records`: all releases
    in use are shared trees.

    `secrets` compares the fingerprints of the releases' linkage secrets; it is `unknown` if a
    release has no fingerprint. With `different` secrets, one person has different pseudonyms, so
    records cannot be compared; each of `secret_groups` then lists the owners who share a secret.
    `same` are the pairs of owners with equal releases; owners do not see them.

    An owner sees only its own row. It sees `mismatch` instead of `partial` or `disjoint`, and
    counts only if the state is `identical`. Otherwise it could publish the record of one person to
    learn whether another owner has a record of that person.
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
    """Return a sentence on the different linkage secrets, which lists the owners of each secret."""
    each = "; another at ".join(", ".join(owners) for owners in groups)
    return f"The linkage secrets of the owners differ: one at {each}."


def release_digest(content_digest: str, parts: list[PartManifest]) -> str:
    """Return the identity of a release: a digest of its content and its parts in order."""
    lines = [content_digest, *(f"{p.number}:{p.records}:{p.bytes}:{p.sha256}" for p in parts)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class LinkageQuestion(Message):
    """The `fingerprint` of a linkage secret, in a body because intermediaries log addresses."""

    fingerprint: Sha256


class LinkageCheck(Message):
    """A comparison of an owner's linkage secret with those of the study's other active owners.

    The other owners' secrets are known from their newest releases or their earlier checks; `others`
    lists the owners whose secret differs. If `refused` is true, the miner would reject a release:
    the owners may have the same people, and their secrets differ.
    """

    study: Name
    people: People
    secrets: SecretsState
    others: list[Name]
    refused: bool

    @property
    def difference(self) -> LinkageDiffers | None:
        """The error if other owners have another secret, or None; None for different people."""
        if not self.others or self.people == "different":
            return None
        return linkage_differs(self.study, self.people, self.others)

    def require_accepted(self) -> None:
        """Check that the miner would accept a release under this secret. Raises LinkageDiffers."""
        if self.refused and (difference := self.difference) is not None:
            raise difference


def linkage_differs(study: str, people: People, others: list[str]) -> LinkageDiffers:
    """Return the error for a release whose linkage secret differs from other owners' secrets."""
    each = ", ".join(others)
    return LinkageDiffers(
        f"The linkage secret here differs from the secret of {each}, and the owners of study"
        f" {study} {holding(people)}: a person would have two pseudonyms. Nothing was sent.",
        where="linkage",
        remedy=f"Compare `owner-agent keys show` with {each}. If their secret is the agreed one,"
        " move keys/linkage.key out of the state directory and run"
        " `owner-agent keys import linkage FILE` with their file. If your secret is the agreed"
        " one, they must withdraw their releases, import your secret and publish again, which costs"
        " privacy a second time. If the owners have different people, let the operator run"
        f" `miner-service study people {study} different`.",
    )
