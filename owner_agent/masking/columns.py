"""The columns to be masked and those told beside them, read whole; no message quotes a cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from owner_agent.site.planning import raise_together
from owner_agent.site.sections.masking import TellSection
from owner_agent.site.site import Site
from owner_agent.table.encode import record_id_problems
from owner_agent.table.mixed import ReadColumn, complete_rows, read_categories, read_numbers
from owner_agent.table.table import TextTable, read_table
from pramana_core.errors import PramanaError
from pramana_core.mask.core.bounds import require_within
from pramana_core.mixed.table import MixedTable


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
    """
    section = site.mask
    ids = site.file.record_id
    table = read_table(site.table, [ids, *section.columns])
    problems = record_id_problems(table.columns[ids], ids)
    told: list[ReadColumn] = []
    confidential: list[ReadColumn] = []
    columns = [*section.tell, *(TellSection(column=name) for name in section.confidential)]
    for place, column in enumerate(columns):
        try:
            read = _column(table, column, told=place < len(section.tell))
        except PramanaError as error:
            problems.append(error)
        else:
            (told if place < len(section.tell) else confidential).append(read)
    raise_together(problems)
    kept = complete_rows(
        (*told, *confidential),
        drop=section.missing == "drop",
        where=str(site.table),
        section="mask",
        used="masked or told",
    )
    names: list[str] = table.columns[ids].to_pylist()
    masked = MixedTable(tuple(read.column(kept) for read in confidential), len(kept))
    require_within(section.limits, masked.names, masked.matrix(), "mask.bounds")
    return MaskTable(
        [names[place] for place in kept],
        MixedTable(tuple(read.column(kept) for read in told), len(kept)),
        masked,
        table.rows - len(kept),
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
