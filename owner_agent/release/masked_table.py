"""The columns to be masked and those told beside them, and what a method keeps and gives away.

Columns are read whole; no message quotes a cell.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from owner_agent.release.prepared import TableCheck
from owner_agent.site.mask_section import TellSection
from owner_agent.site.site import Site
from owner_agent.table.mixed import (
    ReadColumn,
    ranked,
    read_categories,
    read_numbers,
    read_records,
)
from owner_agent.table.table import TextTable
from pramana_core.alike import first_few
from pramana_core.determined import PairCounts
from pramana_core.errors import UnprotectedVariable
from pramana_core.mask.core.bounds import require_within
from pramana_core.mask.core.masked import Method
from pramana_core.mixed import MixedTable

LETTERS = (
    "S is what is told as it is, X what is confidential and stays here, Y what is released in X's"
    " place."
)
"""What the letters mean in sentences of measures."""

NO_BOUND = (
    "Masked records carry no gamma and no epsilon: there is no bound on what they tell of one"
    " record."
)


LISTED = 160
"""A list of columns that is longer is only counted: the miner takes sentences of 400 characters."""


def listed(names: Collection[str]) -> str:
    """Return names for a sentence of protection, or how many there are."""
    text = first_few(names)
    return text if len(text) <= LISTED else f"{len(names):,} columns"


def protection(
    method: Method, told: Sequence[str], copies: int, bounds: Collection[str] = ()
) -> tuple[str, ...]:
    """Return what a method keeps and gives away: facts of the method, not of the table.

    Args:
        method: the method.
        told: the columns that are told as they are.
        copies: how many masked copies leave.
        bounds: the columns whose masked values are cut to bounds.
    """
    beside = listed(told) if told else "nothing"
    said = [NO_BOUND, method.protects]
    if method.independent:
        said.append(
            f"Whoever knows {beside} of a person learns from the masked values what all records"
            " together tell of such people, her own value among them; how much that is, is stated"
            " for each record. How the confidential columns depend on the others is released on"
            " purpose."
        )
        said.append(
            "A record that stands alone in the columns told, by a rare category or an outlying"
            " number, decides its own prediction; its masked value can then be close to the true"
            " one. max_leverage limits that, and the page names such records."
        )
    if told:
        said.append(
            f"What is told ({beside}) leaves as it is: it must not be sensitive, and together it"
            " may identify people."
        )
    if method.released_values:
        said.append(
            "The released values are the true ones, reordered: the largest and the smallest are in"
            " the release, at other records."
        )
    if method.exact_moments or method.released_values:
        said.append(
            "A second release of nearly the same records would give away the values of those that"
            " differ, by subtraction; the ledger refuses it."
        )
    if not method.independent and copies > 1:
        said.append(f"Here {copies} copies leave at once, and their noise averages out.")
    if bounds and not method.released_values:
        said.append(
            f"Masked values beyond the bounds of {listed(bounds)} are cut to them: the mean and"
            " the covariances of a column with such values are not exactly kept."
        )
    return tuple(said)


@dataclass(frozen=True, eq=False)
class MaskTable:
    """S and X of the same n records, with their ids; `dropped` records had empty cells."""

    record_ids: list[str]
    told: MixedTable
    confidential: MixedTable
    dropped: int

    def in_order(self, order: npt.NDArray[np.intp]) -> MaskTable:
        """Return the records in another order."""
        ids = [self.record_ids[place] for place in order]
        return MaskTable(ids, self.told.rows(order), self.confidential.rows(order), self.dropped)


def read_columns(site: Site) -> MaskTable:
    """Read what a site masks and tells.

    Raises:
        ConfigError: the site masks nothing.
        TableError: the table cannot be read, record ids are missing or repeated, or cells are
            empty (unless records with empty cells are dropped) or no numbers.
        OptionError: true values lie beyond their bounds.
        UnknownCategory: cells hold none of the categories listed.
        UnprotectedVariable: a column that is told gives a confidential one away.
    """
    section = site.mask
    columns = [*section.tell, *(TellSection(column=name) for name in section.confidential)]
    count = len(section.tell)
    read = read_records(
        site,
        {
            tell.column: partial(_column, tell=tell, told=place < count)
            for place, tell in enumerate(columns)
        },
        drop=section.missing == "drop",
        section="mask",
        used="masked or told",
    )
    records = len(read.record_ids)
    told, masked = (
        MixedTable(part, records) for part in (read.columns[:count], read.columns[count:])
    )
    require_within(section.limits, masked.names, masked.matrix(), "mask.bounds")
    _require_hidden(section.tell, told, masked)
    return MaskTable(read.record_ids, told, masked, read.dropped)


def _require_hidden(tell: Sequence[TellSection], told: MixedTable, masked: MixedTable) -> None:
    """Check that from no column told the groups of ranks of a confidential one are guessed."""
    codes = {column.name: ranked(column) for column in told.beside(masked).columns}
    sizes = {name: int(found.max(initial=0)) + 1 for name, found in codes.items()}
    pairs = PairCounts(sizes, told.names, masked.names)
    pairs.add(codes)
    allowed = {one.column: one.reveals for one in tell}
    for one in pairs.giveaways():
        if one.of not in allowed[one.column]:
            raise UnprotectedVariable(
                f"Column {one.column!r} is told as it is and gives the confidential {one.of!r}"
                f" away: from it the eighth that a value of {one.of!r} is in is guessed right for"
                f" {one.share:.1%} of the records.",
                where=one.column,
                remedy="Mask it too or leave it out. Where everybody may know, say so with"
                f' reveals = ["{one.of}"] in its entry of tell.',
            )


def _column(table: TextTable, tell: TellSection, *, told: bool) -> ReadColumn:
    name = tell.column
    if tell.categories is not None:
        return read_categories(table, name, tell.categories, tell.missing, "mask")
    if told:
        remedy = (
            "Correct those cells; a column of categories that is told needs a list of them:"
            f' {{ column = "{name}", categories = [...] }}.'
        )
        return read_numbers(table, name, "told", remedy)
    remedy = (
        "Correct those cells, or take the column out of confidential in [mask]: only numbers can"
        " be masked."
    )
    return read_numbers(table, name, "masked", remedy)


def check_masking(site: Site) -> TableCheck:
    """Read what a site masks and tells. Raises ConfigError if it masks nothing."""
    section = site.mask
    masked, told = list(section.confidential), list(section.told)

    def read() -> tuple[int, int]:
        table = read_columns(site)
        return len(table.record_ids), table.dropped

    return TableCheck.of(
        read,
        {"told": told, "confidential": masked, "method": section.method},
        f"{', '.join(masked)} would be masked (method {section.method}),"
        f" {', '.join(told) or 'nothing'} told as is; `owner-agent mask` reports on it.",
        f"{', '.join(masked)} cannot be masked yet.",
    )
