"""Which siblings a part that violates the requirement is merged with (section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from pramana_core.model_sharing.anonymity.branches import Branch, Join
from pramana_core.model_sharing.core.attributes import Attribute, CategoricalAttribute
from pramana_core.model_sharing.core.conditions import Interval, Values
from pramana_core.model_sharing.core.tree import Leaf
from pramana_core.ties import ascending, exceeds

MOST_TRIED = 200
"""So many sets of siblings of one size are tried at most, those first that lose few hits."""

LARGEST_SET = 3
"""So many siblings of a category are tried in all ways, more only in the order of their loss."""

LONGEST = 50
"""So many intervals before and after one that violates the requirement are tried at most."""

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
    """Merge each part that violates the requirement at the loss of the fewest hits.

    Of equally good sets of siblings that is taken which has the fewest parts that need no merging
    themselves, then the smallest: parts that violate the requirement help each other first, else
    all would be drawn to the largest one. Under a taxonomy the nearest ancestor that suffices comes
    first. Intervals are merged with those beside them.
    """
    now = sorted(parts, key=_start)
    bad = [part for part in now if violates(part, met)]
    if bad and not met(join(now).cut):
        return [join(now)]
    while bad and len(now) > 1:
        worst = min(bad, key=lambda part: part.cut.records)
        chosen = _least_loss(now, worst, attribute, join, met)
        taken, joined = {id(part) for part in chosen}, join(chosen)
        at = now.index(chosen[0])
        now = [part for part in now if id(part) not in taken]
        now.insert(at, joined)
        bad = [part for part in bad if id(part) not in taken]
        bad += [joined] if violates(joined, met) else []
    return now


MERGES: dict[str, Merge] = {
    "all": merge_all,
    "taxonomy": merge_by_taxonomy,
    "fewest": merge_fewest,
}


def _least_loss(
    parts: list[Branch], bad: Branch, attribute: Attribute, join: Join, met: Met
) -> list[Branch]:
    pools = [
        family
        for level in range(1, _height(attribute) + 1)
        for family in _families(parts, attribute, level)
        if bad in family and len(family) > 1
    ]
    for pool in pools:
        # More siblings never hurt (`refusal`), so what all of them cannot do none of them can.
        if met(join(pool).cut):
            return _least_of(_sets(pool, bad, join, met), pool, join, met)
    if isinstance(bad.condition, Interval):
        return _least_of(_windows(parts, bad, join, met), parts, join, met)
    return _least_of(_sets(parts, bad, join, met), parts, join, met)


def _least_of(
    groups: Iterator[list[Branch]], pool: list[Branch], join: Join, met: Met
) -> list[Branch]:
    """Return the group that suffices and loses least; all of the pool if there is none."""
    best, least, price = pool, math.inf, (0, 0)
    # Thirds of misses are rounded, as those are that are lost.
    scale = sum(part.hits for part in pool)
    for group in groups:
        joined = join(group)
        lost = sum(part.hits for part in group) - joined.hits
        if exceeds(lost, least, scale=scale) or not met(joined.cut):
            continue
        own = (sum(not violates(part, met) for part in group), len(group))
        if own < price or exceeds(least, lost, scale=scale):
            best, price = group, own
        least = min(least, lost)
    return best


def _windows(parts: list[Branch], bad: Branch, join: Join, met: Met) -> Iterator[list[Branch]]:
    """Return the intervals side by side that suffice with this one, and none too many."""
    at = parts.index(bad)
    last = min(at + LONGEST, len(parts) - 1)
    for first in range(at, max(-1, at - LONGEST), -1):
        if not met(join(parts[first : last + 1]).cut):
            continue
        while last > at and met(join(parts[first:last]).cut):
            last -= 1
        yield parts[first : last + 1]
        if last == at:
            return


def _sets(pool: list[Branch], bad: Branch, join: Join, met: Met) -> Iterator[list[Branch]]:
    """Return sets of categories with this one: all small ones, or those first that lose least."""
    others = [part for part in pool if part is not bad]
    lost = [o.hits + bad.hits - join([bad, o]).hits for o in others]
    others = [others[place] for place in ascending(lost, scale=sum(part.hits for part in pool))]
    for size in range(1, min(LARGEST_SET, len(others)) + 1):
        number = len(others)
        while number > size and math.comb(number, size) > MOST_TRIED:
            number -= 1
        for chosen in combinations(others[:number], size):
            yield [bad, *chosen]
    group = [bad]
    for other in (o for o in others if violates(o, met)):
        group = [*group, other]
        if met(join(group).cut):
            yield group
            return


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
