"""Rows of releases and their parts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from cachetools import LRUCache, cached
from pydantic import TypeAdapter
from sqlalchemy import exists, func, select, update
from sqlalchemy.orm import Session

from miner_service.store.credentials import ID_BYTES, new_id
from miner_service.store.people import no_such
from miner_service.store.schema import OwnerRow, PartRow, ReleaseRow
from pramana_core.errors import Conflict, OptionError
from pramana_core.wire.release_kinds import KINDS, RANDOMIZED, Content, ReleaseKind, ReleaseKindName
from pramana_core.wire.releases import Consistency, Release, ReleaseCreate, RepeatedReports

FoundT = TypeVar("FoundT")


def cached_by_content(
    find: Callable[[ReleaseRow], FoundT], most: int = 256
) -> Callable[[ReleaseRow], FoundT]:
    """Cache the last `most` results of a function that depends only on a release's content."""
    cache: LRUCache[tuple[str, str], FoundT] = LRUCache(most)
    return cached(cache, key=lambda row: (row.kind, row.content_digest), lock=threading.Lock())(
        find
    )


def kind_of_release(row: ReleaseRow) -> ReleaseKind[Any, Any]:
    """Return the kind of a release."""
    return KINDS[row.kind]


def content_of(row: ReleaseRow) -> Any:
    """Return a release's announced content, parsed by its kind."""
    return kind_of_release(row).parse(row.content)


def release_message(session: Session, row: ReleaseRow) -> Release:
    """Return a release as API message."""
    return release_messages(session, [row])[0]


def release_messages(session: Session, rows: Sequence[ReleaseRow]) -> list[Release]:
    """Return releases as API messages, with few queries."""
    arrived = parts_arrived(session, rows)
    return [_message(row, *arrived[row.id]) for row in rows]


def _message(row: ReleaseRow, parts: int, received: list[int]) -> Release:
    kind = kind_of_release(row)
    return Release.model_validate(
        {
            "id": row.id,
            "study": row.study,
            "owner": row.owner,
            "name": row.name,
            "state": row.state,
            "kind": row.kind,
            # A withdrawn model must not stay in a cache, so models are read each time.
            kind.field: _short_message(row)
            if kind.has_records and len(row.content) <= _SHORT
            else _content_message(row),
            kind.digest_field: row.content_digest,
            "records": row.records,
            "parts": parts,
            "parts_received": received,
            "digest": row.digest,
            "created": row.created,
            "sealed": row.sealed,
            "consistency": consistency_of(row),
            "repeated": repeated_of(row),
            "linkage": row.linkage,
            "groups": None if row.groups is None else json.loads(row.groups),
        }
    )


def _content_message(row: ReleaseRow) -> Any:
    return kind_of_release(row).message.model_validate_json(row.content)


_short_message = cached_by_content(_content_message, most=64)
_SHORT = 1 << 17
"""The maximum number of characters of a content whose message is cached."""


def parts_arrived(session: Session, rows: Sequence[ReleaseRow]) -> dict[str, tuple[int, list[int]]]:
    """Return, by release, the count of its parts and the numbers (from 0) of arrived parts."""
    last = select(func.max(PartRow.number)).where(PartRow.release == ReleaseRow.id)
    announced = select(ReleaseRow.id, last.correlate(ReleaseRow).scalar_subquery()).where(
        ReleaseRow.id.in_([row.id for row in rows])
    )
    parts = {
        name: 0 if number is None else number + 1 for name, number in session.execute(announced)
    }
    arrived = {row.id: list(range(parts[row.id])) if row.state == "sealed" else [] for row in rows}
    query = select(PartRow.release, PartRow.number).where(
        PartRow.release.in_([row.id for row in rows if row.state != "sealed"]),
        PartRow.received.is_not(None),
    )
    for name, number in session.execute(query.order_by(PartRow.number)):
        arrived[name].append(number)
    return {row.id: (parts[row.id], arrived[row.id]) for row in rows}


def consistency_of(row: ReleaseRow) -> Consistency | None:
    """Return the consistency check of a release's reports at its seal, or None."""
    return Consistency.model_validate_json(row.consistency) if row.consistency else None


def repeated_of(row: ReleaseRow) -> list[RepeatedReports] | None:
    """Return how a release's reports compared with earlier reports at its seal, or None."""
    return None if row.repeated is None else _REPEATED.validate_json(row.repeated)


_REPEATED = TypeAdapter(list[RepeatedReports])


