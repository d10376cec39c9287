"""Sessions that wait for the custodian's yes: what known peers proposed, and what she decided.

An owner that serves with `--ask` takes part in nothing that she has not said yes to. What is
proposed to it is kept here, and the proposer hears that it waits; nothing has been read from the
table by then. A yes is to this task, with these owners, begun by this one, under this plan, and by
what the site file says then; it is used up when the session begins. The number of the session and
how long it may last are no part of it: the proposer begins the session again, and that is another
number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, ValidationError

from owner_agent.peer.exchange.catalogue import learners, task_of, variables_of
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.release.approval import Approval
from owner_agent.site.planning import planned
from owner_agent.site.site import Site
from owner_agent.state.private_files import private_directory, state_directory, write_replacing
from pramana_core.errors import Forbidden, LimitExceeded, NotFound, StoreCorrupt
from pramana_core.pages.rendering import named, plan_words
from pramana_core.plan import Plan
from pramana_core.wire.base import Message

MOST_WAITING = 64
"""So many proposals wait at most; then nobody's is kept until she has decided one."""

_FOLDER = "proposals"

Decision = Literal["waiting", "accepted", "refused", "used"]


class AskedSession(Message):
    """A session that was proposed, and what the custodian decided, if she has."""

    proposal: Proposal
    asked: AwareDatetime
    decision: Decision = "waiting"
    decided: AwareDatetime | None = None
    shown: str | None = None
    """The digest of the `Approval` that a yes was."""

    @property
    def key(self) -> str:
        """What stands for all that a yes is about."""
        return key_of(self.proposal)


def key_of(proposal: Proposal) -> str:
    """Return what stands for all of a proposal but its number and its time."""
    update = {
        "session": "0" * 32,
        "seconds": 1.0,
        "participants": sorted(proposal.participants),
    }
    return proposal.model_copy(update=update).digest


def require_yes(site: Site, proposal: Proposal, now: datetime, tell: Callable[[str], None]) -> None:
    """Check that the custodian said yes to a session, and use that up; else keep the proposal.

    Args:
        site: whose custodian it is.
        proposal: the session, which the site file allows.
        now: the time.
        tell: called with what she should know, once for each proposal that waits.

    Raises:
        Forbidden: she has not decided yet, or said no.
        LimitExceeded: too many proposals wait.
        StoreCorrupt: what was kept of it cannot be read.
    """
    kept = _kept(site.state, key_of(proposal))
    if kept is not None and kept.decision == "accepted":
        if kept.shown == Approval.of(site).digest:
            _write(site.state, _decided(kept, "used", now))
            return
        # The yes was to what another site file would have revealed.
        kept = None
    if kept is not None and kept.decision == "refused":
        raise Forbidden(
            f"The custodian of {site.owner} said no to this session.",
            where=site.owner,
            remedy=f"Ask the custodian of {site.owner} before you propose it again.",
        )
    if kept is None or kept.decision == "used":
        if len(waiting_sessions(site.state)) >= MOST_WAITING:
            raise LimitExceeded(
                f"{MOST_WAITING} sessions wait for the custodian of {site.owner} already.",
                where=site.owner,
                remedy=f"Ask the custodian of {site.owner} to decide about those first.",
            )
        _write(site.state, AskedSession(proposal=proposal, asked=now))
        tell(
            f"{proposal.initiator} proposes a session ({proposal.task.kind}). It waits for your"
            " yes: `owner-agent agree`, or the pages of `owner-agent serve`."
        )
    raise Forbidden(
        f"The custodian of {site.owner} was asked, and has not said yes yet.",
        where=site.owner,
        remedy="Begin the session again, by the same session file, when that is so.",
    )


