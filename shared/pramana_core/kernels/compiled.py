"""Access to the compiler of loops: numba, an optional extra that takes a second to load.

Modules of kernels decorate functions with `compiled`, and so load numba on import. Such a module is
imported inside a function, after `can_compile()` returned True; otherwise another path is used.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

LOADING = 1.0
"""The approximate seconds to load numba and kernels that are already compiled."""


class Forgone:
    """The seconds that compiled loops would have saved so far. Above `LOADING`, numba is loaded."""

    def __init__(self) -> None:
        self.seconds = 0.0


_FORGONE = Forgone()


def can_compile(saved: float = math.inf, forgone: Forgone = _FORGONE) -> bool:
    """Return whether numba is installed, and either is loaded or would save enough seconds."""
    if "numba" in sys.modules:
        return sys.modules["numba"] is not None
    forgone.seconds += saved
    return forgone.seconds > LOADING and find_spec("numba") is not None


def load() -> None:
    """Load numba now if it is installed, for a caller that expects enough work."""
    if find_spec("numba") is not None:
        import_module("numba")


def compiled(kernel: Kernel) -> Kernel:
    """Return a kernel as machine code, which runs without the interpreter's lock.

    The code is cached next to the source or, if that is not possible, in the user's cache folder.
    If neither is writable, every process compiles it again.
    """
    from numba import njit

    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    made: Any
    try:
        made = njit(cache=True, **options)(kernel)
    except RuntimeError:  # numba found no folder for its cache
        made = njit(**options)(kernel)
    return cast("Kernel", made)


def memory_access() -> tuple[Any, Any]:
    """Return the functions by which compiled loops read memory at an address.

    One makes an array from a pointer, shape and type; the other a pointer from a uint64 address.
    """
    from numba import carray, types  # type: ignore[attr-defined]
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def pointer(_context: Any, _address: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return types.voidptr(types.uint64), generate

    return carray, pointer
