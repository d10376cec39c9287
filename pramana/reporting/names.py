"""Lists of variables' names as people give them."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.frames.tables import shown
from pramana_core.errors import OptionError


def names_of(given: object, argument: str, *, one: bool = False) -> tuple[str, ...]:
    """Return a list of names, or what pandas and numpy have of them, such as `frame.columns`.

    Args:
        given: what was passed.
        argument: the parameter that it was passed as.
        one: whether a name alone is understood as a list of it.

    Raises:
        OptionError: it is no list of names, is empty, or has a name twice.
    """
    if one and isinstance(given, str):
        return (given,)
    listed = given if isinstance(given, str) or not hasattr(given, "tolist") else given.tolist()
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        wanted = "a name or a list of names" if one else "a list of names"
        raise OptionError(f"{argument} must be {wanted}, not {shown(listed)}.", where=argument)
    for name in listed:
        if not isinstance(name, str):
            raise OptionError(
                f"{argument} must be a list of names, but holds {shown(name)}.", where=argument
            )
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice or not listed:
        told = f"names {twice[0]!r} twice" if twice else "is empty"
        raise OptionError(f"{argument} {told}; it must name each variable once.", where=argument)
    return tuple(listed)
