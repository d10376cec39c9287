"""From paths to a tree: whoever sends paths need not be believed that they are those of one.

The paths of a tree part all records into boxes by cuts that go all the way through. Such a cut is
looked for, the paths on each side of it are cut again, and so on until each is alone. Whichever
cut is taken first, what remains on each side can still be cut if the whole could: a cut through a
part of a partition that comes from cuts is one. So no way back is needed, and where no cut is
found the paths overlap, leave a gap, or are not those of a tree.

Cuts that keep the order of the paths are preferred. Paths that are listed as a walk through a tree
meets them always have one, at its root, so that they come out in the order in which they went in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.errors import LimitExceeded, ModelError
from pramana_core.model_sharing.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.boxes import (
    MOST_ROUNDS,
    Box,
    Boxes,
    Part,
    are_disjoint,
    cut_categories,
    cut_numbers,
    keep_order,
)
from pramana_core.model_sharing.tree import (
    MOST_DEPTH,
    Node,
    Path,
    SharedTree,
    Split,
    Values,
    require_classes,
)

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
            told = "categories" if isinstance(condition, Values) else "an interval"
            raise ModelError(f"Path {number} asks for {name!r} by {told}.", where=where)
        if (
            isinstance(attribute, CategoricalAttribute)
            and isinstance(condition, Values)
            and condition.codes[-1] >= len(attribute.categories)
        ):
            raise ModelError(
                f"Path {number} asks for a category of {name!r} that is not listed.", where=where
            )
