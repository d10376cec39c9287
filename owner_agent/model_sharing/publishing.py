"""A tree as it leaves.

What was shared before is not made another time: what the outbox holds of it is sent again. A
private tree alone is written down before it is shown (see `kept`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from owner_agent.departures.composition import left_draws, losses
from owner_agent.departures.fingerprints import recognized
from owner_agent.departures.outbox import Outgoing
from owner_agent.departures.refusals import known_entries
from owner_agent.model_sharing.choosing import choose
from owner_agent.model_sharing.columns import SECTION
from owner_agent.model_sharing.growing import Made, make
from owner_agent.release.leaving import Leaving
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from pramana_core.errors import BudgetExceeded
from pramana_core.progress import StagedProgress
from pramana_core.wire.releases.base import KNOWLEDGE
from pramana_core.wire.releases.catalogue import KINDS

_CRUMB = 1e-9
"""Sums of epsilons are rounded."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SharedNow(Leaving):
    """A tree as it would leave: `made` is the tree, and how it came about."""

    kind = KNOWLEDGE
    command = "owner-agent share-model --publish"
    section = SECTION

    made: Made

    @classmethod
    def of(cls, site: Site, watch: StagedProgress, /, *_how: object) -> Self:
        """Learn the tree that a site would share.

        Raises:
            RequirementUnmet: no tree meets what is required.
            NotInstalled: what grows or draws trees is not installed.
        """
        draw_key = KeyStore(site.state).load_draw()
        entries = known_entries(site.state)
        chosen = choose(site, draw_key)
        draws = recognized(chosen.draws, chosen.values, entries)
        made = make(chosen, site.state, watch)
        digest = made.message.digest
        if any(
            entry.state == "sending"
            and entry.content == chosen.identity
            and entry.plan_digest != digest
            for entry in entries
        ):
            # What may have left was lost here, and its tree is drawn once more: that costs once
            # more.
            draws = tuple(replace(draw, draw_id=f"{draw.draw_id} {digest}") for draw in draws)
        return cls(
            identity=chosen.identity,
            draws=draws,
            entries=entries,
            values=chosen.values,
            records=chosen.records,
            method=made.method,
            dropped=chosen.columns.dropped,
            leaves=len(made.tree.leaves),
            made=made,
        )

    def outgoing(self) -> Outgoing:
        """Return the tree, checked as its receiver will."""
        message = self.made.message
        KINDS[KNOWLEDGE].require(message)
        return Outgoing(KNOWLEDGE, message)

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

    def require_allowed(self, *, accept_added_loss: bool) -> None:
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
            super().require_allowed(accept_added_loss=accept_added_loss)
