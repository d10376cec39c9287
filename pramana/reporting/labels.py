"""Conversion of reported codes to labels, sets of items and missing cells, and back.

Most channels report a category. Channels of `items` report a set of a variable's categories: one
column of true and false per category, called `variable=category` as in mlxtend and
`pandas.get_dummies`. If a transition matrix has more or fewer columns than rows, its reports are
numbers without labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from pramana.frames.codes import decode, encode
from pramana.frames.tables import Frame, as_frame
from pramana_core.alike import first_few
from pramana_core.channels import RESOLUTION
from pramana_core.domain import Domain, Variable
from pramana_core.errors import (
    MissingColumn,
    TableError,
    UnknownCategory,
)
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import code_dtype

if TYPE_CHECKING:
    import pandas as pd


class Form(Enum):
    """The form of a variable's reports: a category, a set of categories, or a number."""

    CATEGORY = "a category"
    SOMETIMES = "a category, or withheld"
    NOTHING = "nothing"
    ITEMS = "a set of categories"
    NUMBER = "a number without a label"


def form_of(block: Block, name: str) -> Form:
    """Return the form in which a block reports one of its variables."""
    place = block.names.index(name)
    true, reported = block.variables[place].size, block.reported_shape[place]
    if block.channel.choices:
        return Form.SOMETIMES if reported == true + 1 else Form.NUMBER
    if reported == 1:
        return Form.NOTHING
    if block.channel.items:
        return Form.ITEMS
    return Form.CATEGORY if reported == true else Form.NUMBER


def forms(plan: Plan) -> dict[str, Form]:
    """Return the form of each variable's reports."""
    return {name: form_of(block, name) for block in plan.blocks for name in block.names}


def item_column(variable: Variable, category: str) -> str:
    """Return the name of the column that states whether a set of items has a category."""
    return f"{variable.name}={category}"


def write_labels(plan: Plan, codes: Mapping[str, Codes]) -> pd.DataFrame:
    """Return reported codes as a frame of N rows; withheld values are missing (NaN)."""
    import pandas as pd

    columns: dict[str, pd.Series] = {}
    for name, form in forms(plan).items():
        variable, own = plan.domain[name], codes[name]
        if form is Form.ITEMS:
            columns |= {
                item_column(variable, category): pd.Series((own.astype(np.int64) >> bit) & 1 == 1)
                for bit, category in enumerate(variable.categories)
            }
        elif form is Form.NUMBER:
            columns[name] = pd.Series(own)
        else:
            reported = np.full(len(own), variable.size) if form is Form.NOTHING else own
            columns[name] = decode({name: reported}, Domain((variable,)))[name]
    return pd.DataFrame(columns)


def read_labels(plan: Plan, frame: Frame, argument: str) -> dict[str, Codes]:
    """Return the codes of a frame of reported labels; the inverse of `write_labels`.

    For an unrandomized variable, empty cells are read as `(empty)` and unlisted values as
    `(other)`. Raises TableError, MissingColumn, UnknownCategory.
    """
    table = as_frame(frame, argument)
    wanted = forms(plan)
    _require_columns(table, plan, wanted, argument)
    true = {n for block in plan.blocks if block.channel.is_identity for n in block.names}
    codes: dict[str, Codes] = {}
    for name, form in wanted.items():
        variable = plan.domain[name]
        if form is Form.ITEMS:
            codes[name] = _items(table, variable, argument)
        elif form is Form.NUMBER:
            codes[name] = _numbers(table[name], plan.reported_sizes[name], argument)
        elif form is Form.NOTHING:
            codes[name] = _nothing(table, name, argument)
        else:
            sometimes = form is Form.SOMETIMES
            own = Domain((variable,))
            found = encode(table, own, argument, missing=sometimes, reported=name not in true)[name]
            codes[name] = found.astype(code_dtype(plan.reported_sizes[name]))
    for block in plan.blocks:
        _require_sampled(block, codes, argument)
    return codes


def _require_columns(
    table: pd.DataFrame, plan: Plan, wanted: Mapping[str, Form], argument: str
) -> None:
    names: list[str] = []
    for name, form in wanted.items():
        if form is Form.ITEMS:
            names += [item_column(plan.domain[name], c) for c in plan.domain[name].categories]
        elif form is not Form.NOTHING:
            names.append(name)
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise MissingColumn(
            f"{argument} has no column {', '.join(map(repr, absent))}; the plan reports {names},"
            f" and {argument} has {list(table.columns)}.",
            where=argument,
        )


def _items(table: pd.DataFrame, variable: Variable, argument: str) -> Codes:
    total = np.zeros(len(table), dtype=np.int64)
    for bit, category in enumerate(variable.categories):
        column = table[item_column(variable, category)]
        if not column.isin([True, False]).all():
            raise UnknownCategory(
                f"Column {column.name!r} of {argument} must contain True or False in every row.",
                where=argument,
            )
        total |= column.to_numpy(dtype=bool).astype(np.int64) << bit
    return total.astype(code_dtype(1 << variable.size))


def _numbers(column: pd.Series, size: int, argument: str) -> Codes:
    import pandas as pd

    if not pd.api.types.is_integer_dtype(column.dtype) or not column.between(0, size - 1).all():
        raise UnknownCategory(
            f"Column {column.name!r} of {argument} must contain whole numbers from 0 to {size - 1}:"
            " the plan reports codes without labels.",
            where=argument,
        )
    return column.to_numpy().astype(code_dtype(size))


def _nothing(table: pd.DataFrame, name: str, argument: str) -> Codes:
    filled = 0 if name not in table.columns else int(table[name].notna().sum())
    if filled:
        raise TableError(
            f"Column {name!r} of {argument} must be empty, because the plan withholds it; it has"
            f" values in {filled} of {len(table)} rows.",
            where=argument,
        )
    return np.zeros(len(table), dtype=np.uint8)


def _require_sampled(block: Block, codes: Mapping[str, Codes], argument: str) -> None:
    channel = block.channel
    if not channel.choices:
        return
    reported = np.stack([codes[v.name] != v.size for v in block.variables], axis=1)
    packed = {row.tobytes() for row in np.unique(np.packbits(reported, axis=1), axis=0)}
    possible = np.zeros((len(channel.choices) + 1, len(block.variables)), dtype=np.bool_)
    for row, choice in zip(possible, channel.choices, strict=False):
        row[list(choice.axes)] = True
    nothing = sum(choice.weight for choice in channel.choices) < RESOLUTION
    rows = np.packbits(possible if nothing else possible[:-1], axis=1)
    if not packed <= {row.tobytes() for row in rows}:
        raise TableError(
            f"Some rows of {argument} report a set of the variables {first_few(block.names)} that"
            " the plan never selects; leave a cell empty only if its value was withheld.",
            where=argument,
        )
