"""mlxtend's `apriori` and `association_rules`, for tables of items that may be randomized.

A program that uses mlxtend.frequent_patterns changes its import and gets the same frames. With the
`plan` that made the reports it gets estimates of the truth instead of what was reported, and
further columns with their errors (`frames.ITEMSET_ERRORS`, `frames.RULE_ERRORS`).

A table has a row per record and a column per item, of booleans or of 0 and 1. Under a plan the
columns of a variable are named ``variable=category`` or ``variable_category`` (as
pandas.get_dummies does), all of them there; a variable of two categories may instead be one column
of its own name, true for its second category. Items of one variable of a plan never stand together
in an itemset.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from pramana.frames.sentences import one_sentence, options_told
from pramana.frames.tables import as_frame, shown
from pramana_core.alike import did_you_mean
from pramana_core.domain import Domain, Variable
from pramana_core.errors import EmptyTable, MissingColumn, OptionError, PlanError, TableError
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.common.options import (
    Against,
    Decisions,
    InnerShare,
    RuleOptions,
    Share,
    require_limit,
)
from pramana_core.learn.rules.exchange import RULE_ERRORS, itemsets_frame
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import (
    MEASURES,
    RuleEstimates,
    confidences,
    leverages,
    lifts,
    measures,
    supports,
)
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.marginals.score_interval import normal_quantile
from pramana_core.marginals.support_counts import Flags, Floats, Item, RuleCounts
from pramana_core.plan import Plan

_Split = tuple[frozenset[Any], frozenset[Any]]

_PLAIN = ["support", "itemsets"]


@one_sentence()
@options_told
def apriori(
    df: pd.DataFrame,
    min_support: float = 0.5,
    use_colnames: bool = False,
    max_len: int | None = None,
    verbose: int = 0,  # noqa: ARG001
    low_memory: bool = False,  # noqa: ARG001
    n_jobs: int | None = 1,  # noqa: ARG001
    *,
    plan: Plan | None = None,
    decisions: Decisions = "point",
    confidence: float = 0.95,
    false_discovery: float = 0.05,
    against: Against = "records",
    consistent: bool = False,
) -> pd.DataFrame:
    """Return the frequent itemsets of a table of items.

    Args:
        df: the table (see the module); under a plan, as it was reported.
        min_support: the least support, above 0 and at most 1.
        use_colnames: name items by their columns, not by the columns' places.
        max_len: the most items of an itemset.
        verbose: taken, as the next two, because mlxtend has it; without effect.
        low_memory: without effect.
        n_jobs: without effect.
        plan: what was done to the table.
        decisions: how itemsets are held frequent, by `point` or `controlled`.
        confidence: of intervals and verdicts.
        false_discovery: the rate that `controlled` decisions keep.
        against: the errors, given these `records` or against their `population`.
        consistent: whether supports are also made consistent with each other.

    Returns:
        `support` and `itemsets`, by length; under a plan also `support_se`, `support_low` and
        `support_high` (the error and the interval that `against` asks for), `se_records` and
        `se_population` (both errors), `verdict`, `p_value` and `consistent`.

    Raises:
        OptionError: an option outside its range.
        TableError: no such table, or columns that do not fit the plan.

    Examples:
        >>> import pandas as pd
        >>> import pramana as pm
        >>> baskets = pd.DataFrame({"milk": [1, 1, 0, 1], "bread": [1, 1, 0, 0]})
        >>> for row in pm.apriori(baskets, 0.5, use_colnames=True).itertuples():
        ...     print(row.support, sorted(row.itemsets))
        0.75 ['milk']
        0.5 ['bread']
        0.5 ['bread', 'milk']
    """
    df = _table(df, "df")
    require_limit(min_support, Share, "min_support")
    options = RuleOptions(
        min_support, max_len, decisions, confidence, false_discovery, against, consistent
    )
    table = _Table.of(df, plan)
    names = dict(zip(table.items, df.columns if use_colnames else range(df.shape[1]), strict=True))
    frame = itemsets_frame(mine_itemsets(table.marginals, table.items, options), names=names)
    return frame if plan is not None else frame[_PLAIN]


@one_sentence()
@options_told
def association_rules(
    df: pd.DataFrame,
    num_itemsets: int | None = 1,  # noqa: ARG001
    df_orig: pd.DataFrame | None = None,
    null_values: bool = False,
    metric: str = "confidence",
    min_threshold: float = 0.8,
    support_only: bool = False,
    return_metrics: Sequence[str] = MEASURES,
    *,
    plan: Plan | None = None,
    confidence: float = 0.95,
    against: Against = "records",
) -> pd.DataFrame:
    """Return the rules between the parts of frequent itemsets.

    Args:
        df: `support` and `itemsets` of all frequent itemsets.
        num_itemsets: taken because mlxtend has it; without effect where no value is missing.
        df_orig: under a plan the reported table the itemsets are from; else without effect.
        null_values: must be False: values that were not reported are for the plan to say.
        metric: the measure that decides.
        min_threshold: its least value.
        support_only: leave all measures but the support empty, and decide by it.
        return_metrics: the measures to return.
        plan: what was done to the table; the errors of the rules are returned then.
        confidence: of their intervals.
        against: the errors, given these `records` or against their `population`.

    Returns:
        `antecedents`, `consequents` (frozensets), the measures; under a plan also the standard
        error and the interval of four of them (`support_se`, `support_low`, `support_high`, ...),
        which are those that `against` asks for.

    Raises:
        OptionError: an unknown measure, missing subsets, missing values, or a plan without table.
        TableError: no frequent itemsets, or a table as for `apriori`.

    Examples:
        >>> import pandas as pd
        >>> import pramana as pm
        >>> baskets = pd.DataFrame({"milk": [1, 1, 0, 1], "bread": [1, 1, 0, 0]})
        >>> frequent = pm.apriori(baskets, 0.5, use_colnames=True)
        >>> for rule in pm.association_rules(frequent, min_threshold=0.9).itertuples():
        ...     print(*rule.antecedents, "->", *rule.consequents, rule.confidence)
        bread -> milk 1.0
    """
    df = _table(df, "df")
    _require_sense(null_values, min_threshold)
    metric = "support" if support_only else metric
    _require_measures((metric, *return_metrics))
    known = _known(df)
    splits = [split for itemset in known for split in _splits(itemset)]
    found = _measured(known, splits, support_only=support_only)
    kept = np.flatnonzero(found[metric] >= min_threshold)
    splits = [splits[place] for place in kept.tolist()]
    frame = _sides(splits).assign(**{name: found[name][kept] for name in return_metrics})
    if plan is None:
        return frame
    original = None if support_only else df_orig
    return frame.assign(**_errors(original, plan, splits, confidence, against == "population"))


def _require_sense(null_values: object, min_threshold: object) -> None:
    if null_values:
        raise OptionError(
            "Missing values cannot be declared by `null_values`.",
            where="null_values",
            remedy="Give a plan in which the variable is withheld.",
        )
    if isinstance(min_threshold, bool) or not isinstance(min_threshold, Real):
        raise OptionError(
            f"min_threshold must be a number, not {shown(min_threshold)}.", where="min_threshold"
        )


def _table(given: Any, argument: str) -> pd.DataFrame:
    """Return what was given as a frame; one of pandas stays as it is, sparse or not."""
    return given if isinstance(given, pd.DataFrame) else as_frame(given, argument)


def _sides(splits: Sequence[_Split]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "antecedents": pd.Series([left for left, _ in splits], dtype=object),
            "consequents": pd.Series([right for _, right in splits], dtype=object),
        }
    )


def _require_measures(names: Iterable[str]) -> None:
    for name in names:
        if name not in MEASURES:
            raise OptionError(
                f"metric must be one of {', '.join(MEASURES)}, not"
                f" {name!r}{did_you_mean([name], MEASURES)}.",
                where="metric",
            )


def _known(df: pd.DataFrame) -> dict[frozenset[Any], float]:
    """Return the supports of the given itemsets."""
    missing = [name for name in _PLAIN if name not in df.columns]
    if missing:
        raise MissingColumn(
            f"df has no column {', '.join(map(repr, missing))}; it must be a frame of frequent"
            " itemsets, as apriori returns it.",
            where=missing[0],
        )
    if df.empty:
        raise EmptyTable("df has no rows: there are no frequent itemsets to make rules of.")
    return dict(zip(map(frozenset, df["itemsets"]), df["support"].to_numpy(float), strict=True))


def _splits(itemset: frozenset[Any]) -> Iterable[_Split]:
    """Yield every way to part an itemset, longer antecedents first."""
    for size in range(len(itemset) - 1, 0, -1):
        for antecedent in combinations(itemset, size):
            left = frozenset(antecedent)
            yield left, itemset - left


def _measured(
    known: dict[frozenset[Any], float], splits: Sequence[_Split], *, support_only: bool
) -> dict[str, Floats]:
    whole = np.array([known[left | right] for left, right in splits], dtype=np.float64)
    if support_only:
        return dict.fromkeys(MEASURES, np.full(len(splits), np.nan)) | {"support": whole}
    try:
        parts = [(known[left], known[right]) for left, right in splits]
    except KeyError:
        raise OptionError(
            "The support of a subset of an itemset is not given.",
            where="df",
            remedy="Give all frequent itemsets, or ask for `support_only`.",
        ) from None
    antecedent, consequent = np.array(parts, dtype=np.float64).reshape(-1, 2).T
    return measures(whole, antecedent, consequent)


def _errors(
    df: pd.DataFrame | None,
    plan: Plan,
    splits: Sequence[_Split],
    level: float,
    population: bool,
) -> dict[str, Floats]:
    """Return the columns of errors of rules, items named by columns or by their places."""
    if df is None:
        raise OptionError(
            "The errors of rules need the reported table and all measures.",
            where="df_orig",
            remedy="Give `df_orig` and leave `support_only` out, or give no plan.",
        )
    require_limit(level, InnerShare, "confidence")
    df = _table(df, "df_orig")
    table, z = _Table.of(df, plan), normal_quantile(level)
    # Under a plan names are strings, so that a number can only be a place.
    places: dict[Hashable, int] = {place: place for place in range(df.shape[1])}
    places |= {name: place for place, name in enumerate(df.columns)}
    errors = np.zeros((len(splits), len(RULE_ERRORS)))
    lengths = np.array([len(left | right) for left, right in splits], dtype=np.int64)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        counts = _counted(table, [splits[row] for row in rows.tolist()], places)
        measured = (
            part(counts, z, population=population)
            for part in (supports, confidences, lifts, leverages)
        )
        errors[rows] = np.column_stack([end for one in measured for end in _ends(one)])
    return dict(zip(RULE_ERRORS, errors.T, strict=True))


def _ends(measured: RuleEstimates) -> tuple[Floats, Floats, Floats]:
    return measured.se, measured.low, measured.high


def _counted(table: _Table, splits: Sequence[_Split], places: dict[Hashable, int]) -> RuleCounts:
    try:
        left = [{places[name] for name in antecedent} for antecedent, _ in splits]
        whole = [sorted({places[name] for name in a | c}) for a, c in splits]
    except KeyError:
        raise OptionError(
            "An itemset has an item that is not a column of the table.", where="df_orig"
        ) from None
    antecedents = [[i in own for i in row] for own, row in zip(left, whole, strict=True)]
    found = table.marginals.supports(table.items)
    return found.rules(np.array(whole, dtype=np.int64), np.array(antecedents, dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class _Table:
    """A table of items: the item of each column, and the marginals."""

    items: tuple[Item, ...]
    marginals: EstimatedMarginals

    @classmethod
    def of(cls, df: pd.DataFrame, plan: Plan | None) -> _Table:
        if plan is not None and not isinstance(plan, Plan):
            raise PlanError(f"plan must be a Plan, not {shown(plan)}.", where="plan")
        flags = _flags(df)
        if plan is None:
            names = [f"column {place}" for place in range(df.shape[1])]
            plan = Plan.unrandomized(
                Domain(tuple(Variable(name, ("absent", "present")) for name in names))
            )
        else:
            names = list(df.columns)
        if not all(isinstance(name, str) for name in names):
            raise TableError("The columns of a table under a plan are named by its variables.")
        if len(set(names)) < len(names):
            raise TableError("Two columns of the table have one name.")
        return cls._of(flags, names, plan)

    @classmethod
    def _of(cls, flags: Flags, names: Sequence[str], plan: Plan) -> _Table:
        places = {name: place for place, name in enumerate(names)}
        items: dict[int, Item] = {}
        columns: dict[str, Codes] = {}
        for variable in plan.domain:
            own = _columns_of(variable, places)
            size = plan.reported_sizes[variable.name]
            columns[variable.name] = _codes(flags[:, own], variable, size)
            first = variable.size - len(own)
            items |= {place: (variable.name, first + k) for k, place in enumerate(own)}
        unknown = [name for name, place in places.items() if place not in items]
        if unknown:
            raise TableError(
                f"The plan says nothing of the columns {unknown[:5]}.",
                where=unknown[0],
                remedy="Add their variables to the plan, or leave the columns out.",
            )
        reported = ReportedCounts(columns, plan.reported_sizes)
        ordered = tuple(items[place] for place in range(len(places)))
        return cls(ordered, EstimatedMarginals(reported, plan))


def _flags(df: pd.DataFrame) -> Flags:
    """Return the table as booleans.

    Raises:
        TableError: it has a value that is neither true nor false, 1 nor 0.
        EmptyTable: it has no rows or no columns.
    """
    if not df.size:
        raise EmptyTable("The table of items has no rows or no columns.")
    values = df.to_numpy()
    if values.dtype != np.bool_:
        other = [str(name) for name in df.columns if not df[name].isin([0, 1, True, False]).all()]
        if other:
            raise TableError(
                f"The columns {other[:5]} have values other than true and false, 1 and 0.",
                where=other[0],
                remedy="Encode categories as a column each, say by pandas.get_dummies.",
            )
    return values.astype(np.bool_)


def _columns_of(variable: Variable, places: dict[str, int]) -> list[int]:
    """Return the places of a variable's columns: one per category, or one for the second of two."""
    for between in ("=", "_"):
        names = [f"{variable.name}{between}{category}" for category in variable.categories]
        if all(name in places for name in names):
            return [places[name] for name in names]
    if variable.size == 2 and variable.name in places:
        return [places[variable.name]]
    raise MissingColumn(
        f"The table has no columns of variable {variable.name!r}.",
        where=variable.name,
        remedy=f"Name them {variable.name}=category, one for each of its {variable.size}"
        " categories.",
    )


def _codes(flags: Flags, variable: Variable, size: int) -> Codes:
    """Return the reported codes: the category, or the set of categories as bits."""
    if flags.shape[1] == 1 and size == 2:
        return flags[:, 0].astype(np.uint8)
    if flags.shape[1] == variable.size and size == 1 << variable.size:
        return (flags @ (1 << np.arange(variable.size))).astype(np.uint32)
    if flags.shape[1] == variable.size == size and (flags.sum(axis=1) == 1).all():
        return np.asarray(flags.argmax(axis=1), dtype=np.uint32)
    raise TableError(
        f"The reports of variable {variable.name!r} are one of {size} codes; its columns do not"
        " say which.",
        where=variable.name,
        remedy="Exactly one column of a variable is true in each row, unless every category was"
        " reported by itself.",
    )
