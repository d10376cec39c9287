"""A folder is held while what is in it is made: by a lock that NFS takes, too."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading

import pytest

from miner_service.settings import Settings
from miner_service.store.databases.opening import open_database
from owner_agent.departures.ledger_file import connected
from shared.opening import opening_alone


@pytest.fixture
def locks(monkeypatch):
    """How often a file was locked, where only files opened for writing can be, as on NFS."""
    taken = []
    really = fcntl.flock

    def flock(descriptor, operation):
        mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
        if operation & fcntl.LOCK_EX and mode == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        taken.append(descriptor)
        really(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    return taken


def test_a_lock_is_of_a_private_file_open_for_writing(locks, tmp_path):
    with opening_alone(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == ["opening.lock"]
        assert stat.S_IMODE((tmp_path / "opening.lock").stat().st_mode) == 0o600
    assert len(locks) == 1


def test_who_comes_second_waits(tmp_path):
    done = threading.Event()

    def second():
        with opening_alone(tmp_path):
            done.set()

    waiting = threading.Thread(target=second)
    with opening_alone(tmp_path):
        waiting.start()
        assert not done.wait(0.05)
    waiting.join()
    assert done.is_set()


def test_a_ledger_of_this_version_is_read_without_a_lock(locks, tmp_path):
    connected(tmp_path / "ledger.sqlite").close()
    assert len(locks) == 1
    connected(tmp_path / "ledger.sqlite").close()
    assert len(locks) == 1


def test_a_database_of_this_version_is_opened_without_a_lock(locks, tmp_path):
    open_database(Settings(tmp_path)).close()
    assert len(locks) == 1
    open_database(Settings(tmp_path)).close()
    assert len(locks) == 1
