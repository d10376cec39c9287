"""Plans as they travel: blocks of variables and the channels that randomize them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from shared.channels import (
    MIXTURE_CELLS,
    MIXTURE_RESOLUTION,
    RESOLUTION,
    Choice,
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    StructuralZeros,
    Symmetric,
    Transition,
    UnitTransition,
    Withheld,
)
from shared.domain import Variable
from shared.plan import Block, Plan
from shared.wire.base import (
    MAX_CATEGORIES,
    MAX_CHOICES,
    MAX_VARIABLES,
    Label,
    Message,
    Probability32,
)


class IdentityMessage(Message):
    """A variable that is not randomized."""

    family: Literal["identity"]
    size: Annotated[int, Field(ge=2, le=RESOLUTION, strict=True)]

    def to_transition(self) -> UnitTransition:
        """Return the channel."""
        return Identity(self.size)


class SymmetricMessage(Message):
    """A symmetric channel; `off` is the probability of each other category, times 2^32."""

    family: Literal["symmetric"]
    size: Annotated[int, Field(ge=2, le=RESOLUTION, strict=True)]
    off: Probability32

    def to_transition(self) -> UnitTransition:
        """Return the channel. Raises NotStochastic."""
        return Symmetric(self.size, self.off)


class RandomSymmetricMessage(Message):
    """A symmetric channel drawn anew for every record; `spread` is how far `off` varies."""

    family: Literal["random-symmetric"]
    size: Annotated[int, Field(ge=2, le=RESOLUTION, strict=True)]
    off: Probability32
    spread: Probability32

    def to_transition(self) -> Transition:
        """Return the channel. Raises NotStochastic."""
        return RandomSymmetric(self.size, self.off, self.spread)


class WithheldMessage(Message):
    """Variables that are not reported."""

    family: Literal["withheld"]
    size: Annotated[int, Field(ge=2, le=MIXTURE_CELLS, strict=True)]

    def to_transition(self) -> Transition:
        """Return the channel."""
        return Withheld(self.size)


class MixtureMessage(Message):
    """A symmetric channel over a product; `keep` is the probability of keeping, times 2^64."""

    family: Literal["mixture"]
    size: Annotated[int, Field(ge=2, le=MIXTURE_CELLS, strict=True)]
    keep: Annotated[int, Field(ge=0, le=MIXTURE_RESOLUTION, strict=True)]

    def to_transition(self) -> Transition:
        """Return the channel."""
        return Mixture(self.size, self.keep)


class DenseMessage(Message):
    """A transition matrix row by row, times 2^32."""

    family: Literal["dense"]
    rows: Annotated[
        list[Annotated[list[Probability32], Field(min_length=2, max_length=MAX_CATEGORIES)]],
        Field(min_length=2, max_length=MAX_CATEGORIES),
    ]

    def to_transition(self) -> UnitTransition:
        """Return the channel. Raises NotStochastic, ChannelError."""
        return Dense(tuple(tuple(row) for row in self.rows))


class GroupedMessage(Message):
    """A block-diagonal matrix: groups of category codes and a channel (or null) for each."""

    family: Literal["grouped"]
    groups: list[list[Annotated[int, Field(ge=0, strict=True)]]]
    channels: list[UnitChannelMessage | None]

    def to_transition(self) -> UnitTransition:
        """Return the channel. Raises ChannelError."""
        return Grouped(
            tuple(tuple(group) for group in self.groups),
            tuple(c.to_transition() if c is not None else None for c in self.channels),
        )


class StructuralZerosMessage(Message):
    """A channel over the possible categories; the impossible codes never appear."""

    family: Literal["structural-zeros"]
    size: Annotated[int, Field(ge=2, le=RESOLUTION, strict=True)]
    impossible: Annotated[
        list[Annotated[int, Field(ge=0, strict=True)]], Field(max_length=MAX_CATEGORIES)
    ]
    channel: UnitChannelMessage

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError."""
        return StructuralZeros(self.size, tuple(self.impossible), self.channel.to_transition())


class OneHotMessage(Message):
    """A variable reported as a set of items, each flipped with probability `flip` / 2^32."""

    family: Literal["one-hot"]
    size: Annotated[int, Field(ge=2, strict=True)]
    flip: Probability32

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError."""
        return OneHot(self.size, self.flip)


Sizes = Annotated[
    list[Annotated[int, Field(ge=2, le=MAX_CATEGORIES, strict=True)]],
    Field(min_length=1, max_length=MAX_VARIABLES),
]


class CutAndPasteMessage(Message):
    """The cut-and-paste operator over variables reported as items.

    `paste` is rho times 2^32; `of` is the number of variables whose items are kept among.
    """

    family: Literal["cut-and-paste"]
    sizes: Sizes
    cut: Annotated[int, Field(ge=0, le=MAX_VARIABLES, strict=True)]
    paste: Probability32
    of: Annotated[int, Field(ge=1, le=MAX_VARIABLES, strict=True)]

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError."""
        return CutAndPaste(tuple(self.sizes), self.cut, self.paste, self.of)


class ChoiceMessage(Message):
    """One subset of a sampled block, its probability times 2^32, and its channel."""

    axes: Annotated[
        list[Annotated[int, Field(ge=0, strict=True)]],
        Field(min_length=1, max_length=MAX_VARIABLES),
    ]
    weight: Probability32
    channel: ChannelMessage

    def to_choice(self) -> Choice:
        """Return the choice. Raises ChannelError."""
        return Choice(tuple(self.axes), self.weight, self.channel.to_transition())


class SampledMessage(Message):
    """Each record reports one of several subsets of the block's variables."""

    family: Literal["sampled"]
    sizes: Sizes
    choices: Annotated[list[ChoiceMessage], Field(min_length=1, max_length=MAX_CHOICES)]

    def to_transition(self) -> Transition:
        """Return the channel. Raises ChannelError, NotStochastic."""
        return Sampled(tuple(self.sizes), tuple(c.to_choice() for c in self.choices))


UnitChannelMessage = Annotated[
    IdentityMessage | SymmetricMessage | DenseMessage | GroupedMessage,
    Field(discriminator="family"),
]
"""Channels that one 32-bit draw can report."""

ChannelMessage = Annotated[
    IdentityMessage
    | SymmetricMessage
    | DenseMessage
    | GroupedMessage
    | StructuralZerosMessage
    | RandomSymmetricMessage
    | MixtureMessage
    | WithheldMessage
    | OneHotMessage
    | CutAndPasteMessage
    | SampledMessage,
    Field(discriminator="family"),
]


class VariableMessage(Message):
    """A variable's name, its categories in code order, and the numbers they stand for, if any."""

    name: Label
    categories: Annotated[list[Label], Field(min_length=2, max_length=MAX_CATEGORIES)]
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
    channel: ChannelMessage

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


GroupedMessage.model_rebuild()
