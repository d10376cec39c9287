"""Boxes of conditions as arrays, and the cuts that go through none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pramana_core.errors import LimitExceeded
from pramana_core.mixed.table import Floats
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.tree import Condition, Interval, Values, together, whole

MOST_CELLS = 8_000_000
"""Paths times attributes that are compared at most."""

MOST_MASK_BYTES = 200_000_000
"""How much the different sets of categories may take together, as bits."""

MOST_ROUNDS = 10
"""How often parts are put together until their order is kept; those of honest trees need one."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a cut, and which of the boxes at hand are within it: their places, ascending."""

    condition: Condition
    rows: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Boxes:
    """n boxes, each a condition on every attribute.

    Attributes:
        names: the attributes.
        ends: the two ends of each box, of an attribute of numbers: n x attributes x 2. Of one of
            categories how many they are, twice.
        masks: of each attribute of categories that some box asks for the sets of codes as bits, n
            of them.
    """

    names: tuple[str, ...]
    ends: Floats
    masks: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, schema: TreeSchema, asked: Sequence[Mapping[str, Condition]]) -> Boxes:
        """Return the boxes of conditions that are known to be the schema's.

        Raises:
            LimitExceeded: there is more than `MOST_CELLS` or `MOST_MASK_BYTES` of them.
        """
        if len(asked) * len(schema.names) > MOST_CELLS:
            raise LimitExceeded(
                f"{len(asked):,} paths over {len(schema.names):,} attributes are too many.",
                where="paths",
                remedy="Release a smaller tree.",
            )
        # What paths do not ask for is filled in at once: it is far more than what they ask for.
        ends = np.tile(Box.whole(schema).ends, (len(asked), 1, 1))
        told: dict[str, dict[int, Condition]] = {name: {} for name in schema.names}
        for row, conditions in enumerate(asked):
            for name, condition in conditions.items():
                told[name][row] = condition
        masks: dict[str, Sequence[int]] = {}
        taken = 0
        for place, attribute in enumerate(schema.attributes):
            name, found = attribute.name, told[attribute.name]
            ends[list(found), place] = [_ends(c) for c in found.values()] or np.empty((0, 2))
            if isinstance(attribute, CategoricalAttribute) and found:
                sets = {c.codes for c in found.values() if isinstance(c, Values)}
                taken += sum(codes[-1] // 8 for codes in sets)
                if taken > MOST_MASK_BYTES:
                    raise LimitExceeded("The paths have too many sets of categories.", where=name)
                as_bits = {codes: mask_of(codes) for codes in sets}
                masks[name] = known = [(1 << len(attribute.categories)) - 1] * len(asked)
                for row, condition in found.items():
                    if isinstance(condition, Values):
                        known[row] = as_bits[condition.codes]
        return cls(schema.names, ends, masks)

    def asked_by_all(self, rows: npt.NDArray[np.intp], extent: Floats) -> list[str]:
        """Return the attributes of which each of some boxes within a box leaves out a part.

        Args:
            rows: which boxes.
            extent: the ends of the box around them: attributes x 2.
        """
        narrower = (self.ends[rows] != extent).any(axis=2).all(axis=0)
        return [self.names[place] for place in np.flatnonzero(narrower)]


@dataclass(frozen=True, eq=False)
class Box:
    """What is left of each attribute, as conditions and as the ends of `Boxes`."""

    schema: TreeSchema
    known: Mapping[str, Condition]
    ends: Floats

    @classmethod
    def whole(cls, schema: TreeSchema) -> Box:
        """Return the box of everything."""
        known = {name: whole(schema, name) for name in schema.names}
        return cls(schema, known, np.array([_ends(condition) for condition in known.values()]))

    def within(self, name: str, condition: Condition) -> Box:
        """Return a part of it."""
        ends = self.ends.copy()
        ends[self.schema.names.index(name)] = _ends(condition)
        return replace(self, known={**self.known, name: condition}, ends=ends)


def mask_of(codes: Sequence[int]) -> int:
    """Return codes as the bits of a number."""
    bits = bytearray(max(codes) // 8 + 1)
    for code in codes:
        bits[code // 8] |= 1 << code % 8
    return int.from_bytes(bits, "little")


def cut_numbers(ends: Floats) -> tuple[list[Part], tuple[float, float], bool]:
    """Return the finest parts of the numbers that go through no interval, ascending.

    Args:
        ends: what each of n intervals is above and up to: n x 2.

    Returns:
        The parts; what all together are above and up to; and whether there is no gap.
    """
    order = np.argsort(ends[:, 0], kind="stable")
    above, reach = ends[order, 0], np.maximum.accumulate(ends[order, 1])
    starts = np.flatnonzero(above[1:] >= reach[:-1]) + 1
    complete = bool(np.all(above[starts] == reach[starts - 1]))
    lows, highs = above[[0, *starts]], reach[[*(starts - 1), -1]]
    parts = [
        Part(Interval(low, high), np.sort(rows))
        for low, high, rows in zip(
            lows.tolist(), highs.tolist(), np.split(order, starts), strict=True
        )
    ]
    return parts, (float(lows[0]), float(highs[-1])), complete


def are_disjoint(masks: Sequence[int]) -> bool:
    """Return whether no category is in two of n different sets of codes."""
    union, known = 0, 0
    for mask in masks:
        union |= mask
        known += mask.bit_count()
    return union.bit_count() == known


def cut_categories(masks: Sequence[int]) -> list[Part]:
    """Return the finest parts of the categories that go through none of n sets of codes."""
    distinct = list(dict.fromkeys(masks))
    # As the parts of one split are: nothing is put together.
    groups = distinct if are_disjoint(distinct) else []
    for mask in () if groups else distinct:
        apart = []
        for group in groups:
            if group & mask:
                mask |= group
            else:
                apart.append(group)
        groups = [*apart, mask]
    inside: dict[int, list[int]] = {group: [] for group in groups}
    # Which group a set belongs to is looked up by its lowest category.
    home = {code: group for group in groups for code in codes_of(group)}
    for row, mask in enumerate(masks):
        inside[home[(mask & -mask).bit_length() - 1]].append(row)
    return [
        Part(Values(codes_of(group)), np.array(rows, dtype=np.intp))
        for group, rows in sorted(inside.items(), key=lambda one: one[0] & -one[0])
    ]


def codes_of(mask: int) -> tuple[int, ...]:
    """Return the codes that are the bits of a number, ascending."""
    bits = np.frombuffer(mask.to_bytes(mask.bit_length() // 8 + 1, "little"), dtype=np.uint8)
    return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist())


def keep_order(parts: Sequence[Part]) -> list[Part]:
    """Return the finest parts, made of those given, whose rows follow one another without mixing.

    They come in the order of their rows. Intervals that are put together take in those between.
    There are none if `MOST_ROUNDS` are not enough.
    """
    runs = [
        _Run(int(p.rows[0]), int(p.rows[-1]), place, place, [place])
        for place, p in enumerate(parts)
    ]
    numbers = isinstance(parts[0].condition, Interval)
    for _ in range(MOST_ROUNDS):
        joined = _by_rows(runs)
        if numbers:
            joined = _by_places(joined)
        if len(joined) == len(runs):
            return [_together([parts[place] for place in run.places]) for run in joined]
        runs = joined
    return []


@dataclass
class _Run:
    """Parts that go together: their first and last row, their least and greatest place, and all."""

    first: int
    last: int
    low: int
    high: int
    places: list[int]

    def join(self, other: _Run) -> None:
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.places += other.places


def _by_rows(runs: Sequence[_Run]) -> list[_Run]:
    """Return runs, those whose rows mix joined, in the order of their rows."""
    found: list[_Run] = []
    for run in sorted(runs, key=lambda run: run.first):
        if found and run.first < found[-1].last:
            found[-1].join(run)
        else:
            found.append(run)
    return found


def _by_places(runs: Sequence[_Run]) -> list[_Run]:
    """Return runs, those whose intervals mix joined, in the order of their rows."""
    found: list[_Run] = []
    for run in sorted(runs, key=lambda run: run.low):
        if found and run.low < found[-1].high:
            found[-1].join(run)
        else:
            found.append(run)
    return sorted(found, key=lambda run: run.first)


def _together(parts: Sequence[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    condition = together([part.condition for part in parts])
    return Part(condition, np.sort(np.concatenate([part.rows for part in parts])))


def _ends(condition: Condition) -> tuple[float, float]:
    if isinstance(condition, Interval):
        return condition.above, condition.up_to
    return len(condition.codes), len(condition.codes)
