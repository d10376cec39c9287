"""The owners' joint network: merging its parts, checking the whole, and writing its files.

`network.json` has the format of the miner's models.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from owner_agent.peer.protocol.messages import (
    FamilyMessage,
    Holdings,
    NetworkPart,
    Proposal,
    StatedLink,
)
from owner_agent.peer.protocol.tasks import Findings
from pramana_core.domain import Domain
from pramana_core.errors import PeerDeviated, PramanaError
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.networks.bayes_net import LearnedBayesNet, LearnedFamily
from pramana_core.learn.networks.bif import write_bif
from pramana_core.learn.networks.documents import network_json
from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Tensor

_ARRAYS = ("estimate", "probability", "se", "se_records", "low", "high")


@dataclass(frozen=True, eq=False)
class MergedNetwork:
    """The whole network, and what the owners state about its links."""

    learned: LearnedBayesNet
    links: tuple[StatedLink, ...]


def part_of(proposal: Proposal, findings: Findings, records: int) -> NetworkPart:
    """Return an owner's findings as a message in which every float is exact."""
    return NetworkPart(
        proposal=proposal.digest,
        families=[
            FamilyMessage(
                node=family.node,
                parents=list(family.parents),
                **{name: _written(getattr(family, name)) for name in _ARRAYS},
            )
            for family in findings.families
        ],
        links=[
            StatedLink(
                parent=link.parent,
                child=link.child,
                gain=link.gain,
                inflation=link.inflation if math.isfinite(link.inflation) else None,
                confidence=link.confidence,
            )
            for link in findings.links
        ],
        records=records,
    )


def merge(
    proposal: Proposal, parts: Mapping[str, NetworkPart], holdings: Holdings, domain: Domain
) -> MergedNetwork:
    """Merge the owners' parts into one network. Raises PeerDeviated."""
    families: dict[str, LearnedFamily] = {}
    for owner in proposal.participants:
        _require_own(proposal, owner, parts[owner], holdings[owner])
        for family in parts[owner].families:
            _require_agreed(proposal, owner, family)
            families[family.node] = _family(owner, family, domain)
    whole = domain.project(proposal.task.names)
    records = _records(parts)
    try:
        structure = Structure.of({name: families[name].parents for name in whole.names})
        ordered = tuple(families[name] for name in whole.names)
        learned = LearnedBayesNet(whole, structure, records, ordered)
        learned.network()
    except PramanaError as error:
        raise PeerDeviated(
            f"The owners' parts do not form a network: {error.message}", where=error.where
        ) from None
    stated = [link for part in parts.values() for link in part.links]
    if stated and sorted((k.parent, k.child) for k in stated) != sorted(structure.links):
        raise PeerDeviated("The links in the owners' statements differ from those of the network.")
    links = sorted(stated, key=lambda link: structure.links.index((link.parent, link.child)))
    return MergedNetwork(learned, tuple(links))


def files_of(
    proposal: Proposal, merged: MergedNetwork, holdings: Holdings, records: Mapping[str, int]
) -> dict[str, bytes]:
    """Return the network as JSON (with standard errors of its parameters), BIF and SVG."""
    groups = {name: owner for owner, mine in holdings.items() for name in mine}
    learned = merged.learned
    document = {
        "kind": "bayes-net",
        "study": proposal.study,
        "session": proposal.session,
        "initiator": proposal.initiator,
        "task": proposal.task.model_dump(mode="json"),
        "participants": [
            {"name": owner, "variables": list(holdings[owner]), "records": records[owner]}
            for owner in proposal.participants
        ],
        "records": learned.records,
        **network_json(learned),
        "links": [link.model_dump(mode="json") for link in merged.links],
    }
    return {
        "network.json": write_json(document).encode(),
        "network.bif": write_bif(learned.network(), proposal.study).encode(),
        "network.svg": draw_structure(learned.structure, groups).svg().encode(),
    }


def digest_of_files(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of the names and contents of the files, which the owners compare."""
    running = hashlib.sha256()
    for name in sorted(files):
        running.update(f"{name}:{hashlib.sha256(files[name]).hexdigest()}\n".encode())
    return running.hexdigest()


def _records(parts: Mapping[str, NetworkPart]) -> int:
    numbers = {part.records for part in parts.values()}
    if len(numbers) > 1:
        raise PeerDeviated(
            f"The owners learned from different counts of records: {sorted(numbers)}."
        )
    return numbers.pop()


def _require_own(proposal: Proposal, owner: str, part: NetworkPart, own: Sequence[str]) -> None:
    nodes = [family.node for family in part.families]
    if part.proposal != proposal.digest or sorted(nodes) != sorted(own):
        raise PeerDeviated(
            f"{owner} sent families of {sorted(nodes)}, but its variables are {sorted(own)}.",
            where=owner,
        )


def _require_agreed(proposal: Proposal, owner: str, family: FamilyMessage) -> None:
    if not proposal.task.allows(family.node, family.parents):
        raise PeerDeviated(
            f"The task does not allow the parents {family.parents} of {family.node!r} at {owner}.",
            where=owner,
        )


def _family(owner: str, message: FamilyMessage, domain: Domain) -> LearnedFamily:
    shape = domain.project([*message.parents, message.node]).shape
    arrays = {name: _read(getattr(message, name)) for name in _ARRAYS}
    if any(array.size != math.prod(shape) for array in arrays.values()):
        raise PeerDeviated(
            f"{owner} sent tables of {message.node!r} that do not have the shape {shape}.",
            where=owner,
        )
    shaped = {name: array.reshape(shape) for name, array in arrays.items()}
    if not all(np.isfinite(shaped[name]).all() for name in ("probability", "low", "high")):
        raise PeerDeviated(f"{owner} sent an incomplete table of {message.node!r}.", where=owner)
    return LearnedFamily(message.node, tuple(message.parents), **shaped)


def _written(array: Tensor) -> list[float | None]:
    return [None if math.isnan(value) else value for value in array.ravel().tolist()]


def _read(values: Sequence[float | None]) -> Tensor:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
