"""What a tree is learned from and how, settled before any is grown.

It has an identity that follows from the draw key, all values and all options: the same table shared
again is the same tree, in whatever study, and of a private tree the same draw.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from owner_agent.departures.fingerprints import Values, groups_of, values_of
from owner_agent.departures.ledger import Draw, Form
from owner_agent.model_sharing.columns import TreeColumns, read_tree_columns
from owner_agent.randomize.stream import keyed_digest
from owner_agent.site.sections.model_sharing import PrivateSection, ShareModelSection
from owner_agent.site.site import Site
from pramana_core.mixed.table import CategoricalColumn, MixedTable
from pramana_core.model_sharing.core.attributes import Taxonomy, TreeSchema
from pramana_core.model_sharing.core.schemas import schema_of

FORM = "tree/1"
"""Changed with every change that gives the same table another tree."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """A table with the tree that is asked of it, before it is grown.

    Attributes:
        columns: the records, sorted by their ids, their numbers as they are.
        schema: what the tree is about.
        attributes: the attributes of the records as the schema has them: numbers beyond a range
            are the nearest end of it.
        classes: their classes.
        section: how the tree is made.
        openly: columns that are no secret here: they are told as they are in other releases.
        identity: what is learned from and how, 64 digits.
        draw_key: the owner's. No tree has pseudonyms, so that none needs the linkage secret.
    """

    columns: TreeColumns
    schema: TreeSchema
    attributes: MixedTable
    classes: npt.NDArray[np.intp]
    section: ShareModelSection
    openly: frozenset[str]
    identity: str
    draw_key: bytes = field(repr=False)

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

    @cached_property
    def values(self) -> Values:
        """By what the ledger knows the columns again."""
        table = self.columns.table
        codes = {column.name: groups_of(column) for column in table.columns}
        names = {name: name for name in table.names}
        return values_of(self.draw_key, self.columns.record_ids, codes, names)


def choose(site: Site, draw_key: bytes) -> Chosen:
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
        taxonomies=_taxonomies(section),
        whole=[a.column for a in section.attributes if a.whole],
    )
    how = section.model_dump_json(exclude={"missing": True, "private": {"max_epsilon"}})
    identity = keyed_digest(draw_key, FORM.encode(), how.encode(), *_content(columns))
    return Chosen(columns, schema, attributes, classes, section, _openly(site), identity, draw_key)


def _taxonomies(section: ShareModelSection) -> dict[str, Taxonomy]:
    found = {attribute.column: attribute.groups for attribute in section.attributes}
    return {name: groups for name, groups in found.items() if groups is not None}


def _openly(site: Site) -> frozenset[str]:
    """Return the columns that a site tells as they are in other releases."""
    public = [source for v in site.file.variables if not v.sensitive for source in v.sources]
    told = () if site.file.mask is None else site.file.mask.told
    return frozenset(public) | frozenset(told)


def _content(columns: TreeColumns) -> list[bytes]:
    """Return all that a tree is learned from, and whose records these are."""
    parts = [json.dumps(columns.record_ids).encode()]
    for column in columns.table.columns:
        parts.append(column.name.encode())
        if isinstance(column, CategoricalColumn):
            parts += [json.dumps(column.categories).encode(), column.codes.astype("<u4").tobytes()]
        else:
            parts.append(column.values.astype("<f8").tobytes())
    return parts
