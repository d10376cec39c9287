"""Estimated counts of a variable's categories in groups, and in groups of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
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

_DEEPEST, _LONGEST_NAME = 20, 256
"""The maximum number of levels of groups, and of characters of a group's name."""

_AT_ONCE = 16
"""Maximum number of rows whose errors are computed together; each needs a number per report."""


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
    table: MarginalTable, variable: Variable, groups: Mapping[str, Any], level: float
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


def require_groups(groups: Mapping[str, Any], categories: Sequence[str]) -> Groups:
    """Return nested groups with each category once. Raises UnknownCategory, OptionError."""
    if not isinstance(groups, Mapping):
        raise _wrong(f"groups must be a dict of each group's categories, not {groups!r}.")
    found = _nested(groups, frozenset(categories))
    _require_partition(found, dict.fromkeys(categories, 0))
    return found


def canonical(groups: Groups | Sequence[str]) -> frozenset[object]:
    """Return nested groups in a form that does not depend on the order of groups and categories."""
    if isinstance(groups, Mapping):
        return frozenset((label, canonical(inside)) for label, inside in groups.items())
    return frozenset(groups)


def _nested(groups: Mapping[str, Any], known: Collection[str]) -> Groups:
    """Return the groups in nested form: each name of a group in a list becomes that group."""
    inner = {label: _inner(members, groups, known) for label, members in groups.items()}
    outer = Counter(name for names in inner.values() for name in names)
    made = dict(groups)
    try:
        for label in filter(inner.get, TopologicalSorter(inner).static_order()):
            names = inner[label]
            made[label] = {name: made[name] for name in names}
            if len(names) < len(groups[label]):
                raise _wrong(f"The group {label!r} lists both categories and groups.")
    except CycleError as error:
        raise _wrong(f"The group {error.args[1][0]!r} contains itself.") from None
    if repeated := [name for name, times in outer.items() if times > 1]:
        raise _wrong(f"Several groups list the group {repeated[0]!r}.")
    return {label: members for label, members in made.items() if label not in outer}


def _inner(members: Any, groups: Mapping[str, Any], known: Collection[str]) -> list[str]:
    listed = isinstance(members, Sequence) and not isinstance(members, str)
    found = (m for m in members if isinstance(m, str)) if listed else ()
    return [m for m in found if m in groups and m not in known]


def _wrong(why: str) -> OptionError:
    remedy = 'Write {"north": ["A", "B"], "south": ["C"]}, with each category once.'
    return OptionError(why, where="groups", remedy=remedy)


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


def _categories(groups: Any, levels: int = 1) -> list[str]:
    """Return the categories of all groups. Raises OptionError: a group is empty or malformed."""
    if levels > _DEEPEST:
        raise _wrong(f"Groups are nested more than {_DEEPEST} deep.")
    if not isinstance(groups, Mapping):
        return list(groups)
    found: list[str] = []
    for label, inside in groups.items():
        if not isinstance(label, str) or not 0 < len(label) <= _LONGEST_NAME:
            raise _wrong(f"A group's name has 1 to {_LONGEST_NAME} characters, unlike {label!r}.")
        listed = isinstance(inside, Sequence) and all(isinstance(one, str) for one in inside)
        if isinstance(inside, str) or not (listed or isinstance(inside, Mapping)):
            raise _wrong(f"The group {label!r} must list its categories, not {inside!r}.")
        if not inside:
            raise _wrong(f"The group {label!r} is empty.")
        found += _categories(inside, levels + 1)
    return found


def _require_partition(groups: Groups, codes: Mapping[str, int]) -> None:
    """Check that each category is in exactly one group. Raises UnknownCategory, OptionError."""
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
        raise _wrong(
            f"Each category must be in exactly one group; {len(wrong)} are in none or in several:"
            f" {first_few(map(repr, wrong))}."
        )
