"""Which columns an owner needs of another.

`Holdings` has the variables of each owner; no two owners have the same variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from owner_agent.peer.protocol.messages import Proposal
from pramana_core.errors import StructureError, VariablesMissing

Holdings = Mapping[str, tuple[str, ...]]


def entitled(proposal: Proposal, holdings: Holdings, sender: str, receiver: str) -> tuple[str, ...]:
    """Return the sender's variables that the receiver gets; the sender decides by this alone.

    The order is that of the sender's own list.
    """
    if sender == receiver:
        return ()
    needed = proposal.task.needs(holdings[receiver])
    return tuple(name for name in holdings[sender] if name in needed)


def require_one_owner(names: Sequence[str], holdings: Holdings) -> None:
    """Check that each variable has exactly one owner. Raises VariablesMissing, StructureError."""
    found: dict[str, str] = {}
    for owner, mine in holdings.items():
        for name in mine:
            if name in found:
                raise StructureError(
                    f"Both {found[name]} and {owner} have a variable {name!r}.",
                    where=name,
                    remedy="Rename one of them.",
                )
            found[name] = owner
    absent = [name for name in names if name not in found]
    if absent:
        raise VariablesMissing(
            f"No participant has the variables {absent}.",
            where=", ".join(absent),
            remedy="Correct their names in the session file, or invite their owner.",
        )
