"""The methods by name, and the options that a call may pass to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pramana.frames.sentences import one_sentence, quoted
from pramana.frames.tables import shown
from pramana_core.errors import OptionError

if TYPE_CHECKING:
    from pramana_core.mask.methods.registry import Method

AUTO = "auto"
"""The name that stands for what `recommend_masking` recommends."""


def methods() -> Mapping[str, Method]:
    """Return every method by its name: those of the paper, then the synthetic baselines."""
    from pramana_core.mask import METHODS

    return METHODS


def method_of(name: object) -> str:
    """Return a method's name. Raises OptionError for one that is unknown."""
    known = [AUTO, *methods()]
    if not isinstance(name, str) or name not in known:
        raise OptionError(
            f"method must be one of {', '.join(map(repr, known))}, not {shown(name)}.",
            where="method",
        )
    return name


def options_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method; those of a kernel may be written beside them.

    Raises:
        OptionError: an option that the method has not, or one out of its range.
    """
    from pramana_core.kernel_regression.options import KernelOptions

    known = dict(methods()[name].options)
    inner = (
        {field.name for field in dataclasses.fields(KernelOptions)} if "kernel" in known else set()
    )
    unknown = sorted(set(given) - set(known) - inner)
    if unknown:
        has = f"it has {quoted(sorted({*known, *inner} - {'kernel'}))}" if known else "it has none"
        raise OptionError(
            f"method {name!r} has no option {quoted(unknown)}; {has}.", where=unknown[0]
        )
    found = {key: value for key, value in given.items() if key not in inner}
    kernel = {key: value for key, value in given.items() if key in inner}
    if kernel:
        if "kernel" in found:
            raise OptionError(
                f"kernel must not be given beside {quoted(sorted(kernel))}, which it holds.",
                where="kernel",
            )
        with one_sentence():
            found["kernel"] = KernelOptions(**kernel)
    return found


def copies_of(copies: object) -> int:
    """Return how many copies are wanted. Raises OptionError unless it is a number from 1 to 100."""
    if isinstance(copies, bool) or not isinstance(copies, int) or not 1 <= copies <= MOST_COPIES:
        raise OptionError(
            f"copies must be a whole number from 1 to {MOST_COPIES}, not {shown(copies)}.",
            where="copies",
        )
    return copies


MOST_COPIES = 100
