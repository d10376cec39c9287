"""One owner's own work in a session: fetch what it is entitled to, and learn its part."""

from __future__ import annotations

from collections.abc import Callable

from owner_agent.peer.holding import exact_names, require_enough
from owner_agent.peer.incoming import (
    Received,
    horizontal_marginals,
    receive,
    vertical_marginals,
)
from owner_agent.peer.messages import Package
from owner_agent.peer.partner import Partner
from owner_agent.peer.session import Session
from owner_agent.peer.tasks import Findings, Watch, entitled, task_of, variables_of


def learn(mine: Session, partners: Callable[[str], Partner], watch: Watch) -> Findings:
    """Fetch, check and count the peers' columns, and run the task's learner.

    Raises:
        PeerUnreachable, PeerDeviated: a peer did not send what it announced.
        SmallCounts: exact parameters would rest on too few records.
        PramanaError: what the learner raises.
    """
    proposal, holding = mine.proposal, mine.holding
    own = holding.site.owner
    watch(0, 0)
    received = []
    for sender in proposal.participants:
        if entitled(proposal, mine.holdings, sender, own):
            package = mine.announcements[sender].packages[own]
            received.append(_fetched(mine, partners(sender), sender, package))
            watch(0, 0)
    vertical = proposal.partition == "vertical"
    made = vertical_marginals if vertical else horizontal_marginals
    marginals = made(holding.domain, holding.columns, received)
    nodes = holding.names if vertical else variables_of(proposal)
    task = task_of(proposal)
    findings = task.learn(proposal.task, marginals, nodes, watch)
    if task.shared:
        _require_enough(mine, findings, received if vertical else [])
    return findings


def _fetched(mine: Session, partner: Partner, sender: str, package: Package) -> Received:
    session = mine.proposal.session

    def fetch(number: int) -> bytes:
        return partner.package_part(session, number, package.parts[number].bytes)

    return receive(sender, package, fetch, mine.holding, mine.proposal)


def _require_enough(mine: Session, findings: Findings, received: list[Received]) -> None:
    """Check every family that this owner is about to share."""
    holding = mine.holding
    exact = exact_names([one.plan for one in received], holding.names)
    columns = dict(holding.columns)
    for one in received:
        columns |= {name: codes for name, codes in one.columns.items() if name in exact}
    for family in findings.families:
        known = [name for name in family.parents if name in exact]
        sizes = [mine.domain[name].size for name in known]
        require_enough(holding, known, family.node, columns, sizes)
