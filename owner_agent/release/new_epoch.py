"""Starting a new epoch, after records of releases were lost or to randomize everything again.

Earlier releases that are still known are entered into the ledger. Their loss adds to the loss from
later releases.
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
    """A new epoch: the missing releases now `counted`, and the columns' total `losses`.

    `uncounted` lists outbox folders with an unknown loss. `asked` is true if the miner replied.
    """

    counted: tuple[Entry, ...]
    losses: dict[str, float]
    uncounted: tuple[str, ...]
    asked: bool


def begin_new_epoch(site: Site, environment: Environment, *, anyway: bool = False) -> NewEpoch:
    """Enter missing releases into the ledger and start an epoch.

    If no release is missing, start one only if `anyway` is true. Raises OptionError, Conflict,
    StoreCorrupt, Refused or Unreachable.
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
                "The ledger already lists all releases in the outbox and at the miner. In a new "
                "epoch, each column that is published again would be randomized again, which "
                "permanently adds the column's whole epsilon.",
                where="yes",
                remedy="Confirm with --yes to begin a new epoch regardless.",
            )
        missing = unknown_in_outbox(state, [*known, *counted])
        ledger.begin_anew(random_epoch(environment.random_bytes), counted, now)
        # The new epoch randomizes everything again, so memory and outbox are no longer read.
        archive_outbox_and_memory(state, now)
        KeyStore(state).know_draw()
        return NewEpoch(counted, spent(ledger.entries()), missing, found is not None)


def archive_outbox_and_memory(state: Path, now: datetime) -> None:
    """Rename the memory of reports and the outbox, because a new epoch repeats no earlier draw."""
    for name in (FOLDER, OUTBOX):
        if (folder := state / name).exists():
            folder.rename(state / f"{name}-until-{now:%Y%m%dT%H%M%S%f}")


def _at_miner(site: Site, environment: Environment) -> tuple[Release, ...] | None:
    if site.file.miner is None:
        return None
    try:
        token = TokenStore(site.state).load(site.miner.study)
    except Unauthenticated:
        return None
    with Miner.of(site, token, environment) as miner:
        return miner.releases(site.miner.study)


def _in_outbox(state: Path, known: Sequence[Entry]) -> list[ReleaseCreate]:
    found = []
    for name in unknown_in_outbox(state, known):
        with suppress(StoreCorrupt):  # It remains uncounted, and is listed.
            if (prepared := reopen(state / OUTBOX, name)) is not None:
                found.append(prepared.manifest)
    return found


def _counted(
    site: Site,
    releases: Sequence[Release] | Sequence[ReleaseCreate],
    known: Sequence[Entry],
    now: datetime,
) -> tuple[Entry, ...]:
    """Return new ledger entries for those `releases` that the ledger does not list as sent."""
    # Each counts as a separate draw, even if two repeat the same draws: an upper bound.
    columns: Mapping[str, str] = {}
    with suppress(InputError):  # A site file without variables may have earlier releases.
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
    """Return a draw for each variable; its identity differs from that of any later draw."""
    kind = release.release_kind
    content = kind.read(release.content)
    plan = kind.plan(content)
    # Releases without a plan name columns; a variable of unknown column may be any column.
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
