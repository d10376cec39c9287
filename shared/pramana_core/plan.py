"""Plans: blocks of variables, each randomized by one channel.

A `Plan` describes the mechanism; `privacy` computes its cost. Its canonical JSON contains names,
categories, integers and representatives. The SHA-256 digest of that JSON identifies the plan.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pramana_core.alike import repeated_in
from pramana_core.canonical import canonical_json, digest_of
from pramana_core.channels import (
    Choice,
    Coordinated,
    Identity,
    Product,
    Sampled,
    Transition,
    pieces,
)
from pramana_core.domain import Domain, Variable
from pramana_core.errors import PlanError

_SHOWN = 10
"""The maximum number of blocks of a plan, and variables of a block, that the printed form names."""


@dataclass(frozen=True)
class Block:
    """Variables of one owner that one channel randomizes together (Ma 2.1).

    The channel of a joint block acts on the product of its variables' categories, with the last
    variable changing fastest. It reports a code for each variable.

    Args:
        variables: the variables in the order of the channel's axes.
        channel: a K x L channel, where K is the number of combinations of their categories.

    Raises:
        PlanError: there are no variables, or the channel does not fit them.

    Examples:
        >>> import pramana as pm
        >>> sex = pm.Variable("sex", ("f", "m"))
        >>> pm.Block((sex,), pm.Symmetric.from_probability(2, 0.1))
        Block(sex: symmetric, kept 0.9)
    """

    variables: tuple[Variable, ...]
    channel: Transition

    def __post_init__(self) -> None:
        domain = Domain(self.variables)
        object.__setattr__(self, "variables", domain.variables)
        if not isinstance(self.channel, Transition):
            raise PlanError(
                f"The channel of block {list(domain.names)} must be a Transition, not"
                f" {self.channel!r}.",
                where=self.name,
            )
        true, reported = self.channel.shape
        if not self.variables or true != domain.size:
            raise PlanError(
                f"The channel of block {list(domain.names)} has {true} true categories, but"
                f" the block's variables have {domain.size} combinations of categories.",
                where=self.name,
            )
        if self.channel.report_sizes(domain.shape) is None:
            raise PlanError(
                f"The joint block {list(domain.names)} has {true} combinations and {reported}"
                " reports; its channel must report a category of each of its variables.",
                where=self.name,
            )

    def __repr__(self) -> str:
        return f"Block({_summary(self)})"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the block's variables in the order of the channel's axes."""
        return tuple(v.name for v in self.variables)

    @property
    def name(self) -> str:
        """A readable name: the variables' names joined by `*`."""
        return "*".join(self.names)

    @property
    def widest(self) -> int:
        """The largest number of categories of any of the variables."""
        return max(v.size for v in self.variables)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the block's canonical JSON in hexadecimal, from which its keys derive."""
        # Representatives are left out: they change a category's meaning, not the randomization.
        # A new digest would draw the same values again, which is a further privacy loss.
        variables = [{"name": v.name, "categories": list(v.categories)} for v in self.variables]
        return digest_of({"variables": variables, "channel": self.channel.as_dict()})

    def as_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form."""
        return {
            "variables": [_variable(v) for v in self.variables],
            "channel": self.channel.as_dict(),
        }

    @property
    def reported_shape(self) -> tuple[int, ...]:
        """The number of reported codes of each variable."""
        sizes = tuple(v.size for v in self.variables)
        return self.channel.report_sizes(sizes) or sizes

    def restrict(self, names: Sequence[str]) -> Transition | None:
        """Return the channel of some of the block's variables, in block order, or None.

        The channel exists only if P is lumpable: reports on `names` do not depend on the true
        values of the other variables (Ma prop. 7.2; FRAPP eq. 28).
        """
        wanted = set(names)
        sizes = [v.size for v in self.variables]
        return self.channel.restrict(sizes, [v.name in wanted for v in self.variables])

    def reports_together(self, names: Collection[str]) -> bool:
        """Return whether a record may report all named variables of the block."""
        axes = [place for place, name in enumerate(self.names) if name in names]
        return self.channel.reports_together(axes)

    @property
    def together(self) -> int:
        """The largest number of the block's variables that one record reports."""
        return self.channel.together(len(self.variables))


