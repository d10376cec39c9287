"""Messages of channels and plans. The message of a family follows from its declared parameters.

The message is the canonical document of a channel (`Transition.as_dict`): the family's name, and a
key for each field of the family's dataclass, with the range that the field declares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, is_dataclass
from functools import cache, reduce
from inspect import cleandoc
from operator import or_
from typing import Annotated, Any, ClassVar, Literal, Protocol, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, StrictInt, create_model
from pydantic_core import CoreSchema

from pramana_core.channels import FAMILIES, PARTS, Transition, UnitTransition, keys_of
from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.wire.base import MAX_CATEGORIES, MAX_VARIABLES, Label, Message, SparseMessage


class ChannelMessage(Protocol):
    """The message of a channel of any family."""

    family: str

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError."""


class _Declared(Message):
    model_config = ConfigDict(defer_build=True)
    declared: ClassVar[type]

    def to_transition(self) -> Any:
        return self.declared(
            *(_parameter(getattr(self, k)) for k in keys_of(self.declared).values())
        )


@dataclass(frozen=True)
class _OneOf:
    """Annotates a `ChannelMessage` that must be of one of the given families."""

    families: tuple[type[Transition], ...]

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union = reduce(or_, map(message_of, self.families))
        return handler.generate_schema(Annotated[union, Field(discriminator="family")])


AnyChannel = Annotated[ChannelMessage, _OneOf(FAMILIES)]
_PartChannel = Annotated[ChannelMessage, _OneOf(PARTS)]


_SECTION = re.compile(r"\n\n(?:Args|Raises|Examples):\n")
"""The end of a family's description. Later sections are only for callers from Python."""


@cache
def message_of(declared: type) -> type[_Declared]:
    """Return the message class of a family of channels, or of a parameter such as a choice."""
    hints = get_type_hints(declared, include_extras=True)
    keys: dict[str, Any] = {k: _travelling(hints[name]) for name, k in keys_of(declared).items()}
    if issubclass(declared, Transition):
        keys = {"family": Literal[declared.family]} | keys
    words = _SECTION.split(cleandoc(declared.__doc__ or ""))[0].replace("_units", "")
    name = f"{declared.__name__}Message"
    made = create_model(name, __base__=_Declared, __doc__=words, **keys)
    made.declared = declared
    return made


def _travelling(hint: Any) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[_travelling(inner[0]), *inner[1:]]
    if origin is tuple:
        return list[_travelling(inner[0])]  # type: ignore[misc]
    if inner:
        return reduce(or_, map(_travelling, inner))
    known = {int: StrictInt, Transition: AnyChannel, UnitTransition: _PartChannel}
    nested = is_dataclass(hint)
    return message_of(hint) if nested else known.get(hint, hint)


def _parameter(value: Any) -> Any:
    if isinstance(value, _Declared):
        return value.to_transition()
    if not isinstance(value, list):
        return value
    numbers = all(isinstance(first, int) for first in value[:1])
    return tuple(value) if numbers else tuple(map(_parameter, value))


class NamedVariable(Message):
    """A variable's name and its categories in code order."""

    name: Label
    categories: Annotated[list[Label], Field(min_length=2, max_length=MAX_CATEGORIES)]


class VariableMessage(NamedVariable, SparseMessage):
    """A variable's name, its categories in code order, and their numeric values, if any."""

    representatives: (
        Annotated[
            list[Annotated[float, Field(allow_inf_nan=False, strict=True)]],
            Field(min_length=2, max_length=MAX_CATEGORIES),
        ]
        | None
    ) = None

    def to_variable(self) -> Variable:
        """Return the variable. Raises DomainError."""
        numbers = None if self.representatives is None else tuple(self.representatives)
        return Variable(self.name, tuple(self.categories), numbers)


class BlockMessage(Message):
    """Variables that one channel randomizes together."""

    variables: Annotated[list[VariableMessage], Field(min_length=1, max_length=MAX_VARIABLES)]
    channel: AnyChannel

    def to_block(self) -> Block:
        """Return the block. Raises PlanError, ChannelError, DomainError."""
        return Block(tuple(v.to_variable() for v in self.variables), self.channel.to_transition())


class PlanMessage(Message):
    """The canonical JSON of a plan, as `Plan.as_dict` writes it."""

    blocks: Annotated[list[BlockMessage], Field(min_length=1, max_length=MAX_VARIABLES)]

    @classmethod
    def from_plan(cls, plan: Plan) -> PlanMessage:
        """Return the message of a plan."""
        return cls.model_validate(plan.as_dict())

    def to_plan(self) -> Plan:
        """Return the plan. Raises PlanError, ChannelError, DomainError."""
        return Plan(tuple(block.to_block() for block in self.blocks))