def decide(
    site: Site,
    key: str,
    decision: Literal["accepted", "refused"],
    now: datetime,
    shown: Approval | None = None,
) -> None:
    """Write down what the custodian decided about a proposal; she may change her mind.

    `shown` is what her yes is to, without which it is to what the site says now.

    Raises:
        ChangedSinceShown: the site says something else now.
        NotFound: nobody proposed that, or it has begun already.
        StoreCorrupt: what was kept of it cannot be read.
        PramanaError: what `planned` raises, at a yes: what it would reveal cannot be said.
    """
    kept = _kept(site.state, key)
    if kept is None or kept.decision == "used":
        raise NotFound(
            "No such session waits.", where=key, remedy="`owner-agent agree` lists those that do."
        )
    digest = None
    if decision == "accepted":
        approval = shown or Approval.of(site)
        planned(site)
        approval.require(site)
        digest = approval.digest
    _write(site.state, _decided(kept, decision, now).model_copy(update={"shown": digest}))


def asked_sessions(state: Path) -> list[AskedSession]:
    """Return what was proposed and has not begun, oldest first. Raises StoreCorrupt."""
    found = (_kept(state, path.stem) for path in (state / _FOLDER).glob("*.json"))
    open_ones = [one for one in found if one is not None and one.decision != "used"]
    return sorted(open_ones, key=lambda one: (one.asked, one.key))


def waiting_sessions(state: Path) -> list[AskedSession]:
    """Return what waits for a decision, oldest first. Raises StoreCorrupt."""
    return [one for one in asked_sessions(state) if one.decision == "waiting"]


def revealed(site: Site, proposal: Proposal) -> list[str]:
    """Say what a yes to a session would reveal of this owner's records, at most.

    Which of its columns the others ask for is known when all have said what they have: no more
    than these. Raises ConfigError, and what `planned` raises, where the site file is wrong.
    """
    plan = planned(site)
    asked = set(variables_of(proposal)) & set(plan.variables)
    receivers = [name for name in learners(proposal) if name != site.owner]
    blocks = [block for block in plan.plan.blocks if asked & set(block.names)]
    said = []
    if blocks and receivers:
        what = "Counts of reports" if _counted(site, proposal) else "Reports"
        said.append(f"{what} of these columns alone may go to {named(receivers, None)}:")
        said += plan_words(Plan(tuple(blocks)), whole=True)
    if not task_of(proposal).shared:
        said.append(f"What is learned is kept by {proposal.initiator} alone.")
    elif site.owner in learners(proposal):
        said.append(_parameters_told(site, sorted(asked)))
    return said


def _counted(site: Site, proposal: Proposal) -> bool:
    return proposal.partition == "horizontal" and site.peer.send == "counts"


def _parameters_told(site: Site, own: Sequence[str]) -> str:
    """Say what is shared of the network's parts that this owner learns from its true columns."""
    noise = site.peer.noise
    if noise is None:
        bound = (
            f"exactly, from cells of at least {site.peer.smallest_count} records; epsilon does not"
            " cover it"
        )
    else:
        bound = f"with {noise.kind} noise on all counts, epsilon {noise.epsilon:.4g} a session"
    return (
        f"Parameters of the network at {named(own, None)} are counted in your true records and told"
        f" to all owners of the session, {bound}."
    )


def _decided(kept: AskedSession, decision: Decision, now: datetime) -> AskedSession:
    return kept.model_copy(update={"decision": decision, "decided": now})


def _write(state: Path, asked: AskedSession) -> None:
    folder = private_directory(state_directory(state) / _FOLDER)
    write_replacing(folder / f"{asked.key}.json", asked.model_dump_json().encode())


def _kept(state: Path, key: str) -> AskedSession | None:
    # What a form names may be no digest but a path.
    path = state / _FOLDER / f"{key}.json"
    if not re.fullmatch(r"[0-9a-f]{64}", key) or not path.exists():
        return None
    try:
        kept = AskedSession.model_validate_json(path.read_bytes())
    except ValidationError:
        kept = None
    if kept is None or kept.key != key:
        raise StoreCorrupt(
            f"{path} is not what was kept of a proposal.",
            where=str(path),
            remedy="Remove it: whoever proposed the session can do so again.",
        )
    return kept
