"""The loss of a session: of each column, by each owner, and of a record.

Every owner states the loss of its draws before a byte leaves, and each adds up what all stated.
The sum bounds what colluding peers learn. Parameters that are shared exactly have no epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from owner_agent.peer.exchange.outgoing import OutgoingPackage
from owner_agent.peer.protocol.messages import Announcement, BlockCost
from owner_agent.release.ledger import Draw
from pramana_core.errors import PeerDeviated
from pramana_core.plan import Block
from pramana_core.privacy import (
    PRIOR,
    Amplification,
    BlockDisclosure,
    Extremes,
    StudyDisclosure,
    total_loss,
)
from pramana_core.report.numbers import belief, bound, percent
from pramana_core.wire.privacy import AmplificationMessage, ExtremesMessage

_ROUNDING = 1e-9


def costs_of(outgoing: Iterable[OutgoingPackage]) -> list[BlockCost]:
    """Return the loss of an owner's packages: each draw once, whoever gets how much of it."""
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
    """Check that an owner stated a loss for each block that it announces to a receiver.

    Raises PeerDeviated.
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


def session_loss(announcements: Mapping[str, Announcement]) -> StudyDisclosure:
    """Add up what all owners state."""
    disclosures = (
        BlockDisclosure(
            owner,
            tuple(cost.variables),
            _amplification(cost),
            str(number),
            cost.randomized,
        )
        for owner, announcement in announcements.items()
        for number, cost in enumerate(announcement.costs)
    )
    return total_loss(disclosures)


def session_lines(disclosure: StudyDisclosure) -> Iterator[str]:
    """Yield the loss in words; nothing if no column is sent."""
    if not disclosure.columns:
        return
    yield "What the columns sent in this session reveal of a record, to all peers together:"
    for owner, extremes in disclosure.owners.items():
        each = ", ".join(
            f"{column.variable} {_written(column.amplification)}"
            for column in disclosure.columns
            if column.owner == owner
        )
        yield f"  {owner}: {each}; all its columns {_written(extremes.determined)}."
    record = disclosure.record
    yield (
        f"  All owners: {_written(record.determined)} if each column determines the others, and"
        f" {_written(record.independent)} if columns are independent."
    )


def session_json(disclosure: StudyDisclosure) -> dict[str, Any]:
    """Return the loss for scripts; null stands for that of a column sent unchanged."""
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
            for column in disclosure.columns
        ],
        "owners": {owner: _extremes(extremes) for owner, extremes in disclosure.owners.items()},
        "record": _extremes(disclosure.record),
    }


def _extremes(extremes: Extremes) -> dict[str, Any]:
    return ExtremesMessage.of(extremes).model_dump()


def _amplification(cost: BlockCost) -> Amplification:
    return Amplification(math.inf if cost.epsilon is None else cost.epsilon)


def _written(amplification: Amplification | None) -> str:
    if amplification is None:
        return "unchanged"
    grows = f"{percent(PRIOR)} grows to {belief(amplification, PRIOR)}"
    return f"epsilon {bound(amplification.epsilon)} ({grows})"
