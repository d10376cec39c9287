"""The privacy loss of a session: by column, by owner and for a whole record.

The sum also bounds the disclosure to peers who collude. Parameters shared exactly have no epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pramana_core.plan import Plan
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


def session_loss(drawn: Mapping[str, Plan]) -> StudyDisclosure:
    """Return the total loss of the blocks that owners draw, each counted once for all receivers."""
    return total_loss(
        BlockDisclosure(
            owner,
            tuple(block.names),
            Amplification.of(block.channel),
            block.name,
            not block.channel.is_identity,
        )
        for owner, plan in drawn.items()
        for block in plan.blocks
    )


def session_lines(disclosure: StudyDisclosure) -> Iterator[str]:
    """Yield sentences on a session's loss, or nothing if no column is sent."""
    if not disclosure.columns:
        return
    yield "Joint disclosure about a record to all peers by the columns sent in this session:"
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
    """Return a session's loss as JSON values; the loss of a column sent unchanged is null."""
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


def _written(amplification: Amplification | None) -> str:
    if amplification is None:
        return "unchanged"
    grows = f"{percent(PRIOR)} grows to {belief(amplification, PRIOR)}"
    return f"epsilon {bound(amplification.epsilon)} ({grows})"
