"""The plan of a study: the variables, possibly of several owners, that a record reports together.

Under a bound on the whole record, each record reports one small set of variables. A keyed coin,
computed from the pseudonym and the plan's digest, chooses the same set at every owner. A record's
loss is therefore the largest loss of any set over all owners. The bound applies only if each owner
releases its part of the plan in full and no other randomized column (`StudyPlan.departures`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from annotated_types import Ge, Le, Len, Lt

from pramana_core.alike import first_few, repeated_in
from pramana_core.canonical import canonical_json, digest_of
from pramana_core.channels import (
    CHOICES,
    RESOLUTION,
    Choice,
    Coordinated,
    Product,
    Sampled,
    Transition,
)
from pramana_core.channels.base import document
from pramana_core.domain import OWNERS, VARIABLES, Domain, Variable
from pramana_core.errors import PlanError
from pramana_core.plan import Block, Plan
from pramana_core.privacy import NOTHING, Amplification, composed

_NAMED = 5
"""The maximum number of variables of a block that a message names."""


@dataclass(frozen=True)
class StudyPart:
    """An owner's part of a set: the indices of the owner and its variables, and their channel."""

    owner: Annotated[int, Ge(0), Lt(OWNERS)]
    axes: Annotated[tuple[Annotated[int, Ge(0)], ...], Len(1, VARIABLES)]
    channel: Transition


@dataclass(frozen=True)
class StudySet:
    """A set of variables, by owner, that a record reports with probability `weight` / 2^32."""

    weight: Annotated[int, Ge(1), Le(RESOLUTION)]
    parts: Annotated[tuple[StudyPart, ...], Len(1, OWNERS)]


@dataclass(frozen=True)
class StudyPlan:
    """The owners' variables, as (name, variables) in the study's order, and the sets to report.

    `sets` are in the order of their ranges of the coin. The digest covers names, categories and
    integers. Raises PlanError: repeated names, a set that does not fit, or weights summing above 1.
    """

    owners: tuple[tuple[str, tuple[Variable, ...]], ...]
    sets: tuple[StudySet, ...]

    def __post_init__(self) -> None:
        _require_once("owner", [name for name, _ in self.owners])
        _require_once("variable", [v.name for _, variables in self.owners for v in variables])
        if not all(variables for _, variables in self.owners):
            raise PlanError("Each owner of a study plan needs a variable.", where="owners")
        total = sum(one.weight for one in self.sets)
        if not 1 <= len(self.sets) <= CHOICES:
            raise PlanError(
                f"A study plan has 1 to {CHOICES} sets, not {len(self.sets)}.", where="sets"
            )
        if min(one.weight for one in self.sets) < 1 or total > RESOLUTION:
            raise PlanError(
                "The probabilities of the sets must be positive and sum to at most 1; they sum to"
                f" {total / RESOLUTION:.9g}.",
                where="sets",
            )
        fitting: set[StudyPart] = set()
        for number, one in enumerate(self.sets):
            places = [part.owner for part in one.parts]
            if not _ascending(places, len(self.owners)):
                raise PlanError(
                    f"Set {number} lists the owners at positions {places}; it must list one or more"
                    f" of the {len(self.owners)} owners, each once and in the study's order.",
                    where=f"set {number}",
                )
            if len(one.parts) > 1 and any(part.channel.tags for part in one.parts):
                raise PlanError(
                    f"Set {number} reports subsets of the variables of several owners.",
                    where=f"set {number}",
                    remedy="Report subsets of the variables of one owner only.",
                )
            # Thousands of sets share a few distinct parts.
            for part in one.parts:
                if part not in fitting:
                    self._require_fitting(number, part)
                    fitting.add(part)

    def _require_fitting(self, number: int, part: StudyPart) -> None:
        name, variables = self.owners[part.owner]
        if not _ascending(part.axes, len(variables)):
            raise PlanError(
                f"Set {number} lists the variables at positions {list(part.axes)} of"
                f" {name!r}; it must list one or more of this owner's {len(variables)} variables,"
                " each once and in ascending order.",
                where=f"set {number}",
            )
        sizes = tuple(variables[axis].size for axis in part.axes)
        if not part.channel.fits_set(sizes):
            raise PlanError(
                f"The channel of set {number} at {name!r} does not fit variables with"
                f" {list(sizes)} categories.",
                where=f"set {number}",
            )

    @classmethod
    def of(cls, plan: Plan, owners: Sequence[tuple[str, Sequence[str]]]) -> StudyPlan:
        """Return the study plan of a sampled block whose variables are sorted by owner.

        A set within one owner may have any channel. A set over several owners needs a `Product`
        with separate channels for each owner's variables. Raises PlanError.
        """
        block = plan.blocks[0]
        names = [name for _, own in owners for name in own]
        sampled = len(plan.blocks) == 1 and isinstance(block.channel, Sampled)
        if not sampled or list(block.names) != names:
            raise PlanError(
                "A study plan needs one sampled block over all owners' variables, in order.",
                remedy="State the owner of each variable when you design the plan.",
            )
        ends = list(itertools.accumulate(len(own) for _, own in owners))
        starts = [0, *ends[:-1]]
        place = [i for i, (_, own) in enumerate(owners) for _ in own]
        sets = tuple(
            StudySet(
                choice.weight,
                tuple(
                    StudyPart(owner, tuple(axis - starts[owner] for axis in axes), channel)
                    for owner, axes, channel in _by_owner(choice, place)
                ),
            )
            for choice in block.channel.choices
        )
        variables = [block.variables[low:high] for low, high in zip(starts, ends, strict=True)]
        return cls(tuple((o[0], v) for o, v in zip(owners, variables, strict=True)), sets)

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
            "sets": document(self.sets),
        }

    def canonical_json(self) -> bytes:
        """Return the bytes whose SHA-256 identifies the plan."""
        return canonical_json(self.as_dict())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON in hexadecimal, which identifies the plan and its coin."""
        return digest_of(self.as_dict())

    def reports(self, owner: str) -> bool:
        """Return whether an owner has variables in any set."""
        place = self._place(owner)
        return any(part.owner == place for one in self.sets for part in one.parts)

    def block(self, owner: str) -> Block:
        """Return an owner's part as a block. Raises PlanError if no set has its variables."""
        place = self._place(owner)
        if place is None:
            raise PlanError(
                f"The study plan has no owner {owner!r}.",
                where=owner,
                remedy=f"Its owners are {[name for name, _ in self.owners]}.",
            )
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

    def departures(self, owner: str, plan: Plan) -> Iterator[str]:
        """Yield a description of each way in which a release's plan departs from this study plan.

        A release follows the study plan if its randomized blocks are exactly the owner's part.
        Columns outside the plan may be public or withheld; any other column would add to the loss.
        """
        wanted = self.block(owner) if self.reports(owner) else None
        found = False
        for block in plan.blocks:
            if wanted is not None and block.digest == wanted.digest:
                found = True
            elif isinstance(block.channel, Coordinated):
                yield self._other_part(block, block.channel, wanted)
            elif not (block.channel.is_identity or block.channel.withheld):
                yield (
                    f"it randomizes {_shown(block)} outside the study plan, which would add to"
                    " the privacy loss of a record"
                )
        if wanted is not None and not found:
            yield f"it lacks the part of {owner!r}, a block of {_shown(wanted)}"

    def _other_part(self, block: Block, channel: Coordinated, wanted: Block | None) -> str:
        if channel.coin != self.digest:
            return (
                f"its block {_shown(block)} follows the study plan {channel.coin[:12]}...,"
                f" not {self.digest[:12]}..."
            )
        if wanted is None or block.variables != wanted.variables:
            return f"the study plan has no block {_shown(block)} for this owner"
        return f"its block {_shown(block)} differs from the study plan in its sets or channels"

    @property
    def domain(self) -> Domain:
        """All variables, ordered by owner."""
        return Domain(tuple(v for _, variables in self.owners for v in variables))

    @property
    def together(self) -> Plan:
        """The plan as the miner sees it: it joins a record's reports from all owners."""
        return Plan.combine(
            Plan((self.block(name),)) for name, _ in self.owners if self.reports(name)
        )

    @cached_property
    def amplification(self) -> Amplification:
        """The largest loss of any set over all owners, because an attacker may know the coin."""
        return max(composed(self._costs[p.channel] for p in one.parts) for one in self.sets)

    def loss_at(self, owner: str) -> Amplification:
        """Return the largest loss of a record through one owner, over all sets."""
        parts = (part for one in self.sets for part in one.parts)
        place = self._place(owner)
        return max((self._costs[p.channel] for p in parts if p.owner == place), default=NOTHING)

    def reported(self, owner: str) -> dict[str, float]:
        """Return the share of records that report each of an owner's variables."""
        place = self._place(owner)
        variables = () if place is None else self.owners[place][1]
        units = [0] * len(variables)
        for one in self.sets:
            for axis in (a for part in one.parts if part.owner == place for a in part.axes):
                units[axis] += one.weight
        return {v.name: u / RESOLUTION for v, u in zip(variables, units, strict=True)}

    @cached_property
    def _costs(self) -> dict[Transition, Amplification]:
        channels = {part.channel for one in self.sets for part in one.parts}
        return {channel: Amplification.of(channel) for channel in channels}

    def _place(self, owner: str) -> int | None:
        return next((i for i, (name, _) in enumerate(self.owners) if name == owner), None)


