"""The columns that a tree is learned from, read whole; no message quotes a cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from owner_agent.site.planning import raise_together
from owner_agent.site.sections.model_sharing import AttributeSection, TargetSection
from owner_agent.site.site import Site
from owner_agent.table.encode import record_id_problems
from owner_agent.table.mixed import ReadColumn, complete_rows, read_categories, read_numbers
from owner_agent.table.table import TextTable, read_table
from pramana_core.errors import PramanaError
from pramana_core.mixed.table import MixedTable

SECTION = "share_model"


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """The attributes and, last, the class of n records, sorted by their ids.

    `dropped` records had empty cells.
    """

    record_ids: list[str]
    table: MixedTable
    dropped: int

    @property
    def rows(self) -> int:
        """How many records the table has, with those that had empty cells."""
        return self.table.records + self.dropped


def read_tree_columns(site: Site) -> TreeColumns:
    """Read what a tree is learned from, whatever the order of the table's rows.

    Raises:
        ConfigError: the site shares no tree.
        TableError: the table cannot be read, record ids are missing or repeated, or cells are
            empty (unless records with empty cells are dropped) or no numbers.
        UnknownCategory: cells hold none of the categories listed.
    """
    section = site.share_model
    ids = site.file.record_id
    text = read_table(site.table, [ids, *section.columns])
    problems = record_id_problems(text.columns[ids], ids)
    read: list[ReadColumn] = []
    asked: list[AttributeSection | TargetSection] = [*section.attributes, section.target]
    for column in asked:
        try:
            read.append(_column(text, column))
        except PramanaError as error:
            problems.append(error)
    raise_together(problems)
    kept = complete_rows(
        read,
        drop=section.missing == "drop",
        where=str(site.table),
        section=SECTION,
        used="an attribute or the class",
    )
    names: list[str] = text.columns[ids].to_pylist()
    kept = np.array(sorted(kept.tolist(), key=lambda place: names[place]), dtype=np.intp)
    return TreeColumns(
        [names[place] for place in kept],
        MixedTable(tuple(column.column(kept) for column in read), len(kept)),
        text.rows - len(kept),
    )


def _column(text: TextTable, asked: AttributeSection | TargetSection) -> ReadColumn:
    name = asked.column
    if asked.categories is not None:
        return read_categories(text, name, asked.categories, asked.missing, SECTION)
    remedy = (
        "Correct those cells; an attribute of categories needs a list of them:"
        f' {{ column = "{name}", categories = [...] }}.'
    )
    return read_numbers(text, name, "an attribute read", remedy)
