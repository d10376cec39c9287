"""Columns of a table that are one secret under two names, told before anything leaves."""

from __future__ import annotations

from owner_agent.release.fingerprints import recognized, values_of
from owner_agent.release.ledger import Draw, Ledger
from owner_agent.report.losses import new_draws
from owner_agent.site.planning import PlannedSite
from owner_agent.site.site import Site
from owner_agent.state.keys import KEY_LENGTH, KeyStore
from owner_agent.table.encode import Encoded
from pramana_core.errors import KeyFileError


def lookalikes(site: Site, plan: PlannedSite, table: Encoded) -> tuple[str, ...]:
    """Return a sentence for each column that has the values of another one.

    The other is in the same plan, or left before under its name. For the owner's own eyes: that two
    columns agree is learned from the table. Nothing is said of a table with columns that could not
    be read, nor, without the draw key, of what left before.

    Raises:
        StoreCorrupt: the ledger cannot be read, or is lost.
    """
    draws = new_draws(plan)
    if not all(draw.variable in table.columns for draw in draws):
        return ()
    values = values_of(_draw_key(site), table.record_ids, table.columns, plan.columns)
    randomized = {draw.column: draw.randomized for draw in draws}
    found: dict[frozenset[str], str] = {}
    for draw in recognized(draws, values, Ledger(site.state).entries()):
        for other in draw.same_as:
            found.setdefault(frozenset({draw.column, other}), _told(draw, other, randomized))
    return tuple(found.values())


def _told(draw: Draw, other: str, randomized: dict[str, bool]) -> str:
    if other not in randomized:
        return (
            f"Column {draw.column!r} has the values of column {other!r} that left before under"
            " another name: they are one secret, and their losses add."
        )
    if draw.randomized and randomized[other]:
        return (
            f"Columns {draw.column!r} and {other!r} have the same values under two names: they are"
            " one secret, and their losses add. Withhold one of them, or protect both in one block."
        )
    hidden, public = (draw.column, other) if draw.randomized else (other, draw.column)
    return (
        f"Column {hidden!r} has the values of column {public!r}, which is not randomized: whoever"
        " sees the one has the other."
    )


def _draw_key(site: Site) -> bytes:
    """Return the draw key, or zeros, which no sample in a ledger was made with."""
    store = KeyStore(site.state)
    try:
        return store.read("draw") if store.path("draw").exists() else bytes(KEY_LENGTH)
    except KeyFileError:
        return bytes(KEY_LENGTH)
