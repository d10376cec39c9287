"""Publishing a tree: shown, written down, sent; safe to repeat after a crash.

The order is that of randomized releases: whole in the outbox, its columns in the ledger, and only
then on its way. What was shared before is not made another time: what the outbox holds of it is
sent again. A private tree alone is written down before it is shown (see `kept`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from owner_agent.departures.composition import left_draws, losses
from owner_agent.departures.fingerprints import fingerprint_of, recognized
from owner_agent.departures.ledger import Draw, Entry
from owner_agent.departures.outbox import Outgoing
from owner_agent.departures.refusals import known_entries, refuse_conflicts
from owner_agent.model_sharing.choosing import choose
from owner_agent.model_sharing.columns import SECTION
from owner_agent.model_sharing.growing import Made, make
from owner_agent.release.options import PART_RECORDS
from owner_agent.release.sending import Departure, Sent, send_once
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from owner_agent.state.lock import publishing_alone
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import BudgetExceeded
from pramana_core.progress import StagedProgress
from pramana_core.wire.releases.base import KNOWLEDGE
from pramana_core.wire.releases.catalogue import KINDS

COMMAND = "owner-agent share-model --publish"

_CRUMB = 1e-9
"""Sums of epsilons are rounded."""


@dataclass(frozen=True, eq=False)
class SharedNow:
    """A tree as it would leave, and what the ledger says of its columns; nothing of it has left.

    Attributes:
        made: the tree.
        draws: its columns, with those that have the same values.
        entries: the ledger's.
    """

    made: Made
    draws: tuple[Draw, ...]
    entries: tuple[Entry, ...]

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
        if most is None and not accept_added_loss:
            refuse_conflicts(self.draws, self.entries)


@dataclass(frozen=True)
class ShareOutcome:
    """A sealed tree; `already` if nothing had to be sent.

    `asked` is false where the miner could not be asked whether it still has the release, because
    its folder was removed from the outbox.
    """

    name: str
    release_id: str
    records: int
    dropped: int
    leaves: int
    digest: str
    method: str
    already: bool
    asked: bool = True


def shared_tree(site: Site, watch: StagedProgress) -> SharedNow:
    """Return the tree that a site would share, for the owner's own eyes.

    Raises:
        InputError: the site file or the table is wrong, or no tree meets what is required.
        KeyFileError: the draw key is absent or unsafe.
        StoreCorrupt: the ledger, or a private tree that was drawn before, cannot be read.
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
        # What may have left was lost here, and its tree is drawn once more: that costs once more.
        draws = tuple(replace(draw, draw_id=f"{draw.draw_id} {digest}") for draw in draws)
    return SharedNow(made, draws, entries)


def publish_tree(
    site: Site,
    surroundings: Surroundings,
    watch: StagedProgress = lambda _stage, _done, _total: None,
    show: Callable[[SharedNow], object] = lambda _now: None,
    *,
    accept_added_loss: bool = False,
) -> ShareOutcome:
    """Publish a site's tree, or continue where an earlier attempt ended.

    Args:
        site: the site.
        surroundings: how the miner is reached.
        watch: told of the progress.
        show: called with what is about to leave, before it is in the outbox or sent.
        accept_added_loss: whether columns may leave that left before in another form.

    Raises:
        InputError: as `shared_tree`; PlanConflict if a column left before in another form.
        BudgetExceeded: columns would have lost more than the site file allows.
        KeyFileError: the draw key is absent or unsafe.
        StoreCorrupt: the ledger, the outbox or a private tree cannot be read.
        Unauthenticated: the site has not joined the study.
        Conflict: another publication of this site is running.
        ReleaseNotOpen: this release was withdrawn.
        StudyPlanNotFollowed: the study's plan randomizes one of the columns.
        Refused, Unreachable: the miner said no, or nothing; the release is safe in the outbox.
    """
    with publishing_alone(site.state):
        token = TokenStore(site.state).load(site.miner.study)
        now = shared_tree(site, watch)
        now.require_allowed(accept_added_loss=accept_added_loss)
        show(now)
        departure = Departure(
            identity=now.made.chosen.identity,
            outgoing=lambda: _outgoing(now),
            part_records=PART_RECORDS,
            draws=now.draws,
            section=SECTION,
            command=COMMAND,
            written=_written(now),
        )
        sent = send_once(site, token, surroundings, departure, lambda _done, _total: None)
        return _outcome(sent, now)


def _outgoing(now: SharedNow) -> Outgoing:
    """Return a tree as it leaves, checked as its receiver will."""
    message = now.made.message
    KINDS[KNOWLEDGE].require(message)
    return Outgoing(KNOWLEDGE, message)


def _written(now: SharedNow) -> dict[str, Any]:
    """Return what the ledger's entry says of a tree besides what all releases have."""
    chosen = now.made.chosen
    return {
        "records": chosen.records,
        "fingerprint": fingerprint_of(chosen.values, [draw.column for draw in now.draws]),
        "method": now.made.method,
    }


def _outcome(sent: Sent, now: SharedNow) -> ShareOutcome:
    return ShareOutcome(
        sent.entry.name,
        sent.release_id,
        sent.entry.records,
        now.made.chosen.columns.dropped,
        len(now.made.tree.leaves),
        sent.entry.digest,
        now.made.method,
        sent.already,
        sent.asked,
    )
