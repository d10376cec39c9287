"""What everything that left has cost together, and what must not leave as well.

The loss of a secret is the sum of the epsilons of its distinct draws: sending the same draws of the
same records again reveals nothing new. Columns and variables that share a name in any release are
one secret, however either was renamed in between; and so are columns that had the same values when
one of them left, whatever their names (see `recognition`).

The sums hold for corrected records too: a record keeps its report whatever its value becomes, or
all records are drawn anew, which is a draw of its own here (see `corrections`). Releases made
before reports were remembered drew corrected values anew; of those the sums say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from owner_agent.departures.ledger import Draw, Entry
from shared.errors import PlanConflict
from shared.plan import Block
from shared.privacy import epsilon


def planned_draws(
    blocks: Iterable[Block],
    columns: Mapping[str, str],
    identities: Mapping[str, str],
    population: Callable[[str], str] = lambda _draw_id: "",
) -> tuple[Draw, ...]:
    """Return what sending columns costs each of them, as the ledger writes it.

    A margin of a joint draw counts with the epsilon of the whole draw: the draw is the same one.

    Args:
        blocks: the blocks, as they are drawn.
        columns: the column of each variable that is sent.
        identities: the identity of each block's draws, by the block's name.
        population: names the population the records are of, by the identity of a draw.
    """
    return tuple(
        Draw(
            column=columns[name],
            variable=name,
            draw_id=identities[block.name],
            epsilon=loss,
            randomized=not block.channel.is_identity,
            population="" if block.channel.is_identity else population(identities[block.name]),
        )
        for block, loss in ((block, epsilon(block.channel)) for block in blocks)
        for name in block.names
        if name in columns
    )


def losses(draws: Iterable[Draw], beside: Iterable[Draw] = ()) -> dict[str, float]:
    """Return the composed epsilon of each column's secret: the sum over its distinct draws.

    Unrandomized columns have an infinite one.

    Args:
        draws: what is added up.
        beside: further draws, which cost nothing here but join columns by their variables.
    """
    counted, all_draws = list(draws), [*draws, *beside]
    secret = _secret_of_column(all_draws)
    distinct = {(secret[d.column], *d.identity): d.epsilon for d in counted}
    composed = dict.fromkeys(secret.values(), 0.0)
    for (name, *_), loss in distinct.items():
        composed[name] += loss
    return {draw.column: composed[secret[draw.column]] for draw in all_draws}


def spent(entries: Iterable[Entry]) -> dict[str, float]:
    """Return the composed epsilon of each column over everything that may have left."""
    return losses(_left(entries))


def renamed(entries: Iterable[Entry]) -> dict[str, tuple[str, ...]]:
    """Return the columns that left with the values of others, and these others."""
    found: dict[str, set[str]] = {}
    for draw in _left(entries):
        if draw.same_as:
            found.setdefault(draw.column, set()).update(draw.same_as)
    return {column: tuple(sorted(others)) for column, others in found.items()}


def conflicting(planned: Sequence[Draw], entries: Iterable[Entry]) -> tuple[Draw, ...]:
    """Return the draws that would report a secret anew, differently from what left before.

    A column that is public in both releases is not randomized again, whatever its categories. Noise
    on counts reports no record, so that its loss adds up and is in conflict with nothing.
    """
    left = [draw for draw in _left(entries) if not draw.is_noise]
    secret = _secret_of_column([*left, *planned])
    return tuple(
        draw
        for draw in planned
        if (before := [old for old in left if secret[old.column] == secret[draw.column]])
        and all(old.identity != draw.identity for old in before)
        and any(old.randomized or draw.randomized for old in before)
    )


def refuse_conflicts(
    draws: Sequence[Draw], entries: Iterable[Entry], renewed: Collection[str] = ()
) -> None:
    """Check that no column would be randomized a second time in a different way.

    Args:
        draws: what is about to leave.
        entries: the ledger's.
        renewed: identities of draws that the custodian chose in the place of earlier ones.

    Raises:
        PlanConflict: one would; the message holds the loss before and after.
    """
    entries = tuple(entries)
    conflicts = tuple(d for d in conflicting(draws, entries) if d.draw_id not in renewed)
    if not conflicts:
        return
    left = _left(entries)
    before, after = losses(left, beside=draws), losses([*left, *draws])
    listed = "; ".join(
        f"column {draw.column!r}{_under_which_name(draw, left)}: epsilon"
        f" {before[draw.column]:.4g} would become {after[draw.column]:.4g}"
        for draw in conflicts
    )
    where = ", ".join(draw.column for draw in conflicts)
    if {draw.draw_id for draw in conflicts} & {old.draw_id for old in left}:
        raise PlanConflict(
            "The records look like the same table under other record ids, or other people: most"
            f" of those that left before are not among them ({listed}).",
            where=where,
            remedy="Keep the record ids that they left with, or accept the added loss with"
            " --accept-added-loss; for other people, give them a site file with a state directory"
            " of its own.",
        )
    raise PlanConflict(
        f"These columns left before under another randomization ({listed}).",
        where=where,
        remedy="Keep the names, channel, study, keys and record ids they left with, or accept the"
        " added loss with --accept-added-loss.",
    )


def _under_which_name(draw: Draw, left: Sequence[Draw]) -> str:
    """Say as which columns a column's values left before, if none of its names did."""
    if any(draw.column == old.column or draw.variable == old.variable for old in left):
        return ""
    columns = {old.column for old in left}
    known = " and ".join(repr(column) for column in draw.same_as if column in columns)
    return f" has the values of column {known} that left before under another name" if known else ""


def _left(entries: Iterable[Entry]) -> list[Draw]:
    return [draw for entry in entries if entry.left for draw in entry.draws]


def _secret_of_column(draws: Iterable[Draw]) -> dict[str, frozenset[str]]:
    """Return for every column the columns that are one secret with it, itself among them."""
    groups: list[tuple[frozenset[str], frozenset[str]]] = []
    for draw in draws:
        columns = frozenset({draw.column, *draw.same_as})
        variables = frozenset({draw.variable})
        apart = []
        for group in groups:
            if columns & group[0] or draw.variable in group[1]:
                columns, variables = columns | group[0], variables | group[1]
            else:
                apart.append(group)
        groups = [*apart, (columns, variables)]
    return {column: columns for columns, _ in groups for column in columns}
