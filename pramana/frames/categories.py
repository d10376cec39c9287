"""Domains from a table and a public list of categories, or from the categories observed in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from pydantic import ValidationError

from owner_agent.site.mistakes import mistake, own_mistakes
from owner_agent.site.planning import categories_of
from owner_agent.site.site import VariableSection
from pramana.frames.codes import EMPTY, distinct_texts, encode
from pramana.frames.sentences import checked_options, one_sentence, quoted
from pramana.frames.tables import Frame, as_frame, is_list, names_of, require_columns, shown
from pramana_core.alike import did_you_mean
from pramana_core.cells import series_cells, text_of
from pramana_core.domain import Domain, Variable
from pramana_core.encoding import interval_cuts
from pramana_core.errors import DomainError, OptionError, TableError

if TYPE_CHECKING:
    import pandas as pd

_PLACES = 3
"""Significant digits of the interval width; cuts are rounded to the last of these digits."""


class ObservedCategories(dict[str, list[str] | dict[str, Any]]):
    """Categories by column, as observed in a table.

    Attributes:
        left_out: the columns that cannot be variables, with reasons; `pm.domain` omits them too.
    """

    def __init__(self, found: Mapping[str, list[str] | dict[str, Any]], left_out: dict[str, str]):
        super().__init__(found)
        self.left_out = left_out


@checked_options
def observed_categories(
    frame: Frame, columns: Sequence[str] | None = None, *, intervals: int | None = None
) -> ObservedCategories:
    """Return the categories observed in a table, for `pm.domain`.

    The result reveals part of the data, and no epsilon accounts for that: each category shows that
    some record has it. Use this function for public tables and experiments. An owner of private
    data lists categories from public knowledge.

    A column of many different numbers is cut into intervals. Empty cells become a category
    `(empty)`. In a column of more than 20 different values, the rare ones become `(other)`. A
    column of an ordered pandas type (as from `pd.cut`) has all categories of its type.

    Args:
        frame: the table; see `pm.domain`.
        columns: the columns; if None, all except constant columns and columns that name or number
            the records.
        intervals: the count of intervals of equal width, at rounded cuts, for numeric columns, 2 to
            64. None cuts columns of more than 8 fractions, 12 whole numbers or 20 years (but not
            codes of digits) into 3 to 8 intervals with nearly equal counts of records. Columns
            with numbers in fewer than 1,331 cells are cut for fewer different numbers, too. That
            includes class labels that are numbers, because no column is known as the target.

    Returns:
        A dict for `pm.domain`, which can be saved as JSON. It has for each column a list of labels,
        or `{"cuts": [...], "representatives": [...]}`. `left_out` lists the unusable columns with
        reasons.

    Raises:
        TableError: the table or a named column cannot be used, or none of the columns can.
        MissingColumn: a named column is missing.
        OptionError: `intervals` is not a whole number from 2 to 64.

    Examples:
        >>> import pramana as pm
        >>> people = {"age": [23, 31, 64, 40] * 25, "sex": ["f", "m", "f", "f"] * 25}
        >>> pm.observed_categories(people)
        {'age': ['23', '31', '40', '64'], 'sex': ['f', 'm']}
    """
    from pramana.simulate.tables import MOST_INTERVALS, ColumnChanges, as_variable

    table = as_frame(frame, "frame")
    names = list(table.columns) if columns is None else names_of(columns, "columns")
    require_columns(table, names, "columns")
    whole = isinstance(intervals, int) and not isinstance(intervals, bool)
    if intervals is not None and not (whole and 2 <= intervals <= MOST_INTERVALS):
        raise OptionError(
            f"intervals must be a whole number from 2 to {MOST_INTERVALS}, not {shown(intervals)}.",
            where="intervals",
        )
    done = ColumnChanges(len(table), intervals)
    variables = []
    for name in names:
        ordered = getattr(table[name].dtype, "ordered", False)
        try:
            found = as_variable(_texts(table[name]), name, done, requested=columns is not None)
        except TableError:
            done.left_out[name] = "cells other than texts, numbers or dates"
        else:
            if found is not None and ordered:
                found = (_as_ordered(found[0], table[name]), found[1])
            variables += [] if found is None else [found[0]]
    if done.left_out and (columns is not None or not variables):
        raise TableError(
            f"Columns of frame cannot become variables: {done.faults}.",
            where=next(iter(done.left_out)),
        )
    return ObservedCategories({v.name: _as_listed(v, intervals) for v in variables}, done.left_out)


def _as_ordered(variable: Variable, column: pd.Series) -> Variable:
    cells = series_cells(column.cat.categories, f"Column {variable.name!r} of frame")
    gaps = [label for label in variable.categories if label == EMPTY]
    return Variable(variable.name, (*cells.to_pylist(), *gaps))


def _texts(column: pd.Series) -> pd.Series[str]:
    import pandas as pd

    places, texts = distinct_texts(column, f"Column {column.name!r} of frame")
    return pd.Series(np.array(texts, dtype=object)[places], index=column.index, dtype=object)


def _as_listed(variable: Variable, intervals: int | None) -> list[str] | dict[str, Any]:
    cuts = interval_cuts(variable.categories)
    if cuts is None:
        return list(variable.categories)
    numbers = variable.representatives
    listed: dict[str, Any] = {"cuts": list(cuts)}
    if numbers is not None:
        listed["representatives"] = list(numbers)
    if intervals is not None and (len(cuts) > 1 or numbers is not None):
        width = cuts[1] - cuts[0] if len(cuts) > 1 else numbers[1] - numbers[0]  # type: ignore[index]
        places = _PLACES - math.ceil(math.log10(width))
        listed = {key: [round(n, places) for n in found] for key, found in listed.items()}
    if variable.size > len(cuts) + 1:
        listed["missing"] = variable.categories[-1]
    return listed


Categories: TypeAlias = Variable | Sequence[object] | Mapping[str, Any]
"""A list of labels, `{"cuts": [...]}`, or a `Variable`."""

_KEYS = ("categories", "cuts", "representatives", "missing")
"""The keys in a site file that define a variable's categories."""

