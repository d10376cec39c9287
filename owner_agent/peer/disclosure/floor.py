"""The fewest records that a cell of what an owner shares may rest on.

What is shared of a family are estimates from one table: its parents as this owner has them (true
codes of its own, what it received of its peers') by the node's true values. Whoever sent a
randomized parent knows its own reports and can undo the inversion: it has the table's exact
counts. So the floor holds for the table that was counted, whatever the parents' channels are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from owner_agent.peer.disclosure.counted import Counted, counted_from
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.tasks.catalogue import learners, task_of, variables_of
from owner_agent.peer.tasks.holding import Holding
from pramana_core.errors import SmallCounts
from pramana_core.learn.networks.bayes_net import LearnedFamily


def require_enough_before(holding: Holding, proposal: Proposal) -> None:
    """Check what of the families is this owner's alone, before anything is announced.

    A cell of the whole table is no larger than the one of these margins that it lies in.

    Raises:
        SmallCounts: a family would be refused, whatever the peers send.
    """
    if not task_of(proposal).shared or holding.site.owner not in learners(proposal):
        return
    counted = counted_from(holding, [])
    for node in shared_nodes(holding, proposal):
        agreed = task_of(proposal).agreed_parents(proposal.task, node)
        own = [name for name in agreed if name in holding.names]
        _require_enough(holding, proposal, node, own, counted)


def require_enough(
    holding: Holding, proposal: Proposal, families: Iterable[LearnedFamily], counted: Counted
) -> None:
    """Check every family that this owner is about to share, by the columns it was counted from.

    Raises:
        SmallCounts: some combination has records, but fewer than the site file demands.
    """
    for family in families:
        _require_enough(holding, proposal, family.node, family.parents, counted)


def shared_nodes(holding: Holding, proposal: Proposal) -> tuple[str, ...]:
    """Return the nodes whose families this owner learns in a session that it is a learner of."""
    return holding.names if proposal.partition == "vertical" else variables_of(proposal)


def _require_enough(
    holding: Holding,
    proposal: Proposal,
    node: str,
    parents: Sequence[str],
    counted: Counted,
) -> None:
    floor, owner = holding.site.peer.smallest_count, holding.site.owner
    if counted.smallest_cell(counted.names(node, parents)) >= floor:
        return
    given = f" given {list(parents)}" if parents else ""
    raise SmallCounts(
        f"{owner} does not share the parameters of {node!r}{given}: some combination of their"
        f" values, as {owner} has them, occurs in fewer than {floor} records.",
        where=node,
        remedy=f"Merge rare categories, {task_of(proposal).fewer}, or let {owner} lower"
        " smallest_count in its [peer] section deliberately.",
    )