def inconsistent(rows: Iterable[ReleaseRow]) -> dict[str, float]:
    """Return the ids and p-values of the releases that are inconsistent with their plans."""
    found = ((row.id, consistency_of(row)) for row in rows)
    return {
        name: check.p_value
        for name, check in found
        if check is not None and check.state == "inconsistent" and check.p_value is not None
    }


def find_release(session: Session, identifier: str) -> ReleaseRow:
    """Return the release with this id. Raises NotFound."""
    row = session.scalar(select(ReleaseRow).where(ReleaseRow.id == identifier))
    if row is None:
        raise no_such("release")
    return row


def parts_of_release(session: Session, identifier: str) -> Sequence[PartRow]:
    """Return a release's parts, ordered by number."""
    query = select(PartRow).where(PartRow.release == identifier).order_by(PartRow.number)
    return session.scalars(query).all()


def create_release(
    session: Session,
    *,
    study: str,
    owner: str,
    body: ReleaseCreate,
    content: Content,
    now: datetime,
) -> tuple[ReleaseRow, bool]:
    """Store a manifest or find the identical release; return whether it is new.

    The groups of an existing release are replaced. Raises Conflict.
    """
    query = select(ReleaseRow).where(
        ReleaseRow.study == study, ReleaseRow.owner == owner, ReleaseRow.name == body.name
    )
    row, kind = session.scalar(query), body.release_kind
    draws = None if body.draws is None else json.dumps(body.draws)
    keyed = None if body.keyed_draws is None else json.dumps(body.keyed_draws)
    groups = None if body.groups is None else json.dumps(body.groups)
    if row is not None:
        differs = row.digest != body.digest
        if differs or (row.draws, row.linkage, row.keyed_draws) != (draws, body.linkage, keyed):
            what = (
                "different draws or linkage" if row.digest == body.digest else "different content"
            )
            raise Conflict(
                f"{owner} has a release {body.name} with {what}. That release is unchanged.",
                where="name",
                remedy="Publish this release under another name.",
            )
        row.groups = groups
        return row, False
    of_content = body.name == f"r-{body.digest[: 2 * ID_BYTES]}"
    row = ReleaseRow(
        # The owner's name for the release, if the name is derived from the content.
        id=body.name if of_content and not release_exists(session, body.name) else new_id("r"),
        study=study,
        owner=owner,
        name=body.name,
        state="open",
        kind=body.kind,
        content=content.canonical_json().decode(),
        content_digest=content.digest,
        records=body.records,
        row_bytes=kind.schema_of(content).row_bytes if kind.has_records else 0,
        digest=body.digest,
        draws=draws,
        linkage=body.linkage,
        keyed_draws=keyed,
        groups=groups,
        created=now,
    )
    session.add(row)
    session.flush()
    session.add_all(
        PartRow(release=row.id, number=p.number, records=p.records, bytes=p.bytes, sha256=p.sha256)
        for p in body.parts
    )
    session.flush()
    return row, True


def release_exists(session: Session, identifier: str) -> bool:
    """Return whether a release with this id exists, in any study and any state."""
    found = session.scalar(select(ReleaseRow.id).where(ReleaseRow.id == identifier))
    return found is not None


def anything_arrived(session: Session, row: ReleaseRow) -> bool:
    """Return whether any part of a release arrived. A release without parts counts as arrived."""
    query = select(PartRow.number).where(PartRow.release == row.id, PartRow.received.is_not(None))
    return not kind_of_release(row).has_records or session.scalar(query.limit(1)) is not None


def announced_releases(session: Session, study: str) -> Sequence[tuple[ReleaseRow, bool]]:
    """Return a study's releases, oldest first, each with `anything_arrived`."""
    arrived = exists().where(PartRow.release == ReleaseRow.id, PartRow.received.is_not(None))
    query = select(ReleaseRow, arrived).where(ReleaseRow.study == study).order_by(ReleaseRow.seq)
    return [
        (row, there or not kind_of_release(row).has_records)
        for row, there in session.execute(query)
    ]


def releases_of(session: Session, study: str, owner: str | None = None) -> Sequence[ReleaseRow]:
    """Return the releases of a study, or of one of its owners, oldest first."""
    query = select(ReleaseRow).where(ReleaseRow.study == study)
    if owner is not None:
        query = query.where(ReleaseRow.owner == owner)
    return session.scalars(query.order_by(ReleaseRow.seq)).all()


