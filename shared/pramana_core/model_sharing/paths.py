"""From paths to a tree: whoever sends paths need not be believed that they are those of one.

The paths of a tree part all records into boxes by cuts that go all the way through. Such a cut is
looked for, the paths on each side of it are cut again, and so on until each is alone. Whichever
cut is taken first, what remains on each side can still be cut if the whole could: a cut through a
part of a partition that comes from cuts is one. So no way back is needed, and where no cut is
found the paths overlap, leave a gap, or are not those of a tree.

Cuts that keep the order of the paths are preferred. Paths that are listed as a walk through a tree
meets them always have one, at its root, so that they come out in the order in which they went in.

Also here:

* Boxes of conditions as arrays, and the cuts that go through none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pramana_core.errors import LimitExceeded, ModelError
from pramana_core.mixed import Floats
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.tree import (
    MOST_DEPTH,
    Condition,
    Interval,
    Node,
    Path,
    SharedTree,
    Split,
    Values,
    require_classes,
    together,
    whole,
)

# Boxes of conditions as arrays, and the cuts that go through none of them.

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


MOST_PATHS = 100_000
"""More paths are refused before they are looked at."""

MOST_WORK = 200_000_000
"""How many conditions may be compared until the cuts are found: some seconds."""


def tree_of(schema: TreeSchema, paths: Sequence[Path]) -> SharedTree:
    """Return the tree of some paths; its own paths are the same, and in their order if they were
    listed as a walk through a tree meets them.

    Raises:
        ModelError: there are none; a path asks for an attribute or a category that the schema does
            not have, or has a class or counts that cannot be; paths overlap, leave something out,
            or are not those of a tree.
        LimitExceeded: there are more than `MOST_PATHS`, the tree would be deeper than `MOST_DEPTH`,
            or finding it takes more than `MOST_WORK` comparisons, which no honest tree does.
    """
    if not paths:
        raise ModelError("A tree must have at least one path.", where="paths")
    if len(paths) > MOST_PATHS:
        raise LimitExceeded(
            f"There are {len(paths):,} paths; a tree has at most {MOST_PATHS:,}.", where="paths"
        )
    for number, path in enumerate(paths, 1):
        _require_known(schema, path, number)
    cut = _asked_of(schema, paths)
    found = _Cutting(cut, paths, Boxes.of(cut, [path.conditions for path in paths]))
    return SharedTree(schema, found.node(Box.whole(cut), np.arange(len(paths)), 0))


def _asked_of(schema: TreeSchema, paths: Sequence[Path]) -> TreeSchema:
    """Return a schema of only what some path asks for: by nothing else can paths be cut apart."""
    named = {name for path in paths for name in path.conditions}
    asked = tuple(attribute for attribute in schema.attributes if attribute.name in named)
    return TreeSchema(schema.target, asked or schema.attributes[:1])


@dataclass
class _Cutting:
    """The search for cuts, and how much it has compared."""

    schema: TreeSchema
    paths: Sequence[Path]
    boxes: Boxes
    work: int = 0

    def node(self, box: Box, inside: npt.NDArray[np.intp], depth: int) -> Node:
        """Return the node of the paths inside a box."""
        if len(inside) == 1:
            return self._alone(box, int(inside[0]))
        if depth >= MOST_DEPTH:
            raise LimitExceeded(
                f"The tree is deeper than {MOST_DEPTH} splits.",
                where="paths",
                remedy="Release a shallower tree.",
            )
        asked = self.boxes.asked_by_all(inside, box.ends)
        self._count(len(inside) * len(self.schema.attributes))
        cuts = [(name, self._cut(name, box, inside)) for name in asked]
        in_order = [(name, keep_order(parts)) for name, parts in cuts]
        if any(len(parts) > 1 for _, parts in in_order):
            cuts = in_order
        # The attribute of most parts is taken: it makes the flattest tree.
        name, parts = max(cuts, key=lambda cut: len(cut[1]), default=("", []))
        if len(parts) < 2:
            raise self._overlap(inside)
        below = []
        for part in parts:
            box_below = box.within(name, part.condition)
            below.append((part.condition, self.node(box_below, inside[part.rows], depth + 1)))
        return Split(name, tuple(below))

    def _cut(self, name: str, box: Box, inside: npt.NDArray[np.intp]) -> list[Part]:
        extent = box.known[name]
        if isinstance(extent, Values):
            masks = self.boxes.masks[name]
            asked = [masks[row] for row in inside.tolist()]
            distinct = set(asked)
            words = len(extent.codes) // 64 + 1
            # Sets are read bit by bit, which takes as long as many comparisons.
            self._count(10 * len(inside) + len(distinct) * (1 + 16 * (words - 1)))
            if not are_disjoint(list(distinct)):
                self._count(len(distinct) * min(len(distinct), len(extent.codes)) * words)
            parts = cut_categories(asked)
            covered = sum(len(p.condition.codes) for p in parts if isinstance(p.condition, Values))
            complete = covered == len(extent.codes)
        else:
            self._count(len(inside))
            place = self.schema.names.index(name)
            parts, reach, complete = cut_numbers(self.boxes.ends[inside, place])
            complete = complete and reach == (extent.above, extent.up_to)
        if not complete:
            raise ModelError(
                f"The paths leave out a part of {name!r}: they do not cover all records.",
                where=f"paths/{int(inside[0]) + 1}",
            )
        self._count(len(parts) * MOST_ROUNDS * 10)
        return parts

    def _alone(self, box: Box, place: int) -> Node:
        path = self.paths[place]
        for name, condition in path.conditions.items():
            if condition != box.known[name]:
                raise ModelError(
                    f"Nothing but path {place + 1} is beside it, and it leaves out a part of"
                    f" {name!r}: the paths do not cover all records.",
                    where=f"paths/{place + 1}",
                )
        return path.leaf

    def _overlap(self, inside: npt.NDArray[np.intp]) -> ModelError:
        numbers = ", ".join(str(place + 1) for place in inside[:5])
        return ModelError(
            f"Paths {numbers}{' and others' if len(inside) > 5 else ''} overlap, leave something"
            " out, or are not those of one tree.",
            where=f"paths/{int(inside[0]) + 1}",
            remedy="Every record must be on exactly one path.",
        )

    def _count(self, compared: int) -> None:
        self.work += compared
        if self.work > MOST_WORK:
            raise LimitExceeded(
                "The paths cannot be put together to a tree in reasonable time.",
                where="paths",
                remedy="Release a smaller tree, its paths in the order in which a walk meets them.",
            )


def _require_known(schema: TreeSchema, path: Path, number: int) -> None:
    where = f"paths/{number}"
    require_classes(schema, path.leaf, f"Path {number}", where)
    for name, condition in path.conditions.items():
        if name not in schema:
            raise ModelError(f"Path {number} asks for {name!r}, no attribute.", where=where)
        attribute = schema[name]
        if isinstance(attribute, CategoricalAttribute) != isinstance(condition, Values):
            kind = "categories" if isinstance(condition, Values) else "an interval"
            raise ModelError(f"Path {number} asks for {name!r} by {kind}.", where=where)
        if (
            isinstance(attribute, CategoricalAttribute)
            and isinstance(condition, Values)
            and condition.codes[-1] >= len(attribute.categories)
        ):
            raise ModelError(
                f"Path {number} asks for a category of {name!r} that is not listed.", where=where
            )
