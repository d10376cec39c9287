"""Tables of every earlier version become those of this one, and what was in them is still there.

`earlier/v1.sql` to `v7.sql` are the tables as those versions made them, taken from their own code;
the migrations are compared with them, and run on them.
"""

from __future__ import annotations

import json
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
from sqlalchemy import create_engine, inspect, select

from miner_service.store import migrations
from miner_service.store.databases.tables import revision_of
from miner_service.store.holders.tokens import find_token
from miner_service.store.jobs import job_message
from miner_service.store.migrations import HEAD, REVISIONS
from miner_service.store.migrations.upgrading import upgrade_tables
from miner_service.store.people import credential_hash, find_study, owner_message, study_message
from miner_service.store.releases import content_of, release_message
from miner_service.store.schema import (
    Base,
    InvitationRow,
    JobRow,
    ModelRow,
    OwnerRow,
    ReleaseRow,
    TokenRow,
)
from pramana_core.domain import Domain
from pramana_core.errors import Conflict, NotInstalled, StoreCorrupt
from pramana_core.plan import Plan
from pramana_core.wire.learning.jobs import read_job_spec

EARLIER = Path(__file__).parent / "earlier"
VERSIONS = REVISIONS[:-1]
TOKEN = "t-000000000001.secret"
MADE = "2026-01-02 03:04:05.000678"
MADE_AT = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
PLAN = Plan.unrandomized(Domain.of(A=("no", "yes"), B=("low", "mid", "high")))
TABLE = {"kind": "contingency-table", "variables": ["A"], "records": "common"}
TESTS = [{"statistic": 9.5, "warning": "does not fit"}, {"statistic": 0.1, "warning": None}]


def columns_of(version):
    """The columns that models and releases had in a version, beside those of all."""
    content = {"content": PLAN.canonical_json().decode(), "content_digest": PLAN.digest}
    if int(version) < 5:
        content = {name.replace("content", "plan"): told for name, told in content.items()}
    else:
        content["kind"] = "randomized-records"
    if version == "1":
        return content, {"bif": "network"}
    return content, {"kind": "bayes-net" if int(version) < 5 else "shared-trees"}


def rows_of(version):
    """A study in which everything was done once, as a version stored it."""
    content, kind = columns_of(version)
    body = {"nodes": []} if version == "1" else {"lack_of_fit": TESTS}
    if int(version) >= 5:
        body["holds_releases"] = True
    spec = read_job_spec(json.dumps({**TABLE, "estimator": "log-linear"}))
    leased = {"records": "common", "estimator": "log-linear", "revision": 0, "beat": 0}
    looked_up = {"holds_releases": 1, "lack_of_fit": json.dumps(TESTS)}
    leased, looked_up = (told if int(version) >= 6 else {} for told in (leased, looked_up))
    budget = {} if int(version) < 3 else {"max_epsilon_record": 2.5}
    people = {} if int(version) < 7 else {"people": "overlapping"}
    return {
        "studies": {"name": "asia", "title": "Asia", "created": MADE, **budget, **people},
        "tokens": {
            "id": "t-000000000001",
            "hash": credential_hash(TOKEN),
            "role": "owner",
            "study": "asia",
            "name": "north",
            "created": MADE,
            "revoked": 0,
        },
        "invitations": {
            "id": "i-1",
            "hash": "",
            "study": "asia",
            "owner": "north",
            "created": MADE,
            "expires": MADE,
            "accepted": MADE,
        },
        "owners": {"study": "asia", "name": "north", "joined": MADE, "active": 1},
        "releases": {
            "id": "r-1",
            "study": "asia",
            "owner": "north",
            "name": "first",
            "state": "open",
            "records": 5_000_000_000,
            "digest": "d" * 64,
            "created": MADE,
            **content,
        },
        "parts": {"release": "r-1", "number": 0, "records": 7, "bytes": 70, "sha256": "e" * 64},
        "jobs": {
            "id": "j-1",
            "study": "asia",
            "key": "k",
            "default_key": 1,
            "spec": spec.model_dump_json(),
            "releases": '["r-1"]',
            "state": "succeeded",
            "attempt": 2,
            "broken_off": 1,
            "progress": 1.0,
            "model": "m-1",
            "created": MADE,
            "finished": MADE,
            **leased,
        },
        "models": {
            "id": "m-1",
            "study": "asia",
            "job": "j-1",
            "body": json.dumps(body),
            "created": MADE,
            **kind,
            **looked_up,
        },
    }


