"""Shared trees: the table that a tree is learned from, growing the tree, and releasing it.

Sharing the same table again gives the same tree. No error message quotes a cell.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from owner_agent.randomize.noise import keyed_digest, tree_noise
from owner_agent.release.history import known_entries
from owner_agent.release.ledger import Draw, Form
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import Outgoing
from owner_agent.release.prepared import PreparedRelease
from owner_agent.site.site import Site
from owner_agent.site.tree_section import (
    AttributeSection,
    PrivateSection,
    ShareModelSection,
    TargetSection,
)
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.table.mixed import content_of, read_records
from pramana_core.errors import ConfigError, RequirementUnmet
from pramana_core.mixed import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.exchange.protection import protection_words, read_words
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.requirements import released_form
from pramana_core.model_sharing.table_schema import schema_of
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.progress import StagedProgress
from pramana_core.wire.release_kinds import KINDS, SHARED_TREE, SharedTreeMessage

SECTION = "share_model"

FORM = "tree/3"
"""Version of shared trees, changed whenever the same table gives another tree."""


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """Attributes and, as the last column, the class of n records sorted by id.

    `dropped` counts the records omitted because of empty cells.
    """

    record_ids: list[str]
    table: MixedTable
    dropped: int

    @property
    def rows(self) -> int:
        """The count of records in the table, including those with empty cells."""
        return self.table.records + self.dropped


def read_tree_columns(site: Site) -> TreeColumns:
    """Read the columns that a tree is learned from. Raises InputError."""
    section = site.share_model
    columns: list[AttributeSection | TargetSection] = [*section.attributes, section.target]
    read = read_records(site, columns, drop=section.missing == "drop", section=SECTION)
    ids = read.record_ids
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
    table = MixedTable(read.columns, len(ids)).rows(order)
    return TreeColumns([ids[place] for place in order], table, read.dropped)


@dataclass(frozen=True, eq=False)
class TreePlan:
    """A table of n records, sorted by id, and the options for growing its tree.

    `attributes` are clipped to their declared ranges. `depth` applies to a private tree. `public`
    lists columns that other releases contain. `identity` identifies the table and the options.
    """

    columns: TreeColumns
    schema: TreeSchema
    attributes: MixedTable
    classes: npt.NDArray[np.intp]
    section: ShareModelSection
    depth: int
    public: frozenset[str]
    identity: str

    @classmethod
    def of(cls, site: Site, draw_key: bytes) -> Self:
        """Read a site's table.

        Raises the errors of `read_tree_columns`, and InputError for invalid ranges.
        """
        section, columns = site.share_model, read_tree_columns(site)
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
        how = section.model_dump_json(exclude={"missing"})
        depth = _private_depth(section, columns.rows, schema.classes)
        content = [json.dumps(columns.record_ids).encode(), *content_of(columns.table.columns)]
        identity = keyed_digest(draw_key, FORM.encode(), how.encode(), b"%d" % depth, *content)
        variables = (v.source for v in site.file.variables if not v.sensitive)
        beside = () if site.file.mask is None else site.file.mask.unchanged
        public = frozenset((*variables, *beside))
        return cls(columns, schema, attributes, classes, section, depth, public, identity)

    @property
    def records(self) -> int:
        """The count of records that the tree is learned from."""
        return self.columns.table.records

    @property
    def private(self) -> PrivateSection | None:
        """The options of a private tree, or None for other trees."""
        return self.section.private

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The ledger's draw of each column, because a tree also reveals columns without a split."""
        epsilon = float("inf") if self.private is None else self.private.epsilon
        forms = Form.TREE, Form.OPEN_TREE
        return tuple(
            Draw(name, name, self.identity, epsilon, forms[name in self.public])
            for name in self.columns.table.names
        )


