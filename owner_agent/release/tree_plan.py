"""What a shared tree is learned from and how, before any is grown; no message quotes a cell.

It has an identity that follows from the draw key, all values and all options: the same table shared
again is the same tree, in whatever study, and of a private tree the same draw.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.noise import keyed_digest
from owner_agent.release.ledger import Draw, Form
from owner_agent.release.prepared import TableCheck
from owner_agent.site.site import Site
from owner_agent.site.tree_section import (
    AttributeSection,
    PrivateSection,
    ShareModelSection,
    TargetSection,
)
from owner_agent.table.mixed import (
    ReadColumn,
    content_of,
    read_categories,
    read_numbers,
    read_records,
)
from owner_agent.table.table import TextTable
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.table_schema import schema_of

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
    asked: list[AttributeSection | TargetSection] = [*section.attributes, section.target]
    read = read_records(
        site,
        {one.column: partial(_column, asked=one) for one in asked},
        drop=section.missing == "drop",
        section=SECTION,
        used="an attribute or the class",
    )
    ids = read.record_ids
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
    table = MixedTable(read.columns, len(ids)).rows(order)
    return TreeColumns([ids[place] for place in order], table, read.dropped)


def _column(text: TextTable, asked: AttributeSection | TargetSection) -> ReadColumn:
    name = asked.column
    if asked.categories is not None:
        return read_categories(text, name, asked.categories, asked.missing, SECTION)
    remedy = (
        "Correct those cells; an attribute of categories needs a list of them:"
        f' {{ column = "{name}", categories = [...] }}.'
    )
    return read_numbers(text, name, "an attribute read", remedy)


FORM = "tree/1"
"""Changed with every change that gives the same table another tree."""


@dataclass(frozen=True, eq=False)
class TreePlan:
    """A table with the tree that is asked of it, before it is grown.

    Attributes:
        columns: the records, sorted by their ids, their numbers as they are.
        schema: what the tree is about.
        attributes: the attributes of the records as the schema has them: numbers beyond a range
            are the nearest end of it.
        classes: their classes.
        section: how the tree is made.
        openly: columns that are no secret here: other releases hold them as they are.
        identity: what is learned from and how, 64 digits.
    """

    columns: TreeColumns
    schema: TreeSchema
    attributes: MixedTable
    classes: npt.NDArray[np.intp]
    section: ShareModelSection
    openly: frozenset[str]
    identity: str

    @property
    def records(self) -> int:
        """How many records the tree is learned from."""
        return self.columns.table.records

    @property
    def private(self) -> PrivateSection | None:
        """How a private tree is made, if it is one."""
        return self.section.private

    @property
    def draws(self) -> tuple[Draw, ...]:
        """What the ledger writes of each column.

        All that the tree was learned from is written down: that no split asks for a column tells
        of it too, and a private tree's epsilon pays for looking at it.
        """
        epsilon = float("inf") if self.private is None else self.private.epsilon
        forms = Form.TREE, Form.OPEN_TREE
        return tuple(
            Draw(name, name, self.identity, epsilon, forms[name in self.openly])
            for name in self.columns.table.names
        )


def choose(site: Site, draw_key: bytes) -> TreePlan:
    """Read a site's table and settle what tree is learned from it.

    Raises:
        ConfigError: the site shares no tree.
        InputError: the table is wrong, or does not fit what is declared of it.
    """
    section = site.share_model
    columns = read_tree_columns(site)
    schema, attributes, classes = schema_of(
        columns.table,
        section.target.column,
        ranges={
            a.column: (a.low, a.high)
            for a in section.attributes
            if a.low is not None and a.high is not None
        },
        whole=[a.column for a in section.attributes if a.whole],
    )
    how = section.model_dump_json(exclude={"missing": True, "private": {"max_epsilon"}})
    identity = keyed_digest(draw_key, FORM.encode(), how.encode(), *_content(columns))
    return TreePlan(columns, schema, attributes, classes, section, _openly(site), identity)


def _openly(site: Site) -> frozenset[str]:
    """Return the columns that a site tells as they are in other releases."""
    public = [v.source for v in site.file.variables if not v.sensitive]
    names = () if site.file.mask is None else site.file.mask.told
    return frozenset(public) | frozenset(names)


def _content(columns: TreeColumns) -> list[bytes]:
    """Return all that a tree is learned from, and whose records these are."""
    return [json.dumps(columns.record_ids).encode(), *content_of(columns.table.columns)]


def check_sharing(site: Site) -> TableCheck:
    """Read what a site's tree is learned from. Raises ConfigError if it shares none."""
    section = site.share_model
    *attributes, target = section.columns
    private = section.private is not None

    def read() -> tuple[int, int]:
        columns = read_tree_columns(site)
        return columns.table.records, columns.dropped

    return TableCheck.of(
        read,
        {"target": target, "attributes": attributes, "private": private},
        f"{'a private tree' if private else 'a tree'} of {target} would be learned from"
        f" {', '.join(attributes)}; `owner-agent share-model` shows it.",
        f"No tree of {target} can be learned yet.",
    )
