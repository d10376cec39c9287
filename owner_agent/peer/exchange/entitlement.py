"""Which columns an owner needs of another (Ma 5.2.1, definitions 1 and 2; 5.2.2).

`Holdings` has the variables of each owner; no two owners have the same variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pramana_core.errors import StructureError, VariablesMissing
from pramana_core.learn.networks.structure import Structure

Holdings = Mapping[str, tuple[str, ...]]


def owner_of(holdings: Holdings) -> dict[str, str]:
    """Return the owner of each variable. Raises StructureError."""
    found: dict[str, str] = {}
    for owner, names in holdings.items():
        for name in names:
            if name in found:
                raise StructureError(
                    f"Both {found[name]} and {owner} have a variable {name!r}.",
                    where=name,
                    remedy="Rename one of them.",
                )
            found[name] = owner
    return found


def require_held(names: Sequence[str], holdings: Holdings) -> None:
    """Check that each variable has an owner. Raises VariablesMissing."""
    owned = {name for mine in holdings.values() for name in mine}
    absent = [name for name in names if name not in owned]
    if absent:
        raise VariablesMissing(
            f"No participant has the variables {absent}.",
            where=", ".join(absent),
            remedy="Correct their names in the session file, or invite their owner.",
        )


def cross_variables(structure: Structure, holdings: Holdings) -> tuple[str, ...]:
    """Return the variables some of whose parents are another owner's (definition 1)."""
    owner = owner_of(holdings)
    return tuple(
        node
        for node, parents in structure.families
        if any(owner[p] != owner[node] for p in parents)
    )


def cross_parents(
    structure: Structure, holdings: Holdings, sender: str, receiver: str
) -> tuple[str, ...]:
    """Return the sender's variables that are parents of cross variables of the receiver.

    Definition 2; nothing else of the sender's is the receiver's business. The order is that of
    the sender's own list.
    """
    owner = owner_of(holdings)
    needed = {
        parent
        for node in cross_variables(structure, holdings)
        if owner[node] == receiver
        for parent in structure.parents[node]
    }
    return tuple(name for name in holdings[sender] if name in needed and sender != receiver)


def preceding(
    order: Sequence[str], holdings: Holdings, sender: str, receiver: str
) -> tuple[str, ...]:
    """Return the sender's variables that come before any of the receiver's in the order.

    Only these can become parents of the receiver's variables (Ma 5.2.2).
    """
    own = [place for place, name in enumerate(order) if name in holdings[receiver]]
    last = max(own, default=0)
    earlier = set(order[:last])
    return tuple(name for name in holdings[sender] if name in earlier and sender != receiver)
