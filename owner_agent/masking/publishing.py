"""Publishing masked records: written down, reported on, sent, sealed; safe to repeat after a crash.

The order is that of randomized releases: whole in the outbox, its columns in the ledger, and only
then on its way. A table that was masked before is not masked another time: what the outbox holds of
it is sent again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from owner_agent.departures.fingerprints import fingerprint_of, recognized
from owner_agent.departures.ledger import Draw, Entry
from owner_agent.departures.refusals import known_entries, refuse_conflicts, sketch_of
from owner_agent.masking.masking import Chosen, choose, masked_copies, outgoing
from owner_agent.release.options import PublishOptions
from owner_agent.release.sending import Departure, Sent, send_once
from owner_agent.site.site import Site
from owner_agent.state.keys import KeyStore
from owner_agent.state.lock import publishing_alone
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tokens import TokenStore
from pramana_core.mask import Masked
from pramana_core.progress import StagedProgress

COMMAND = "owner-agent mask --publish"


@dataclass(frozen=True, eq=False)
class MaskedNow:
    """A table masked, and what the ledger says of its columns; nothing of it has left.

    Attributes:
        chosen: the table and how it is masked.
        copies: the masked copies.
        draws: the columns, with those that have the same values.
        entries: the ledger's.
    """

    chosen: Chosen
    copies: tuple[Masked, ...]
    draws: tuple[Draw, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class MaskOutcome:
    """A sealed masked release; `already` if nothing had to be sent.

    `asked` is false where the miner could not be asked whether it still has the release, because
    its folder was removed from the outbox.
    """

    name: str
    release_id: str
    records: int
    dropped: int
    parts: int
    digest: str
    method: str
    already: bool
    asked: bool = True


def mask_table(site: Site, watch: StagedProgress) -> MaskedNow:
    """Mask a site's table, for the owner's own eyes.

    Raises:
        InputError: the site file or the table is wrong, or cannot be masked so.
        KeyFileError: a secret is absent or unsafe.
        StoreCorrupt: the ledger cannot be read.
    """
    secrets = KeyStore(site.state).load()
    entries = known_entries(site.state)
    chosen = choose(site, secrets, watch)
    draws = recognized(chosen.draws, chosen.values(), entries)
    return MaskedNow(chosen, masked_copies(chosen, watch), draws, entries)


def publish_masked(
    site: Site,
    surroundings: Surroundings,
    options: PublishOptions,
    watch: StagedProgress = lambda _stage, _done, _total: None,
    show: Callable[[MaskedNow], object] = lambda _made: None,
) -> MaskOutcome:
    """Publish a site's masked columns, or continue where an earlier attempt ended.

    Args:
        site: the site.
        surroundings: how the miner is reached.
        options: the size of parts, and whether an added loss is accepted.
        watch: told of the progress.
        show: called with what is about to leave, before anything of it is written or sent.

    Raises:
        InputError: the site file or the table is wrong; PlanConflict if a column left before in
            another form.
        KeyFileError: a secret is absent or unsafe.
        StoreCorrupt: the ledger or the outbox cannot be read.
        Unauthenticated: the site has not joined the study.
        Conflict: another publication of this site is running.
        ReleaseNotOpen: this release was withdrawn.
        StudyPlanNotFollowed: the study's plan randomizes one of the columns.
        LinkageDiffers: other owners have another linkage secret; nothing was sent.
        Refused, Unreachable: the miner said no, or nothing; the release is safe in the outbox.
    """
    with publishing_alone(site.state):
        token = TokenStore(site.state).load(site.miner.study)
        made = mask_table(site, watch)
        if not options.accept_added_loss:
            refuse_conflicts(made.draws, made.entries)
        show(made)
        linkage = KeyStore(site.state).linkage_fingerprint(site.miner.study)
        departure = Departure(
            identity=made.chosen.identity,
            outgoing=lambda: replace(outgoing(made.chosen, made.copies), linkage=linkage),
            part_records=options.part_records,
            draws=made.draws,
            section="mask",
            command=COMMAND,
            written=_written(made),
        )
        return _outcome(
            send_once(site, token, surroundings, departure, partial(watch, "parts")), made
        )


def _written(made: MaskedNow) -> dict[str, Any]:
    """Return what the ledger's entry says of masked records besides what all releases have."""
    columns = [draw.column for draw in made.draws]
    return {
        "sketch": sketch_of(made.chosen.keys),
        "fingerprint": fingerprint_of(made.chosen.values(), columns),
        "method": made.chosen.choice.method.name,
    }


def _outcome(sent: Sent, made: MaskedNow) -> MaskOutcome:
    return MaskOutcome(
        sent.entry.name,
        sent.release_id,
        sent.entry.records,
        made.chosen.table.dropped,
        sent.entry.parts,
        sent.entry.digest,
        made.chosen.choice.method.name,
        sent.already,
        sent.asked,
    )
