"""Reports of single records: publishing their plan, counting batches, and releasing the counts.

Only the count of each row of codes is stored. Who reported a row, when and in which batch is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
from sqlalchemy import update
from sqlalchemy.orm import Session

from miner_service.intake import withdrawing
from miner_service.intake.agreement import require_followed
from miner_service.intake.intake import checked_content, seal
from miner_service.intake.study_privacy import draws_of_reports, require_within_budget
from miner_service.services import Services
from miner_service.store import report_rows as rows
from miner_service.store.durable import storing
from miner_service.store.owners import deactivate_owner, join
from miner_service.store.people import awaited_owners, no_such
from miner_service.store.releases import (
    create_release,
    find_release,
    release_message,
    releases_in_use,
    releases_of,
)
from miner_service.store.report_rows import CountedCells, find_reports, report_plan_of
from miner_service.store.schema import PartRow, ReportBatchRow, ReportPlanRow
from pramana_core.channels import Coordinated
from pramana_core.errors import Conflict, PlanConflict, PlanError, require_at_most
from pramana_core.plan import Plan
from pramana_core.privacy import record_loss
from pramana_core.wire.base import KEY_BYTES, KEY_COLUMN
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import PART_MEDIA_TYPE, Pseudonyms, RecordSchema, encode_part
from pramana_core.wire.privacy import AmplificationMessage
from pramana_core.wire.release_kinds import KINDS, RANDOMIZED
from pramana_core.wire.releases import PartManifest, Release, ReleaseCreate, release_digest
from pramana_core.wire.reports import (
    BatchReceipt,
    CellFormat,
    PublishedPlan,
    ReportBatch,
    ReportCounts,
    ReportPlanCreate,
    ReportsState,
    batch_digest,
    batch_key,
)


def publish(services: Services, study: str, body: ReportPlanCreate) -> tuple[PublishedPlan, bool]:
    """Publish the plan for single records, or find the identical one. Return whether it is new.

    Raises LimitExceeded, PlanError, ChannelError, DomainError, Conflict, StudyPlanNotFollowed,
    BudgetExceeded.
    """
    plan = _check_plan(services, body)
    with services.database.write() as session:
        row = session.get(ReportPlanRow, study)
        if row is not None:
            if (row.digest, row.owner) != (plan.digest, body.owner):
                raise Conflict(
                    f"Study {study} already has a plan for single records ({row.digest[:12]}... of"
                    f" {row.owner}). That plan is unchanged.",
                    where=study,
                    remedy="People who reported under one plan must not report under another. Use"
                    " a new study for the new plan.",
                )
            return PublishedPlan.of(study, row.owner, _state(row), plan), False
        if body.owner in awaited_owners(session, study, services.now()) or releases_of(
            session, study, body.owner
        ):
            raise Conflict(
                f"{body.owner} is, or was, an owner of study {study}, or is invited to it.",
                where="owner",
                remedy="Choose another name for the reports of single records.",
            )
        require_followed(session, study, body.owner, KINDS[RANDOMIZED], plan)
        row = rows.store_report_plan(session, study, body.owner, plan, services.now())
        require_within_budget(session, row)
        join(session, study, body.owner, services.now())
    return PublishedPlan.of(study, body.owner, "open", plan), True


def _check_plan(services: Services, body: ReportPlanCreate) -> Plan:
    plan: Plan = checked_content(services.settings.limits, KINDS[RANDOMIZED], body.plan)
    if any(isinstance(block.channel, Coordinated) for block in plan.blocks):
        raise PlanError(
            "The plan is part of a study plan, whose coin single records do not have.",
            where="plan",
            remedy="Publish a plan that samples its blocks independently for each record.",
        )
    if KEY_COLUMN in plan.domain.names:
        raise PlanError(f"The variable name {KEY_COLUMN} is reserved.", where="plan")
    remedy = "Publish fewer variables, or a channel with fewer codes."
    width = CellFormat.of(plan).width
    require_at_most(width, rows.CELL_BYTES, "bytes of a report", "plan", remedy)
    return plan


def published(session: Session, study: str) -> PublishedPlan:
    """Return a study's plan for single records. Raises NotFound."""
    row = find_reports(session, study)
    return PublishedPlan.of(study, row.owner, _state(row), report_plan_of(row))


