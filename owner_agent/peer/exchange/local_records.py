"""This owner's records in a session: true codes, with rows in the order of the pseudonyms."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from owner_agent.peer.protocol.messages import Offer, OfferedVariable, Proposal
from owner_agent.randomize.draws import pseudonyms
from owner_agent.site.planning import PlannedSite, planned
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore, Secrets
from owner_agent.table.encode import encode
from pramana_core.domain import Domain
from pramana_core.errors import RecordsDoNotAlign, VariablesMissing
from pramana_core.learn.common.documents import variable_json
from pramana_core.marginals.counts import Codes
from pramana_core.progress import Progress
from pramana_core.wire.channels import VariableMessage
from pramana_core.wire.parts import Pseudonyms, key_order


@dataclass(frozen=True, eq=False)
class LocalRecords:
    """This owner's true records, sorted by `keys`, for its own learning. They are never sent."""

    site: Site
    plan: PlannedSite
    secrets: Secrets
    keys: Pseudonyms
    columns: dict[str, Codes]
    names: tuple[str, ...]
    one_secret: Mapping[str, tuple[str, ...]]

    @property
    def domain(self) -> Domain:
        """This owner's variables in the session."""
        return Domain(tuple(self.plan.variables[name] for name in self.names))


def read_local_records(
    site: Site, proposal: Proposal, variables: Sequence[str], progress: Progress
) -> LocalRecords:
    """Read the table for a session. Raises VariablesMissing, InputError, KeyFileError."""
    plan = planned(site)
    names = tuple(name for name in variables if name in plan.variables)
    if not names:
        raise VariablesMissing(
            f"{site.owner} has none of the session's variables.", where=site.owner
        )
    secrets = KeyStore(site.state).load()
    table = encode(site, plan)
    keys = pseudonyms(secrets, proposal.study, table.record_ids, progress)
    order = key_order(keys)
    columns = {name: codes[order] for name, codes in table.columns.items()}
    return LocalRecords(site, plan, secrets, keys[order], columns, names, table.one_secret)


def offer(holding: LocalRecords, proposal: Proposal) -> Offer:
    """Return this owner's offer for a proposal, before anything is randomized."""
    digest = hashlib.sha256(np.ascontiguousarray(holding.keys).tobytes()).hexdigest()
    return Offer(
        proposal=proposal.digest,
        variables=[
            OfferedVariable(
                variable=VariableMessage(**variable_json(variable)),
                sensitive=variable.name in holding.plan.sensitive,
            )
            for variable in holding.domain
        ],
        records=len(holding.keys),
        keys_digest=digest,
    )


def require_aligned(offers: dict[str, Offer], study: str) -> None:
    """Check that all owners offer the same records. Raises RecordsDoNotAlign."""
    if len({offer.keys_digest for offer in offers.values()}) > 1:
        each = ", ".join(f"{owner} {offer.records}" for owner, offer in offers.items())
        raise RecordsDoNotAlign(
            f"The owners have different sets of records. Records per owner: {each}.",
            where=study,
            remedy="Check that the owners have the same linkage secret, the same form of record ids"
            " and the same records.",
        )
