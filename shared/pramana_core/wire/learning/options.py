"""A learner's options as fields of a message, with its own names, types, limits and defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, ClassVar, Generic, TypeVar, Union, get_args, get_origin

import pydantic
from pydantic import BaseModel, ConfigDict, create_model

from pramana_core.learn.common.options import types_of
from pramana_core.wire.base import Message

OptionsT = TypeVar("OptionsT")
MessageT = TypeVar("MessageT", bound=BaseModel)


class Finite(Message):
    """The base of messages whose numbers are finite."""

    model_config = ConfigDict(allow_inf_nan=False)


class WithOptions(Finite, Generic[OptionsT]):
    """The base of messages that carry options, as `options_from` gives them."""

    carried: ClassVar[type[Any]]

    def options(self) -> OptionsT:
        """Return what it carries. Raises OptionError."""
        options: OptionsT = options_in(self, self.carried)
        return options


def options_from(
    options: type[Any], **as_messages: Any
) -> Callable[[type[MessageT]], type[MessageT]]:
    """Give a message a field for each option that it does not declare itself, after its own.

    Args:
        options: the dataclass of the options.
        as_messages: the types of those options that messages bound more closely.
    """
    types = types_of(options) | as_messages

    def extended(message: type[MessageT]) -> type[MessageT]:
        more: dict[str, Any] = {
            field.name: (_strict(types[field.name]), _default(field))
            for field in fields(options)
            if field.name not in message.model_fields
        }
        made = create_model(
            message.__name__,
            __base__=message,
            __module__=message.__module__,
            __doc__=message.__doc__,
            **more,
        )
        setattr(made, "carried", options)  # noqa: B010 - not every message has options alone
        return made

    return extended


def options_in(message: BaseModel, options: type[OptionsT]) -> OptionsT:
    """Return the options that a message carries. Raises OptionError."""
    names = (field.name for field in fields(options))  # type: ignore[arg-type]
    return options(**{name: getattr(message, name) for name in names})


def _strict(kind: Any) -> Any:
    """Return a type whose whole numbers and flags are read from nothing else."""
    if kind in (int, bool):
        return Annotated[kind, pydantic.Field(strict=True)]
    if get_origin(kind) is Annotated:
        return Annotated[(_strict(kind.__origin__), *kind.__metadata__)]
    if type(None) in get_args(kind):
        return Union[tuple(map(_strict, get_args(kind)))]  # noqa: UP007 - of a list of types
    return kind


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return pydantic.Field(default_factory=field.default_factory)
    return ... if field.default is MISSING else field.default
