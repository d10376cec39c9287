"""Estimated counts of a variable's categories in groups, and in groups of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pramana_core.alike import did_you_mean, first_few
from pramana_core.domain import Variable
from pramana_core.errors import OptionError, UnknownCategory
from pramana_core.marginals.score_interval import normal_quantile, possible, score_interval
from pramana_core.marginals.tables import MarginalTable, Tensor

Groups: TypeAlias = "Mapping[str, Groups | Sequence[str]]"
"""The categories, or the inner groups, of each group:
`{"north": {"city": ["A", "B"]}, "south": ["C"]}`.

A list may also name groups: `{"north": ["city"], "city": ["A", "B"], "south": ["C"]}` is equal.
"""

Flags: TypeAlias = npt.NDArray[np.bool_]

_AT_ONCE = 16
"""The most rows whose errors are computed together; each row needs one number per report."""


@dataclass(frozen=True)
class _Row:
    depth: int
    within: str
    label: str
    codes: tuple[int, ...]
    pooled: bool = False


@dataclass(frozen=True)
class LevelCounts:
    """Estimated counts of a group, a category, or several small categories of a group.

    `level` is 1 for the outermost groups; `within` is the enclosing group; `categories` is the
    number of categories. `pooled` marks a row of small categories; its label, such as `3 others`,
    may also be the name of a category. The errors and the interval from `low` to `high` are as in a
    table's frame.
    """

    level: int
    within: str
    category: str
    categories: int
    pooled: bool
    count: float
    low: float
    high: float
    se_records: float
    se_population: float


def levels_of(
    table: MarginalTable, variable: Variable, groups: Groups, level: float
) -> list[LevelCounts]:
    """Return the counts at all levels: each group, followed by its contents.

    Two or more small categories of a group become one pooled row. A category is small if its
    count c is at most z standard errors s, where z is the normal quantile of 1 - (1 - `level`) / n
    for n categories and `level` is the confidence of the intervals. Some categories are in the row
    only because their noise is low, so the row's count is too low on average. The errors and both
    sides of the interval therefore grow by about this effect: the sum of phi((c - z s) / s) s over
    the row's categories, with phi the normal density. Raises UnknownCategory, and OptionError: a
    category is not in exactly one group.
    """
    groups = require_groups(groups, variable.categories)
    codes = {category: code for code, category in enumerate(variable.categories)}
    z = normal_quantile(level)
    each = table.standard_error(population=True)
    off = table.counts - normal_quantile(1 - (1 - level) / variable.size) * each
    chosen = _selection_error(off, each)
    rows = list(_rows(groups, codes, off <= 0))
    members = np.zeros((len(rows), variable.size))
    more = np.zeros(len(rows))
    for number, row in enumerate(rows):
        members[number, list(row.codes)] = 1.0
        more[number] = chosen[list(row.codes)].sum() if row.pooled else 0.0
    counts = members @ table.counts
    noise, error = (_variances(table, members, population=of) for of in (False, True))
    share = counts / table.records
    square = noise / table.records + share
    low, high = score_interval(share, square, table.records, z, population=True)
    low, high = possible(low - more / table.records, high + more / table.records, share)
    errors = [np.sqrt(noise) + more, np.sqrt(error) + more]
    numbers = [counts, table.records * low, table.records * high, *errors]
    return [
        LevelCounts(
            row.depth, row.within, row.label, len(row.codes), row.pooled, *map(float, found)
        )
        for row, found in zip(rows, np.transpose(numbers), strict=True)
    ]


def nested_groups(groups: Groups, categories: Sequence[str]) -> Groups:
    """Return the groups in nested form: each name of a group in a list becomes that group.

    Raises OptionError: a list names both groups and categories, or a group contains itself.
    """
    if not isinstance(groups, Mapping):
        return groups
    known, inner = set(categories), dict(groups)
    named: set[str] = set()

    def inside(label: str, members: Any, above: tuple[str, ...]) -> Any:
        listed = isinstance(members, Sequence) and not isinstance(members, str)
        found = [m for m in members if m in inner and m not in known] if listed else []
        if not found:
            return members
        if len(found) < len(members) or {label, *above} & {*found}:
            raise OptionError(
                f"The group {label!r} must list only categories, or only other groups.",
                where="groups",
                remedy="Give the categories a group of their own.",
            )
        named.update(found)
        return {m: inside(m, inner[m], (*above, label)) for m in found}

    made = {label: inside(label, members, ()) for label, members in groups.items()}
    return {label: members for label, members in made.items() if label not in named}


def require_groups(groups: Groups, categories: Sequence[str]) -> Groups:
    """Return nested groups with each category once. Raises UnknownCategory, OptionError."""
    found = nested_groups(groups, categories)
    _require_partition(found, dict.fromkeys(categories, 0))
    return found


def flat_groups(groups: Any) -> Any:
    """Return groups without nesting: each group's categories, or the names of its groups.

    A value that is not a dict is returned unchanged; its reader rejects it.
    """
    if not isinstance(groups, Mapping):
        return groups
    found: dict[str, Any] = {}
    for label, inside in groups.items():
        found[label] = list(inside) if isinstance(inside, Mapping) else inside
        found |= flat_groups(inside) if isinstance(inside, Mapping) else {}
    return found


def _variances(table: MarginalTable, members: Tensor, *, population: bool) -> Tensor:
    # The variances of single categories are known; other rows take one number per report.
    found: Tensor = members @ table.variance(population=population)
    several = np.flatnonzero(members.sum(axis=1) > 1)
    for at in range(0, len(several), _AT_ONCE):
        rows = several[at : at + _AT_ONCE]
        covariance = table.covariance_of(members[rows], population=population)
        found[rows] = np.diagonal(covariance)
    return np.maximum(found, 0.0)


def _selection_error(off: Tensor, error: Tensor) -> Tensor:
    """Return phi(off / error) error, with phi the normal density; 0 without an error."""
    found = np.exp(-0.5 * np.square(off / np.where(error > 0, error, 1.0)))
    return np.asarray(error * found / np.sqrt(2 * np.pi))


def _rows(
    groups: Groups, codes: Mapping[str, int], small: Flags, within: str = "", depth: int = 1
) -> Iterator[_Row]:
    """Yield each group, then its contents; its small categories form one last row."""
    for label, inside in groups.items():
        own = tuple(codes[category] for category in _categories(inside))
        yield _Row(depth, within, label, own)
        if isinstance(inside, Mapping):
            yield from _rows(inside, codes, small, label, depth + 1)
            continue
        pooled = tuple(code for code in own if small[code])
        if len(pooled) < 2:
            pooled = ()
        for category, code in zip(inside, own, strict=True):
            if code not in pooled:
                yield _Row(depth + 1, label, category, (code,))
        if pooled:
            yield _Row(depth + 1, label, f"{len(pooled)} others", pooled, True)


def _categories(groups: Groups | Sequence[str]) -> list[str]:
    if isinstance(groups, Mapping):
        return [category for inside in groups.values() for category in _categories(inside)]
    if isinstance(groups, str) or not isinstance(groups, Sequence):
        raise OptionError(
            f"A group must list its categories, not {groups!r}.",
            where="groups",
            remedy='Write {"north": ["A", "B"], "south": ["C"]}.',
        )
    return list(groups)


def _require_partition(groups: Groups, codes: Mapping[str, int]) -> None:
    """Check that each category is in exactly one group. Raises UnknownCategory, OptionError."""
    if not isinstance(groups, Mapping):
        raise OptionError(
            f"groups must be a dict of each group's categories, not {groups!r}.", where="groups"
        )
    times = Counter(_categories(groups))
    unknown = [category for category in times if category not in codes]
    if unknown:
        raise UnknownCategory(
            f"The groups name categories that the variable does not have:"
            f" {first_few(map(repr, unknown))}{did_you_mean(unknown, codes)}.",
            where="groups",
            remedy="Use the domain's spelling.",
        )
    wrong = [category for category in codes if times[category] != 1]
    if wrong:
        raise OptionError(
            f"Each category must be in exactly one group; {len(wrong)} are in none or in several:"
            f" {first_few(map(repr, wrong))}.",
            where="groups",
        )
