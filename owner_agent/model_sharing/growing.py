"""From a table to the tree that would leave: grown, cut back, and what of its leaves is told.

A private tree is drawn once: see `kept`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from owner_agent.model_sharing.choosing import Chosen
from owner_agent.model_sharing.kept import private_tree
from pramana_core.errors import ConfigError, RequirementUnmet
from pramana_core.model_sharing.anonymity.pruning import Pruned, PruningOptions, prune
from pramana_core.model_sharing.anonymity.requirements import released_form
from pramana_core.model_sharing.core.tree import SharedTree
from pramana_core.model_sharing.exchange.documents import TreeDocument
from pramana_core.model_sharing.exchange.text import promised, protection_words, read_words
from pramana_core.model_sharing.growing.growing import GrowthOptions, grow_tree
from pramana_core.progress import StagedProgress
from pramana_core.wire.releases.knowledge import KnowledgeModelMessage, RequirementMessage


@dataclass(frozen=True, eq=False)
class Made:
    """A tree as it would leave, and how it came about.

    Attributes:
        chosen: what it was learned from, and how.
        tree: the tree, its leaves telling what is to be told.
        grown: the tree with nothing required of it; None of a private tree.
        pruned: what was given up, if that tree was cut back.
        others: how many other private trees were drawn here of some of its columns.
    """

    chosen: Chosen
    tree: SharedTree
    grown: SharedTree | None = None
    pruned: Pruned | None = None
    others: int = 0

    @property
    def method(self) -> str:
        """What the tree is bound to, as the ledger has it."""
        if self.chosen.private is not None:
            return f"private, epsilon {self.chosen.private.epsilon:g}"
        required = self.chosen.section.required
        return "nothing required" if required is None else str(required.required)

    @cached_property
    def message(self) -> KnowledgeModelMessage:
        """What leaves. Raises ConfigError: names or sizes cannot be sent."""
        section, private = self.chosen.section, self.chosen.private
        asked = None if section.required is None else section.required.required
        epsilon = None if private is None else private.epsilon
        classes = self.chosen.schema.classes
        told = promised(self.tree, asked)
        words = protection_words(asked, classes, epsilon, section.tell)
        looked_up = [a.column for a in section.attributes if not a.declared]
        try:
            return KnowledgeModelMessage(
                tree=TreeDocument.of(self.tree),
                requirement=None
                if told is None
                else RequirementMessage(k=told.k, c=told.c, l=told.l, exact=told.exact),
                counts="noised" if private is not None else section.pruning.counts,
                epsilon=epsilon,
                records=None if private is not None else self.chosen.records,
                protection=[*words, *read_words(looked_up)],
            )
        except ValidationError as error:
            raise ConfigError(
                f"This tree cannot be sent: {error.errors()[0]['msg']}.",
                where="share_model",
                remedy="Rename the columns and categories in the table and in [share_model].",
            ) from None


def make(chosen: Chosen, state: Path, watch: StagedProgress) -> Made:
    """Return the tree of a table as it would leave.

    Raises:
        NotInstalled: what grows trees, or draws the noise of private ones, is not installed.
        RequirementUnmet: no tree of this table meets what is required.
        StoreCorrupt: a private tree that was drawn before cannot be read.
    """
    section = chosen.section
    if section.private is not None:
        drawn = private_tree(chosen, state, watch)
        return Made(chosen, drawn.tree, others=drawn.others)
    growth = GrowthOptions(
        criterion=section.growth.criterion,
        max_depth=section.growth.max_depth,
        min_leaf=section.growth.min_leaf,
    )
    learned = chosen.schema, chosen.attributes, chosen.classes, growth
    watch("growing", 0, 2)
    grown = grow_tree(*learned)
    watch("growing", 1, 2)
    required, pruned = section.required, None
    if required is None:
        tree = grown
    elif required.by == "growing":
        with _told_in_words_of_the_file():
            tree = grow_tree(*learned, requirement=required.required)
    else:
        how = section.pruning
        options = PruningOptions(how.merge, how.counts, how.least_gain)
        with _told_in_words_of_the_file():
            pruned = prune(grown, required.required, options)
        tree = pruned.tree
    watch("growing", 2, 2)
    return Made(chosen, released_form(tree, section.tell), grown, pruned)


@contextmanager
def _told_in_words_of_the_file() -> Iterator[None]:
    """Say with keys of the site file what can be done where no tree meets what is required."""
    try:
        yield
    except RequirementUnmet as error:
        raise RequirementUnmet(
            error.message,
            where="share_model.requirement",
            remedy='Try requirement.by = "growing", by which only splits are made whose parts all'
            ' meet it, or pruning.merge = "fewest"; ask for less (a smaller k or l, a larger c); or'
            " learn from more records.",
        ) from error
