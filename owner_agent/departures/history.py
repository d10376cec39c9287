"""Whether the ledger is as young as what lies beside it: an older one, restored alone, is found.

The audit log has every step of every release, and the memory of reports has the releases that it
was made of. What is older than the ledger is no loss here: a memory that lacks a release is found
where that matters (see `corrections`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from owner_agent.departures.ledger import LEFT, NEW_EPOCH, PEER, Entry, Ledger, epoch_mark
from owner_agent.state.audit import AUDIT
from owner_agent.state.history import WAYS_OUT
from owner_agent.state.keys import KeyStore
from pramana_core.errors import HistoryLost

_STEP = "release_"


def known_entries(state: Path) -> tuple[Entry, ...]:
    """Return the ledger's entries, oldest first, before something leaves.

    Raises:
        HistoryLost: the ledger is gone, the audit log knows of more that left, or the draw key
            came here past the ledger.
        KeyFileError: the draw key is unsafe.
        StoreCorrupt: the ledger cannot be read.
    """
    ledger = Ledger(state)
    entries = ledger.entries()
    epoch, missing = beyond(state, entries)
    begun = {epoch_mark(beginning) for beginning in ledger.beginnings()}
    if missing or (epoch is not None and epoch not in begun):
        named = f"releases {', '.join(missing)}" if missing else "a new epoch"
        raise HistoryLost(
            f"The audit log has {named}, of which the ledger knows nothing: the ledger is older"
            " than the audit log.",
            where=str(state / AUDIT),
            remedy=WAYS_OUT,
        )
    keys = KeyStore(state)
    if (unknown := keys.unknown_draw) is not None:
        raise HistoryLost(
            f"The draw key here ({unknown}) was not made or imported with the ledger here: nobody"
            " knows what left by its draws.",
            where=str(keys.path("draw")),
            remedy=WAYS_OUT,
        )
    return entries


def beyond(state: Path, entries: Iterable[Entry]) -> tuple[str | None, tuple[str, ...]]:
    """Return the newest epoch of the audit log, and releases since that a ledger does not have.

    The log's lines are written after the ledger's: of a crash between the two it has less.
    """
    left = {(entry.study, entry.name) for entry in entries if entry.left}
    epoch: str | None = None
    steps: dict[tuple[Any, Any], str] = {}
    for told in _lines(state / AUDIT):
        action = str(told.get("action", ""))
        if action == NEW_EPOCH:
            epoch, steps = told.get("epoch"), {}
        elif action.startswith(_STEP):
            steps[told.get("study"), told.get("release")] = action.removeprefix(_STEP)
    missing = [one for one, state_ in steps.items() if state_ in LEFT and one not in left]
    return epoch, tuple(str(name) for _, name in missing)


def require_reported(study: str, reported: frozenset[str], entries: Sequence[Entry]) -> None:
    """Check that the ledger has the releases of which a study's reports are remembered.

    What was made for a peer is remembered before the ledger has it: with peers in the study, only
    that the ledger has anything of it is checked.

    Raises:
        HistoryLost: it does not.
    """
    mine = [entry for entry in entries if entry.study == study]
    lost = reported - {entry.content for entry in mine}
    if not lost or any(entry.miner.startswith(PEER) for entry in mine):
        return
    some = f"{len(lost)} releases" if len(lost) > 1 else "a release"
    raise HistoryLost(
        f"In study {study!r} the reports of {some} are remembered of which the ledger knows"
        " nothing: it is an older one.",
        where=study,
        remedy=WAYS_OUT,
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Return what the lines of the audit log say, one at a time: it becomes long."""
    if path.exists():
        with path.open("rb") as lines:
            yield from map(_told, lines)


def _told(line: bytes) -> dict[str, Any]:
    """Return what a line of the audit log says, if it is one of those that matter here."""
    if b'"action"' not in line:
        return {}
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