def _grown(
    chosen: TreePlan, draw_key: bytes, watch: StagedProgress
) -> tuple[SharedTree, SharedTree | None]:
    """Return the tree to release, and the tree grown without the section's requirement."""
    section = chosen.section
    if section.private is not None:
        return _private_tree(chosen, section.private, draw_key), None
    growth = GrowthOptions(section.growth.max_depth, section.growth.min_leaf)
    learned = chosen.schema, chosen.attributes, chosen.classes, growth
    watch("growing", 0, 2)
    grown = tree = grow_tree(*learned)
    watch("growing", 1, 2)
    if section.required is not None:
        try:
            tree = grow_tree(*learned, requirement=section.required.required)
        except RequirementUnmet as error:
            raise RequirementUnmet(
                error.message,
                where="share_model.requirement",
                remedy="Require less (a smaller k or l, a larger c), or learn from more records.",
            ) from None
    watch("growing", 2, 2)
    return released_form(tree, section.tell), grown


def _private_depth(section: ShareModelSection, rows: int, classes: int) -> int:
    from pramana_core.model_sharing.private import depth_for
    from pramana_core.model_sharing.private_options import PrivateOptions

    if section.private is None:
        return 0
    # The count of all records is public; the count of records without empty cells is not.
    for_counts = section.private.epsilon * (1 - PrivateOptions().splits)
    return section.private.depth or depth_for(rows, classes, for_counts)


def _private_tree(chosen: TreePlan, section: PrivateSection, draw_key: bytes) -> SharedTree:
    from pramana_core.model_sharing.private import grow_private_tree
    from pramana_core.model_sharing.private_options import PrivateOptions

    noise = tree_noise(draw_key, chosen.identity)
    learned = chosen.schema, chosen.attributes, chosen.classes, section.epsilon, noise
    return grow_private_tree(*learned, PrivateOptions(depth=chosen.depth)).tree


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PreparedTree(PreparedRelease):
    """A tree as it would be sent.

    `grown` is the tree grown without the section's requirement, or None for a private tree.
    """

    kind = SHARED_TREE
    section = SECTION

    chosen: TreePlan
    tree: SharedTree
    grown: SharedTree | None

    @classmethod
    def of(
        cls, site: Site, watch: StagedProgress, options: PublishOptions, environment: Environment, /
    ) -> Self:
        """Learn the tree that a site would share. Raises RequirementUnmet."""
        entries, store = known_entries(site.state), KeyStore(site.state)
        section = site.share_model
        # A private tree shown under a temporary key would be sent under another key.
        if options.preview and not entries and section.private is None:
            draw_key = store.load_or_passing(environment.random_bytes).draw
        else:
            draw_key = store.load_draw()
        chosen = TreePlan.of(site, draw_key)
        tree, grown = _grown(chosen, draw_key, watch)
        method = "nothing required" if section.required is None else str(section.required.required)
        if section.private is not None:
            method = f"private, epsilon {section.private.epsilon:g}"
        return cls(
            identity=chosen.identity,
            draws=chosen.draws,
            entries=entries,
            records=chosen.records,
            method=method,
            dropped=chosen.columns.dropped,
            leaves=len(tree.leaves),
            chosen=chosen,
            tree=tree,
            grown=grown,
        )

    @cached_property
    def message(self) -> SharedTreeMessage:
        """The message to send. Raises ConfigError if a name or size exceeds a release's limits."""
        section, private = self.chosen.section, self.chosen.private
        required = None if section.required is None else section.required.required
        epsilon = None if private is None else private.epsilon
        classes = self.chosen.schema.classes
        words = protection_words(required, classes, epsilon, section.tell)
        looked_up = [a.column for a in section.attributes if not a.declared]
        try:
            return SharedTreeMessage.of(
                self.tree,
                required,
                (*words, *read_words(looked_up)),
                counts="exact" if private is None else "noised",
                epsilon=epsilon,
                records=self.chosen.records if private is None else None,
            )
        except ValidationError as error:
            raise ConfigError(
                f"This tree cannot be sent: {error.errors()[0]['msg']}.",
                where=SECTION,
                remedy="Rename the columns and categories in the table and in [share_model].",
            ) from None

    def file_content(self) -> bytes:
        """Return the tree as JSON."""
        return self.message.model_dump_json().encode() + b"\n"

    def outgoing(self) -> Outgoing:
        """Return the release of the tree, validated as the miner will validate it."""
        KINDS[SHARED_TREE].require(self.message)
        return Outgoing(SHARED_TREE, self.message)
