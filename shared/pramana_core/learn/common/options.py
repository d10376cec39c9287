"""Options of learners: frozen dataclasses whose types say their limits, once for all who take them.

Messages, tasks of peers and commands take names, types, limits and defaults from here.
"""

from __future__ import annotations

import math
import operator
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError

Share = Annotated[float, Gt(0), Le(1)]
"""A share of something, and not none of it."""

InnerShare = Annotated[float, Gt(0), Lt(1)]
Positive = Annotated[float, Gt(0), Le(10**12)]
NotNegative = Annotated[float, Ge(0), Le(10**12)]
"""What is larger overflows somewhere, and means the same as the largest."""

Seed = Annotated[int, Ge(0), Lt(1 << 53)]
"""Below 2^53, so that no reader of JSON rounds it."""

_LONGEST = 40
"""What is longer is not quoted."""

_WORDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def types_of(options: type) -> dict[str, Any]:
    """Return the type of each option, with its limits."""
    return get_type_hints(options, include_extras=True)


def limits_of(kind: Any) -> str:
    """Return the limits of a number in words: `at least 0 and at most 16`; empty without any."""
    return " and ".join(f"{_WORDS[name]} {bound:,}" for name, bound in _limits(kind))


def require_limits(options: object) -> None:
    """Check every option of a dataclass against its type. Raises OptionError."""
    for name, kind in types_of(type(options)).items():
        require_limit(getattr(options, name), kind, name)


def require_limit(value: Any, kind: Any, where: str) -> None:
    """Check that a value is one of a `Literal`, true or false, or a finite number within limits.

    Raises:
        OptionError: it is not.
    """
    if value is None and NoneType in get_args(kind):
        return
    if kind is bool and not isinstance(value, bool):
        raise OptionError(f"{where} must be True or False, not {value!r}.", where=where)
    choices = [c for part in _parts(kind) if get_origin(part) is Literal for c in get_args(part)]
    if choices and value not in choices:
        raise OptionError(
            f"{where} must be one of {', '.join(choices)}, not"
            f" {value!r}{did_you_mean([value], choices)}.",
            where=where,
        )
    limits = _limits(kind)
    if limits:
        _require_number(value, kind, where)
    if not all(getattr(operator, name)(value, bound) for name, bound in limits):
        raise OptionError(f"{where} must be {limits_of(kind)}, not {value}.", where=where)


def _require_number(value: Any, kind: Any, where: str) -> None:
    whole = any(get_origin(part) is Annotated and get_args(part)[0] is int for part in _parts(kind))
    wanted, name = (Integral, "whole number") if whole else (Real, "finite number")
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise OptionError(
            f"{where} must be a {name} {limits_of(kind)}, not {_given(value)}.", where=where
        )
    if not isinstance(value, Integral) and not math.isfinite(value):
        raise OptionError(
            f"{where} must be a finite number {limits_of(kind)}, not {_given(value)}.", where=where
        )


def _given(value: Any) -> str:
    """Return a value as a message holds it: itself where that is short, else its type."""
    text = repr(value) if isinstance(value, str | int | float | None) else ""
    return text if 0 < len(text) <= _LONGEST else f"a {type(value).__name__}"


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _limits(kind: Any) -> list[tuple[str, float]]:
    return [
        (name, getattr(limit, name))
        for part in _parts(kind)
        if get_origin(part) is Annotated
        for limit in part.__metadata__
        for name in _WORDS
        if hasattr(limit, name)
    ]
