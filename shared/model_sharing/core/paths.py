"""From paths to a tree: whoever sends paths need not be believed that they are those of one.

The paths of a tree part all records into boxes by cuts that go all the way through. Such a cut is
looked for, the paths on each side of it are cut again, and so on until each is alone. Whichever
cut is taken first, what remains on each side can still be cut if the whole could: a cut through a
part of a partition that comes from cuts is one. So no way back is needed, and where no cut is
found the paths overlap, leave a gap, or are not those of a tree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from shared.errors import LimitExceeded, ModelError
from shared.model_sharing.core.attributes import CategoricalAttribute, TreeSchema
from shared.model_sharing.core.conditions import Condition, Interval, Values
from shared.model_sharing.core.tree import MOST_DEPTH, Node, Path, SharedTree, Split, whole

Box = Mapping[str, Condition]


def tree_of(schema: TreeSchema, paths: Sequence[Path]) -> SharedTree:
    """Return the tree of some paths.

    Raises:
        ModelError: there are none; a path asks for an attribute or a category that the schema does
            not have; paths overlap, leave something out, or are not those of a tree.
        LimitExceeded: the tree would be too deep.
    """
    if not paths:
        raise ModelError("A tree must have at least one path.", where="paths")
    for number, path in enumerate(paths, 1):
        _require_known(schema, path, number)
    everything = {name: whole(schema, name) for name in schema.names}
    return SharedTree(schema, _node(everything, [(n, p) for n, p in enumerate(paths, 1)], 0))


def _node(box: Box, paths: Sequence[tuple[int, Path]], depth: int) -> Node:
    if depth > MOST_DEPTH:
        raise LimitExceeded(
            f"The tree is deeper than {MOST_DEPTH} splits.",
            where="paths",
            remedy="Release a shallower tree.",
        )
    if len(paths) == 1:
        number, path = paths[0]
        for name, condition in path.conditions.items():
            if condition != box[name]:
                raise ModelError(
                    f"Nothing but path {number} is beside it, and it leaves out a part of"
                    f" {name!r}: the paths do not cover all records.",
                    where=f"paths/{number}",
                )
        return path.leaf
    # The attribute of most parts is taken: it makes the flattest tree.
    cuts = {name: _parts(box[name], [_asked(p, name, box) for _, p in paths]) for name in box}
    name = max(cuts, key=lambda name: len(cuts[name]))
    if len(cuts[name]) < 2:
        numbers = ", ".join(str(number) for number, _ in paths[:5])
        raise ModelError(
            f"Paths {numbers}{' and others' if len(paths) > 5 else ''} overlap, or are not those"
            " of one tree.",
            where=f"paths/{paths[0][0]}",
            remedy="Every record must be on exactly one path.",
        )
    parts = []
    for part in cuts[name]:
        inside = [(n, p) for n, p in paths if _within(_asked(p, name, box), part)]
        parts.append((part, _node({**box, name: part}, inside, depth + 1)))
    return Split(name, tuple(parts))


def _asked(path: Path, name: str, box: Box) -> Condition:
    return path.conditions.get(name, box[name])


def _parts(extent: Condition, asked: Sequence[Condition]) -> list[Condition]:
    """Return the finest parts of an extent that no condition goes across."""
    if isinstance(extent, Interval):
        return list(_intervals([c for c in asked if isinstance(c, Interval)]))
    return list(_sets([c for c in asked if isinstance(c, Values)]))


def _intervals(asked: Sequence[Interval]) -> list[Interval]:
    found: list[Interval] = []
    for one in sorted(set(asked), key=lambda interval: (interval.above, interval.up_to)):
        if found and one.above < found[-1].up_to:
            last = found.pop()
            found.append(Interval(last.above, max(last.up_to, one.up_to)))
        else:
            found.append(one)
    return found


def _sets(asked: Sequence[Values]) -> list[Values]:
    groups: list[set[int]] = []
    for codes in {one.codes for one in asked}:
        together = set(codes)
        apart = []
        for group in groups:
            if group & together:
                together |= group
            else:
                apart.append(group)
        groups = [*apart, together]
    return [Values(tuple(sorted(group))) for group in sorted(groups, key=min)]


def _within(condition: Condition, part: Condition) -> bool:
    if isinstance(condition, Interval) and isinstance(part, Interval):
        return part.above <= condition.above and condition.up_to <= part.up_to
    if isinstance(condition, Values) and isinstance(part, Values):
        return set(condition.codes) <= set(part.codes)
    return False


def _require_known(schema: TreeSchema, path: Path, number: int) -> None:
    where = f"paths/{number}"
    if not 0 <= path.leaf.label < schema.classes:
        raise ModelError(f"Path {number} has a class that is not listed.", where=where)
    known = path.leaf.distribution
    if known is not None and len(known) != schema.classes:
        raise ModelError(
            f"Path {number} counts {len(known)} classes; there are {schema.classes}.", where=where
        )
    for name, condition in path.conditions.items():
        if name not in schema.names:
            raise ModelError(f"Path {number} asks for {name!r}, no attribute.", where=where)
        attribute = schema[name]
        categorical = isinstance(attribute, CategoricalAttribute)
        if categorical != isinstance(condition, Values):
            raise ModelError(
                f"Path {number} asks for {name!r} by"
                f" {'an interval' if categorical else 'categories'}.",
                where=where,
            )
        if (
            isinstance(attribute, CategoricalAttribute)
            and isinstance(condition, Values)
            and condition.codes[-1] >= len(attribute.categories)
        ):
            raise ModelError(f"Path {number} asks for a category of {name!r} that is not listed.")
        if isinstance(condition, Interval) and math.isnan(condition.above + condition.up_to):
            raise ModelError(f"Path {number} has an interval of {name!r} without an end.")
