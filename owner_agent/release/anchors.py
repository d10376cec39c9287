"""The states of miners' audit logs that this owner has seen, and whether they go together.

After each publication the miner is asked for the state of its log, and the answer is kept. A miner
that has fewer lines later, or others, rewrote what it did. Owners can compare what they were told:
a miner that shows each of them another log is found out, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from owner_agent.release.client import Miner
from owner_agent.state.audit import noted
from owner_agent.state.private_files import private_directory, write_replacing
from owner_agent.state.surroundings import Surroundings
from pramana_core.audit.anchors import Anchor, contradiction, read_anchors, written
from pramana_core.audit.command import ANCHORS
from pramana_core.errors import OptionError, StorageFull, StoreCorrupt, TransportError


def remember(state: Path, miner: Miner, surroundings: Surroundings) -> str | None:
    """Ask a miner for the state of its audit log, and keep it.

    A miner that cannot tell it, or not now, has done nothing wrong: there is then nothing to keep.

    Returns:
        what is wrong: why it cannot be the log that it was before, or that there is no room to
        keep it; None if nothing is.

    Raises:
        StoreCorrupt: what was kept before cannot be read.
    """
    try:
        return _remembered(state, miner.url, miner.audit().to_anchor(), surroundings)
    except TransportError:
        return None
    except StorageFull as error:  # What was published stays published.
        return f"the state of the miner's audit log could not be kept: {error}"


def _remembered(state: Path, url: str, told: Anchor, surroundings: Surroundings) -> str | None:
    path = anchors_path(state, url)
    known = _kept(path) if path.exists() else ()
    if known and (known[-1].log, known[-1].entries, known[-1].head) == _state_of(told):
        return None
    *_, wrong = _findings((*known, told))
    if wrong is not None:
        with noted(state, surroundings.now(), "miner_log_rewritten", miner=url, why=wrong):
            _keep(path, (*known, told))
        return (
            f"the audit log of {url} is not the one it was: {wrong}. It may have been restored"
            " from a backup; ask whoever runs it. `owner-agent audit anchors` prints what it told,"
            " to be compared with what the other owners have."
        )
    _keep(path, (*known, told))
    return None


def anchors_path(state: Path, url: str) -> Path:
    """Return the file of what a miner told."""
    return state / ANCHORS / f"{re.sub('[^A-Za-z0-9.-]+', '_', url.partition('://')[2])}.jsonl"


def all_anchors(state: Path) -> Mapping[str, tuple[Anchor, ...]]:
    """Return what each miner told, oldest first, by the file's name. Raises StoreCorrupt."""
    return {path.stem: _kept(path) for path in sorted((state / ANCHORS).glob("*.jsonl"))}


def wrong_with(anchors: tuple[Anchor, ...]) -> str | None:
    """Return why states, in the order in which they were told, cannot be right, or None."""
    return next((why for why in _findings(anchors) if why is not None), None)


def _findings(anchors: Iterable[Anchor]) -> Iterator[str | None]:
    """Say of each state why it cannot be of the logs that were told of before it, or None.

    Several services may answer at one address, each with a log of its own: a state is held against
    the last of the same log. A log that nobody knew is found once.
    """
    latest: dict[str | None, Anchor] = {}
    before: Anchor | None = None
    for told in anchors:
        known = latest.get(told.log, before)
        yield None if known is None else contradiction(known, told)
        latest[told.log] = before = told


def require_unbroken(seen: Mapping[str, tuple[Anchor, ...]]) -> None:
    """Check that what each miner told can be of one log. Raises StoreCorrupt."""
    for miner, known in seen.items():
        if (why := wrong_with(known)) is not None:
            raise StoreCorrupt(
                f"The audit log of {miner} is not the one it was: {why}.",
                where=miner,
                remedy="Ask whoever runs it whether it was restored from a backup, and compare"
                " these states with those of the other owners.",
            )


def _state_of(anchor: Anchor) -> tuple[str | None, int, str]:
    return anchor.log, anchor.entries, anchor.head


def _keep(path: Path, anchors: tuple[Anchor, ...]) -> None:
    private_directory(path.parent)
    write_replacing(path, written(anchors).encode())


def _kept(path: Path) -> tuple[Anchor, ...]:
    try:
        return read_anchors(path)
    except OptionError as error:
        raise StoreCorrupt(
            f"{path} is not what was kept of a miner's audit log.",
            where=str(path),
            remedy="Restore it from your backup, or remove it: what the miner does from now on is"
            " then remembered anew.",
        ) from error
