"""Receiving columns from a peer: they are checked against its announcement, and never stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from owner_agent.peer.exchange.local_records import LocalRecords
from owner_agent.peer.protocol.messages import Offer, Package
from pramana_core.errors import PartInvalid, PeerDeviated, PramanaError
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import Pseudonyms, RecordSchema, decode_part, joined_parts
from pramana_core.wire.releases import release_digest


def counted_names(plan: Plan, scope: Sequence[str]) -> tuple[str, ...]:
    """Return the reported columns whose joint table determines the true table over `scope`."""
    names: list[str] = []
    for block in plan.blocks:
        inside = [name for name in block.names if name in scope]
        names += block.names if inside and block.restrict(inside) is None else inside
    return tuple(names)


Fetch = Callable[[int], bytes]
"""Fetches a part of a package."""


@dataclass(frozen=True, eq=False)
class ReceivedColumns:
    """The randomized columns of a peer."""

    plan: Plan
    records: int
    columns: dict[str, Codes]


def drawn_plan(sender: str, announced: PlanMessage, offer: Offer) -> Plan:
    """Check a peer's drawn blocks against its offer, and return them. Raises PeerDeviated."""
    try:
        plan = announced.to_plan()
    except PramanaError as error:
        raise PeerDeviated(
            f"The plan of {sender} is not valid: {error.message}", where=sender
        ) from None
    offered = {o.variable.name: o for o in offer.variables}
    for block in plan.blocks:
        for variable in block.variables:
            known = offered.get(variable.name)
            if known is None:
                continue
            if known.variable.to_variable() != variable:
                raise PeerDeviated(
                    f"{sender} announces other categories of {variable.name!r} than it offered.",
                    where=sender,
                )
            if known.sensitive and block.channel.is_identity:
                raise PeerDeviated(
                    f"{sender} announces the sensitive {variable.name!r} without randomization.",
                    where=sender,
                )
    return plan


def check_package(sender: str, package: Package, offer: Offer, plan: Plan) -> None:
    """Check that a package has the offered records, randomized by a plan. Raises PeerDeviated."""
    counts = sum(part.records for part in package.parts)
    whole = release_digest(plan.digest, package.parts)
    if (package.records, counts, package.digest) != (offer.records, offer.records, whole):
        raise PeerDeviated(
            f"{sender} does not announce the columns that it offered and this owner needs"
            f" ({list(plan.domain.names)} of {offer.records} records).",
            where=sender,
        )


def receive(
    sender: str, plan: Plan, package: Package, fetch: Fetch, holding: LocalRecords
) -> ReceivedColumns:
    """Fetch a peer's package as announced. Raises PeerDeviated, PeerUnreachable."""
    bodies = []
    for part in package.parts:
        body = fetch(part.number)
        if len(body) != part.bytes or hashlib.sha256(body).hexdigest() != part.sha256:
            raise _other_data(sender, "other bytes than it announced")
        bodies.append(body)
    keys, columns = _records(sender, plan, package, bodies)
    if not np.array_equal(keys, holding.keys):
        raise _other_data(sender, "other records than it announced")
    return ReceivedColumns(plan, package.records, columns)


def _records(
    sender: str, plan: Plan, package: Package, bodies: Sequence[bytes]
) -> tuple[Pseudonyms, dict[str, Codes]]:
    schema, decoded = RecordSchema.of(plan), []
    for body, part in zip(bodies, package.parts, strict=True):
        try:
            decoded.append(decode_part(schema, body))
        except PartInvalid as error:
            raise _other_data(sender, f"a part that cannot be read ({error.message})") from None
        if len(decoded[-1][0]) != part.records:
            raise _other_data(sender, "another count of records than it announced")
    return joined_parts(schema, decoded)


def _other_data(sender: str, what: str) -> PeerDeviated:
    return PeerDeviated(
        f"{sender} sent {what}.",
        where=sender,
        remedy="Nothing was learned from it. Ask its custodian what changed during the session.",
    )
