"""Sending what was made as a whole, a masked table or a tree: once, and safely after a crash.

The order is that of randomized releases: whole in the outbox, its columns in the ledger, and only
then on its way. What left before is not made another time: what the outbox holds is sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from owner_agent.departures.ledger import Draw, Entry, Ledger
from owner_agent.departures.outbox import OUTBOX, Outgoing, prepare, reopen
from owner_agent.release.client import Miner
from owner_agent.release.delivery import Delivery, withdrawn
from owner_agent.release.left import remember
from owner_agent.release.publish import entered
from owner_agent.site.site import Site
from owner_agent.state.surroundings import Surroundings
from pramana_core.progress import Progress


@dataclass(frozen=True, eq=False)
class Departure:
    """What is to leave, and what the ledger is to say of it.

    Attributes:
        identity: of its content: the same content leaves once.
        outgoing: makes what leaves; called only if the outbox does not hold it.
        part_records: the most records in a part.
        draws: its columns, as the ledger writes them.
        section: the section of the site file that it is of.
        command: what repeats the publication.
        written: further fields of the ledger's entry.
    """

    identity: str
    outgoing: Callable[[], Outgoing]
    part_records: int
    draws: tuple[Draw, ...]
    section: str
    command: str
    written: dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """A sealed release; `already` if nothing had to be sent.

    `asked` is false where the miner could not be asked whether it still has the release, because
    its folder was removed from the outbox.
    """

    entry: Entry
    release_id: str
    already: bool
    asked: bool = True


def send_once(
    site: Site, token: str, surroundings: Surroundings, departure: Departure, on_part: Progress
) -> Sent:
    """Send what is to leave, or continue where an earlier attempt ended.

    Raises:
        StoreCorrupt: the ledger or the outbox cannot be read; HistoryLost if the miner has more
            of this owner than the ledger.
        ReleaseNotOpen: this release was withdrawn.
        StudyPlanNotFollowed: the study's plan randomizes one of the columns.
        Refused, Unreachable: the miner said no, or nothing; the release is safe in the outbox.
    """
    ledger, outbox = Ledger(site.state), site.state / OUTBOX
    found = ledger.find_content(site.miner.url, site.miner.study, departure.identity)
    if found is not None and found.state == "withdrawn":
        raise withdrawn(found, f"on {found.changed:%Y-%m-%d}")
    prepared = None if found is None else reopen(outbox, found.name)
    if prepared is None and found is not None and found.state == "sealed":
        return Sent(found, str(found.release_id), already=True, asked=False)
    if prepared is None:
        ledger.begin()
        prepared = prepare(outbox, departure.outgoing(), departure.part_records)
    now, manifest = surroundings.now(), prepared.manifest
    new = Entry(
        miner=site.miner.url,
        study=site.miner.study,
        name=manifest.name,
        content=departure.identity,
        digest=manifest.digest,
        plan_digest=manifest.content.digest,
        parts=len(manifest.parts),
        state="prepared",
        prepared=now,
        changed=now,
        release_id=None,
        draws=departure.draws,
        kind=manifest.kind,
        **{"records": manifest.records, **departure.written},
    )
    entry = entered(ledger, new, outbox)
    columns: Sequence[str] = [draw.column for draw in departure.draws]
    with Miner.of(site, token, surroundings) as miner:
        delivery = Delivery(miner, prepared, entry, ledger, surroundings.now, departure.command)
        # A miner that is not there hears of nothing, and nothing is written down for it.
        delivery.require_known()
        delivery.require_beside_plan(columns, departure.section)
        release = delivery.announce()
        already = release.state == entry.state == "sealed" and release.id == entry.release_id
        if not already:
            release = delivery.complete(release, on_part)
        remember(site.state, miner, surroundings)
    return Sent(entry, release.id, already=already)
