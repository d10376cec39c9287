"""Plans as they travel: blocks of variables and the channels that randomize them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from pramana_core.domain import Variable
from pramana_core.plan import Block, Plan
from pramana_core.wire.base import MAX_CATEGORIES, MAX_VARIABLES, Label, Message
from pramana_core.wire.channels import AnyChannel


class NamedVariable(Message):
    """A variable's name and its categories in code order."""

    name: Label
    categories: Annotated[list[Label], Field(min_length=2, max_length=MAX_CATEGORIES)]


class VariableMessage(NamedVariable):
    """A variable's name, its categories in code order, and the numbers they stand for, if any."""

    representatives: (
        Annotated[
            list[Annotated[float, Field(allow_inf_nan=False, strict=True)]],
            Field(min_length=2, max_length=MAX_CATEGORIES),
        ]
        | None
    ) = None

    # A return type would stand in the API's document in place of the fields.
    @model_serializer(mode="wrap")
    def _without_absence(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Leave the key out where there are no numbers, as the canonical JSON does."""
        written: dict[str, Any] = write(self)
        return {key: value for key, value in written.items() if value is not None}

    def to_variable(self) -> Variable:
        """Return the variable. Raises DomainError."""
        numbers = None if self.representatives is None else tuple(self.representatives)
        return Variable(self.name, tuple(self.categories), numbers)


class BlockMessage(Message):
    """Variables randomized together by one channel."""

    variables: Annotated[list[VariableMessage], Field(min_length=1, max_length=MAX_VARIABLES)]
    channel: AnyChannel

    def to_block(self) -> Block:
        """Return the block. Raises PlanError, ChannelError, DomainError."""
        return Block(tuple(v.to_variable() for v in self.variables), self.channel.to_transition())


class PlanMessage(Message):
    """The canonical JSON of a plan (see `Plan.as_dict`, which writes it)."""

    blocks: Annotated[list[BlockMessage], Field(min_length=1, max_length=MAX_VARIABLES)]

    @classmethod
    def from_plan(cls, plan: Plan) -> PlanMessage:
        """Wrap a plan."""
        return cls.model_validate(plan.as_dict())

    def to_plan(self) -> Plan:
        """Return the plan. Raises PlanError, ChannelError, DomainError."""
        return Plan(tuple(block.to_block() for block in self.blocks))
