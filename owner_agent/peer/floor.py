"""The fewest records that a cell of what an owner shares may rest on.

What is shared of a family are estimates from one table: its parents as this owner has them (true
codes of its own, what it received of its peers') by the node's true values. Whoever sent a
randomized parent knows its own reports and can undo the inversion: it has the table's exact
counts. So the floor holds for the table that was counted, whatever the parents' channels are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from owner_agent.peer.holding import Holding
from owner_agent.peer.incoming import Received
from owner_agent.peer.messages import Proposal
from owner_agent.peer.outgoing import counted_names
from owner_agent.peer.tasks import learners, task_of, variables_of
from shared.counts import Codes
from shared.errors import SmallCounts
from shared.learn.bayes_net import LearnedFamily
from shared.plan import Plan


def require_enough_before(holding: Holding, proposal: Proposal) -> None:
    """Check what of the families is this owner's alone, before anything is announced.

    A cell of the whole table is no larger than the one of these margins that it lies in.

    Raises:
        SmallCounts: a family would be refused, whatever the peers send.
    """
    if not task_of(proposal).shared or holding.site.owner not in learners(proposal):
        return
    for node in shared_nodes(holding, proposal):
        agreed = task_of(proposal).agreed_parents(proposal.task, node)
        own = [name for name in agreed if name in holding.columns]
        _require_enough(holding, proposal, node, own, [*own, node], holding.columns)


def require_enough(
    holding: Holding,
    proposal: Proposal,
    families: Iterable[LearnedFamily],
    received: Sequence[Received],
) -> None:
    """Check every family that this owner is about to share.

    Args:
        holding: this owner's records.
        proposal: the session.
        families: what it learned.
        received: its peers' columns of the same records; in horizontal sessions there are none,
            and the table is that of the owner's own true records: the others know their own
            reports, and could take them off.

    Raises:
        SmallCounts: some combination has records, but fewer than the site file demands.
    """
    plan = Plan.combine([Plan.unrandomized(holding.domain), *(one.plan for one in received)])
    columns = dict(holding.columns)
    for one in received:
        columns |= one.columns
    for family in families:
        names = counted_names(plan, (*family.parents, family.node))
        _require_enough(holding, proposal, family.node, family.parents, names, columns)


def shared_nodes(holding: Holding, proposal: Proposal) -> tuple[str, ...]:
    """Return the nodes whose families this owner learns in a session that it is a learner of."""
    return holding.names if proposal.partition == "vertical" else variables_of(proposal)


def smallest_cell(columns: Sequence[Codes]) -> int:
    """Return the fewest records that some combination of codes has, of those that occur."""
    cells: npt.NDArray[np.int64] = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        # Numbered anew each time, so that no number of variables makes the numbers too large.
        combined = cells * (int(codes.max()) + 1) + codes
        cells = np.unique(combined, return_inverse=True)[1]
    return int(np.bincount(cells).min())


def _require_enough(
    holding: Holding,
    proposal: Proposal,
    node: str,
    parents: Sequence[str],
    counted: Sequence[str],
    columns: Mapping[str, Codes],
) -> None:
    floor, owner = holding.site.peer.smallest_count, holding.site.owner
    if smallest_cell([columns[name] for name in counted]) >= floor:
        return
    given = f" given {list(parents)}" if parents else ""
    raise SmallCounts(
        f"{owner} does not share the parameters of {node!r}{given}: some combination of their"
        f" values, as {owner} has them, is that of fewer than {floor} records.",
        where=node,
        remedy=f"Merge rare categories, {task_of(proposal).fewer}, or let {owner} lower"
        " smallest_count in its [peer] section deliberately.",
    )