@dataclass(frozen=True)
class Plan:
    """Blocks that contain each variable exactly once.

    Args:
        blocks: the variables randomized together, with their channels.

    Raises:
        PlanError: there are no blocks, or a variable is in two of them.

    Examples:
        >>> import pramana as pm
        >>> plan = pm.plan(pm.Domain.of(age=["child", "adult"], sex=["f", "m"]), p=0.1)
        >>> plan
        Plan(age: symmetric, kept 0.9; sex: symmetric, kept 0.9)
        >>> plan.domain.names, plan.digest[:12]
        (('age', 'sex'), '4927d5a73e52')
    """

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        given: object = self.blocks
        if not isinstance(given, Sequence) or not all(isinstance(b, Block) for b in given):
            raise PlanError(f"A plan takes a list of blocks, not {given!r}.")
        object.__setattr__(self, "blocks", tuple(given))
        names = [name for block in self.blocks for name in block.names]
        repeated = repeated_in(names)
        if not names or repeated:
            raise PlanError(
                f"A plan must have each variable in exactly one block; repeated: {repeated}."
                if names
                else "The plan has no blocks.",
                where=", ".join(repeated) or None,
            )

    def __repr__(self) -> str:
        parts = [_summary(block) for block in self.blocks[:_SHOWN]]
        return f"Plan({'; '.join(parts)}{'; ...' * (len(self.blocks) > _SHOWN)})"

    @classmethod
    def combine(cls, plans: Iterable[Plan]) -> Plan:
        """Join the plans of owners that have different variables of the same records.

        Parts of one study plan share a coin, so they become one sampled block. Raises PlanError.
        """
        if isinstance(plans, Plan):
            plans = [plans]
        apart = cls(tuple(block for plan in plans for block in plan.blocks))
        return cls(tuple(_coordinated(apart.blocks)))

    @classmethod
    def unrandomized(cls, domain: Domain) -> Plan:
        """Return the plan that reports every variable of a domain unchanged. Raises PlanError."""
        if not isinstance(domain, Domain):
            raise PlanError(
                f"domain must be a Domain, not a {type(domain).__name__}; pm.domain builds one of a"
                " table and the list of its categories.",
                where="domain",
            )
        return cls(tuple(Block((v,), Identity(v.size)) for v in domain))

    @cached_property
    def domain(self) -> Domain:
        """The domain of the true values: the blocks' variables in block order."""
        return Domain(tuple(v for block in self.blocks for v in block.variables))

    def reports_together(self, names: Collection[str]) -> bool:
        """Return whether a record may report all named variables; False for an unknown variable."""
        return set(names) <= set(self.domain.names) and all(
            block.reports_together([name for name in block.names if name in names])
            for block in self.blocks
        )

    @cached_property
    def together(self) -> int:
        """The largest number of variables that one record reports."""
        return sum(block.together for block in self.blocks)

    @cached_property
    def reported_sizes(self) -> dict[str, int]:
        """The number of reported categories of each variable."""
        return {
            name: size
            for block in self.blocks
            for name, size in zip(block.names, block.reported_shape, strict=True)
        }

    def block_of(self, name: str) -> Block:
        """Return the block that contains a variable. Raises UnknownVariable."""
        self.domain.axis(name)
        return next(block for block in self.blocks if name in block.names)

    def as_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form."""
        return {"blocks": [block.as_dict() for block in self.blocks]}

    def canonical_json(self) -> bytes:
        """Return the bytes whose SHA-256 identifies the plan (sorted keys, UTF-8)."""
        return canonical_json(self.as_dict())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return digest_of(self.as_dict())


def _summary(block: Block) -> str:
    names = "*".join(block.names[:_SHOWN]) + "*..." * (len(block.names) > _SHOWN)
    return f"{names}: {block.channel.describe()}"


def _coordinated(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks in order, with blocks of the same coin joined at the place of the first."""
    together: dict[str, list[tuple[Block, Coordinated]]] = {}
    made: list[list[tuple[Block, Coordinated]] | Block] = []
    for block in blocks:
        if not isinstance(block.channel, Coordinated):
            made.append(block)
            continue
        if block.channel.coin not in together:
            made.append(together.setdefault(block.channel.coin, []))
        together[block.channel.coin].append((block, block.channel))
    return [one if isinstance(one, Block) else _joined(one) for one in made]


def _joined(blocks: Sequence[tuple[Block, Coordinated]]) -> Block:
    """Return the parts of one study plan as one block, with variables in block order."""
    if len(blocks) == 1:
        return blocks[0][0]
    variables = tuple(v for block, _ in blocks for v in block.variables)
    parts = [part for _, part in blocks]
    firsts = list(itertools.accumulate((len(part.sizes) for part in parts), initial=0))[:-1]
    weights: dict[tuple[tuple[int, ...], Transition], int] = {}
    for weight, chosen in pieces([part.spans for part in parts]):
        reported = [
            (first, part.choices[index])
            for first, part, index in zip(firsts, parts, chosen, strict=True)
            if index is not None
        ]
        axes = tuple(first + axis for first, choice in reported for axis in choice.axes)
        channels = tuple(choice.channel for _, choice in reported)
        widths = tuple(len(choice.axes) for _, choice in reported)
        channel = channels[0] if len(channels) == 1 else Product(widths, channels)
        weights[axes, channel] = weights.get((axes, channel), 0) + weight
    sizes = tuple(v.size for v in variables)
    choices = tuple(Choice(axes, units, channel) for (axes, channel), units in weights.items())
    return Block(variables, Sampled(sizes, choices))


def _variable(variable: Variable) -> dict[str, Any]:
    """Return a variable's canonical JSON, without a key for missing representatives."""
    form: dict[str, Any] = {"name": variable.name, "categories": list(variable.categories)}
    if variable.representatives is not None:
        form["representatives"] = list(variable.representatives)
    return form
