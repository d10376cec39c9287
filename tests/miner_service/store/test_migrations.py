"""What becomes of the tables of other versions: those before the first are refused, and a later
version upgrades this one's, whole or not at all.

The later version is made here: one more revision, in a copy of the scripts.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from miner_service.store import migrations, sqlite
from miner_service.store import sql_database as tables
from miner_service.store.migrations import HEAD, REVISIONS, upgrading
from miner_service.store.schema import Base, StudyRow
from miner_service.store.sql_database import revision_of
from pramana_core.errors import Conflict, NotInstalled, StoreCorrupt

NEXT = str(int(HEAD) + 1)
SCRIPT = f"""
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{NEXT}", "{HEAD}"


def upgrade():
    op.add_column("studies", sa.Column("length", sa.Integer()))
    studies = sa.table("studies", sa.column("title"), sa.column("length"))
    for title in op.get_bind().scalars(sa.select(studies.c.title)).all():
        if not title:
            raise ValueError("a damaged row")
        op.execute(studies.update().where(studies.c.title == title).values(length=len(title)))
"""


@pytest.fixture
def later(tmp_path, monkeypatch):
    """Return what makes this process one of a later version, with one more revision."""

    def be_later():
        scripts = tmp_path / "scripts"
        shutil.copytree(upgrading.SCRIPTS, scripts)
        (scripts / "versions" / f"r{NEXT}_lengths.py").write_text(SCRIPT)
        monkeypatch.setattr(upgrading, "SCRIPTS", scripts)
        for module in (tables, sqlite):
            monkeypatch.setattr(module, "HEAD", NEXT)
        monkeypatch.setattr(tables, "REVISIONS", (*REVISIONS, NEXT))

    return be_later


def fill(database, *titles):
    """Add studies with these titles."""
    with database.write() as session:
        for title in titles:
            session.add(StudyRow(name=f"study {title}", title=title, created=MADE))


MADE = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)


def test_the_last_migration_is_the_revision_of_this_version():
    script = ScriptDirectory(str(Path(migrations.__file__).parent))
    assert script.get_current_head() == HEAD
    assert tuple(step.revision for step in script.walk_revisions())[::-1] == REVISIONS


def test_new_tables_are_those_of_the_last_revision(place, open_at):
    with open_at(place).read() as session:
        assert revision_of(session.connection()) == HEAD
        context = MigrationContext.configure(session.connection())
        assert compare_metadata(context, Base.metadata) == []


def test_a_later_version_upgrades_the_tables_with_all_that_is_in_them(place, open_at, later):
    fill(open_at(place), "Asia", "Karthago")
    later()
    with open_at(place).read() as session:
        assert revision_of(session.connection()) == NEXT
        found = session.execute(text("SELECT title, length FROM studies ORDER BY title")).all()
        assert found == [("Asia", 4), ("Karthago", 8)]


def test_a_later_version_is_refused(place, open_at, later, monkeypatch):
    open_at(place)
    later()
    open_at(place)
    monkeypatch.undo()
    with pytest.raises(StoreCorrupt, match=f"has schema {NEXT}.*reads schema {HEAD}") as told:
        open_at(place)
    assert "later version" in str(told.value.remedy)


def test_a_command_beside_a_service_of_the_version_before_upgrades_nothing(
    tmp_path, open_at, later
):
    open_at(tmp_path / "old").close()
    before = rows_and_tables(tmp_path / "old")
    later()
    with pytest.raises(Conflict, match=f"schema {HEAD} of an earlier version.*{NEXT}") as told:
        open_at(tmp_path / "old", upgrade=False)
    assert "miner-service serve" in str(told.value.remedy)
    assert rows_and_tables(tmp_path / "old") == before
    open_at(tmp_path / "old")
    open_at(tmp_path / "old", upgrade=False).ping()


def test_an_upgrade_is_done_whole_or_not_at_all(tmp_path, open_at, later):
    database = open_at(tmp_path / "old")
    fill(database, "Asia", "")
    database.close()
    before = rows_and_tables(tmp_path / "old")
    later()
    with pytest.raises(StoreCorrupt, match=f"cannot be upgraded from schema {HEAD}"):
        open_at(tmp_path / "old")
    assert rows_and_tables(tmp_path / "old") == before


def test_an_upgrade_without_what_it_takes_is_told(tmp_path, open_at, later, monkeypatch):
    open_at(tmp_path / "old").close()
    later()
    monkeypatch.setitem(sys.modules, "alembic", None)
    with pytest.raises(NotInstalled, match="Alembic") as told:
        open_at(tmp_path / "old")
    assert "pramana[miner]" in str(told.value.remedy)
    # A new database needs none.
    open_at(tmp_path / "new").ping()


@pytest.mark.parametrize("stamped", [True, False])
def test_tables_from_before_the_first_version_are_refused_and_unchanged(tmp_path, open_at, stamped):
    with closing(sqlite3.connect(tmp_path / "old")) as connection:
        connection.executescript("CREATE TABLE studies (seq INTEGER); PRAGMA user_version = 5;")
        if stamped:
            connection.executescript(
                "CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY);"
                "INSERT INTO alembic_version VALUES ('5');"
            )
    before = rows_and_tables(tmp_path / "old")
    with pytest.raises(StoreCorrupt, match="schema 5, which no released miner had") as told:
        open_at(tmp_path / "old")
    assert "empty database" in str(told.value.remedy)
    assert rows_and_tables(tmp_path / "old") == before


def test_tables_that_are_not_a_miners_are_left_alone(place, open_at):
    if isinstance(place, str):
        with closing(psycopg.connect(place, autocommit=True)) as connection:
            connection.execute("CREATE TABLE payroll (id INTEGER)")
    else:
        with closing(sqlite3.connect(place)) as connection:
            connection.execute("CREATE TABLE payroll (id INTEGER)")
    with pytest.raises(StoreCorrupt, match="not a miner's"):
        open_at(place)


def rows_and_tables(path):
    """All that a file holds."""
    with closing(sqlite3.connect(path)) as connection:
        return [*connection.iterdump(), connection.execute("PRAGMA user_version").fetchone()]
