"""Learners' options on the command line: `--set name=value`, from their dataclasses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError
from pramana_core.learn.common.options import limits_of, types_of

WHERE = "--set"

NONE = "none"
"""The text that means None."""


class Settings:
    """The options of some dataclasses, and their values from `name=value` texts.

    `renamed` maps (dataclass, field) to the name of the option if that differs from the field's
    name; `left_out` names fields that are set elsewhere or have no effect here. Raises OptionError.
    """

    def __init__(
        self,
        given: Sequence[str],
        *kinds: type,
        renamed: dict[tuple[type, str], str] | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        self._fields = {
            (renamed or {}).get((kind, field.name), field.name): (kind, field)
            for kind in kinds
            for field in fields(kind)
            if _typed(types_of(kind)[field.name]) and field.name not in left_out
        }
        self._values: dict[type, dict[str, Any]] = {kind: {} for kind in kinds}
        for text in given:
            name, equals, value = text.partition("=")
            if name not in self._fields or not equals:
                raise OptionError(
                    "--set must be name=value with the name of an option, not"
                    f" {text!r}{did_you_mean([name], self.names)}.",
                    where=WHERE,
                    remedy=f"The options are {self.described()}.",
                )
            kind, field = self._fields[name]
            if field.name in self._values[kind]:
                raise OptionError(f"--set {name} is given twice.", where=WHERE)
            self._values[kind][field.name] = _read(name, value, types_of(kind)[field.name])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the options."""
        return tuple(self._fields)

    def of(self, kind: type) -> dict[str, Any]:
        """Return the values that were given for the fields of one of the dataclasses."""
        return self._values[kind]

    def described(self) -> str:
        """Return all options with their choices or limits and their defaults, as text."""
        return ", ".join(
            f"{name}{_limits(types_of(kind)[field.name])}{_default(field)}"
            for name, (kind, field) in self._fields.items()
        )


def _parts(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if NoneType in get_args(kind) else (kind,)


def _typed(kind: Any) -> bool:
    plain = (get_args(p)[0] if hasattr(p, "__metadata__") else p for p in _parts(kind))
    return all(get_origin(p) is Literal or p in (bool, int, float, NoneType) for p in plain)


def _read(name: str, value: str, kind: Any) -> Any:
    from pydantic import TypeAdapter, ValidationError

    if value == NONE and NoneType in get_args(kind):
        return None
    part = next(p for p in _parts(kind) if p is not NoneType)
    try:
        return TypeAdapter(part).validate_strings(value)
    except ValidationError as error:
        cause = error.errors()[0]["msg"]
        raise OptionError(f"--set {name}={value}: {cause}.", where=WHERE) from None


def _limits(kind: Any) -> str:
    choices = [c for p in _parts(kind) if get_origin(p) is Literal for c in get_args(p)]
    words = ", ".join(choices) or limits_of(kind)
    return f" ({words})" if words else ""


def _default(field: Any) -> str:
    return "" if field.default in (MISSING, None) else f" = {field.default}".lower()


@contextmanager
def options_as_typed() -> Iterator[None]:
    """Context in which errors name options as they are typed on the command line."""
    try:
        yield
    except OptionError as error:
        name = error.where or ""
        if name.startswith("--"):
            raise
        options = {name: f"--{name}" for name in ("gamma", "owners", "delta")}
        options |= {"family": "--design", "central_epsilon": "--central-epsilon"}
        where = options.get(name, WHERE)
        raise OptionError(f"{where}: {error.message}", where=where, remedy=error.remedy) from None
