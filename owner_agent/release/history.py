"""Checks before a release that the ledger lists all earlier releases.

The ledger is outdated if it lacks a release of the outbox, the memory of reports or the miner.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from owner_agent.release.client import Miner
from owner_agent.release.ledger import PEER, Entry, Ledger
from owner_agent.release.memory import load_memory, remembered_studies
from owner_agent.release.outbox import OUTBOX, may_have_left
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.state.ledger_file import WAYS_OUT
from owner_agent.state.tokens import TokenStore
from pramana_core.alike import first_few
from pramana_core.errors import HistoryLost, StoreCorrupt, TransportError, Unauthenticated
from pramana_core.wire.releases import Release

_NAMED = 10


def known_entries(state: Path) -> tuple[Entry, ...]:
    """Return all ledger entries, oldest first. Raises HistoryLost, KeyFileError, StoreCorrupt."""
    entries = Ledger(state).entries()
    if unlisted := unknown_in_outbox(state, entries):
        raise HistoryLost(
            f"The outbox has releases {', '.join(unlisted)}, which may have been sent but are "
            "not in the ledger. The ledger is older than the outbox.",
            where=str(state / OUTBOX),
            remedy=WAYS_OUT,
        )
    for study in remembered_studies(state):
        try:
            reported = load_memory(state, study).releases
        except StoreCorrupt:
            continue  # An action that needs the key reports this.
        _require_reported(study, reported, entries)
    keys = KeyStore(state)
    if (unknown := keys.unknown_draw) is not None:
        raise HistoryLost(
            f"The draw key ({unknown}) is not listed in this ledger. Therefore the ledger may "
            "lack releases that were drawn with the key.",
            where=str(keys.path("draw")),
            remedy=WAYS_OUT,
        )
    return entries


def unknown_in_outbox(state: Path, entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the releases in the outbox that may have been sent but are not in the ledger."""
    left = {entry.name for entry in entries if entry.left}
    return tuple(name for name in may_have_left(state / OUTBOX) if name not in left)


def _require_reported(study: str, reported: frozenset[str], entries: Sequence[Entry]) -> None:
    # Reports for a peer are remembered before the ledger lists them.
    mine = [entry for entry in entries if entry.study == study]
    lost = reported - {entry.content for entry in mine}
    if not lost or any(entry.miner.startswith(PEER) for entry in mine):
        return
    raise HistoryLost(
        f"The ledger lacks {len(lost)} releases of study {study!r} whose reports are stored "
        "here. The ledger is outdated.",
        where=study,
        remedy=WAYS_OUT,
    )


def unknown_to(entries: Iterable[Entry], releases: Iterable[Release]) -> tuple[Release, ...]:
    """Return a miner's `releases` that the ledger's `entries` do not list as sent, by digest."""
    left = {entry.digest for entry in entries if entry.left}
    return tuple(release for release in releases if release.digest not in left)


def require_known(releases: Iterable[Release], entries: Iterable[Entry], miner: str) -> None:
    """Check that the ledger lists all releases at a miner. Raises HistoryLost."""
    missing = unknown_to(entries, releases)
    if not missing:
        return
    named = first_few((f"{r.name} of {r.created:%Y-%m-%d}" for r in missing), _NAMED)
    raise HistoryLost(
        f"The miner {miner} has releases of this owner that are missing from the ledger"
        f" ({named}). Without them the agent could report the same people differently, and could "
        "not count the loss from the missing releases. Nothing was sent.",
        where=first_few((release.name for release in missing), _NAMED),
        remedy=WAYS_OUT,
    )


def brief_miner(site: Site, environment: Environment) -> Miner:
    """Return a client of the miner with one try and a short timeout. Raises Unauthenticated."""
    token = TokenStore(site.state).load(site.miner.study)
    briefly = environment.patience.brief
    return Miner.of(site, token, replace(environment, attempts=1), briefly)


def not_known_by_miner(
    site: Site, entries: Iterable[Entry], environment: Environment
) -> str | None:
    """Return why the miner could not confirm that the ledger is complete, or None if it did.

    Raises HistoryLost if the ledger lacks a release.
    """
    if site.file.miner is None:
        return None
    try:
        with brief_miner(site, environment) as miner:
            found = miner.releases(site.miner.study)
    except Unauthenticated:
        return None
    except TransportError as error:
        return error.message
    require_known(found, entries, miner.url)
    return None
