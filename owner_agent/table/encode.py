"""From text to codes; errors name column, rows and counts, and never a value.

Values are quoted for columns that are not sensitive, where seeing them helps and harms nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from owner_agent.randomize.sampling import impossible_records
from owner_agent.site.planning import PlannedSite, raise_together
from owner_agent.site.site import Site, VariableSection
from owner_agent.table.table import TextTable, read_table
from pramana_core.domain import Variable
from pramana_core.errors import (
    DuplicateRecordId,
    MissingRecordId,
    PramanaError,
    TableError,
    UnknownCategory,
)
from pramana_core.marginals.counts import Codes
from pramana_core.wire.parts import code_dtype

_SHOWN_ROWS = 5
_SHOWN_VALUES = 5
_NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Encoded:
    """A table as record ids and true codes, in the table's order."""

    record_ids: list[str]
    columns: dict[str, Codes]

    @property
    def rows(self) -> int:
        """The number of records."""
        return len(self.record_ids)


@dataclass(frozen=True)
class Inspection:
    """What was found in a table: its codes where all is well, and every problem."""

    rows: int
    encoded: Encoded
    problems: tuple[PramanaError, ...]


def inspect(site: Site, plan: PlannedSite) -> Inspection:
    """Read a site's table and encode it, collecting every problem of its content.

    For the owner's own eyes: rows are named that hold a combination called impossible, and where
    only one is, that tells what they hold.

    Raises:
        TableError: the table cannot be read at all, has no rows, or lacks columns.
    """
    return _inspected(site, plan, rows_text)


def _inspected(site: Site, plan: PlannedSite, tell: Callable[[Mask], str]) -> Inspection:
    """Inspect a table, with `tell` to say which records hold an impossible combination."""
    names = [site.file.record_id, *(name for v in site.file.variables for name in v.sources)]
    table = read_table(site.table, names)
    problems = record_id_problems(table.columns[site.file.record_id], site.file.record_id)
    columns: dict[str, Codes] = {}
    for section in site.file.variables:
        try:
            columns[section.name] = encode_column(table, section, plan.variables[section.name])
        except PramanaError as error:
            problems.append(error)
    problems += _impossible_combinations(plan, columns, tell)
    record_ids: list[str] = table.columns[site.file.record_id].to_pylist()
    return Inspection(table.rows, Encoded(record_ids, columns), tuple(problems))


def encode(site: Site, plan: PlannedSite) -> Encoded:
    """Read and encode a site's table; of impossible records only the number is reported.

    Raises:
        TableError: the table cannot be read, record ids are missing or repeated,
            or a record has a combination of categories that its block calls impossible.
        UnknownCategory: a cell holds no category of its variable.
    """
    found = _inspected(site, plan, _records_text)
    raise_together(list(found.problems))
    return found.encoded


def record_id_problems(ids: pa.Array, column: str) -> list[PramanaError]:
    """Return what is wrong with record ids: some are empty, or there more than once."""
    problems: list[PramanaError] = []
    empty = pc.equal(ids, "").to_numpy(zero_copy_only=False)
    if empty.any():
        problems.append(
            MissingRecordId(
                f"Column {column!r}, the record id, is empty in {rows_text(empty)}.",
                where=column,
                remedy="Every record needs an id, or it cannot be matched between owners.",
            )
        )
    # The dictionary's indices number the distinct ids in order of appearance.
    index = ids.dictionary_encode().indices.to_numpy()
    counts = np.bincount(index)
    repeated = (counts[index] > 1) & ~empty
    if repeated.any():
        distinct = int((counts > 1).sum()) - int((counts[index] > 1)[empty].any())
        problems.append(
            DuplicateRecordId(
                f"Column {column!r}, the record id, has {distinct} ids more than once, in"
                f" {rows_text(repeated)}.",
                where=column,
                remedy="Keep one row for each record.",
            )
        )
    return problems


def encode_column(table: TextTable, section: VariableSection, variable: Variable) -> Codes:
    """Return a variable's codes, one for each row.

    Raises:
        TableError: cells are empty, or not numbers where the column is cut.
        UnknownCategory: cells hold no category.
    """
    texts = [table.columns[name] for name in section.sources]
    empty = np.stack([pc.equal(text, "").to_numpy(zero_copy_only=False) for text in texts])
    for name, cells in zip(section.sources, empty, strict=True):
        if section.missing is None and cells.any():
            raise TableError(
                f"Column {name!r} of variable {section.name!r} is empty in {rows_text(cells)}.",
                where=name,
                remedy='Say which category an empty cell is with missing = "...".',
            )
    if section.cuts is not None:
        codes = _intervals(texts[0], empty[0], section)
    elif section.centres is not None:
        codes = _nearest(texts, empty, section)
    else:
        codes = _labels(texts[0], empty[0], section, variable)
    return codes.astype(code_dtype(variable.size))


