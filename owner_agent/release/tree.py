"""A shared tree as a release: grown or drawn, cut back to what is required, and what leaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from owner_agent.release.composition import left_draws, losses
from owner_agent.release.history import known_entries
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import Outgoing
from owner_agent.release.prepared import PreparedRelease, secrets_for
from owner_agent.release.tree_plan import SECTION, TreePlan, choose
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.state.ledger_file import state_directory
from owner_agent.state.private_files import private_directory, write_new
from pramana_core.errors import (
    BudgetExceeded,
    ConfigError,
    InputError,
    LimitExceeded,
    RequirementUnmet,
    StoreCorrupt,
)
from pramana_core.model_sharing.exchange.documents import read_tree_json, write_tree_json
from pramana_core.model_sharing.exchange.protection import protection_words, read_words
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.pruning import Pruned, prune
from pramana_core.model_sharing.requirements import released_form
from pramana_core.model_sharing.tree import SharedTree
from pramana_core.progress import StagedProgress
from pramana_core.wire.release_kinds import KINDS, SHARED_TREE, SharedTreeMessage

FOLDER = "private-trees"
"""In the state directory."""


@dataclass(frozen=True)
class SavedDraw:
    """A private tree, and how many others were drawn of some of its columns."""

    tree: SharedTree
    others: int


def private_tree(chosen: TreePlan, state: Path, watch: StagedProgress) -> SavedDraw:
    """Return the private tree of a table: the one that was drawn before, or a new one, kept.

    Raises:
        StoreCorrupt: what was kept cannot be read.
    """
    folder = private_directory(state_directory(state) / FOLDER)
    path = folder / f"{chosen.identity}.json"
    if not path.exists():
        watch("growing", 0, 1)
        # If another command has drawn it meanwhile, that one counts.
        with suppress(FileExistsError):
            write_new(path, write_tree_json(_draw(chosen)).encode())
        watch("growing", 1, 1)
    tree = _read(path)
    if tree.schema != chosen.schema:
        raise _corrupt(path)
    names = set(chosen.columns.table.names)
    others = [_columns(other) for other in folder.glob("*.json") if other != path]
    return SavedDraw(tree, sum(bool(names & found) for found in others))


def _draw(chosen: TreePlan) -> SharedTree:
    from owner_agent.randomize.exact_noise import ExactNoise
    from pramana_core.model_sharing.private import depth_for, grow_private_tree
    from pramana_core.model_sharing.private_options import PrivateOptions

    asked = chosen.section.private
    assert asked is not None  # noqa: S101 - only private trees are drawn
    noise = ExactNoise()
    usual = PrivateOptions()
    # How many records have no empty cell is no public figure; how many there are is.
    for_counts = asked.epsilon * (1 - usual.splits)
    depth = asked.depth or depth_for(chosen.columns.rows, chosen.schema.classes, for_counts)
    options = replace(usual, depth=depth)
    return grow_private_tree(
        chosen.schema, chosen.attributes, chosen.classes, asked.epsilon, noise, options
    ).tree


def _read(path: Path) -> SharedTree:
    try:
        return read_tree_json(path.read_bytes(), noised=True)
    except (OSError, InputError, LimitExceeded):
        raise _corrupt(path) from None


def _columns(path: Path) -> set[str]:
    """Return the names of the columns of a tree that was drawn."""
    try:
        columns = json.loads(path.read_bytes())
        return {columns["target"]["name"], *(a["name"] for a in columns["attributes"])}
    except (OSError, ValueError, KeyError, TypeError):
        raise _corrupt(path) from None


def _corrupt(path: Path) -> StoreCorrupt:
    return StoreCorrupt(
        f"The private tree {path.name[:12]} is not what was written there.",
        where=str(path),
        remedy="Restore it from your backup: a tree that is drawn anew costs its epsilon anew.",
    )


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree as it would leave, and how it came about.

    Attributes:
        chosen: what it was learned from, and how.
        tree: the tree, whose leaves say what may leave.
        grown: the tree with nothing required of it; None of a private tree.
        pruned: what was given up, if that tree was cut back.
        others: how many other private trees were drawn here of some of its columns.
    """

    chosen: TreePlan
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
    def message(self) -> SharedTreeMessage:
        """What leaves. Raises ConfigError: names or sizes cannot be sent."""
        section, private = self.chosen.section, self.chosen.private
        asked = None if section.required is None else section.required.required
        epsilon = None if private is None else private.epsilon
        classes = self.chosen.schema.classes
        words = protection_words(asked, classes, epsilon, section.tell)
        looked_up = [a.column for a in section.attributes if not a.declared]
        try:
            return SharedTreeMessage.of(
                self.tree,
                asked,
                (*words, *read_words(looked_up)),
                counts="exact" if private is None else "noised",
                epsilon=epsilon,
                records=None if private is not None else self.chosen.records,
            )
        except ValidationError as error:
            raise ConfigError(
                f"This tree cannot be sent: {error.errors()[0]['msg']}.",
                where="share_model",
                remedy="Rename the columns and categories in the table and in [share_model].",
            ) from None


