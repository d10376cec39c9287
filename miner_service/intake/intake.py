"""Receiving a release: its manifest, then its parts, then the seal. Every step can be repeated."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from miner_service.intake.admission import require_one_secret, require_within_quota
from miner_service.intake.agreement import require_followed
from miner_service.intake.examining import Repetitions, compared, examined, require_known
from miner_service.intake.receiving import decode, require_open
from miner_service.intake.study_privacy import require_within_budget
from miner_service.intake.withdrawing import closing
from miner_service.services import Services
from miner_service.settings import Limits
from miner_service.store.columns import SealedFile, build_columns
from miner_service.store.releases import (
    anything_arrived,
    content_of,
    create_release,
    find_release,
    kind_of_release,
    mark_sealed,
    parts_of_release,
    release_message,
)
from pramana_core.alike import first_few
from pramana_core.errors import Conflict, NotFound, NotReady, PlanError, require_at_most
from pramana_core.marginals.levels import require_groups
from pramana_core.wire.release_kinds import ReleaseKind
from pramana_core.wire.releases import Consistency, Release, ReleaseCreate, release_digest

log = logging.getLogger(__name__)

_NAMED = 10


def announce(
    services: Services, study: str, owner: str, body: ReleaseCreate
) -> tuple[Release, bool]:
    """Open a release, or find the identical one. Return its message and whether it is new.

    Raises LimitExceeded, PlanError, ChannelError, DomainError, ModelError, Conflict,
    StudyPlanNotFollowed, HistoryLost, LinkageDiffers, BudgetExceeded.
    """
    limits = services.settings.limits
    _require_small(limits, body)
    kind = body.release_kind
    content = checked_content(limits, kind, body.content)
    for variable, groups in (body.groups or {}).items():
        require_groups(groups, content.domain[variable].categories)
    if kind.has_records:
        columns = body.records * kind.schema_of(content).row_bytes
        _require_few({"bytes of columns": (columns, limits.release_bytes)})
    if body.digest != release_digest(content.digest, body.parts):
        raise PlanError(
            f"The digest of the release does not match its {kind.field} and parts.",
            where="digest",
            remedy=f"Compute it from the digest of the {kind.field}'s canonical JSON and the parts"
            " in order.",
        )
    with services.database.write() as session:
        row, new = create_release(
            session, study=study, owner=owner, body=body, content=content, now=services.now()
        )
        if new:
            require_within_quota(session, services.settings.quotas, study, owner)
            require_known(session, row, body.builds_on)
        if row.state == "open":
            require_followed(session, study, owner, kind, content)
            if new or not anything_arrived(session, row):
                require_one_secret(session, study, owner, row.linkage)
                require_within_budget(session, row)
        return release_message(session, row), new


def seal(services: Services, release: str) -> Release:
    """Seal a release; repeating this is harmless. Raises Conflict, StoreCorrupt, PartInvalid."""
    # The lock is per release: sealing and withdrawing both remove parts that another seal would
    # read. Other releases need not wait, although a check may take minutes.
    with services.database.exclusive(closing(release)):
        return _seal(services, release)


def _seal(services: Services, release: str) -> Release:
    with services.database.read() as session:
        row = find_release(session, release)
        parts = parts_of_release(session, release)
        if row.state == "sealed":
            return release_message(session, row)
    require_open(row.id, row.state)
    _require_complete(release, [part.number for part in parts if part.received is None])
    kind, content = kind_of_release(row), content_of(row)
    if not kind.has_records:
        found = examined(release, kind, content, lambda _: {})
        return _commit_seal(services, release, None, _NOTHING, found)
    schema = kind.schema_of(content)
    scratch = services.segments.scratch_path()
    with services.building:
        bodies = ((services.segments.read_part(release, p.number, p.sha256), p) for p in parts)
        decoded = (decode(schema, body, str(part.media)) for body, part in bodies)
        built = build_columns(schema, row.records, decoded, scratch=scratch)
    services.segments.put_data(release, scratch)
    found = examined(release, kind, content, lambda names: services.columns(release, names))
    while True:
        repeated = compared(services, release)
        with suppress(_SealedMeanwhile):
            return _commit_seal(services, release, built, repeated, found)


_NOTHING = Repetitions(frozenset(), ())


class _SealedMeanwhile(Exception):
    """Another release that used the same draws was sealed meanwhile and must be compared, too."""


def _commit_seal(
    services: Services,
    release: str,
    built: SealedFile | None,
    repeated: Repetitions,
    found: Consistency,
) -> Release:
    """Mark a release as sealed; `built` is None for a release without records."""
    # Seals commit one at a time, so of any two releases the later one was compared.
    with services.database.write() as session:
        try:
            row = find_release(session, release)
        except NotFound:  # its study was deleted
            services.segments.drop_data(release)
            raise
        if row.state == "sealed":
            return release_message(session, row)
        if row.state == "withdrawn":
            services.segments.drop_data(release)
        require_open(row.id, row.state)
        if not repeated.complete(session, row):
            raise _SealedMeanwhile
        mark_sealed(
            session,
            row,
            keys_digest=None if built is None else built.keys_digest,
            data_sha256=None if built is None else built.sha256,
            consistency=found,
            repeated=repeated.found,
            now=services.now(),
        )
        message = release_message(session, row)
    with suppress(NotReady):  # the release is sealed; the next sweep removes the parts
        services.segments.drop_parts(release)
    return message


def _require_complete(release: str, missing: list[int]) -> None:
    if missing:
        raise Conflict(
            f"Parts {first_few(missing, _NAMED)} of the release are missing.",
            where=release,
            remedy="Send these parts, then seal again.",
        )


def checked_content(limits: Limits, kind: ReleaseKind[Any, Any], message: Any) -> Any:
    """Check and return a release's content. Raises LimitExceeded, PlanError and others."""
    blocks = getattr(message, "blocks", ())
    _require_few(
        {
            "variables": (len(kind.names(message)), limits.variables),
            "categories": (kind.categories(message), limits.categories),
            "subsets": (sum(_subsets(one.channel) for one in blocks), limits.subsets),
        }
    )
    content = kind.read(message)
    kind.require(content)
    plan = kind.plan(content)
    for block in () if plan is None else plan.blocks:
        # A matrix without a closed form is stored whole in memory.
        remedy = "Use a symmetric or sampled channel, or blocks with fewer variables."
        rows, most = block.channel.listed_rows, limits.channel_size
        require_at_most(rows, most, "rows of a matrix", block.name, remedy)
    return content


def _subsets(channel: Any) -> int:
    inner = getattr(channel, "channels", ())
    return len(getattr(channel, "choices", ())) + sum(map(_subsets, inner))


def _require_small(limits: Limits, body: ReleaseCreate) -> None:
    _require_few(
        {
            "parts": (len(body.parts), limits.parts),
            "bytes in one part": (max((p.bytes for p in body.parts), default=0), limits.part_bytes),
            "bytes in all": (sum(p.bytes for p in body.parts), limits.release_bytes),
        }
    )


def _require_few(counted: Mapping[str, tuple[int, int]]) -> None:
    for what, (found, allowed) in counted.items():
        require_at_most(found, allowed, f"{what} of the release", what, "Publish less at once.")
