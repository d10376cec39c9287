"""The owner's own records as a model's inputs: columns by name, cells as codes of its variables.

No message quotes a cell, even where the site file calls the column not sensitive.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.site.planning import planned, raise_together
from owner_agent.site.site import Site, VariableSection
from owner_agent.table.encode import encode_column, numbers, record_id_problems, rows_text
from owner_agent.table.table import TextTable, read_table
from pramana_core.domain import Domain, Variable
from pramana_core.errors import MissingColumn, PramanaError, TableUnreadable, UnknownCategory
from pramana_core.learn.prediction import interval_cuts
from pramana_core.marginals.counts import Codes
from pramana_core.wire.parts import code_dtype


@dataclass(frozen=True)
class InputSource:
    """Where the records are, and what the site file says of their columns."""

    table: Path
    record_id: str | None = None
    sections: Mapping[str, VariableSection] | None = None
    variables: Mapping[str, Variable] | None = None

    @classmethod
    def of_site(cls, site: Site, table: Path | None, record_id: str | None) -> InputSource:
        """Return the records that a site file describes, in another table if one is given."""
        sections = {section.name: section for section in site.file.variables}
        return cls(
            table or site.table, record_id or site.file.record_id, sections, planned(site).variables
        )

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the table's columns of a variable."""
        section = (self.sections or {}).get(name)
        return (name,) if section is None else section.sources


def read_source(source: InputSource, inputs: Domain, *, missing: bool = False) -> TextTable:
    """Read the columns that a model needs, and the record ids.

    Where values may be `missing` so may columns, as long as there is one.

    Raises:
        TableError: the table cannot be read, or lacks columns.
    """
    columns = [column for name in inputs.names for column in source.columns(name)]
    if not source.table.is_file():
        raise TableUnreadable(
            f"There is no table at {source.table}.",
            where=str(source.table),
            remedy="Name another file."
            if source.sections is None
            else "Name another file, or correct `table` in the site file.",
        )
    own = [source.record_id] if source.record_id else []
    asked = list(dict.fromkeys([*own, *columns]))
    table = read_table(source.table, asked, set(columns) - set(own) if missing else frozenset())
    if not any(set(source.columns(name)) <= set(table.columns) for name in inputs.names):
        raise MissingColumn(
            f"The table {source.table} has no column of the model's variables"
            f" {', '.join(map(repr, inputs.names))}.",
            where=str(source.table),
            remedy="Name a table that has some of them.",
        )
    return table


def columns_lacking(source: InputSource, table: TextTable, used: Sequence[str]) -> list[str]:
    """Return the columns of variables that a model uses which the table lacks."""
    wanted = dict.fromkeys(column for name in used for column in source.columns(name))
    return [column for column in wanted if column not in table.columns]


def encode_inputs(
    source: InputSource,
    table: TextTable,
    inputs: Domain,
    watch: Callable[[int], None],
    *,
    missing: bool = False,
) -> dict[str, Codes]:
    """Return the codes of a model's inputs; `watch` is called with the number of those done.

    Where values may be `missing`, a variable without a column is left out, and an empty cell that
    is no category has the variable's number of categories as its code.

    Raises:
        TableError, UnknownCategory: all that is wrong with the table, together.
    """
    problems: list[PramanaError] = []
    if source.record_id:
        problems += record_id_problems(table.columns[source.record_id], source.record_id)
    columns = {}
    for number, variable in enumerate(inputs):
        watch(number)
        if not set(source.columns(variable.name)) <= set(table.columns):
            continue
        try:
            columns[variable.name] = _encoded(source, table, variable, missing=missing)
        except PramanaError as error:
            problems.append(error)
    raise_together(problems)
    return columns


def _encoded(source: InputSource, table: TextTable, variable: Variable, *, missing: bool) -> Codes:
    """Return a column as codes of the model's variable.

    The site file says how a cell is read where its categories are the model's, in any order;
    otherwise a cell holds one of the model's labels, or a number where they are intervals.
    """
    section = (source.sections or {}).get(variable.name)
    labels = _normal(variable)
    if section is not None and source.variables is not None:
        own = _normal(source.variables[variable.name])
        cells = [table.columns[name] for name in source.columns(variable.name)]
        empties = missing and section.missing is None and any(_has_empty(text) for text in cells)
        if set(own) == set(labels) and not empties:
            hidden = section.model_copy(update={"sensitive": True})
            codes = encode_column(table, hidden, source.variables[variable.name])
            return np.array([labels.index(label) for label in own], _dtype(variable))[codes]
    column = source.columns(variable.name)[0]
    found = _by_label_or_number(table.columns[column], variable, labels)
    if missing:
        empty = pc.equal(table.columns[column], "").to_numpy(zero_copy_only=False)
        found[empty & (found < 0)] = variable.size
    wrong = found < 0
    if wrong.any():
        raise UnknownCategory(
            f"Column {column!r} holds values of {variable.name!r} that the model does not know in"
            f" {rows_text(wrong)}.",
            where=column,
            remedy=_wanted(variable, section),
        )
    return found.astype(code_dtype(variable.size + 1) if missing else _dtype(variable))


def _has_empty(text: pa.Array) -> bool:
    return bool(pc.any(pc.equal(text, "")).as_py())


def _by_label_or_number(
    text: pa.Array, variable: Variable, labels: list[str]
) -> npt.NDArray[np.int64]:
    found = pc.fill_null(pc.index_in(text, value_set=pa.array(labels)), -1)
    codes: npt.NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    cuts = interval_cuts(variable)
    if cuts is not None:
        values = numbers(text)
        number = (codes < 0) & np.isfinite(values)
        codes[number] = np.searchsorted(np.array(cuts), values[number], side="right")
    return codes


def _wanted(variable: Variable, section: VariableSection | None) -> str:
    also = ", or a number" if interval_cuts(variable) is not None else ""
    told = (
        " The site file gives this variable other categories."
        if section is not None
        else " With --site the site file says how cells are read."
    )
    return f"Each cell must hold one of {list(variable.categories)}{also}.{told}"


def _normal(variable: Variable) -> list[str]:
    return [unicodedata.normalize("NFC", label) for label in variable.categories]


def _dtype(variable: Variable) -> np.dtype[np.unsignedinteger]:
    return np.dtype(code_dtype(variable.size))
