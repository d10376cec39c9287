"""Withdrawing a release: the miner uses it no more, and the ledger keeps what left."""

from __future__ import annotations

from owner_agent.release.client import Miner
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.lock import publishing_alone
from owner_agent.state.tokens import TokenStore
from pramana_core.alike import did_you_mean
from pramana_core.errors import NotFound, NotReady


def withdraw(site: Site, name: str, environment: Environment) -> Entry:
    """Ask the miner to use a release no more; what left stays in the ledger.

    Raises NotFound, NotReady, Refused or Unreachable.
    """
    with publishing_alone(site.state):
        ledger = Ledger(site.state)
        entry = ledger.find(site.miner.url, site.miner.study, name)
        if entry is None:
            made = [e.name for e in ledger.entries() if e.study == site.miner.study]
            raise NotFound(
                f"No release {name!r} was made for study {site.miner.study!r} at"
                f" {site.miner.url}{did_you_mean([name], made)}.",
                where=name,
                remedy="`owner-agent ledger` lists them.",
            )
        if entry.release_id is None:
            raise NotReady(
                f"The miner never confirmed release {name!r}; there is nothing to withdraw.",
                where=name,
            )
        token = TokenStore(site.state).load(site.miner.study)
        with Miner.of(site, token, environment) as miner:
            miner.withdraw(entry.release_id)
            ledger.mark(entry, "withdrawn", environment.now())
        return entry