_INTERVALS = '{"cuts": [...]}'


@checked_options
def domain(
    frame: Frame,
    categories: Mapping[str, Categories] | Domain | None = None,
    *,
    columns: Sequence[str] | None = None,
) -> Domain:
    """Return the variables of a table, given a public list of each column's categories.

    A list derived from the data reveals part of the data: a rare category shows that some record
    has it. Write it beforehand from public knowledge; this function checks every cell against it.

    Args:
        frame: the table, one row per record: a pandas or polars frame, a dict of columns, a list of
            dicts, or an Arrow table.
        categories: a `Domain`, or a dict with one of these for each column: a list of labels in the
            order of their codes, such as `["f", "m"]`; a `Variable`; or, to cut numbers into
            intervals closed on the left, `{"cuts": [30, 45]}`, with optional `"representatives"`,
            one number per interval, and `"missing"`, the label of empty cells. Empty cells belong
            to a category `(empty)`, and values that belong to no other category to a category
            `(other)`.
        columns: the columns, in this order; if None, all except those in `left_out` of
            `pm.observed_categories`.

    Returns:
        The domain, one variable per column.

    Raises:
        DomainError: `categories` is missing, is not valid, or omits a column.
        MissingColumn: a named column is missing.
        UnknownCategory: a cell's value is not in the list. The message names the value and the
            column; it appears only on the machine that has the table.
        TableError: `frame` is not a table.

    Examples:
        >>> import pramana as pm
        >>> people = {"age": [23, 31, 64], "sex": ["f", "m", "f"]}
        >>> domain = pm.domain(people, {"age": {"cuts": [30, 45]}, "sex": ["f", "m"]})
        >>> domain.names, domain["age"].categories
        (('age', 'sex'), ('<30', '30-45', '>=45'))
    """
    table = as_frame(frame, "frame")
    given = _listed(categories)
    if columns is None:
        unusable = categories.left_out if isinstance(categories, ObservedCategories) else {}
        names = [name for name in table.columns if name not in unusable]
        require_columns(table, given, "categories")
    else:
        names = names_of(columns, "columns")
        require_columns(table, names, "columns")
    if not names:
        raise DomainError("columns must name at least one column.", where="columns")
    if unlisted := [name for name in names if name not in given]:
        raise DomainError(
            f"categories has no entry for {quoted(unlisted)} of frame; add an entry, or list in"
            " columns only the columns that have one.",
            where=unlisted[0],
        )
    with one_sentence():
        variables = Domain(tuple(_variable(name, given[name]) for name in names))
    encode(table, variables, "frame")
    return variables


def _listed(categories: Mapping[str, Categories] | Domain | None) -> Mapping[str, Categories]:
    if isinstance(categories, Domain):
        return {v.name: v for v in categories}
    if not isinstance(categories, Mapping):
        raise DomainError(
            'categories must be a public list, such as {"sex": ["f", "m"], "age": {"cuts": [30]}},'
            f" not {shown(categories)}; for a public table it may be"
            " pm.observed_categories(frame).",
            where="categories",
        )
    return {str(name): given for name, given in categories.items()}


def _variable(name: str, given: Categories) -> Variable:
    if isinstance(given, Variable):
        if given.name != name:
            raise DomainError(
                f"categories has a variable called {given.name!r} for column {name!r}; the"
                " variable must have the name of the column.",
                where=name,
            )
        return given
    keys = dict(given) if isinstance(given, Mapping) else {"categories": given}
    unknown = [key for key in keys if key not in _KEYS]
    wrong = ""
    if unknown:
        wrong = f"an unknown key {quoted(unknown)}{did_you_mean(unknown, _KEYS)}"
    elif "missing" in keys and "cuts" not in keys:
        wrong = (
            "a key 'missing' without cuts (to accept empty cells in a list of labels, add the"
            f" label {EMPTY!r})"
        )
    elif "cuts" in keys and not is_list(keys["cuts"]):
        wrong = f"cuts that are not a list of numbers: {shown(keys['cuts'])}"
    if wrong:
        raise DomainError(f"categories of {name!r} have {wrong}.", where=name)
    if "categories" in keys:
        keys["categories"] = _labels(name, keys["categories"])
    try:
        section = VariableSection.model_validate({**keys, "name": name, "sensitive": True})
    except ValidationError as error:
        words = "; ".join(mistake(e["loc"], e["type"], e["msg"]) for e in own_mistakes(error))
        raise DomainError(
            f"categories of {name!r} are not valid: {words.rstrip('.')}.", where=name
        ) from None
    return Variable(name, categories_of(section, Path()), section.representatives)


def _labels(name: str, given: object) -> list[str]:
    values = list(given) if is_list(given) else []  # type: ignore[call-overload]
    bad = (
        value is None or value != value or isinstance(value, list | tuple | Mapping)
        for value in values
    )
    if not values or any(bad):
        raise DomainError(
            f"categories of {name!r} must be a list of labels or {_INTERVALS}, not {shown(given)}.",
            where=name,
        )
    return [text_of(value, f"categories of {name!r}") for value in values]
