"""Conditions, paths and leaves in words; text, pictures and pages say them alike."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pramana_core.model_sharing.core.attributes import Attribute, CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.core.conditions import Condition, Interval
from pramana_core.model_sharing.core.tree import Leaf, whole

_CLASSES = 6
"""So many other classes are named in a line; the rest are counted."""


def condition_words(attribute: Attribute, condition: Condition) -> str:
    """Return a condition: `safety = high`, `doors = 2 or 4`, `38 < hours <= 50`, `age > 45`."""
    if isinstance(condition, Interval):
        return interval_words(attribute.name, condition)
    return f"{attribute.name} = {part_words(attribute, condition)}"


def interval_words(name: str, interval: Interval) -> str:
    """Return an interval of a number of some name."""
    above, up_to = math.isfinite(interval.above), math.isfinite(interval.up_to)
    if above and up_to:
        return f"{number(interval.above)} < {name} <= {number(interval.up_to)}"
    if above:
        return f"{name} > {number(interval.above)}"
    return f"{name} <= {number(interval.up_to)}" if up_to else f"{name}: any"


def part_words(attribute: Attribute, condition: Condition) -> str:
    """Return a condition where the attribute is named beside it: `2 or 4`, `> 38, <= 50`."""
    if isinstance(condition, Interval):
        ends = []
        if math.isfinite(condition.above):
            ends.append(f"> {number(condition.above)}")
        if math.isfinite(condition.up_to):
            ends.append(f"<= {number(condition.up_to)}")
        return ", ".join(ends) or "any"
    labels = attribute.categories if isinstance(attribute, CategoricalAttribute) else ()
    names = [labels[code] for code in condition.codes]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def conditions_words(schema: TreeSchema, conditions: Iterable[tuple[str, Condition]]) -> str:
    """Return conditions joined by `and`; those that always hold are left out."""
    said = [
        condition_words(schema[name], condition)
        for name, condition in conditions
        if condition != whole(schema, name)
    ]
    return " and ".join(said) or "all records"


def leaf_words(schema: TreeSchema, leaf: Leaf) -> str:
    """Return a leaf's class with its counts, and those of the other classes where they are told."""
    label = schema.target.categories[leaf.label]
    said = f"{label} ({number(leaf.hit)} of {records_words(leaf.records)}"
    others = others_words(schema, leaf)
    return f"{said}; {others})" if others else f"{said})"


def others_words(schema: TreeSchema, leaf: Leaf) -> str:
    """Return the counts of a leaf's other classes, the largest first; "" if untold or none."""
    if leaf.distribution is None or not leaf.miss:
        return ""
    counts = {
        code: count for code, count in enumerate(leaf.distribution) if count and code != leaf.label
    }
    ranked = sorted(counts, key=lambda code: -counts[code])
    named = [f"{schema.target.categories[c]} {number(counts[c])}" for c in ranked[:_CLASSES]]
    left = len(ranked) - _CLASSES
    return ", ".join(named) + (f" and {left} more" if left > 0 else "")


def records_words(records: float) -> str:
    """Return a count of records: `1 record`, `12 records`."""
    return f"{number(records)} record{'' if records == 1 else 's'}"


def number(value: float) -> str:
    """Return a number, shortly: thousands are parted, and of fractions six digits are told."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.6g}"


def rounded(value: float, digits: int = 4) -> str:
    """Return a number of some significant digits; what is before the point is told in full."""
    return number(float(f"{value:.{digits}g}"))
