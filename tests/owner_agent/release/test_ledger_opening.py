"""Opening the ledger waits for whoever is opening it, however slow that is."""

from __future__ import annotations

import pytest

from tests.waiting_processes import one_is_held_while_others_start

OPEN = """
import sqlite3
from owner_agent.release import ledger_file
"""
READ = """
with ledger_file.connected(folder / "ledger.sqlite") as connection:
    assert ledger_file._version(connection) == ledger_file.SCHEMA_VERSION
"""


@pytest.mark.end_to_end
def test_processes_that_open_an_empty_ledger_wait_for_the_one_that_makes_it(tmp_path):
    making = """
make = ledger_file._METADATA.create_all
ledger_file._METADATA.create_all = lambda connection: (make(connection), hold())
"""
    impatient = """
connect = sqlite3.connect
sqlite3.connect = lambda *args, **options: connect(*args, **{**options, "timeout": 0})
"""
    one_is_held_while_others_start(tmp_path, OPEN + making + READ, OPEN + impatient + READ)