def make(chosen: TreePlan, state: Path, watch: StagedProgress) -> GrownTree:
    """Return the tree of a table as it would leave.

    Raises:
        RequirementUnmet: no tree of this table meets what is required.
        StoreCorrupt: a private tree that was drawn before cannot be read.
    """
    section = chosen.section
    if section.private is not None:
        drawn = private_tree(chosen, state, watch)
        return GrownTree(chosen, drawn.tree, others=drawn.others)
    growth = GrowthOptions(
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
        with _told_in_words_of_the_file():
            pruned = prune(grown, required.required)
        tree = pruned.tree
    watch("growing", 2, 2)
    return GrownTree(chosen, released_form(tree, section.tell), grown, pruned)


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
            " meet it; ask for less (a smaller k or l, a larger c); or learn from more records.",
        ) from None


_CRUMB = 1e-9
"""Sums of epsilons are rounded."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PreparedTree(PreparedRelease):
    """A tree as it would leave: `made` is the tree, and how it came about."""

    kind = SHARED_TREE
    command = "owner-agent share-model --publish"
    section = SECTION

    made: GrownTree

    @classmethod
    def of(
        cls,
        site: Site,
        watch: StagedProgress,
        options: PublishOptions = PublishOptions(),  # noqa: B008 - frozen
        environment: Environment = Environment(),  # noqa: B008 - frozen
        /,
    ) -> Self:
        """Learn the tree that a site would share.

        Raises:
            RequirementUnmet: no tree meets what is required.
        """
        entries = known_entries(site.state)
        store = KeyStore(site.state)
        # A private tree that is shown is the one that leaves: it is drawn by the site's own key.
        keyless = site.share_model.private is None and not store.path("draw").exists()
        if keyless and options.preview:
            draw_key = secrets_for(site, entries, options, environment).draw
        else:
            draw_key = store.load_draw()
        chosen = choose(site, draw_key)
        draws = chosen.draws
        made = make(chosen, site.state, watch)
        digest = made.message.digest
        if any(
            entry.left and entry.content == chosen.identity and entry.plan_digest != digest
            for entry in entries
        ):
            # What left was lost here, and its tree is drawn once more: that costs once more.
            draws = tuple(replace(draw, draw_id=f"{draw.draw_id} {digest}") for draw in draws)
        return cls(
            identity=chosen.identity,
            draws=draws,
            entries=entries,
            records=chosen.records,
            method=made.method,
            dropped=chosen.columns.dropped,
            leaves=len(made.tree.leaves),
            made=made,
        )

    def outgoing(self) -> Outgoing:
        """Return the tree, checked as its receiver will."""
        message = self.made.message
        KINDS[SHARED_TREE].require(message)
        return Outgoing(SHARED_TREE, message)

    @property
    def over(self) -> tuple[str, ...]:
        """The columns that would have lost more than the site file allows them in all."""
        private = self.made.chosen.private
        if private is None or private.max_epsilon is None:
            return ()
        left = left_draws(self.entries)
        known = {draw.identity for draw in left}
        after = losses([*left, *self.draws])
        most = private.max_epsilon * (1 + _CRUMB)
        new = [draw.column for draw in self.draws if draw.randomized and draw.identity not in known]
        return tuple(column for column in new if after[column] > most)

    def require_allowed(self, options: PublishOptions) -> None:
        """Check that the tree may leave after what has left.

        Raises:
            BudgetExceeded: columns would have lost more than `max_epsilon`.
            PlanConflict: columns left before in another form, no `max_epsilon` allows for it, and
                the added loss is not accepted.
        """
        private = self.made.chosen.private
        most = None if private is None else private.max_epsilon
        if most is not None and (over := self.over):
            after = losses([*left_draws(self.entries), *self.draws])
            listed = "; ".join(f"column {c!r}: epsilon {after[c]:.4g}" for c in over)
            raise BudgetExceeded(
                "With this tree these columns would have lost more than the"
                f" {most:g} that the site file allows them in all ({listed}).",
                where="share_model.private.max_epsilon",
                remedy="Publish what left before again, ask for a smaller epsilon, or allow more.",
            )
        if most is None:
            super().require_allowed(options)
