"""A folder is held while what is in it is made: by a lock that NFS takes, too."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from miner_service.settings import Settings
from miner_service.store.sqlite import SqliteStore, open_database
from pramana_core.opening import opening_alone


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


def _is_waited_for(path):
    """Whether the kernel has somebody wait for a lock on a file."""
    locks = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    inode = str(path.stat().st_ino)
    return any(line[1] == "->" and line[-3].split(":")[-1] == inode for line in locks)


def test_who_comes_second_waits(tmp_path):
    done = threading.Event()

    def second():
        with opening_alone(tmp_path):
            done.set()

    waiting = threading.Thread(target=second)
    with opening_alone(tmp_path):
        waiting.start()
        while not _is_waited_for(tmp_path / "opening.lock"):
            assert not done.is_set()
            time.sleep(0.005)
    waiting.join()
    assert done.is_set()


def test_a_database_of_this_version_is_opened_without_a_lock(locks, tmp_path):
    open_database(Settings(tmp_path)).close()
    assert len(locks) == 1
    open_database(Settings(tmp_path)).close()
    assert len(locks) == 1


def _elsewhere(code, path):
    """Run SQLite in another process, which closes the file at its end."""
    words = [sys.executable, "-c", f"import sqlite3, sys\n{code}", str(path)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_database_that_is_opened_twice_sees_what_others_write(tmp_path):
    """The second opening drops no lock of the first.

    Without one, another process that closes the file takes itself for the last and removes the log
    that this process goes on reading; what is written then is in a new one.
    """
    read = "c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA user_version').fetchone()"
    write = "c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA user_version=77')"
    path = tmp_path / "miner.sqlite"
    with closing(SqliteStore(path)) as first:
        assert _version(first) != 77  # its connection stays open
        with closing(SqliteStore(path)):
            assert _elsewhere(f"{read}; c.close()", path).returncode == 0
            assert path.with_name("miner.sqlite-wal").exists()
            assert _elsewhere(f"{write}; c.close()", path).returncode == 0
            assert _version(first) == 77


def _version(store):
    with store.read() as session:
        return session.connection().exec_driver_sql("PRAGMA user_version").scalar_one()