def count(
    services: Services, study: str, gateway: str, body: ReportBatch
) -> tuple[BatchReceipt, bool]:
    """Count a batch, or find its receipt. Return the receipt and whether the batch is new.

    Raises NotFound, PlanConflict, LimitExceeded, InputError, Conflict.
    """
    most = services.settings.limits.batch_reports
    remedy = "Split the reports into several batches with different names."
    require_at_most(len(body.reports), most, "reports in the batch", "reports", remedy)
    with services.database.read() as session:
        plan = report_plan_of(find_reports(session, study))
    if body.plan_digest != plan.digest:
        raise PlanConflict(
            f"The reports use the plan {body.plan_digest[:12]}..., but the study's plan is"
            f" {plan.digest[:12]}.... Nothing was counted.",
            where="plan_digest",
            remedy=f"Send reports under the plan at /v1/studies/{study}/reports/plan.",
        )
    form = CellFormat.of(plan)
    cells = form.pack(body.reports)
    key, digest = batch_key(study, gateway, body.batch), batch_digest(body.batch, cells)
    counted = form.counted(cells)

    with services.database.write() as session:
        known = session.get(ReportBatchRow, key)
        if known is not None and known.digest != digest:
            raise Conflict(
                "A batch with this name but different reports exists. Nothing was counted.",
                where="batch",
                remedy="Send these reports as a batch with another name.",
            )
        if known is None:
            row = find_reports(session, study)
            if row.state != "open":
                raise _taken_no_more(row)
            rows.count_batch(session, row, key=key, gateway=gateway, digest=digest, cells=counted)
    return BatchReceipt(study=study, batch=body.batch, records=len(cells)), known is None


def counts(session: Session, study: str) -> ReportCounts:
    """Return the counts of a study's reports. Raises NotFound."""
    row = find_reports(session, study)
    used = releases_in_use(session, study).get(row.owner)
    return ReportCounts(
        study=study,
        owner=row.owner,
        state=_state(row),
        plan_digest=row.digest,
        record=AmplificationMessage.of(record_loss(report_plan_of(row))),
        records=row.records,
        combinations=rows.combinations(session, study),
        gateways=rows.gateway_counts(session, study),
        release=None if used is None else used.id,
        released=0 if used is None else used.records,
    )


def _state(row: ReportPlanRow) -> ReportsState:
    return cast(ReportsState, row.state)


def close(services: Services, study: str) -> ReportCounts:
    """Stop accepting reports, unless stopped already. Raises NotFound, or Conflict if withdrawn."""
    with services.database.write() as session:
        row = find_reports(session, study)
        if row.state == "withdrawn":
            raise _taken_no_more(row)
        row.state = "closed"
        session.flush()
        return counts(session, study)


def withdraw(services: Services, study: str) -> ReportCounts:
    """Delete the counts and withdraw their releases, whose losses still count. Raises NotFound."""
    with services.database.exclusive(_lock_name(study)):
        with services.database.write() as session:
            row = find_reports(session, study)
            row.state = "withdrawn"
            rows.delete_counts(session, study)
            deactivate_owner(session, study, row.owner, services.now())
            made = [one.id for one in releases_of(session, study, row.owner)]
        for release in made:
            withdrawing.withdraw(services, release)
    with services.database.read() as session:
        return counts(session, study)


def _taken_no_more(row: ReportPlanRow) -> Conflict:
    return Conflict(
        f"The reports of study {row.study} are {row.state}; nothing was counted.",
        where=row.study,
        remedy="Do not send further reports to this study.",
    )


