"""A lost memory is made again of the outbox; a full disk is no lost memory."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from owner_agent.release import corrections
from owner_agent.release.corrections import ReleaseHistory
from owner_agent.release.ledger import Ledger
from owner_agent.release.outbox import reopen
from owner_agent.state.keys import KeyStore
from owner_agent.state.scratch import ScratchFile
from pramana_core.errors import StorageFull
from pramana_core.full_disks import no_room
from tests.full_disk import files_no_longer_than


@pytest.fixture
def past(left):
    """What reads the history of a bench that has lost its memory."""
    shutil.rmtree(left.state / "reported")
    entries, secrets = tuple(Ledger(left.state).entries()), KeyStore(left.state).load()
    return lambda: ReleaseHistory.of(left.state, entries, secrets, "asia")


@pytest.mark.parametrize("room", [0, 1500], ids=["for nothing", "for the reports"])
def test_a_full_disk_makes_no_release_a_forgotten_one(past, room):
    with files_no_longer_than(room), pytest.raises(StorageFull, match="that are being prepared"):
        past()
    assert len(past().memory.releases) == 1


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_release_of_other_than_the_announced_records_is_passed_over(past, more, monkeypatch):
    def announced(outbox, name):
        prepared = reopen(outbox, name)
        records = prepared.manifest.records + more
        told = prepared.manifest.model_copy(update={"records": records})
        return replace(prepared, manifest=told)

    monkeypatch.setattr(corrections, "reopen", announced)
    assert len(past().memory.releases) == (more == 0)


def test_what_was_not_written_is_not_read(tmp_path):
    column = ScratchFile(tmp_path / "state").column("u1", 5)
    column[:3] = np.arange(3, dtype=np.uint8)
    with pytest.raises(ValueError, match="ends before"):
        column[:]


def test_a_plan_on_a_full_disk_says_that_nothing_was_compared(left, command, monkeypatch):
    def full(*_):
        raise no_room("the records")

    monkeypatch.setattr("owner_agent.report.corrected.examine", full)
    found = json.loads(command("plan", "--json").out)["corrections"]
    assert (found["compared"], found["blocks"]) == (False, [])
    assert "There is no room for the records" in found["reason"]
