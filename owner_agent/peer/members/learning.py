"""One owner's own work in a session: fetch what it is entitled to, and learn its part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from owner_agent.peer.disclosure.counted import Counted, counted_from
from owner_agent.peer.disclosure.exact import exact_tables
from owner_agent.peer.disclosure.floor import shared_nodes
from owner_agent.peer.disclosure.noise import noisy_tables
from owner_agent.peer.exchange.incoming import Received, horizontal_marginals, receive
from owner_agent.peer.protocol.messages import Package
from owner_agent.peer.protocol.partner import Peer
from owner_agent.peer.session.session import Session
from owner_agent.peer.tasks.catalogue import entitled, task_of
from owner_agent.peer.tasks.findings import Findings
from pramana_core.estimation.estimated import EstimatedMarginals, Estimator
from pramana_core.marginals.counts import Marginals, ReportTables
from pramana_core.progress import Progress


def learn(
    mine: Session, partners: Callable[[str], Peer], watch: Progress, now: datetime
) -> Findings:
    """Fetch, check and count the peers' columns, and run the task's learner.

    Raises:
        PeerUnreachable, PeerDeviated: a peer did not send what it announced.
        SmallCounts: parameters would rest on too few records.
        OtherGroupings, NoiseSpent: they would tell too much beside what was told before.
        PramanaError: what the learner raises.
    """
    proposal, holding = mine.proposal, mine.holding
    watch(0, 0)
    received = _received(mine, partners, watch)
    counted = counted_from(holding, received if proposal.partition == "vertical" else [])
    if task_of(proposal).shared and holding.site.peer.noise is not None:
        return _learned_with_noise(mine, counted, received, watch)
    findings = _learned(mine, counted, counted.reports, received, watch)
    if not task_of(proposal).shared:
        return findings
    told = exact_tables(holding, proposal, counted, findings.families, now)
    return replace(findings, told=told)


def _learned_with_noise(
    mine: Session, counted: Counted, received: list[Received], watch: Progress
) -> Findings:
    """Learn from noisy tables of the agreed families, which are all that is told."""
    proposal, holding = mine.proposal, mine.holding
    agreed = task_of(proposal).agreed_parents
    families = [
        counted.names(node, agreed(proposal.task, node)) for node in shared_nodes(holding, proposal)
    ]
    told = noisy_tables(holding, proposal, counted, families)
    findings = _learned(mine, counted, told.counts, received, watch)
    return replace(findings, told=told)


def _learned(
    mine: Session, counted: Counted, own: ReportTables, received: list[Received], watch: Progress
) -> Findings:
    proposal, holding = mine.proposal, mine.holding
    marginals: Marginals
    if proposal.partition == "vertical":
        # Of what is withheld the tables in which it is reported tell: those are pooled.
        estimator: Estimator = "moment" if holding.study_plan is None else "pooled"
        marginals = EstimatedMarginals(own, counted.plan, estimator=estimator)
    else:
        marginals = horizontal_marginals(own, holding.domain, received)
    return task_of(proposal).learn(proposal.task, marginals, shared_nodes(holding, proposal), watch)


def _received(mine: Session, partners: Callable[[str], Peer], watch: Progress) -> list[Received]:
    own, received = mine.holding.site.owner, []
    for sender in mine.proposal.participants:
        if entitled(mine.proposal, mine.holdings, sender, own):
            package = mine.announcements[sender].packages[own]
            received.append(_fetched(mine, partners(sender).within(mine.ends), sender, package))
            watch(0, 0)
    return received


def _fetched(mine: Session, peer: Peer, sender: str, package: Package) -> Received:
    session = mine.proposal.session

    def fetch(number: int) -> bytes:
        return peer.package_part(session, number, package.parts[number].bytes)

    return receive(sender, package, fetch, mine.holding, mine.proposal)
