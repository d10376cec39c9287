"""The append-only log: crashes leave no line unread and nobody loses one."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from pramana_core.audit import AUDIT, LONGEST, AuditLog
from pramana_core.errors import LimitExceeded, NotReady, StorageFull
from pramana_core.opening import create_private
from tests.full_disk import files_no_longer_than
from tests.places import ROOT

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.fixture
def log(tmp_path) -> AuditLog:
    made = AuditLog(tmp_path / AUDIT, lambda: NOW)
    create_private(made.path)
    made.write({"action": "create_study"})
    return made


def actions(log):
    return [json.loads(line)["action"] for line in log.path.read_bytes().splitlines()]


def test_a_line_is_json_with_its_time(log):
    assert json.loads(log.path.read_text()) == {"time": NOW.isoformat(), "action": "create_study"}
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_half_a_line_stays_and_the_next_begins_below_it(log):
    with log.path.open("ab") as file:
        file.write(b'{"half')
    log.write({"action": "seal_release"})
    assert log.path.read_bytes().splitlines()[1] == b'{"half'
    assert json.loads(log.path.read_bytes().splitlines()[2])["action"] == "seal_release"


def test_an_entry_is_bounded(log):
    with pytest.raises(LimitExceeded):
        log.write({"action": "x" * LONGEST})
    assert actions(log) == ["create_study"]


def test_without_room_a_change_does_not_begin_and_the_log_stays_whole(log):
    size = log.path.stat().st_size
    with files_no_longer_than(size + 30):
        with pytest.raises(StorageFull), log.room():
            pytest.fail("it began")
        with pytest.raises(StorageFull):
            log.write({"action": "seal_release"})
    assert log.path.stat().st_size == size
    with log.room():
        log.write({"action": "seal_release"})
    assert actions(log) == ["create_study", "seal_release"]


def test_a_log_that_another_process_keeps_locked_stops_changes_for_a_limited_time(log, monkeypatch):
    monkeypatch.setattr("pramana_core.audit._LOCK_SECONDS", 0.1)
    with log.path.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for change in (log.require_room, lambda: log.write({"action": "seal_release"})):
            with pytest.raises(NotReady) as raised:
                change()
            assert raised.value.where == "the audit log"
    log.require_room()
    log.write({"action": "seal_release"})
    assert actions(log) == ["create_study", "seal_release"]


def test_the_commands_for_a_new_log_lose_no_line(log):
    (line,) = re.findall("(?m)^ {4}(install .*)$", (ROOT / "docs/operations.md").read_text())
    for number, command in enumerate(line.split(" && ")):
        with log.room():
            subprocess.run(shlex.split(command), cwd=log.path.parent, check=True)
            log.write({"action": f"change-{number}"})
    earlier = AuditLog(log.path.with_name("audit-2026.jsonl"), log.clock)
    assert actions(earlier) + actions(log) == ["create_study", "change-0", "change-1", "change-2"]
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_vanishes_during_a_change_is_not_said_to_have_stopped_it(log):
    log.path.unlink()
    with pytest.raises(NotReady) as raised:
        log.write({"action": "seal_release"})
    assert "no change is made" not in str(raised.value)
    with pytest.raises(NotReady, match="no change is made"):
        log.require_room()


WRITER = """
import sys, threading
from datetime import UTC, datetime
from pathlib import Path
from pramana_core.audit import AuditLog
log = AuditLog(Path(sys.argv[1]), lambda: datetime.now(UTC))
def write(thread):
    for number in range(25):
        with log.room():
            log.write({"action": f"{sys.argv[2]}-{thread}-{number}"})
threads = [threading.Thread(target=write, args=(i,)) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""


@pytest.mark.slow
@pytest.mark.end_to_end
def test_threads_of_several_processes_append_to_one_file(tmp_path):
    create_private(path := tmp_path / AUDIT)
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, str(i)], env=os.environ) for i in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    told = [json.loads(line)["action"] for line in path.read_bytes().splitlines()]
    assert len(told) == 225
    assert set(told) == {f"{p}-{t}-{n}" for p in range(3) for t in range(3) for n in range(25)}
