"""Both databases of a miner."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from miner_service.store.postgres import PostgresStore
from miner_service.store.sqlite import SqliteStore
from tests.postgres import postgres, stopped_postgres

__all__ = ["postgres", "stopped_postgres"]

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(params=DATABASES)
def place(request, tmp_path):
    """Where a database is to be: a file, or an address."""
    if request.param == "sqlite":
        return tmp_path / "miner.sqlite"
    return request.getfixturevalue("postgres").url()


@pytest.fixture
def open_at():
    """Open the database at a place; closed after the test."""
    with ExitStack() as stack:

        def open_one(place, **options):
            kind = PostgresStore if isinstance(place, str) else SqliteStore
            database = kind(place, **options)
            stack.callback(database.close)
            return database

        yield open_one
