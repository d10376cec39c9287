"""An owner's own records as a session sees them: true codes, in the order of the pseudonyms."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from owner_agent.peer.protocol.messages import EarlierSession, Offer, OfferedVariable, Proposal
from owner_agent.randomize.draws import pseudonyms
from owner_agent.release.fingerprints import Values, values_of
from owner_agent.site.planning import PlannedSite, planned
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore, Secrets
from owner_agent.table.encode import encode
from pramana_core.domain import Domain
from pramana_core.errors import RecordsDoNotAlign, VariablesMissing
from pramana_core.learn.common.documents import variable_json
from pramana_core.marginals.counts import Codes
from pramana_core.progress import Progress
from pramana_core.study_plan import StudyPlan
from pramana_core.wire.channels import VariableMessage
from pramana_core.wire.parts import Pseudonyms, key_order


@dataclass(frozen=True, eq=False)
class LocalRecords:
    """This owner's records: never sent, and exact for its own learning.

    `keys` ascend and `columns` follow them; `names` are the session's variables that it has.
    `values` is the table as the ledger knows its columns again.
    """

    site: Site
    plan: PlannedSite
    secrets: Secrets
    keys: Pseudonyms
    columns: dict[str, Codes]
    names: tuple[str, ...]
    values: Values

    @property
    def domain(self) -> Domain:
        """The session's variables that this owner has."""
        return Domain(tuple(self.plan.variables[name] for name in self.names))

    @property
    def study_plan(self) -> StudyPlan | None:
        """The study's plan that this owner follows, if it follows one."""
        adopted = self.plan.adopted
        return None if adopted is None else adopted.plan


def hold(site: Site, proposal: Proposal, variables: Sequence[str], told: Progress) -> LocalRecords:
    """Read the site's table for a session about some variables.

    Raises:
        VariablesMissing: the session names none of this owner's variables.
        InputError: the site file or the table is wrong.
        KeyFileError: a secret is absent or unsafe.
    """
    plan = planned(site)
    names = tuple(name for name in variables if name in plan.variables)
    if not names:
        raise VariablesMissing(
            f"{site.owner} has none of the session's variables.", where=site.owner
        )
    secrets = KeyStore(site.state).load()
    table = encode(site, plan)
    keys = pseudonyms(secrets, proposal.study, table.record_ids, told)
    order = key_order(keys)
    columns = {name: codes[order] for name, codes in table.columns.items()}
    values = values_of(secrets.draw, table.record_ids, table.columns, plan.columns)
    return LocalRecords(site, plan, secrets, keys[order], columns, names, values)


def offer(
    holding: LocalRecords,
    proposal: Proposal,
    beginning: datetime | None,
    earlier: dict[str, EarlierSession],
) -> Offer:
    """Return what an owner says of itself before anything is randomized.

    Args:
        holding: its records.
        proposal: the session.
        beginning: when it last began anew after a loss.
        earlier: what it remembers of each other owner.
    """
    aligned = proposal.partition == "vertical"
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
        keys_digest=digest if aligned else None,
        beginning=beginning,
        earlier=earlier,
    )


def require_aligned(offers: dict[str, Offer], study: str) -> None:
    """Check that all owners have the same records.

    Raises:
        RecordsDoNotAlign: the digests of their pseudonyms differ.
    """
    if len({offer.keys_digest for offer in offers.values()}) > 1:
        each = ", ".join(f"{owner} {offer.records}" for owner, offer in offers.items())
        raise RecordsDoNotAlign(
            f"The owners' records are not the same set. Records per owner: {each}.",
            where=study,
            remedy="Check that the owners share one linkage secret and one form of record ids, and"
            " have the same records.",
        )
