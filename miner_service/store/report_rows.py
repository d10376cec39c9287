"""Rows of single-record reports: their plan, the count of each row of codes, and receipts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from sqlalchemy import delete, func, insert, select, text
from sqlalchemy.orm import Session

from miner_service.store.people import no_such
from miner_service.store.schema import ReportBatchRow, ReportCellRow, ReportPlanRow
from pramana_core.plan import Plan
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.reports import CellFormat, GatewayCount

CELL_BYTES = 2000
"""The maximum number of bytes of a row of codes. PostgreSQL limits the keys of an index."""

_AT_ONCE = 1 << 16

_ADD = text(
    "INSERT INTO report_cells (study, cell, records) VALUES (:study, :cell, :records)"
    " ON CONFLICT (study, cell) DO UPDATE SET records = report_cells.records + excluded.records"
)


def find_reports(session: Session, study: str) -> ReportPlanRow:
    """Return a study's published plan for single records. Raises NotFound."""
    row = session.get(ReportPlanRow, study)
    if row is None:
        raise no_such("plan of single records")
    return row


def report_plan_of(row: ReportPlanRow) -> Plan:
    """Return the parsed plan of a row."""
    return _read(row.plan)


@lru_cache(maxsize=16)
def _read(stored: str) -> Plan:
    """Parse a stored plan. The plan is cached, because it may be long and each batch needs it."""
    return PlanMessage.model_validate_json(stored).to_plan()


def store_report_plan(
    session: Session, study: str, owner: str, plan: Plan, now: datetime
) -> ReportPlanRow:
    """Publish a plan in a study without one, and return its row."""
    row = ReportPlanRow(
        study=study,
        owner=owner,
        state="open",
        digest=plan.digest,
        plan=plan.canonical_json().decode(),
        published=now,
        records=0,
    )
    session.add(row)
    session.flush()
    return row


def count_batch(
    session: Session,
    row: ReportPlanRow,
    *,
    key: str,
    gateway: str,
    digest: str,
    cells: Mapping[bytes, int],
) -> None:
    """Count a batch and store its receipt, in the session's transaction."""
    records = sum(cells.values())
    _add(session, row.study, cells)
    receipt = {"key": key, "gateway": gateway, "digest": digest, "records": records}
    session.execute(insert(ReportBatchRow), [{"study": row.study, **receipt}])
    row.records += records
    session.flush()


def _add(session: Session, study: str, cells: Mapping[bytes, int]) -> None:
    """Add counts in raw SQL: SQLAlchemy's handling of parameters would double the time."""
    added = _ADD.compile(dialect=session.get_bind().dialect)
    named = ({"study": study, "cell": cell, "records": many} for cell, many in cells.items())
    order = getattr(added, "positiontup", None)
    given = [tuple(map(one.__getitem__, order)) for one in named] if order else list(named)
    session.connection().exec_driver_sql(str(added), given)


def combinations(session: Session, study: str) -> int:
    """Return the count of distinct rows of codes."""
    query = select(func.count()).select_from(ReportCellRow).where(ReportCellRow.study == study)
    return session.scalar(query) or 0


def gateway_counts(session: Session, study: str) -> list[GatewayCount]:
    """Return the counts of batches and reports by gateway, ordered by name."""
    query = (
        select(ReportBatchRow.gateway, func.count(), func.sum(ReportBatchRow.records))
        .where(ReportBatchRow.study == study)
        .group_by(ReportBatchRow.gateway)
        .order_by(ReportBatchRow.gateway)
    )
    return [
        GatewayCount(gateway=name, batches=batches, records=int(records))
        for name, batches, records in session.execute(query)
    ]


@dataclass(frozen=True)
class CountedCells:
    """Some distinct rows of codes, in ascending order, and the count of each row."""

    cells: npt.NDArray[np.void]
    records: npt.NDArray[np.int64]


def counted_cells(session: Session, study: str, form: CellFormat) -> Iterator[CountedCells]:
    """Yield the counted rows, ascending, in batches of bounded size."""
    query = (
        select(ReportCellRow.cell, ReportCellRow.records)
        .where(ReportCellRow.study == study)
        .order_by(ReportCellRow.cell)
        .execution_options(yield_per=_AT_ONCE)
    )
    for some in session.execute(query).partitions(_AT_ONCE):
        cells = np.frombuffer(b"".join(cell for cell, _ in some), dtype=form.dtype)
        yield CountedCells(cells, np.array([many for _, many in some], dtype=np.int64))


def delete_counts(session: Session, study: str) -> None:
    """Delete a study's counts. Receipts remain, so a repeated batch is recognized."""
    session.execute(delete(ReportCellRow).where(ReportCellRow.study == study))


def miscounted(session: Session) -> Iterator[tuple[str, str]]:
    """Yield each study whose counts, receipts and total disagree, with a description."""
    for row in session.scalars(select(ReportPlanRow).order_by(ReportPlanRow.study)):
        received = _sum(session, ReportBatchRow, row.study)
        if received != row.records:
            yield row.study, f"{row.records} reports are stated; the receipts have {received}."
        counted = _sum(session, ReportCellRow, row.study)
        if counted != (0 if row.state == "withdrawn" else row.records):
            yield row.study, f"{row.records} reports are stated; the counts have {counted}."


def _sum(session: Session, table: type[ReportBatchRow | ReportCellRow], study: str) -> int:
    query = select(func.coalesce(func.sum(table.records), 0)).where(table.study == study)
    return int(session.scalar(query) or 0)