def _ascending(places: Sequence[int], size: int) -> bool:
    return bool(places) and list(places) == sorted({*places} & {*range(size)})


def _shown(block: Block) -> str:
    return f"[{first_few(map(repr, block.names), _NAMED)}]"


def _require_once(what: str, names: Sequence[str]) -> None:
    repeated = repeated_in(names)
    if repeated or not names:
        raise PlanError(
            f"A study plan must name each {what} exactly once; repeated: {repeated}."
            if names
            else f"A study plan needs an {what}.",
            where=", ".join(repeated) or None,
        )


def _by_owner(
    choice: Choice, place: Sequence[int]
) -> Iterator[tuple[int, tuple[int, ...], Transition]]:
    """Yield each owner's part: owner, axes and channel. `place` maps variables to owners."""
    groups = [(o, tuple(g)) for o, g in itertools.groupby(choice.axes, key=place.__getitem__)]
    if len(groups) == 1:
        yield (*groups[0], choice.channel)
        return
    if not isinstance(choice.channel, Product):
        raise PlanError(
            f"The set of the variables {list(choice.axes)} spans {len(groups)} owners; its channel"
            " must be a product with separate channels for each owner."
        )
    left = list(zip(choice.channel.widths, choice.channel.channels, strict=True))
    for owner, axes in groups:
        taken: list[tuple[int, Transition]] = []
        while left and sum(width for width, _ in taken) < len(axes):
            taken.append(left.pop(0))
        if sum(width for width, _ in taken) != len(axes):
            raise PlanError(
                f"A channel of the set of variables {list(choice.axes)} spans the variables"
                " of two owners; each owner must randomize its part alone."
            )
        widths, channels = zip(*taken, strict=True)
        yield owner, axes, channels[0] if len(taken) == 1 else Product(widths, channels)
