"""Asking a site's miner in passing: once, and briefly, for what is of use where it answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from owner_agent.departures.ledger import Entry
from owner_agent.release.client import Miner
from owner_agent.release.left import require_known
from owner_agent.site.site import Site
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tokens import TokenStore
from shared.errors import TransportError, Unauthenticated


def asked_briefly(site: Site, surroundings: Surroundings) -> Miner:
    """Return a site's miner, which is asked once and not waited for. Raises Unauthenticated."""
    token = TokenStore(site.state).load(site.miner.study)
    briefly = surroundings.patience.brief
    return Miner.of(site, token, replace(surroundings, attempts=1), briefly)


def not_known_by_miner(
    site: Site, entries: Iterable[Entry], surroundings: Surroundings
) -> str | None:
    """Check that the ledger knows all that the site's miner has; say why if that is not known.

    Where the site has no miner, or has not joined its study, there is nobody to ask.

    Raises:
        HistoryLost: the miner has more.
    """
    if site.file.miner is None:
        return None
    try:
        with asked_briefly(site, surroundings) as miner:
            found = miner.releases(site.miner.study)
    except Unauthenticated:
        return None
    except TransportError as error:
        return error.message
    require_known(found, entries, miner.url)
    return None