def _impossible_combinations(
    plan: PlannedSite, columns: Mapping[str, Codes], tell: Callable[[Mask], str]
) -> list[PramanaError]:
    """Return a problem for each block with records that it declares impossible."""
    problems: list[PramanaError] = []
    for block in plan.plan.blocks:
        if not columns.keys() >= set(block.names):
            continue  # a column has problems of its own
        wrong = impossible_records(block, columns)
        if wrong.any():
            sources = ", ".join(repr(plan.columns[name]) for name in block.names)
            problems.append(
                TableError(
                    f"A combination of {sources} that the channel of {block.name!r} calls"
                    f" impossible is found in {tell(wrong)}.",
                    where=block.name,
                    remedy="Correct those cells (owner-agent check names the rows), or take the"
                    " combination off the impossible ones.",
                )
            )
    return problems


def _labels(
    text: pa.Array, empty: Mask, section: VariableSection, variable: Variable
) -> npt.NDArray[np.int64]:
    labels = pc.utf8_normalize(pa.array(variable.categories), form="NFC")
    found = pc.fill_null(pc.index_in(text, value_set=labels), -1)
    codes: npt.NDArray[np.int64] = found.to_numpy(zero_copy_only=False).astype(np.int64)
    if section.missing is not None:
        codes[empty] = variable.code(section.missing)
    unknown = codes < 0
    if unknown.any():
        values = "" if section.sensitive else f": {_distinct(text, unknown)}"
        raise UnknownCategory(
            f"Column {section.source!r} holds values that are not categories of variable"
            f" {section.name!r} in {rows_text(unknown)}{values}.",
            where=section.source,
            remedy="Correct those cells, or add the category to the site file.",
        )
    return codes


def _intervals(text: pa.Array, empty: Mask, section: VariableSection) -> npt.NDArray[np.int64]:
    """Return the interval of each number, closed on the left; missing cells come last."""
    cuts = section.cuts or ()
    values, missing = _numbers_of(text, empty, section, section.source, "cut into intervals")
    codes = np.searchsorted(np.array(cuts), values, side="right").astype(np.int64)
    codes[missing] = len(cuts) + 1
    return codes


def _nearest(
    texts: Sequence[pa.Array], empty: Mask, section: VariableSection
) -> npt.NDArray[np.int64]:
    """Return the group of each row's numbers; rows that miss one come last."""
    groups = section.groups()
    columns = [
        _numbers_of(text, cells, section, name, "grouped by its numbers")
        for text, cells, name in zip(texts, empty, section.sources, strict=True)
    ]
    codes = groups.codes(np.column_stack([values for values, _ in columns]))
    codes[np.any([missing for _, missing in columns], axis=0)] = groups.size
    return codes


def _numbers_of(
    text: pa.Array, empty: Mask, section: VariableSection, column: str, used: str
) -> tuple[npt.NDArray[np.float64], Mask]:
    """Return the numbers of a column, 0 where cells are missing, and where these are."""
    missing = empty.copy()
    if section.missing is not None:
        missing |= pc.equal(text, section.missing).to_numpy(zero_copy_only=False)
    values = numbers(text)
    values[missing] = 0.0
    wrong = ~np.isfinite(values)
    if wrong.any():
        shown = "" if section.sensitive else f": {_distinct(text, wrong)}"
        raise TableError(
            f"Column {column!r} of variable {section.name!r} is {used} but"
            f" holds no finite number in {rows_text(wrong)}{shown}.",
            where=column,
            remedy="Correct those cells, or list the variable's categories.",
        )
    return values, missing


def numbers(text: pa.Array) -> npt.NDArray[np.float64]:
    """Return each cell as a number, NaN where it is not one."""
    written = pc.match_substring_regex(text, _NUMBER)
    values: npt.NDArray[np.float64] = (
        pc.cast(pc.if_else(written, text, None), pa.float64())
        .fill_null(float("nan"))
        .to_numpy(zero_copy_only=False)
        .copy()
    )
    return values


def rows_text(where: Mask) -> str:
    """Say how many rows, and the numbers of the first, counted from 1 after the header."""
    rows: Sequence[int] = (np.flatnonzero(where) + 1).tolist()
    first = ", ".join(str(row) for row in rows[:_SHOWN_ROWS])
    if len(rows) == 1:
        return f"1 row (row {first})"
    more = ", ..." if len(rows) > _SHOWN_ROWS else ""
    return f"{len(rows):,} rows (rows {first}{more})"


def _records_text(where: Mask) -> str:
    records = int(where.sum())
    return "1 record" if records == 1 else f"{records:,} records"


def _distinct(text: pa.Array, where: Mask) -> str:
    values = pc.unique(text.filter(pa.array(where))).to_pylist()
    shown = ", ".join(repr(value[:40]) for value in values[:_SHOWN_VALUES])
    return shown + (", ..." if len(values) > _SHOWN_VALUES else "")
