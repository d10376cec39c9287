"""Which siblings a part that violates the requirement is merged with (section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from shared.model_sharing.anonymity.branches import Branch, Join
from shared.model_sharing.core.attributes import Attribute, CategoricalAttribute
from shared.model_sharing.core.conditions import Interval, Values
from shared.model_sharing.core.tree import Leaf

MOST_TRIED = 200
"""So many sets of siblings of one size are tried at most, those first that lose few hits."""

Met = Callable[[Leaf], bool]
Merge = Callable[[Sequence[Branch], Attribute, Join, Met], list[Branch]]
"""Merges siblings until none violates the requirement; a single one if that needs them all."""


def violates(branch: Branch, met: Met) -> bool:
    """Return whether a part is a leaf that does not meet the requirement."""
    return branch.is_leaf and not met(branch.cut)


def merge_all(parts: Sequence[Branch], _: Attribute, join: Join, met: Met) -> list[Branch]:
    """Merge all siblings as soon as one of them violates the requirement."""
    return [join(parts)] if any(violates(part, met) for part in parts) else list(parts)


def merge_by_taxonomy(
    parts: Sequence[Branch], attribute: Attribute, join: Join, met: Met
) -> list[Branch]:
    """Merge those under the same ancestor, from the nearest ancestors to the root.

    Where there is no taxonomy, all siblings are under the same one.
    """
    now = list(parts)
    for level in range(1, _height(attribute) + 1):
        families = _families(now, attribute, level)
        now = [
            one
            for family in families
            for one in (
                [join(family)]
                if len(family) > 1 and any(violates(part, met) for part in family)
                else family
            )
        ]
    return merge_all(now, attribute, join, met)


def merge_fewest(
    parts: Sequence[Branch], attribute: Attribute, join: Join, met: Met
) -> list[Branch]:
    """Merge each part that violates the requirement with the fewest siblings that suffice.

    Of equally few those are taken that lose the fewest hits; under the nearest ancestor that
    suffices, if there is a taxonomy. Intervals are merged with those beside them.
    """
    now = list(parts)
    while len(now) > 1:
        bad = [part for part in now if violates(part, met)]
        if not bad:
            return now
        worst = min(bad, key=lambda part: part.cut.records)
        chosen = _fewest(now, worst, attribute, join, met)
        at = now.index(chosen[0])
        now = [part for part in now if part not in chosen]
        now.insert(at, join(chosen))
    return now


MERGES: dict[str, Merge] = {
    "all": merge_all,
    "taxonomy": merge_by_taxonomy,
    "fewest": merge_fewest,
}


def _fewest(
    parts: list[Branch], bad: Branch, attribute: Attribute, join: Join, met: Met
) -> list[Branch]:
    pools = [
        family
        for level in range(1, _height(attribute) + 1)
        for family in _families(parts, attribute, level)
        if bad in family and len(family) > 1
    ]
    for pool in [*pools, parts]:
        # More siblings never hurt (`refusal`), so what all of them cannot do none of them can.
        if not met(join(pool).cut):
            continue
        for size in range(2, len(pool)):
            found = _cheapest(_together(pool, bad, size, join), join, met)
            if found is not None:
                return found
        return pool
    return parts


def _cheapest(groups: Iterator[list[Branch]], join: Join, met: Met) -> list[Branch] | None:
    best, least = None, math.inf
    for group in groups:
        joined = join(group)
        lost = sum(part.hits for part in group) - joined.hits
        if lost < least and met(joined.cut):
            best, least = group, lost
    return best


def _together(pool: list[Branch], bad: Branch, size: int, join: Join) -> Iterator[list[Branch]]:
    """Return the groups of a size that hold one part: intervals side by side, or any categories."""
    if isinstance(bad.condition, Interval):
        pool = sorted(pool, key=_start)
        at = pool.index(bad)
        for first in range(max(0, at - size + 1), min(at, len(pool) - size) + 1):
            yield pool[first : first + size]
        return
    others = [part for part in pool if part is not bad]
    number = len(others)
    while number > size - 1 and math.comb(number, size - 1) > MOST_TRIED:
        number -= 1
    if number < len(others):
        lost = {id(o): o.hits + bad.hits - join([bad, o]).hits for o in others}
        near = {id(o) for o in sorted(others, key=lambda o: lost[id(o)])[:number]}
        others = [o for o in others if id(o) in near]
    for chosen in combinations(others, size - 1):
        yield [part for part in pool if part is bad or part in chosen]


def _start(part: Branch) -> float:
    return part.condition.above if isinstance(part.condition, Interval) else 0.0


def _height(attribute: Attribute) -> int:
    if isinstance(attribute, CategoricalAttribute) and attribute.taxonomy is not None:
        return attribute.taxonomy.height
    return 0


def _families(parts: Sequence[Branch], attribute: Attribute, level: int) -> list[list[Branch]]:
    """Return siblings by ancestor; one of several ancestors brings those of all into one family."""
    if not isinstance(attribute, CategoricalAttribute) or attribute.taxonomy is None:
        return [list(parts)]
    names = attribute.taxonomy.ancestors
    families: list[tuple[set[str], list[Branch]]] = []
    for part in parts:
        codes = part.condition.codes if isinstance(part.condition, Values) else ()
        groups, family = {names[code][level - 1] for code in codes}, [part]
        apart = []
        for other_groups, others in families:
            if groups & other_groups:
                groups, family = groups | other_groups, [*others, *family]
            else:
                apart.append((other_groups, others))
        families = [*apart, (groups, family)]
    return [family for _, family in families]
