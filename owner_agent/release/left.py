"""What a miner has of this owner beside what the ledger knows: no second loss may build on less.

A miner that has less, because it was restored from an older backup, is not wrong here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from owner_agent.release.client import Miner
from owner_agent.release.composition import UNKNOWN, planned_draws
from owner_agent.release.ledger import Draw, Entry, EntryState, Form
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.private_files import (
    WAYS_OUT,
    TokenStore,
)
from pramana_core.alike import first_few
from pramana_core.errors import (
    HistoryLost,
    TransportError,
    Unauthenticated,
)
from pramana_core.privacy import epsilon
from pramana_core.wire.privacy import StudyPrivacy
from pramana_core.wire.release_kinds import RANDOMIZED, SHARED_TREE
from pramana_core.wire.releases import Release

_NAMED = 10
_ROUNDING = 1e-9


def unknown(releases: Iterable[Release], entries: Iterable[Entry]) -> tuple[Release, ...]:
    """Return the releases that left without the ledger's knowing.

    A release is known by its digest: the miner's address may have changed since.
    """
    left = {entry.digest for entry in entries if entry.left}
    return tuple(release for release in releases if release.digest not in left)


def require_known(releases: Iterable[Release], entries: Iterable[Entry], miner: str) -> None:
    """Check that the ledger knows all that a miner has. Raises HistoryLost."""
    missing = unknown(releases, entries)
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


def entries_of(
    releases: Sequence[Release],
    known: Sequence[Entry],
    columns: Mapping[str, str],
    disclosure: StudyPrivacy | None,
    miner: str,
    now: datetime,
) -> tuple[Entry, ...]:
    """Return what the ledger is to say of releases that it does not know as left.

    Args:
        releases: the releases.
        known: the ledger's entries; one that was prepared for a release is used again.
        columns: the table's column of each variable, where that is known.
        disclosure: what the miner says that everything comes to. Where it counts releases
            under the same plan as one draw, so does the ledger; else each as a draw of its own.
        miner: its address.
        now: the time.
    """
    prepared = {entry.digest: entry for entry in known}
    once = disclosure is not None and _drawn_once(releases, disclosure)
    return tuple(
        replace(prepared[release.digest], state=_state(release), release_id=release.id)
        if release.digest in prepared
        else Entry(
            miner=miner,
            study=release.study,
            name=release.name,
            content=f"unknown {release.digest}",
            digest=release.digest,
            plan_digest=release.content_digest,
            records=release.records,
            parts=release.parts,
            state=_state(release),
            prepared=release.created,
            changed=now,
            release_id=release.id,
            draws=_draws(release, columns, once=once),
            kind=release.kind,
        )
        for release in releases
    )


def _state(release: Release) -> EntryState:
    return "sending" if release.state == "open" else release.state


def _draws(release: Release, columns: Mapping[str, str], *, once: bool) -> tuple[Draw, ...]:
    """Return a draw for each variable, under identities that no draw from now on has."""
    kind = release.release_kind
    content = kind.read(release.content)
    openly = kind.columns(content)
    # What follows no plan names columns; a variable of no column here may have been any.
    plan = kind.plan(content)
    unknown = "" if plan is None else UNKNOWN
    names = {name: columns.get(name, f"{unknown}{name}") for name in openly}
    lost = f"lost {release.id}"
    if plan is not None:
        identities = {
            b.name: f"lost {b.digest}" if once else f"{lost} {b.name}" for b in plan.blocks
        }
        return planned_draws(plan.blocks, names, identities)
    if release.kind == SHARED_TREE:
        bound = kind.epsilon(content)
        loss = math.inf if bound is None else bound
        return tuple(
            Draw(names[name], name, lost, loss, Form.OPEN_TREE if disclosure else Form.TREE)
            for name, disclosure in openly.items()
        )
    return tuple(
        Draw(
            names[name],
            name,
            f"told {name}" if disclosure else lost,
            math.inf,
            Form.OPEN if disclosure else Form.MASKED,
        )
        for name, disclosure in openly.items()
    )


def _drawn_once(releases: Iterable[Release], disclosure: StudyPrivacy) -> bool:
    """Whether the miner counts no column for more than its different blocks come to."""
    blocks: dict[str, dict[str, float]] = defaultdict(dict)
    for release in releases:
        if release.kind == RANDOMIZED:
            for block in release.release_kind.read(release.content).blocks:
                for name in block.names:
                    blocks[name][block.digest] = epsilon(block.channel)
    owner = {release.owner for release in releases}
    return all(
        column.amplification is None
        or column.amplification.to_amplification().epsilon
        <= sum(blocks[column.variable].values()) * (1 + _ROUNDING)
        for column in disclosure.columns
        if column.owner in owner and column.variable in blocks
    )


def asked_briefly(site: Site, environment: Environment) -> Miner:
    """Return a site's miner, which is asked once and not waited for. Raises Unauthenticated."""
    token = TokenStore(site.state).load(site.miner.study)
    briefly = environment.patience.brief
    return Miner.of(site, token, replace(environment, attempts=1), briefly)


def not_known_by_miner(
    site: Site, entries: Iterable[Entry], environment: Environment
) -> str | None:
    """Check that the ledger knows all that the site's miner has; say why if that is not known.

    Where the site has no miner, or has not joined its study, there is nobody to ask.

    Raises:
        HistoryLost: the miner has more.
    """
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
