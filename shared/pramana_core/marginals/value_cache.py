"""A cache of values within a memory limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
Key = TypeVar("Key")


class ValueCache(Generic[Key, Value]):
    """Values by key up to a total size; the oldest are dropped first, the newest is always kept."""

    def __init__(self, most: int, size: Callable[[Value], int]):
        self._most, self._size = most, size
        self._values: dict[Key, Value] = {}
        self._total = 0

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key, computing it if it is missing."""
        if key not in self._values:
            # Computing a value may request other values, so space is freed afterwards.
            value = make()
            self.put(key, value)
            return value
        return self._values[key]

    def put(self, key: Key, value: Value) -> None:
        """Store a value for a key that has none."""
        self._total += self._size(value)
        self._values[key] = value
        while self._total > self._most and len(self._values) > 1:
            oldest = next(iter(self._values))
            self._total -= self._size(self._values.pop(oldest))

    def __contains__(self, key: Key) -> bool:
        """Return whether a key has a value."""
        return key in self._values

    def __getitem__(self, key: Key) -> Value:
        """Return the value of a key that has one."""
        return self._values[key]
