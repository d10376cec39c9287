"""Blocks set aside behind the end of a file: its length and what readers see stay as they are."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from functools import cache
from typing import Any

from pramana_core.full_disks import NO_ROOM

_KEEP_SIZE = 1
"""FALLOC_FL_KEEP_SIZE of Linux."""

_UNKNOWN = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})


def set_aside(descriptor: int, start: int, length: int) -> bool:
    """Set blocks aside for bytes from `start` on; whether there is room for them.

    Where the file system cannot set blocks aside, the room there is at the moment is looked at.
    """
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and start + length > most:
        return False
    found = _fallocate(descriptor, start, length)
    if found == 0:
        return True
    if found in NO_ROOM:
        return False
    if found in _UNKNOWN:
        room = os.fstatvfs(descriptor)
        return room.f_bavail * room.f_frsize >= length
    raise OSError(found, os.strerror(found))


def _fallocate(descriptor: int, start: int, length: int) -> int:
    """Return 0, or the number of the system's error."""
    call = _call()
    if call is None:
        return errno.ENOSYS
    return 0 if call(descriptor, _KEEP_SIZE, start, length) == 0 else ctypes.get_errno()


@cache
def _call() -> Any:
    call = getattr(ctypes.CDLL(None, use_errno=True), "fallocate64", None)
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return call
