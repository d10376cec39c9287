"""What a session's randomized columns tell: of each column, by each owner, and of a record.

Every owner states what its draws cost before a byte leaves, and each adds up what all stated. It
bounds what all peers learn who put together whatever they got; parameters and results that are
told exactly are in no epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from owner_agent.peer.exchange.outgoing import Outgoing
from owner_agent.peer.protocol.messages import Announcement, BlockCost, Proposal
from owner_agent.release.ledger import Draw
from owner_agent.report.whole_study import grown, number_of
from pramana_core.errors import PeerDeviated
from pramana_core.plan import Block
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    BlockDisclosure,
    Extremes,
    StudyDisclosure,
    told_by,
)
from pramana_core.privacy.study import CoinDisclosure
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.privacy import AmplificationMessage, ExtremesMessage

_ROUNDING = 1e-9


def costs_of(outgoing: Iterable[Outgoing]) -> list[BlockCost]:
    """Return what an owner's packages cost: each draw once, whoever gets how much of it."""
    draws: dict[tuple[str, str], list[Draw]] = {}
    for made in outgoing:
        for draw in made.entry.draws:
            draws.setdefault(draw.identity, []).append(draw)
    return [
        BlockCost(
            variables=list(dict.fromkeys(draw.variable for draw in same)),
            epsilon=same[0].epsilon if math.isfinite(same[0].epsilon) else None,
            randomized=same[0].randomized,
        )
        for same in draws.values()
    ]


def require_stated(owner: str, announcement: Announcement, receiver: str) -> None:
    """Check that an owner stated the cost of what it announces to a receiver.

    Each block has a cost of its own: one that stood for two would be added up only once.

    Raises:
        PeerDeviated: a block is not among the costs, costs more than was stated, or shares its
            cost with another.
    """
    package = announcement.packages.get(receiver)
    left = list(announcement.costs)
    for block in package.plan.to_plan().blocks if package is not None else ():
        cost = next((cost for cost in left if _covers(cost, block)), None)
        if cost is None:
            raise PeerDeviated(
                f"{owner} states no cost for {block.name!r}, or less than its true cost.",
                where=owner,
            )
        left.remove(cost)


def _covers(cost: BlockCost, block: Block) -> bool:
    least = Amplification.of(block.channel).epsilon * (1 - _ROUNDING)
    return (
        cost.randomized is not block.channel.is_identity
        and set(block.names) <= set(cost.variables)
        and _amplification(cost).epsilon >= least
    )


def session_told(
    proposal: Proposal,
    announcements: Mapping[str, Announcement],
    study_plan: StudyPlan | None = None,
) -> StudyDisclosure:
    """Add up what all owners state; horizontal owners' records are different people.

    Parts of a study plan, which all follow, add set by set.
    """
    told = (
        BlockDisclosure(
            owner,
            tuple(cost.variables),
            _amplification(cost),
            str(number),
            cost.randomized,
            _coin(study_plan, owner, cost),
        )
        for owner, announcement in announcements.items()
        for number, cost in enumerate(announcement.costs)
    )
    return told_by(told, different_people=proposal.partition == "horizontal")


def _coin(study_plan: StudyPlan | None, owner: str, cost: BlockCost) -> CoinDisclosure | None:
    """Return what a part of the study plan tells set by set, if a cost is that of one."""
    if study_plan is None or not study_plan.reports(owner):
        return None
    part = study_plan.block(owner)
    return CoinDisclosure.of(part.channel) if set(cost.variables) == set(part.names) else None


def session_lines(told: StudyDisclosure) -> Iterator[str]:
    """Yield in words what is disclosed; nothing where no column is sent to anybody."""
    if not told.columns:
        return
    yield "What the columns sent in this session tell of a record, to all peers together:"
    for owner, extremes in told.owners.items():
        each = ", ".join(
            f"{column.variable} {_written(column.amplification)}"
            for column in told.columns
            if column.owner == owner
        )
        yield f"  {owner}: {each}; all its columns {_written(extremes.determined)}."
    record = told.record
    yield (
        f"  All owners: {_written(record.determined)} if each column determines the others, and"
        f" {_written(record.independent)} if columns tell nothing of each other."
    )


def session_json(told: StudyDisclosure) -> dict[str, Any]:
    """Return for scripts what is disclosed; a column sent as it is has null, for infinite."""
    return {
        "prior": PRIOR,
        "columns": [
            {
                "owner": column.owner,
                "variable": column.variable,
                "amplification": None
                if column.amplification is None
                else AmplificationMessage.of(column.amplification).model_dump(),
            }
            for column in told.columns
        ],
        "owners": {owner: _extremes(extremes) for owner, extremes in told.owners.items()},
        "record": _extremes(told.record),
    }


def _extremes(extremes: Extremes) -> dict[str, Any]:
    return ExtremesMessage.of(extremes).model_dump()


def _amplification(cost: BlockCost) -> Amplification:
    return Amplification(math.inf if cost.epsilon is None else cost.epsilon)


def _written(told: Amplification | None) -> str:
    if told is None:
        return "as it is"
    return f"epsilon {number_of(told)} ({PRIOR:.0%} grows to {grown(told)})"
