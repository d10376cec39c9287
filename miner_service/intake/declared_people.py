"""The study's declaration of whether owners have the same people, compared with the releases.

An owner's view never depends on matching pseudonyms. Otherwise the owner could publish one person's
record and learn whether another owner has that person.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from miner_service.alignment.align import LinkageSecrets
from miner_service.services import Services, source_of
from miner_service.store.people import study_message
from miner_service.store.releases import announced_releases, kind_of_release, linkages_now
from miner_service.store.schema import ReleaseRow, StudyRow
from pramana_core.wire.base import People
from pramana_core.wire.release_kinds import KINDS, MASKED, RANDOMIZED
from pramana_core.wire.releases import secrets_differ


@dataclass(frozen=True)
class PeopleDeclaration:
    """A study's declaration, with warnings. If `disjoint`, losses at several owners do not add."""

    people: People
    disjoint: bool
    warnings: tuple[str, ...]


def declared(
    services: Services, session: Session, study: StudyRow, *, shown_to_owner: bool
) -> PeopleDeclaration:
    """Return a study's declaration, with warnings about releases that contradict it."""
    people = study_message(study).people
    if people == "different":
        found = PeopleDeclaration(people, disjoint=True, warnings=())
        if not shown_to_owner:
            found = _check_different(services, session, study.name)
    else:
        secrets = LinkageSecrets.of(linkages_now(session, study.name).items())
        warnings: tuple[str, ...] = ()
        if secrets.state == "different":
            warnings = (_secrets_warning(secrets),)
        elif people == "same" and not shown_to_owner:
            warnings = _warn_of_missing(services, session, study.name)
        found = PeopleDeclaration(people, disjoint=False, warnings=warnings)
    if shown_to_owner:
        return found
    copies = (
        one.told for kind in KINDS.values() for one in services.same(session, study.name, kind.name)
    )
    return replace(found, warnings=(*copies, *found.warnings))


def _check_different(services: Services, session: Session, study: str) -> PeopleDeclaration:
    """Search all released records for evidence that a person is at two owners."""
    there: dict[str, list[ReleaseRow]] = {}
    unseen = dict[str, None]()
    for row, arrived in announced_releases(session, study):
        if arrived and row.state == "sealed" and kind_of_release(row).has_records:
            there.setdefault(row.owner, []).append(row)
        elif arrived:
            unseen[row.owner] = None
    sources = [[source_of(row) for row in rows] for rows in there.values()]
    if len(sources) > 1 and not services.aligner.different_people(sources):
        return PeopleDeclaration("different", disjoint=False, warnings=(_MET,))
    why = None
    if len({*there, *unseen}) > 1:
        why = _why_unchecked(
            LinkageSecrets.of((s.owner, s.linkage) for each in sources for s in each), unseen
        )
    doubt = () if why is None else (f"{_DIFFERENT} This could not be checked: {why}",)
    return PeopleDeclaration("different", disjoint=True, warnings=doubt)


def _why_unchecked(secrets: LinkageSecrets, unseen: Iterable[str]) -> str | None:
    """Return why one person may have different pseudonyms; None if that is impossible."""
    if secrets.state == "different":
        return f"{secrets_differ(secrets.groups)} A person has a different pseudonym under each."
    if names := ", ".join({**dict.fromkeys(unseen), **dict.fromkeys(secrets.unstated)}):
        return f"records of {names} are missing or have no linkage fingerprint."
    return None


def _warn_of_missing(services: Services, session: Session, study: str) -> tuple[str, ...]:
    """Return a warning if owners of the same people do not have the same records."""
    for kind in (RANDOMIZED, MASKED):
        found = services.alignment(session, study, kind)
        disjoint = found.state == "disjoint" and found.secrets == "same"
        if disjoint or found.state == "partial":
            sentence = f"of {found.in_any} records at any owner {found.in_all} are at every owner"
            return (
                f"The study declares the same people at all owners, but {sentence}. {_CORRECT}",
            )
    return ()


def _secrets_warning(secrets: LinkageSecrets) -> str:
    return (
        f"{secrets_differ(secrets.groups)} A person has a different pseudonym under each secret, so"
        " records cannot be joined, and different pseudonyms do not imply different people. The"
        " owners' disclosures are added, as for the same people. Owners without the agreed secret"
        " should withdraw their releases, import the secret and publish again."
    )


_CORRECT = "`miner-service study people` corrects the declaration."

_DIFFERENT = "The study declares that its owners have different people."

_MET = (
    f"{_DIFFERENT} But records of several owners have the same pseudonym: some people are at more"
    " than one owner, or different people have the same record id. The disclosure about a record"
    f" is therefore the sum over owners. {_CORRECT}"
)
