"""The way out for an agent that lost what it knew of its releases, and has no backup of it.

Nothing that was drawn before is drawn again: everything from here on is drawn in another epoch,
independently, so that no two reports of a record by one draw can be compared. What is known to have
left is written down, and its loss adds to all that follows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from owner_agent.randomize.draws import random_epoch
from owner_agent.release.client import Miner
from owner_agent.release.composition import spent
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.release.left import entries_of, unknown
from owner_agent.release.memory import load_memory, remembered_studies, set_apart
from owner_agent.release.refusals import beyond, known_entries, require_reported
from owner_agent.site.planning import planned
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.history import knows_draw_key
from owner_agent.state.keys import KeyStore, fingerprint
from owner_agent.state.lock import publishing_alone
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import (
    HistoryLost,
    InputError,
    OptionError,
    Refused,
    StoreCorrupt,
    Unauthenticated,
)


@dataclass(frozen=True)
class NewEpoch:
    """What a new epoch begins with.

    Attributes:
        counted: releases that the miner has and the ledger did not know as left.
        losses: what all that is known to have left has cost each column, as composed epsilon.
        uncounted: names of releases that only the audit log has: what they cost is not known.
        asked: whether the miner was asked; it is not where the site has no token.
    """

    counted: tuple[Entry, ...]
    losses: dict[str, float]
    uncounted: tuple[str, ...]
    asked: bool


def begin_new_epoch(site: Site, environment: Environment, *, anyway: bool = False) -> NewEpoch:
    """Count what the miner has as left, and have everything from here on drawn anew.

    Args:
        site: the site.
        environment: the time, and how the miner is reached.
        anyway: whether it is wanted although nothing is missing.

    Raises:
        OptionError: nothing is missing, and it is not wanted all the same.
        Conflict: a publication of this site is running.
        StoreCorrupt: there is a ledger that cannot be read.
        Refused, Unreachable: the miner said no, or nothing; nothing was changed.
    """
    state = site.state
    with publishing_alone(state):
        ledger = Ledger(state)
        known: tuple[Entry, ...] = ()
        try:
            known, lost = known_entries(state), False
        except HistoryLost:
            lost = True
            with suppress(HistoryLost):
                known = ledger.entries()
        lost = lost or _remembers_more(state, known)
        asked = _asked(site, environment, known)
        counted = asked or ()
        if not (lost or counted or anyway):
            raise OptionError(
                "Nothing is missing here: the ledger has all that the audit log and the miner have."
                " In a new epoch every column that left would be drawn anew when it leaves again,"
                " and cost its whole epsilon once more, for good.",
                where="yes",
                remedy="Say --yes if that is wanted: where a peer remembers a session that is not"
                " in the ledger, it is.",
            )
        _, missing = beyond(state, [*known, *counted])
        epoch = random_epoch(environment.random_bytes)
        ledger.begin_anew(epoch, counted, environment.now())
        # From here on nothing reads what was remembered: all is drawn in the new epoch.
        set_apart(state, environment.now())
        KeyStore(state).know_draw()
        return NewEpoch(counted, spent(ledger.entries()), missing, asked is not None)


def import_draw_key(
    store: KeyStore, secret: bytes, environment: Environment, *, anyway: bool = False
) -> bool:
    """Store a draw key; one that may have been used elsewhere draws nothing as it drew there.

    The key is there before the epoch begins, and the ledger knows it last: until then it draws
    nothing, and the same import goes on from wherever it was interrupted.

    Args:
        store: where it goes.
        secret: the key.
        environment: the time, and random bytes.
        anyway: whether it is wanted although what left will be drawn anew.

    Returns:
        Whether an epoch was begun: not if the ledger knows the key, which restores a lost one.

    Raises:
        KeyFileError: the key is weak, or there is another one.
        OptionError: an epoch would begin that costs something, and it is not wanted all the same.
        Conflict: a publication of this site is running.
        HistoryLost, StoreCorrupt: the ledger is gone, or cannot be read.
        StorageFull: there is no room; the same import again goes on.
    """
    ledger, mark = Ledger(store.state), fingerprint("draw", secret)
    with publishing_alone(store.state):
        ledger.begin()
        interrupted = store.unknown_draw == mark
        if not interrupted and (store.path("draw").exists() or knows_draw_key(store.state, mark)):
            store.add("draw", secret)
            return False
        if not anyway and any(entry.left for entry in ledger.entries()):
            raise OptionError(
                "The ledger does not know this draw key, which may have drawn elsewhere. With it"
                " a new epoch begins: every column that left is drawn anew when it leaves again,"
                " and costs its whole epsilon once more, for good. Nothing was stored.",
                where="yes",
                remedy="Import the key that drew what left, from your backup; or say --yes.",
            )
        if not interrupted:
            store.add("draw", secret, known=False)
        ledger.begin_anew(random_epoch(environment.random_bytes), (), environment.now())
        store.know_draw()
        return True


def _remembers_more(state: Path, known: tuple[Entry, ...]) -> bool:
    """Whether reports of releases are remembered that the ledger does not have.

    So it is of an older ledger, and after a crash between beginning anew and setting them apart.
    """
    for study in remembered_studies(state):
        try:
            require_reported(study, load_memory(state, study).releases, known)
        except HistoryLost:
            return True
        except StoreCorrupt:
            continue  # What cannot be read says nothing here; whoever needs it will be refused.
    return False


def _asked(
    site: Site, environment: Environment, known: tuple[Entry, ...]
) -> tuple[Entry, ...] | None:
    """Return what the miner has and the ledger does not know; None if there is nobody to ask."""
    if site.file.miner is None:
        return None
    try:
        token = TokenStore(site.state).load(site.miner.study)
    except Unauthenticated:
        return None
    columns: dict[str, str] = {}
    with suppress(InputError):  # A site file without variables still has releases.
        columns = dict(planned(site).columns)
    with Miner.of(site, token, environment) as miner:
        found = unknown(miner.releases(site.miner.study), known)
        told = None
        with suppress(Refused):  # Each release counts by itself then.
            told = miner.privacy(site.miner.study)
        return entries_of(found, known, columns, told, miner.url, environment.now())
