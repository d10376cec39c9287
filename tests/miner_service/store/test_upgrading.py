"""Databases of other schemas: those of earlier versions are upgraded, all others are left alone."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import inspect, select, text
from typer.testing import CliRunner

from miner_service.cli.main import app
from miner_service.store.database import HEAD
from miner_service.store.schema import StudyRow
from miner_service.store.sqlite import SqliteStore
from pramana_core.errors import NotReady, SchemaUnsupported
from pramana_core.privacy import DELTA

HEART = "INSERT INTO studies (name, title, created, people) VALUES ('heart', 'Heart', :at, 'same')"


def make_schema_11(database):
    """Take back what the revisions since schema 11 made; add a study."""
    with database.write() as session:
        for column in ("max_central_epsilon", "central_delta", "central_records"):
            session.execute(text(f"ALTER TABLE studies DROP COLUMN {column}"))
        session.execute(text("ALTER TABLE releases DROP COLUMN groups"))
        session.execute(text(HEART), {"at": "2026-11-28 00:00:00.000000"})
        session.execute(text("UPDATE alembic_version SET version_num = '11'"))
        if session.connection().dialect.name == "sqlite":
            session.execute(text("PRAGMA user_version=11"))
    database.close()


def schema_of(database):
    """The tables of a database: columns, keys and indexes, whatever their order."""
    with database.read() as session:
        seen = inspect(session.connection())
        return {name: described(seen, name) for name in seen.get_table_names()}


def described(seen, table):
    """What the database says of a table."""
    columns = {
        c["name"]: (str(c["type"]), c["nullable"], c["default"]) for c in seen.get_columns(table)
    }
    others = [
        *seen.get_indexes(table),
        *seen.get_unique_constraints(table),
        *seen.get_foreign_keys(table),
    ]
    key = seen.get_pk_constraint(table)["constrained_columns"]
    return columns, key, sorted(json.dumps(one, default=str, sort_keys=True) for one in others)


def test_a_database_of_the_oldest_supported_schema_is_upgraded_with_its_rows(place, open_at):
    new = open_at(place)
    fresh = schema_of(new)
    make_schema_11(new)
    database = open_at(place)
    with database.read() as session:
        (study,) = session.scalars(select(StudyRow))
        assert (study.name, study.max_central_epsilon, study.central_delta) == (
            "heart",
            None,
            DELTA,
        )
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == HEAD
        if session.connection().dialect.name == "sqlite":
            assert session.scalar(text("PRAGMA user_version")) == int(HEAD)
    assert schema_of(database) == fresh
    default = StudyRow.__table__.c.central_delta.server_default
    assert float(default.arg) == DELTA, "rows written without this column"
    assert len(fresh) > 10
    open_at(place)


@pytest.mark.parametrize("later", ["5", str(int(HEAD) + 1), "x"])
def test_a_database_of_another_version_is_left_alone(place, open_at, later):
    database = open_at(place)
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": later})
        if session.connection().dialect.name == "sqlite":
            session.execute(text("PRAGMA user_version=0"))
    before = schema_of(database)
    with pytest.raises(SchemaUnsupported):
        open_at(place)
    assert schema_of(database) == before
    with database.read() as session:
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == later


@pytest.mark.parametrize(
    "words",
    [
        ["doctor"],
        ["check"],
        ["backup", "copy"],
        ["study", "list"],
        ["monitor-token", "prometheus"],
        ["worker"],
    ],
)
def test_only_the_service_upgrades_or_creates_a_store(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    make_schema_11(SqliteStore(data / "miner.sqlite"))
    before = (data / "miner.sqlite").read_bytes()
    result = CliRunner().invoke(app, [*words, "--data", str(data)])
    if words == ["doctor"]:
        assert "schema 11" in result.output
    else:
        assert isinstance(result.exception, SchemaUnsupported)
    assert (data / "miner.sqlite").read_bytes() == before
    result = CliRunner().invoke(app, [*words, "--data", str(tmp_path / "other")])
    assert result.exit_code
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_database_without_tables_is_not_called_unavailable(tmp_path):
    (tmp_path / "miner.sqlite").touch(0o600)
    with pytest.raises(NotReady) as raised:
        SqliteStore(tmp_path / "miner.sqlite", begin=False)
    assert raised.value.__cause__ is None  # no failure of the database
