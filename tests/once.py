"""What takes long to start is started once for all tests of a process, whichever asks first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

import pytest

T = TypeVar("T")


def once(
    config: pytest.Config, key: pytest.StashKey[T], opened: Callable[[], AbstractContextManager[T]]
) -> T:
    """Return what `opened` gives, the same at every call; it is closed when all tests ended."""
    if key not in config.stash:
        stack = ExitStack()
        config.add_cleanup(stack.close)
        config.stash[key] = stack.enter_context(opened())
    return config.stash[key]