def linkages_now(session: Session, study: str) -> dict[str, str | None]:
    """Return the linkage fingerprint of each active owner's newest release with records."""
    kinds = [kind.name for kind in KINDS.values() if kind.has_records]
    query = select(ReleaseRow.owner, ReleaseRow.linkage).where(
        ReleaseRow.study == study, ReleaseRow.state != "withdrawn", ReleaseRow.kind.in_(kinds)
    )
    newest = {row.owner: row.linkage for row in session.execute(query.order_by(ReleaseRow.seq))}
    return {owner: newest[owner] for owner in active_owners(session, study) if owner in newest}


def linkages_of_joined(session: Session, study: str) -> dict[str, str]:
    """Return the linkage fingerprints that active owners have checked, by owner."""
    query = select(OwnerRow).where(OwnerRow.study == study, OwnerRow.active.is_(True))
    return {row.name: row.linkage for row in session.scalars(query) if row.linkage is not None}


def note_linkage(session: Session, study: str, owner: str, linkage: str) -> None:
    """Store the fingerprint of an owner's linkage secret, before the owner's first release."""
    named = (OwnerRow.study == study, OwnerRow.name == owner)
    session.execute(update(OwnerRow).where(*named).values(linkage=linkage))


def active_owners(session: Session, study: str) -> Sequence[str]:
    """Return the names of a study's active owners, in the order they joined."""
    query = select(OwnerRow.name).where(OwnerRow.study == study, OwnerRow.active.is_(True))
    return session.scalars(query.order_by(OwnerRow.seq)).all()


def removed_owners(session: Session, study: str) -> Sequence[str]:
    """Return the names of a study's removed owners."""
    query = select(OwnerRow.name).where(OwnerRow.study == study, OwnerRow.active.is_(False))
    return session.scalars(query.order_by(OwnerRow.seq)).all()


def mark_sealed(
    session: Session,
    row: ReleaseRow,
    *,
    keys_digest: str | None,
    data_sha256: str | None,
    consistency: Consistency,
    repeated: Sequence[RepeatedReports],
    now: datetime,
) -> None:
    """Seal a release, which puts it into use for its owner. Digests are None without records."""
    row.state = "sealed"
    row.sealed = now
    row.sealing = (session.scalar(select(func.max(ReleaseRow.sealing))) or 0) + 1
    row.keys_digest = keys_digest
    row.data_sha256 = data_sha256
    row.consistency = consistency.model_dump_json()
    row.repeated = _REPEATED.dump_json(list(repeated)).decode()


def owners_in_use(session: Session, study: str) -> set[str]:
    """Return the owners, active or removed, that have a release of any kind in use."""
    query = select(ReleaseRow.owner, ReleaseRow.kind, ReleaseRow.state).where(
        ReleaseRow.study == study, ReleaseRow.sealing.is_not(None)
    )
    rows = session.execute(query.order_by(ReleaseRow.sealing))
    last = {(owner, kind): state for owner, kind, state in rows}
    return {owner for (owner, _), state in last.items() if state == "sealed"}


def releases_in_use(
    session: Session, study: str, kind: ReleaseKindName = RANDOMIZED
) -> dict[str, ReleaseRow]:
    """Return the last sealed release of this kind by each active owner, unless it was withdrawn."""
    owners = active_owners(session, study)
    query = select(ReleaseRow).where(
        ReleaseRow.study == study, ReleaseRow.kind == kind, ReleaseRow.sealing.is_not(None)
    )
    last = {row.owner: row for row in session.scalars(query.order_by(ReleaseRow.sealing))}
    return {
        owner: last[owner] for owner in owners if owner in last and last[owner].state == "sealed"
    }


def stated_groups(session: Session, study: str, variable: str) -> dict[str, Any] | None:
    """Return the groups of a variable's categories that the releases in use state, or None.

    Raises OptionError: owners state different groups.
    """
    # Imported here: the supervisor of jobs reads rows and needs no numerical library.
    from pramana_core.marginals.levels import canonical, require_groups

    found, forms = dict[str, dict[str, Any]](), set[object]()
    for owner, row in releases_in_use(session, study).items():
        groups = json.loads(row.groups or "{}").get(variable)
        if groups is not None:
            found[owner] = groups
            categories = content_of(row).domain[variable].categories
            forms.add(canonical(require_groups(groups, categories)))
    if len(forms) > 1:
        raise OptionError(
            f"The owners {', '.join(found)} state different groups of the categories of"
            f" {variable!r}.",
            where="groups",
            remedy="Give the groups, or {} for a table without groups.",
        )
    return next(iter(found.values()), None)
