"""The memory of releases that left without being remembered, from their folders in the outbox.

Releases made before there was a memory are known in this way, and so are those that a restored
backup does not have yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from owner_agent.corrections.memory import Memory
from owner_agent.departures.ledger import Entry
from owner_agent.departures.outbox import PreparedRelease, reopen
from owner_agent.randomize.draws import draw_id
from owner_agent.randomize.reports import Randomized
from owner_agent.state.keys import Keys as Secrets
from pramana_core.errors import PramanaError
from pramana_core.wire.parts import RecordSchema, decode_part, joined_parts

COUNTED_EPOCHS = 64
"""Earlier versions counted epochs, to fewer than this, and the ledger did not have them."""


def rebuilt(
    memory: Memory, outbox: Path, missing: Sequence[Entry], secrets: Secrets, study: str
) -> Memory:
    """Return a memory with those of some releases, oldest first, that the outbox still has.

    A release that is not there whole, as it left, is passed over.
    """
    for entry in missing:
        try:
            prepared = reopen(outbox, entry.name)
            made = None if prepared is None else _read(prepared)
        except PramanaError:
            continue
        if made is not None and made.digest == entry.content:
            memory = _added(memory, made, entry, secrets, study)
    return memory


def _read(prepared: PreparedRelease) -> Randomized:
    plan = prepared.manifest.content.to_plan()
    schema = RecordSchema.of(plan)
    parts = [decode_part(schema, prepared.part(n)) for n in range(len(prepared.manifest.parts))]
    return Randomized(plan, *joined_parts(schema, parts))


def _added(memory: Memory, made: Randomized, entry: Entry, secrets: Secrets, study: str) -> Memory:
    draws = {draw.variable: draw for draw in entry.draws}
    reports = {}
    for block in made.plan.blocks:
        draw = draws[block.names[0]]
        if not draw.randomized:
            continue
        # The margin of a joint draw, sent to a peer, is not the whole of what was drawn.
        epochs = (draw.epoch, *range(COUNTED_EPOCHS))
        if draw.draw_id not in (draw_id(secrets, study, block, epoch) for epoch in epochs):
            return memory
        reports[draw.draw_id] = {name: made.columns[name] for name in block.names}
    grown = memory.with_reports(made.keys, reports, replacing=True)
    return grown.with_release(entry.content)
