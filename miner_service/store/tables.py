"""The rows of all tables, to copy them into another database, check them, or delete a study's."""

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

from miner_service.store.identity import MARKER
from miner_service.store.schema import Base, KeyRow, ReleaseRow, SessionRow, StudyRow, SupervisorRow

_BATCH = 500

NOT_COPIED = frozenset({SupervisorRow.__tablename__, SessionRow.__tablename__})
"""Tables that a backup omits: supervisors are not state, and ended sessions must not return."""

OF_NO_STUDY = NOT_COPIED | {KeyRow.__tablename__}
"""Tables that belong to no study."""


def _copied_tables() -> Iterator[Table]:
    for table in Base.metadata.sorted_tables:
        if table.name not in NOT_COPIED:
            yield table


def copy_rows(source: Session, target: Session) -> int:
    """Copy all rows except the store's marker into existing tables; return the count of rows."""
    count = 0
    for table in _copied_tables():
        copied = table.c.name != MARKER if table.name == KeyRow.__tablename__ else true()
        target.execute(delete(table).where(copied))
        query = select(table).where(copied).order_by(*table.primary_key)
        for rows in source.execute(query).yield_per(_BATCH).mappings().partitions(_BATCH):
            target.execute(insert(table), [dict(row) for row in rows])
            count += len(rows)
        _continue_numbers(target, table)
    return count


def _continue_numbers(session: Session, table: Table) -> None:
    """Make PostgreSQL continue the numbering of a table's rows after the copied rows."""
    if session.get_bind().dialect.name != "postgresql" or "seq" not in table.c:
        return
    last = session.scalar(select(func.max(table.c.seq)))
    if last is not None:
        sequence = text("SELECT setval(pg_get_serial_sequence(:name, 'seq'), :last)")
        session.execute(sequence, {"name": table.name, "last": last})


def is_empty(session: Session) -> bool:
    """Return whether a store is empty except for its own keys."""
    return not any(
        session.execute(select(literal_column("1")).select_from(table).limit(1)).first()
        for table in _copied_tables()
        if table.name != KeyRow.__tablename__
    )


def delete_rows(session: Session, study: str) -> list[str]:
    """Delete all rows of a study; return the ids of its releases."""
    found = list(session.scalars(select(ReleaseRow.id).where(ReleaseRow.study == study)))
    for table in reversed(Base.metadata.sorted_tables):
        condition = of_study(table, study)
        if condition is not None:
            session.execute(delete(table).where(condition))
    return found


def of_study(table: Table, study: str) -> ColumnElement[bool] | None:
    """Return the condition for a study's rows in a table, or None if the table has no studies."""
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
    raise LookupError(f"table {table.name} has no column that identifies a row's study")


def damaged_database(session: Session) -> list[str]:
    """Return the damage that SQLite finds in its file; PostgreSQL checks its pages at each read."""
    if session.get_bind().dialect.name != "sqlite":
        return []
    lines = [str(row[0]) for row in session.execute(text("PRAGMA integrity_check(20)"))]
    broken = [str(tuple(row)[:3]) for row in session.execute(text("PRAGMA foreign_key_check"))]
    return [line for line in lines if line != "ok"] + broken
