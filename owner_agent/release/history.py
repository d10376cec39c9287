"""Whether the ledger knows all that left, before anything more leaves.

An older ledger is found by the outbox, by the memory of reports, and by what the miner has.
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
    """Return the ledger's entries, oldest first. Raises HistoryLost, KeyFileError, StoreCorrupt."""
    entries = Ledger(state).entries()
    if unsaid := unknown_in_outbox(state, entries):
        raise HistoryLost(
            f"The outbox has releases {', '.join(unsaid)}, which may have left and of which the"
            " ledger knows nothing: the ledger is older than the outbox.",
            where=str(state / OUTBOX),
            remedy=WAYS_OUT,
        )
    for study in remembered_studies(state):
        try:
            reported = load_memory(state, study).releases
        except StoreCorrupt:
            continue  # Whatever needs it is refused there.
        _require_reported(study, reported, entries)
    keys = KeyStore(state)
    if (unknown := keys.unknown_draw) is not None:
        raise HistoryLost(
            f"The draw key here ({unknown}) was not made with the ledger here: nobody knows what"
            " left by its draws.",
            where=str(keys.path("draw")),
            remedy=WAYS_OUT,
        )
    return entries


def unknown_in_outbox(state: Path, entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the releases of the outbox that may have left and that a ledger does not have."""
    left = {entry.name for entry in entries if entry.left}
    return tuple(name for name in may_have_left(state / OUTBOX) if name not in left)


def _require_reported(study: str, reported: frozenset[str], entries: Sequence[Entry]) -> None:
    """Check that the ledger knows the releases whose reports are remembered. Raises HistoryLost."""
    # What was made for a peer is remembered before the ledger has it.
    mine = [entry for entry in entries if entry.study == study]
    lost = reported - {entry.content for entry in mine}
    if not lost or any(entry.miner.startswith(PEER) for entry in mine):
        return
    raise HistoryLost(
        f"In study {study!r} reports of {len(lost)} releases are remembered that the ledger does"
        " not know: the ledger is an older one.",
        where=study,
        remedy=WAYS_OUT,
    )


def unknown_to(entries: Iterable[Entry], releases: Iterable[Release]) -> tuple[Release, ...]:
    """Return the releases, by digest, that left without the ledger's knowing."""
    left = {entry.digest for entry in entries if entry.left}
    return tuple(release for release in releases if release.digest not in left)


def require_known(releases: Iterable[Release], entries: Iterable[Entry], miner: str) -> None:
    """Check that the ledger knows all that a miner has. Raises HistoryLost."""
    missing = unknown_to(entries, releases)
    if not missing:
        return
    named = first_few((f"{r.name} of {r.created:%Y-%m-%d}" for r in missing), _NAMED)
    raise HistoryLost(
        f"The miner {miner} has releases of this owner of which the ledger knows nothing"
        f" ({named}). The agent does not know what they reported: it could report people"
        " differently now, and would not count what these releases cost. Nothing was sent.",
        where=first_few((release.name for release in missing), _NAMED),
        remedy=WAYS_OUT,
    )


def asked_briefly(site: Site, environment: Environment) -> Miner:
    """Return a site's miner, which is asked once and not waited for. Raises Unauthenticated."""
    token = TokenStore(site.state).load(site.miner.study)
    briefly = environment.patience.brief
    return Miner.of(site, token, replace(environment, attempts=1), briefly)


def not_known_by_miner(
    site: Site, entries: Iterable[Entry], environment: Environment
) -> str | None:
    """Say why it is not known that the ledger has all of the miner's; None. Raises HistoryLost."""
    if site.file.miner is None:
        return None
    try:
        with asked_briefly(site, environment) as miner:
            found = miner.releases(site.miner.study)
    except Unauthenticated:
        return None
    except TransportError as error:
        return error.message
    require_known(found, entries, miner.url)
    return None
