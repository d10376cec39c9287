"""One owner's own work in a session: fetch what it is entitled to, and learn its part."""

from __future__ import annotations

from collections.abc import Callable

from owner_agent.peer.findings import Findings, Watch
from owner_agent.peer.floor import require_enough, shared_nodes
from owner_agent.peer.incoming import (
    Received,
    horizontal_marginals,
    receive,
    vertical_marginals,
)
from owner_agent.peer.messages import Package
from owner_agent.peer.partner import Partner
from owner_agent.peer.session import Session
from owner_agent.peer.tasks import entitled, task_of


def learn(mine: Session, partners: Callable[[str], Partner], watch: Watch) -> Findings:
    """Fetch, check and count the peers' columns, and run the task's learner.

    Raises:
        PeerUnreachable, PeerDeviated: a peer did not send what it announced.
        SmallCounts: parameters would rest on too few records.
        PramanaError: what the learner raises.
    """
    proposal, holding = mine.proposal, mine.holding
    own = holding.site.owner
    watch(0, 0)
    received = []
    for sender in proposal.participants:
        if entitled(proposal, mine.holdings, sender, own):
            package = mine.announcements[sender].packages[own]
            received.append(_fetched(mine, partners(sender).within(mine.ends), sender, package))
            watch(0, 0)
    vertical = proposal.partition == "vertical"
    made = vertical_marginals if vertical else horizontal_marginals
    marginals = made(holding.domain, holding.columns, received)
    task = task_of(proposal)
    findings = task.learn(proposal.task, marginals, shared_nodes(holding, proposal), watch)
    if task.shared:
        require_enough(holding, proposal, findings.families, received if vertical else [])
    return findings


def _fetched(mine: Session, partner: Partner, sender: str, package: Package) -> Received:
    session = mine.proposal.session

    def fetch(number: int) -> bytes:
        return partner.package_part(session, number, package.parts[number].bytes)

    return receive(sender, package, fetch, mine.holding, mine.proposal)
