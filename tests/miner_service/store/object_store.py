"""A server that speaks S3, on this machine, which a test can stop and start again."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod
from typing import Any

import pytest

from miner_service.store.objects import ObjectAddress
from tests.once import once

KEYS = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "a secret of the object store"}


class ObjectStore:
    """A server; what is in it stays while it is stopped."""

    def __init__(self) -> None:
        self._port = 0
        self._server: Any = None
        self._buckets = 0

    def start(self) -> None:
        """Listen, at the same port as before."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from moto.server import ThreadedMotoServer
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer("127.0.0.1", self._port, verbose=False)
        self._server.start()
        self._port = self._server.get_host_and_port()[1]

    def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def bucket(self) -> str:
        """Make a bucket; return the address of a place in it."""
        from pyarrow.fs import S3FileSystem

        self._buckets += 1
        name = f"bucket{self._buckets}"
        S3FileSystem(
            endpoint_override=f"127.0.0.1:{self._port}",
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        ).create_dir(name)
        options = f"endpoint_override=127.0.0.1:{self._port}&scheme=http&region=us-east-1"
        return f"s3://{name}/miner?{options}"


_SHARED = pytest.StashKey[ObjectStore]()


@contextmanager
def _running() -> Iterator[ObjectStore]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        store = ObjectStore()
        store.start()
        yield store
        store.stop()


@pytest.fixture(scope="session")
def one_object_store(pytestconfig: pytest.Config) -> ObjectStore:
    """One server for all tests of this process, started when the first asks for it."""
    return once(pytestconfig, _SHARED, _running)


@pytest.fixture
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that is away is asked once: the pause before it is asked again shows nothing."""
    once_only = partialmethod(ObjectAddress.connect, attempts=1)
    monkeypatch.setattr(ObjectAddress, "connect", once_only)


@pytest.fixture
def object_store(one_object_store: ObjectStore) -> Any:
    """A server that runs; a test that stops it need not start it again."""
    yield one_object_store
    if one_object_store._server is None:
        one_object_store.start()
