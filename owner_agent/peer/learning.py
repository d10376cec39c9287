"""One owner's own work in a session: fetch the columns it may have, and learn its part."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from owner_agent.peer.exact import CountedColumns, Disclosure, counted_from, exact_tables
from owner_agent.peer.exchange.catalogue import Findings, entitled, task_of
from owner_agent.peer.exchange.incoming import ReceivedColumns, receive
from owner_agent.peer.protocol.messages import Package
from owner_agent.peer.protocol.steps import Peer
from owner_agent.peer.session import Session
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.progress import Progress


def learn(
    mine: Session, partners: Callable[[str], Peer], watch: Progress, now: datetime
) -> tuple[Findings, list[Disclosure]]:
    """Fetch, check and count the peers' columns, and run the task's learner.

    Return with it the tables of true records that sharing the families would reveal.
    Raises PeerUnreachable, PeerDeviated, SmallCounts, OtherGroupings, PramanaError.
    """
    proposal, holding = mine.proposal, mine.holding
    watch(0, 0)
    received = _received(mine, partners, watch)
    counted = counted_from(holding, received)
    findings = _learned(mine, counted, watch)
    if not task_of(proposal).shared:
        return findings, []
    return findings, exact_tables(holding, proposal, counted, findings.families, now)


def _learned(mine: Session, counted: CountedColumns, watch: Progress) -> Findings:
    proposal, holding = mine.proposal, mine.holding
    marginals = EstimatedMarginals(counted.reports, counted.plan)
    return task_of(proposal).learn(marginals, holding.names, watch)


def _received(
    mine: Session, partners: Callable[[str], Peer], watch: Progress
) -> list[ReceivedColumns]:
    own, received = mine.holding.site.owner, []
    for sender in mine.proposal.participants:
        if entitled(mine.proposal, mine.holdings, sender, own):
            package = mine.announcements[sender].packages[own]
            received.append(_fetched(mine, partners(sender).within(mine.ends), sender, package))
            watch(0, 0)
    return received


def _fetched(mine: Session, peer: Peer, sender: str, package: Package) -> ReceivedColumns:
    session = mine.proposal.session

    def fetch(number: int) -> bytes:
        return peer.package_part(session, number, package.parts[number].bytes)

    return receive(sender, package, fetch, mine.holding)
