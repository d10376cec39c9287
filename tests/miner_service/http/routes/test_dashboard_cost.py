"""What the dashboard costs does not grow with the number of parts that were announced."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sqlalchemy import event

OWNERS, RELEASES = 4, 3


@dataclass
class Work:
    """Statements that a database was sent, and rows that it answered."""

    statements: int = 0
    rows: int = 0


@pytest.fixture
def watched():
    """Count what a miner's database does: call it with the miner."""

    def watch(miner):
        work = Work()

        def row(_cursor, values):
            work.rows += 1
            return values

        def begin(connection, *_):
            connection.row_factory = row

        def statement(*_):
            work.statements += 1

        engine = miner.services.database._engine
        event.listen(engine, "checkout", begin)
        event.listen(engine, "before_cursor_execute", statement)
        return work

    return watch


def announced(miner, manifest, plan, study, parts):
    """Announce releases of so many parts each; one of them arrives in part."""
    analyst = miner.study(study)
    for number in range(OWNERS):
        owner = miner.owner(study, f"o{number}")
        for release in range(RELEASES):
            bodies = [bytes([i % 256]) * 10 for i in range(parts)]
            built = manifest(plan, bodies, [1] * parts, f"r{release}")
            owner.announce(study, built)
    return analyst


def cost(analyst, work):
    """Statements and rows of one view, the second: the first fills what is remembered."""
    analyst.get("/v1/dashboard")
    before = (work.statements, work.rows)
    told = analyst.get("/v1/dashboard")
    return (work.statements - before[0], work.rows - before[1]), told


@pytest.mark.slow
def test_the_dashboard_costs_the_same_whatever_was_announced(miner, manifest, plan_a, watched):
    few = announced(miner, manifest, plan_a, "few", 2)
    many = announced(miner, manifest, plan_a, "many", 100)
    work = watched(miner)
    (small, _), (large, told) = cost(few, work), cost(many, work)
    assert small == large
    assert large[1] < 200
    shown = told["studies"][0]["releases"]
    assert [release["parts"] for release in shown] == [100] * (OWNERS * RELEASES)
