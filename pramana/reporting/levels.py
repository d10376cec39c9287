"""Estimated counts of a variable's categories in groups, and in groups of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from pramana_core.alike import did_you_mean, first_few
from pramana_core.domain import Variable
from pramana_core.errors import OptionError, UnknownCategory
from pramana_core.marginals.score_interval import normal_quantile, possible, score_interval
from pramana_core.marginals.tables import MarginalTable, Tensor

if TYPE_CHECKING:
    import pandas as pd

Groups: TypeAlias = "Mapping[str, Groups | Sequence[str]]"
"""The categories, or the inner groups, of each group:
`{"north": {"city": ["A", "B"]}, "south": ["C"]}`"""

Flags: TypeAlias = npt.NDArray[np.bool_]

_AT_ONCE = 16
"""Rows whose errors are computed at once; each row takes one number per report."""


@dataclass(frozen=True)
class _Row:
    depth: int
    within: str
    label: str
    codes: tuple[int, ...]


def levels_of(
    table: MarginalTable, variable: Variable, groups: Groups, level: float
) -> pd.DataFrame:
    """Return the counts in the form of `EstimatedCounts.levels`."""
    import pandas as pd

    codes = {category: code for code, category in enumerate(variable.categories)}
    _require_partition(groups, codes)
    z = normal_quantile(level)
    small = table.counts <= z * table.standard_error(population=True)
    rows = list(_rows(groups, codes, small))
    members = np.zeros((len(rows), variable.size))
    for number, row in enumerate(rows):
        members[number, list(row.codes)] = 1.0
    counts = members @ table.counts
    noise, error = (_variances(table, members, population=of) for of in (False, True))
    share = counts / table.records
    square = noise / table.records + share
    ends = score_interval(share, square, table.records, z, population=True)
    low, high = possible(*ends, share)
    return pd.DataFrame(
        {
            "level": [row.depth for row in rows],
            "within": [row.within for row in rows],
            "category": [row.label for row in rows],
            "categories": [len(row.codes) for row in rows],
            "count": counts,
            "low": table.records * low,
            "high": table.records * high,
            "se_records": np.sqrt(noise),
            "se_population": np.sqrt(error),
        }
    )


def _variances(table: MarginalTable, members: Tensor, *, population: bool) -> Tensor:
    # The variances of single categories are known; other rows take one number per report.
    found: Tensor = members @ table.variance(population=population)
    several = np.flatnonzero(members.sum(axis=1) > 1)
    for at in range(0, len(several), _AT_ONCE):
        rows = several[at : at + _AT_ONCE]
        covariance = table.covariance_of(members[rows], population=population)
        found[rows] = np.diagonal(covariance)
    return np.maximum(found, 0.0)


def _rows(
    groups: Groups, codes: Mapping[str, int], small: Flags, within: str = "", depth: int = 1
) -> Iterator[_Row]:
    """Yield each group before its contents; its small categories are one row, the last."""
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
            yield _Row(depth + 1, label, f"{len(pooled)} others", pooled)


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
