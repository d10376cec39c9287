"""Counts of single records' reports are the same rows in either database."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from miner_service.store import report_rows
from miner_service.store.schema import StudyRow
from pramana_core.channels import OneHot, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.wire.reports import CellFormat, batch_digest

PLAN = Plan(
    (
        Block((Variable("a", ("x", "y")),), Symmetric.from_gamma(2, 3.0)),
        Block((Variable("b", tuple(map(str, range(300)))),), Symmetric.from_gamma(300, 3.0)),
        Block((Variable("c", tuple(map(str, range(12)))),), OneHot.from_gamma(12, 3.0)),
    )
)
"""Codes of one and of two bytes."""

FORM = CellFormat.of(PLAN)
WIDEST = (1 << 12) - 1
ROWS = [[0, 0, 0], [1, 299, WIDEST], [0, 256, 0], [0, 0, 0], [1, 0, 1 << 11], [0, 255, 256]]
MADE = datetime(2026, 1, 2, tzinfo=UTC)


def test_batches_add_up_in_the_order_of_their_codes(place, open_at):
    database = open_at(place)
    cells = FORM.pack(ROWS)
    with database.write() as session:
        for study in ("one", "other"):
            session.add(StudyRow(name=study, title="", created=MADE))
            session.flush()
            report_rows.store_report_plan(session, study, "clients", PLAN, MADE)
    for study, batches in (("one", 3), ("other", 1)):
        for number in range(batches):
            with database.write() as session:
                report_rows.count_batch(
                    session,
                    report_rows.find_reports(session, study),
                    key=f"{study} {number}",
                    gateway=f"g{number % 2}",
                    digest=batch_digest("b", cells),
                    cells=FORM.counted(cells),
                )
    with database.read() as session:
        (found,) = report_rows.counted_cells(session, "one", FORM)
        assert report_rows.combinations(session, "one") == 5
        assert report_rows.find_reports(session, "one").records == 18
        brought = [
            (g.gateway, g.batches, g.records) for g in report_rows.gateway_counts(session, "one")
        ]
        assert brought == [("g0", 2, 12), ("g1", 1, 6)]
        assert list(report_rows.miscounted(session)) == []
        assert report_rows.report_plan_of(report_rows.find_reports(session, "one")) == PLAN
    codes = np.stack([column.astype(np.uint64) for column in FORM.unpack(found.cells).values()])
    counted = {tuple(map(int, row)): int(n) for row, n in zip(codes.T, found.records, strict=True)}
    assert counted == {tuple(row): 3 * ROWS.count(row) for row in ROWS}
    assert list(counted) == sorted(counted)
    with database.write() as session:
        report_rows.delete_counts(session, "one")
    with database.read() as session:
        assert list(report_rows.counted_cells(session, "one", FORM)) == []
        assert report_rows.combinations(session, "other") == 5
