"""All rows of a store as data: copied from one database into another, or deleted study by study."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import (
    ColumnElement,
    Table,
    delete,
    func,
    insert,
    literal_column,
    select,
    text,
    true,
)
from sqlalchemy.orm import Session

from miner_service.store.identity import IDENTITY_KEYS
from miner_service.store.schema import Base, KeyRow, ReleaseRow, StudyRow, SupervisorRow

_AT_ONCE = 500

NOT_OF_THE_STORE = frozenset({SupervisorRow.__tablename__})
"""Who runs jobs just now is not state of the store."""

OF_NO_STUDY = frozenset({SupervisorRow.__tablename__, "answers", "service_keys"})
"""Tables without a study. An answer can only be read by who has its token, which is deleted."""


def tables() -> Iterator[Table]:
    """Yield the tables that are copied, those that others refer to first."""
    for table in Base.metadata.sorted_tables:
        if table.name not in NOT_OF_THE_STORE:
            yield table


def copy_rows(source: Session, target: Session) -> int:
    """Copy all rows into tables that are there; return how many.

    Each store keeps the identity it has: a copy is another store.
    """
    count = 0
    for table in tables():
        copied = _is_copied(table)
        target.execute(delete(table).where(copied))
        rows = source.execute(select(table).where(copied).order_by(*table.primary_key)).yield_per(
            _AT_ONCE
        )
        for some in rows.mappings().partitions(_AT_ONCE):
            target.execute(insert(table), [dict(row) for row in some])
            count += len(some)
        _count_on(target, table)
    return count


def _is_copied(table: Table) -> ColumnElement[bool]:
    if table.name == KeyRow.__tablename__:
        return table.c.name.not_in(IDENTITY_KEYS)
    return true()


def is_empty(session: Session) -> bool:
    """Whether a store has no row but its own keys."""
    return not any(
        session.execute(select(literal_column("1")).select_from(table).limit(1)).first()
        for table in tables()
        if table.name != "service_keys"
    )


def delete_rows(session: Session, study: str) -> list[str]:
    """Delete all rows of a study; return the ids of its releases."""
    releases = select(ReleaseRow.id).where(ReleaseRow.study == study)
    found = list(session.scalars(releases))
    for table in reversed(Base.metadata.sorted_tables):
        condition = of_study(table, study)
        if condition is not None:
            session.execute(delete(table).where(condition))
    return found


def of_study(table: Table, study: str) -> ColumnElement[bool] | None:
    """Return which rows of a table are a study's; None for a table that has none of any."""
    if table.name == StudyRow.__tablename__:
        return table.c.name == study
    if "study" in table.c:
        return table.c.study == study
    for column in table.c:
        for key in column.foreign_keys:
            if "study" in (above := key.column.table.c):
                return column.in_(select(key.column).where(above["study"] == study))
    if table.name in OF_NO_STUDY:
        return None
    raise LookupError(f"whose rows those of the table {table.name} are is not said")


def _count_on(session: Session, table: Table) -> None:
    """Let PostgreSQL number the next row of a table after those that were copied."""
    if session.get_bind().dialect.name != "postgresql" or "seq" not in table.c:
        return
    last = session.scalar(select(func.max(table.c.seq)))
    if last is not None:
        sequence = text("SELECT setval(pg_get_serial_sequence(:name, 'seq'), :last)")
        session.execute(sequence, {"name": table.name, "last": last})


def damaged_database(session: Session) -> list[str]:
    """Return what SQLite finds wrong in its file; PostgreSQL checks what it reads by itself."""
    bind = session.get_bind()
    if bind.dialect.name != "sqlite":
        return []
    said = [str(row[0]) for row in session.execute(text("PRAGMA integrity_check(20)"))]
    broken = [str(tuple(row)[:3]) for row in session.execute(text("PRAGMA foreign_key_check"))]
    return [line for line in said if line != "ok"] + broken
