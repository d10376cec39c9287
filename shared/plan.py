"""What is done to which variables: blocks of variables, each randomized by one channel.

A `Plan` says what the mechanism is and nothing about what it costs (that is `privacy`). Its
canonical JSON holds names, categories and integers only, so its SHA-256 digest is its identity on
every machine.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shared.domain import Domain, Variable
from shared.errors import PlanError
from shared.transition import RESOLUTION, Dense, Identity, Symmetric, Transition, Units


@dataclass(frozen=True)
class Block:
    """Variables of one owner randomized together by one channel (Ma 2.1).

    A joint block's channel acts on the product of its variables' categories, the last variable
    changing fastest; it reports a category of each variable.

    Raises:
        PlanError: no variables, or a channel that does not fit them.
    """

    variables: tuple[Variable, ...]
    channel: Transition

    def __post_init__(self) -> None:
        domain = Domain(self.variables)
        true, reported = self.channel.shape
        if not self.variables or true != domain.size:
            raise PlanError(
                f"The channel of block {list(domain.names)} has {true} true categories; its"
                f" variables have {domain.size}.",
                where=self.name,
            )
        if len(self.variables) > 1 and reported != true:
            raise PlanError(
                f"The joint block {list(domain.names)} reports {reported} categories for {true};"
                " a joint block must report a category of each of its variables.",
                where=self.name,
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the block's variables, in the order its channel takes them."""
        return tuple(v.name for v in self.variables)

    @property
    def name(self) -> str:
        """A readable name: the variables' names joined by `*`."""
        return "*".join(self.names)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the block's canonical JSON, in hexadecimal: names its keyed draws."""
        return _digest(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form."""
        return {
            "variables": [
                {"name": v.name, "categories": list(v.categories)} for v in self.variables
            ],
            "channel": self.channel.as_dict(),
        }

    @property
    def reported_shape(self) -> tuple[int, ...]:
        """The number of reported categories per variable."""
        if len(self.variables) == 1:
            return (self.channel.shape[1],)
        return tuple(v.size for v in self.variables)

    def restrict(self, names: Sequence[str]) -> Transition | None:
        """Return the channel of some of the block's variables alone, in their block order.

        That channel exists only if P is lumpable for the split: the distribution of the reports
        on `names` must not depend on the true values of the others (Ma prop. 7.2; FRAPP eq. 28).
        Symmetric channels are lumpable. Returns None where it does not exist; then the whole
        block must be estimated and summed out.
        """
        kept = [v.name in set(names) for v in self.variables]
        if all(kept):
            return self.channel
        shape = tuple(v.size for v in self.variables)
        size = math.prod(s for s, keep in zip(shape, kept, strict=True) if keep)
        if isinstance(self.channel, Identity):
            return Identity(size)
        if isinstance(self.channel, Symmetric):
            return Symmetric(size, self.channel.off_units * (self.channel.size // size))
        return _lump(self.channel.units(), shape, kept)


@dataclass(frozen=True)
class Plan:
    """Blocks that together hold each of their variables exactly once.

    Raises:
        PlanError: no blocks, or a variable in two of them.
    """

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        names = [name for block in self.blocks for name in block.names]
        repeated = sorted(name for name, times in Counter(names).items() if times > 1)
        if not names or repeated:
            raise PlanError(
                f"A plan randomizes each variable in exactly one block; repeated: {repeated}."
                if names
                else "The plan has no blocks.",
                where=", ".join(repeated) or None,
            )

    @classmethod
    def combine(cls, plans: Iterable[Plan]) -> Plan:
        """Join the plans of owners that hold different variables of the same records."""
        return cls(tuple(block for plan in plans for block in plan.blocks))

    @classmethod
    def unrandomized(cls, domain: Domain) -> Plan:
        """Return the plan that reports every variable of a domain as it is."""
        return cls(tuple(Block((v,), Identity(v.size)) for v in domain))

    @cached_property
    def domain(self) -> Domain:
        """The true domain: the blocks' variables in block order."""
        return Domain(tuple(v for block in self.blocks for v in block.variables))

    @cached_property
    def reported_sizes(self) -> dict[str, int]:
        """The number of categories each variable is reported in."""
        return {
            name: size
            for block in self.blocks
            for name, size in zip(block.names, block.reported_shape, strict=True)
        }

    def block_of(self, name: str) -> Block:
        """Return the block that holds a variable. Raises UnknownVariable."""
        self.domain.axis(name)
        return next(block for block in self.blocks if name in block.names)

    def as_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form."""
        return {"blocks": [block.as_dict() for block in self.blocks]}

    def canonical_json(self) -> bytes:
        """Return the bytes whose SHA-256 is the plan's identity (sorted keys, UTF-8)."""
        return _canonical(self.as_dict())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return _digest(self.as_dict())


def _canonical(value: dict[str, Any]) -> bytes:
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    ).encode()


def _digest(value: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(value)).hexdigest()


def _lump(units: Units, shape: tuple[int, ...], kept: list[bool]) -> Transition | None:
    """Sum a joint channel over the dropped reports; None if the dropped truth still matters."""
    dropped = [axis for axis, keep in enumerate(kept) if not keep]
    rank = len(shape)
    # Integers: the test for lumpability is exact. The sum of a row is 2^32, far from overflow.
    summed = units.reshape(shape + shape).sum(axis=tuple(rank + axis for axis in dropped))
    moved = np.moveaxis(summed, dropped, range(len(dropped)))
    size = math.prod(s for s, keep in zip(shape, kept, strict=True) if keep)
    candidates = moved.reshape(-1, size, size)
    if np.any(candidates != candidates[0]):
        return None
    rows = tuple(tuple(int(u) for u in row) for row in candidates[0])
    assert all(sum(row) == RESOLUTION for row in rows)  # noqa: S101 - rows of P sum to 1
    return Dense(rows)
