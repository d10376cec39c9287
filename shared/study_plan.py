"""The plan of a whole study: which variables, at which owners, each record reports together.

Under a bound on the whole record each record reports one small set of variables. In a vertical
study the set may lie at several owners, and unless they all know which set it is, each would choose
for itself and their losses would add. A study plan says once, for all owners, which sets there are,
how often each is reported, and by which channel each owner reports its part of a set; a keyed coin
of the pseudonym chooses the set. It is agreed by its digest, which also names the coin. The loss
about a record is the largest of the sets', over all owners.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shared.channels import RESOLUTION, Choice, Coordinated, Product, Sampled, Transition
from shared.channels.parameters import document
from shared.domain import Domain, Variable
from shared.errors import PlanError
from shared.plan import Block, Plan


@dataclass(frozen=True)
class StudyPart:
    """What one owner reports in a set: places among its own variables, and the channel of them."""

    owner: int
    axes: tuple[int, ...]
    channel: Transition


@dataclass(frozen=True)
class StudySet:
    """A set of variables that a record reports with probability `weight` / 2^32, owner by owner."""

    weight: int
    parts: tuple[StudyPart, ...]


@dataclass(frozen=True)
class StudyPlan:
    """Who reports what, how often, at which share (see the module).

    `owners` are (name, variables) in the study's order; `sets` are in the order of the coin.

    Raises:
        PlanError: owners or variables that are there twice, a set that does not fit the owners, or
            weights that are more than 1 together.
    """

    owners: tuple[tuple[str, tuple[Variable, ...]], ...]
    sets: tuple[StudySet, ...]

    def __post_init__(self) -> None:
        owners = [name for name, _ in self.owners]
        names = [v.name for _, variables in self.owners for v in variables]
        if not names or len(set(owners)) < len(owners) or len(set(names)) < len(names):
            raise PlanError("A study plan names every owner and every variable exactly once.")
        total = sum(one.weight for one in self.sets)
        if not self.sets or min(one.weight for one in self.sets) < 1 or total > RESOLUTION:
            raise PlanError("The sets' probabilities must be positive and sum to at most 1.")
        for one in self.sets:
            places = [part.owner for part in one.parts]
            if not places or places != sorted(set(places)) or places[-1] >= len(owners):
                raise PlanError("A set names each of its owners once, in the study's order.")

    @classmethod
    def of(cls, plan: Plan, owners: Sequence[tuple[str, Sequence[str]]]) -> StudyPlan:
        """Return the study plan of one sampled block over all owners' variables.

        Sets within one owner are reported by any channel; those over several by a `Product` with a
        channel for each owner's part.

        Args:
            plan: one block, sampled; its variables owner by owner.
            owners: each owner's name and variables.

        Raises:
            PlanError: the plan is not of that form.
        """
        (block,) = plan.blocks
        names = [name for _, held in owners for name in held]
        if not isinstance(block.channel, Sampled) or list(block.names) != names:
            raise PlanError(
                "A study plan is made of one sampled block over the owners' variables in order.",
                remedy="Design it with the owners of the variables stated.",
            )
        place = {name: i for i, (_, held) in enumerate(owners) for name in held}
        first = {name: held.index(name) for _, held in owners for name in held}
        sets = []
        for choice in block.channel.choices:
            inside = [block.names[axis] for axis in choice.axes]
            holders = sorted({place[name] for name in inside})
            channels = (
                choice.channel.channels
                if isinstance(choice.channel, Product)
                else (choice.channel,)
            )
            if len(channels) != len(holders):
                raise PlanError(
                    f"The set {inside} lies at {len(holders)} owners and has {len(channels)}"
                    " channels; each owner reports its part by one."
                )
            sets.append(
                StudySet(
                    choice.weight,
                    tuple(
                        StudyPart(
                            owner, tuple(first[n] for n in inside if place[n] == owner), channel
                        )
                        for owner, channel in zip(holders, channels, strict=True)
                    ),
                )
            )
        held = tuple(
            (name, tuple(block.variables[names.index(n)] for n in own)) for name, own in owners
        )
        return cls(held, tuple(sets))

    def as_dict(self) -> dict[str, Any]:
        """Return the canonical JSON form: names, categories and integers."""
        return {
            "owners": [
                {
                    "name": name,
                    "variables": [
                        {"name": v.name, "categories": list(v.categories)} for v in variables
                    ],
                }
                for name, variables in self.owners
            ],
            "sets": [
                {
                    "weight": one.weight,
                    "parts": [
                        {
                            "owner": part.owner,
                            "axes": list(part.axes),
                            "channel": document(part.channel),
                        }
                        for part in one.parts
                    ],
                }
                for one in self.sets
            ],
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal: its identity and the coin's name."""
        written = json.dumps(
            self.as_dict(), sort_keys=True, ensure_ascii=False, separators=(",", ":")
        )
        return hashlib.sha256(written.encode()).hexdigest()

    def block(self, owner: str) -> Block:
        """Return an owner's part as a block. Raises PlanError for an owner who reports nothing."""
        place = next((i for i, (name, _) in enumerate(self.owners) if name == owner), None)
        if place is None:
            raise PlanError(f"The study plan has no owner {owner!r}.", where=owner)
        variables = self.owners[place][1]
        starts, choices, start = [], [], 0
        for one in self.sets:
            for part in one.parts:
                if part.owner == place:
                    starts.append(start)
                    choices.append(Choice(part.axes, one.weight, part.channel))
            start += one.weight
        if not choices:
            raise PlanError(f"No set of the study plan has a variable of {owner!r}.", where=owner)
        sizes = tuple(v.size for v in variables)
        channel = Coordinated(sizes, tuple(choices), tuple(starts), self.digest)
        return Block(variables, channel)

    @property
    def domain(self) -> Domain:
        """All variables, owner by owner."""
        return Domain(tuple(v for _, variables in self.owners for v in variables))

    @property
    def together(self) -> Plan:
        """The plan of all owners' reports of one record, as the miner sees it."""
        return Plan.combine(Plan((self.block(name),)) for name, _ in self.owners)

    def epsilon(self, amplification: Any) -> float:
        """Return the loss about a record over all owners: the largest sum over a set's parts.

        `amplification` gives the epsilon of a channel (`shared.privacy.epsilon`).
        """
        sums = (math.fsum(amplification(p.channel) for p in one.parts) for one in self.sets)
        return max(sums)