def make_earlier(path, version):
    """Make a file of an earlier version, with rows in it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((EARLIER / f"v{version}.sql").read_text())
        for table, row in rows_of(version).items():
            names = ", ".join(f'"{name}"' for name in row)
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*row.values()])
        connection.commit()


def tables_of(connection):
    """All that a database says of its tables, but for defaults and the order of columns."""
    seen = inspect(connection)
    return {
        table: {
            "columns": {
                column["name"]: (str(column["type"]).replace("FLOAT", "DOUBLE"), column["nullable"])
                for column in seen.get_columns(table)
            },
            "key": seen.get_pk_constraint(table)["constrained_columns"],
            "unique": sorted(u["column_names"] for u in seen.get_unique_constraints(table)),
            "indexes": sorted(
                (index["name"], index["column_names"])
                for index in seen.get_indexes(table)
                if not index.get("duplicates_constraint")
            ),
            "foreign": sorted(
                (f["constrained_columns"], f["referred_table"], f["referred_columns"])
                for f in seen.get_foreign_keys(table)
            ),
        }
        for table in seen.get_table_names()
        if table != "alembic_version"
    }


def differences(connection):
    """What Alembic would still change to have the tables of the models."""
    return compare_metadata(MigrationContext.configure(connection), Base.metadata)


def test_the_last_migration_is_the_revision_of_this_version():
    script = ScriptDirectory(str(Path(migrations.__file__).parent))
    assert script.get_current_head() == HEAD
    assert tuple(step.revision for step in script.walk_revisions())[::-1] == REVISIONS


def test_all_migrations_make_the_tables_that_are_made_at_once(place, open_at, tmp_path, request):
    at_once = open_at(place)
    if isinstance(place, str):
        again = create_engine(
            request.getfixturevalue("postgres").url().replace("postgresql", "postgresql+psycopg", 1)
        )
    else:
        again = create_engine(f"sqlite:///{tmp_path / 'again.sqlite'}")
    with again.begin() as connection:
        upgrade_tables(connection, "")
        step_by_step = tables_of(connection)
        assert differences(connection) == []
        assert revision_of(connection) == HEAD
    again.dispose()
    with at_once.read() as session:
        assert tables_of(session.connection()) == step_by_step
    with at_once.read() as session:
        assert differences(session.connection()) == []


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_migration_makes_the_tables_that_its_version_had(version, tmp_path):
    migrated, made = (create_engine(f"sqlite:///{tmp_path / name}") for name in ("a", "b"))
    make_earlier(tmp_path / "b", version)
    with migrated.begin() as connection, made.begin() as other:
        upgrade_tables(connection, "", version)
        assert tables_of(connection) == tables_of(other)
        assert revision_of(other) == version
    migrated.dispose()
    made.dispose()


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_of_an_earlier_version_is_upgraded_with_all_that_is_in_it(
    version, tmp_path, open_at
):
    make_earlier(tmp_path / "old", version)
    database = open_at(tmp_path / "old")
    with open_at(tmp_path / "new").read() as session:
        wanted = tables_of(session.connection())
    with database.read() as session:
        assert tables_of(session.connection()) == wanted
        assert differences(session.connection()) == []
    with database.read() as session:
        study = study_message(find_study(session, "asia"))
        assert (study.title, study.created) == ("Asia", MADE_AT)
        assert study.people == "overlapping"
        assert study.max_epsilon_record == (2.5 if int(version) >= 3 else None)
        assert owner_message(session.scalars(select(OwnerRow)).one()).active
        assert find_token(session, TOKEN).name == "north"
        assert session.scalars(select(TokenRow)).one().expires is None
        assert session.scalars(select(InvitationRow)).one().accepted == MADE_AT
        release = session.scalars(select(ReleaseRow)).one()
        assert content_of(release) == PLAN
        told = release_message(session, release)
        assert told.repeated is None
        assert told.linkage is None
        assert release.keyed_draws is None
        assert (told.kind, told.records, told.parts) == ("randomized-records", 5_000_000_000, 1)
        job = session.scalars(select(JobRow)).one()
        assert (job.records, job.estimator) == ("common", "log-linear")
        assert (job.attempt, job.broken_off, job.revision, job.beat) == (2, 1, 0, 0)
        assert job_message(session, job, MADE_AT).state == "succeeded"
        model = session.scalars(select(ModelRow)).one()
        assert model.kind == ("shared-trees" if int(version) >= 5 else "bayes-net")
        assert model.holds_releases is (int(version) >= 5)
        assert (json.loads(model.lack_of_fit or "null") == TESTS) is (version != "1")
    # What looks for the version where it used to be finds that it is not its own.
    with closing(sqlite3.connect(tmp_path / "old")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (int(HEAD),)


def test_a_command_beside_a_service_of_the_earlier_version_upgrades_nothing(tmp_path, open_at):
    make_earlier(tmp_path / "old", "5")
    before = (tmp_path / "old").read_bytes()
    with pytest.raises(Conflict, match="schema 5 of an earlier version.*schema 8") as told:
        open_at(tmp_path / "old", upgrade=False)
    assert "miner-service serve" in str(told.value.remedy)
    assert rows_and_tables(tmp_path / "old") == rows_and_tables_of(before, tmp_path)
    open_at(tmp_path / "old")
    open_at(tmp_path / "old", upgrade=False).ping()


def test_an_upgrade_is_done_whole_or_not_at_all(tmp_path, open_at):
    make_earlier(tmp_path / "old", "1")
    with closing(sqlite3.connect(tmp_path / "old")) as connection:
        connection.execute("UPDATE models SET body='{broken'")
        connection.commit()
    before = (tmp_path / "old").read_bytes()
    with pytest.raises(StoreCorrupt, match="cannot be upgraded from schema 1"):
        open_at(tmp_path / "old")
    assert rows_and_tables(tmp_path / "old") == rows_and_tables_of(before, tmp_path)


def test_an_upgrade_without_what_it_takes_is_told(tmp_path, open_at, monkeypatch):
    make_earlier(tmp_path / "old", "5")
    monkeypatch.setitem(sys.modules, "alembic", None)
    with pytest.raises(NotInstalled, match="Alembic") as told:
        open_at(tmp_path / "old")
    assert "pramana[miner]" in str(told.value.remedy)
    # A new database needs none.
    open_at(tmp_path / "new").ping()


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


def rows_and_tables_of(content, folder):
    (folder / "copy").write_bytes(content)
    return rows_and_tables(folder / "copy")