# A release has one record per report, sorted by codes, with the position as pseudonym, so it
# reveals no more than the counts. Equal counts give equal bytes, so an interrupted release is
# simply repeated. A later release with more reports replaces an earlier one. Pseudonyms include the
# count of records, so that equal positions in two releases never look like one person.
_PART = 1 << 17
"""The maximum number of records of a part."""


def release(services: Services, study: str) -> tuple[Release, bool]:
    """Put the counts into use. Return whether they are new. Raises NotFound, Conflict, NotReady."""
    with services.database.exclusive(_lock_name(study)):
        scratch: list[Path] = []
        try:
            return _release(services, study, scratch)
        finally:
            for path in scratch:
                path.unlink(missing_ok=True)


def _lock_name(study: str) -> str:
    return f"releasing reports of {study}"


def _release(services: Services, study: str, scratch: list[Path]) -> tuple[Release, bool]:
    with services.database.read() as session:
        row = find_reports(session, study)
        if row.state == "withdrawn" or not row.records:
            raise Conflict(
                f"Study {study} has no counted reports"
                + (": they were withdrawn." if row.state == "withdrawn" else " yet."),
                where=study,
                remedy="Wait until a gateway has submitted reports.",
            )
        owner, plan, records = row.owner, report_plan_of(row), row.records
        schema, form = RecordSchema.of(plan), CellFormat.of(plan)
        parts: list[PartManifest] = []
        every = _records(rows.counted_cells(session, study, form), records)
        for keys, cells in every:
            body = encode_part(schema, keys, form.unpack(cells))
            path = services.segments.scratch_path()
            with storing("The release of the reports", path):
                scratch.append(path)
                path.write_bytes(body)
            sha256 = hashlib.sha256(body).hexdigest()
            part = {"number": len(parts), "records": len(keys), "bytes": len(body)}
            parts.append(PartManifest(**part, sha256=sha256))
    digest = release_digest(plan.digest, parts)
    manifest = ReleaseCreate(
        name=f"r-{digest[:12]}",
        plan=PlanMessage.from_plan(plan),
        records=records,
        parts=parts,
        digest=digest,
        draws=draws_of_reports(study, plan),
    )
    return _store_release(services, study, owner, plan, manifest, scratch)


def _store_release(
    services: Services,
    study: str,
    owner: str,
    plan: Plan,
    manifest: ReleaseCreate,
    scratch: list[Path],
) -> tuple[Release, bool]:
    """Announce a release, store its parts and seal it; a repeated call continues."""
    with services.database.write() as session:
        if find_reports(session, study).state == "withdrawn":
            raise no_such("plan of single records")
        row, _ = create_release(
            session, study=study, owner=owner, body=manifest, content=plan, now=services.now()
        )
        if row.state == "sealed":
            return release_message(session, row), False
        row.state = "open"  # also after an interrupted attempt that was withdrawn as abandoned
        identifier = row.id
    for part, path in zip(manifest.parts, scratch, strict=True):
        services.segments.put_part(identifier, part.number, path)
    with services.database.write() as session:
        find_release(session, identifier)
        session.execute(
            update(PartRow)
            .where(PartRow.release == identifier)
            .values(received=services.now(), media=PART_MEDIA_TYPE)
        )
    return seal(services, identifier), True


def _records(
    counted: Iterator[CountedCells], records: int
) -> Iterator[tuple[Pseudonyms, np.ndarray]]:
    """Yield the pseudonyms and cells of all records in parts, with ascending pseudonyms."""
    step = ((1 << 64) - 1) // records
    start = 0
    for some in counted:
        ends = np.cumsum(some.records)
        for first in range(0, int(ends[-1]), _PART):
            places = np.arange(first, min(first + _PART, int(ends[-1])))
            cells = some.cells[np.searchsorted(ends, places, side="right")]
            keys = np.empty((len(places), 2), dtype=">u8")
            keys[:, 0] = (places + start).astype(np.uint64) * np.uint64(step)
            keys[:, 1] = records
            yield keys.view(f"V{KEY_BYTES}").ravel(), cells
        start += int(ends[-1])
