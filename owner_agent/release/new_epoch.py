"""A new epoch: for an agent that lost its memory, or a custodian who wants everything drawn anew.

What is known to have left is written down, and its loss adds to all that follows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from owner_agent.randomize.draws import random_epoch
from owner_agent.release.client import Miner
from owner_agent.release.composition import UNKNOWN, planned_draws, spent
from owner_agent.release.history import known_entries, unknown_in_outbox, unknown_to
from owner_agent.release.ledger import Draw, Entry, EntryState, Form, Ledger
from owner_agent.release.memory import FOLDER
from owner_agent.release.outbox import OUTBOX, reopen
from owner_agent.site.planning import planned
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from owner_agent.state.lock import publishing_alone
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import HistoryLost, InputError, OptionError, StoreCorrupt, Unauthenticated
from pramana_core.wire.release_kinds import SHARED_TREE
from pramana_core.wire.releases import Release, ReleaseCreate


@dataclass(frozen=True)
class NewEpoch:
    """The start of a new epoch: releases `counted` now as left, and the columns' `losses`.

    The loss of `uncounted` folders of the outbox is not known; `asked`: the miner was.
    """

    counted: tuple[Entry, ...]
    losses: dict[str, float]
    uncounted: tuple[str, ...]
    asked: bool


def begin_new_epoch(site: Site, environment: Environment, *, anyway: bool = False) -> NewEpoch:
    """Count what the miner has as left, and draw all anew; `anyway`: also if nothing is missing.

    Raises OptionError, Conflict, StoreCorrupt, Refused or Unreachable.
    """
    state, now = site.state, environment.now()
    with publishing_alone(state):
        ledger = Ledger(state)
        known: tuple[Entry, ...] = ()
        try:
            known, lost = known_entries(state), False
        except HistoryLost:
            lost = True
            with suppress(HistoryLost):
                known = ledger.entries()
        found = _at_miner(site, environment)
        counted = _counted(site, unknown_to(known, found or ()), known, now)
        counted += _counted(site, _in_outbox(state, (*known, *counted)), known, now)
        if not (lost or counted or anyway):
            raise OptionError(
                "Nothing is missing here: the ledger has all that the outbox and the miner have."
                " In a new epoch every column that left would be drawn anew when it leaves again,"
                " and cost its whole epsilon once more, for good.",
                where="yes",
                remedy="Say --yes if that is wanted.",
            )
        missing = unknown_in_outbox(state, [*known, *counted])
        ledger.begin_anew(random_epoch(environment.random_bytes), counted, now)
        # From here on nothing reads what was remembered: all is drawn in the new epoch.
        set_apart(state, now)
        KeyStore(state).know_draw()
        return NewEpoch(counted, spent(ledger.entries()), missing, found is not None)


def set_apart(state: Path, now: datetime) -> None:
    """Rename memory and outbox: in a new epoch nothing is drawn as before."""
    for name in (FOLDER, OUTBOX):
        if (folder := state / name).exists():
            folder.rename(state / f"{name}-until-{now:%Y%m%dT%H%M%S%f}")


def _at_miner(site: Site, environment: Environment) -> tuple[Release, ...] | None:
    """Return the miner's releases of this owner; None without miner or token."""
    if site.file.miner is None:
        return None
    try:
        token = TokenStore(site.state).load(site.miner.study)
    except Unauthenticated:
        return None
    with Miner.of(site, token, environment) as miner:
        return miner.releases(site.miner.study)


def _in_outbox(state: Path, known: Sequence[Entry]) -> list[ReleaseCreate]:
    """Return the uncounted releases of the outbox that may have left."""
    found = []
    for name in unknown_in_outbox(state, known):
        with suppress(StoreCorrupt):  # It stays uncounted, and is named.
            if (prepared := reopen(state / OUTBOX, name)) is not None:
                found.append(prepared.manifest)
    return found


def _counted(
    site: Site,
    releases: Sequence[Release] | Sequence[ReleaseCreate],
    known: Sequence[Entry],
    now: datetime,
) -> tuple[Entry, ...]:
    """Return the ledger's new entries of releases that it does not have as left."""
    # Each counts as a draw of its own, also where two repeat the same draws: an upper bound.
    columns: Mapping[str, str] = {}
    with suppress(InputError):  # A site file without variables still has releases.
        columns = planned(site).columns
    section = site.file.miner or site.file.peer
    prepared = {entry.digest: entry for entry in known}
    entries = []
    for one in releases:
        there = one if isinstance(one, Release) else None
        state: EntryState = "sending" if there is None or there.state == "open" else there.state
        identity = None if there is None else there.id
        if one.digest in prepared:
            entries.append(replace(prepared[one.digest], state=state, release_id=identity))
            continue
        made = Entry(
            miner="" if site.file.miner is None else site.file.miner.url,
            study="" if section is None else section.study,
            name=one.name,
            content=f"unknown {one.digest}",
            digest=one.digest,
            plan_digest=one.release_kind.read(one.content).digest,
            records=one.records,
            parts=one.parts if isinstance(one.parts, int) else len(one.parts),
            state=state,
            prepared=now if there is None else there.created,
            changed=now,
            release_id=identity,
            draws=_draws(one, columns),
            kind=one.kind,
        )
        entries.append(made)
    return tuple(entries)


def _draws(release: Release | ReleaseCreate, columns: Mapping[str, str]) -> tuple[Draw, ...]:
    """Return a draw for each variable, with identities that no later draw has."""
    kind = release.release_kind
    content = kind.read(release.content)
    plan = kind.plan(content)
    # What follows no plan names columns; a variable of no column here may have been any.
    unknown = "" if plan is None else UNKNOWN
    openly = kind.columns(content)
    names = {name: columns.get(name, f"{unknown}{name}") for name in openly}
    lost = f"lost {release.digest}"
    if plan is not None:
        return planned_draws(plan.blocks, names, {b.name: f"{lost} {b.name}" for b in plan.blocks})
    if release.kind == SHARED_TREE:
        bound, forms = kind.epsilon(content), (Form.TREE, Form.OPEN_TREE)
    else:
        bound, forms = None, (Form.MASKED, Form.OPEN)
    loss = math.inf if bound is None else bound
    return tuple(
        Draw(
            names[name],
            name,
            f"told {name}" if forms[bool(told)] is Form.OPEN else lost,
            loss,
            forms[bool(told)],
        )
        for name, told in openly.items()
    )
