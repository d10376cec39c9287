"""One lock per name, kept only while somebody holds it or waits for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Locks:
    """Locks by name: holders of different names do not wait for each other."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._wanted: dict[str, int] = {}

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold the lock of a name; wait for whoever has it."""
        with self._changing:
            lock = self._locks.setdefault(name, threading.Lock())
            self._wanted[name] = self._wanted.get(name, 0) + 1
        try:
            with lock:
                yield
        finally:
            with self._changing:
                self._wanted[name] -= 1
                if not self._wanted[name]:
                    del self._wanted[name], self._locks[name]
