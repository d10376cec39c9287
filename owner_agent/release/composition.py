"""The joint privacy loss of a column's draws, and the releases that conflict with earlier ones.

Epsilons add. A column that was released masked or in a tree may not be released in any other form,
because no bound is known for the joint loss.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from owner_agent.release.ledger import Draw, Entry, Form
from pramana_core.errors import PlanConflict
from pramana_core.plan import Block
from pramana_core.privacy import epsilon
from pramana_core.rounding import rounded_up

UNKNOWN = "unknown column of "
"""Prefix of a variable of unknown column. Its loss counts for every column, an upper bound."""


def planned_draws(
    blocks: Iterable[Block],
    columns: Mapping[str, str],
    identities: Mapping[str, str],
    population: Callable[[str], str] = lambda _draw_id: "",
) -> tuple[Draw, ...]:
    """Return the ledger's draws of the `columns` to send, each with the epsilon of its whole block.

    `identities` maps the name of a block to the identity of its draw. `population` maps the
    identity of a draw to the name of the set of records.
    """
    return tuple(
        Draw(
            column=columns[name],
            variable=name,
            draw_id=identities[block.name],
            epsilon=loss,
            form=Form.OPEN if block.channel.is_identity else Form.RANDOMIZED,
            population="" if block.channel.is_identity else population(identities[block.name]),
        )
        for block, loss in ((block, epsilon(block.channel)) for block in blocks)
        for name in block.names
        if name in columns
    )


def joined(draws: Iterable[Draw], one_secret: Mapping[str, Collection[str]]) -> tuple[Draw, ...]:
    """Return draws whose `same_as` also contains what `one_secret` lists for the column."""
    return tuple(
        replace(draw, same_as=tuple(sorted({*draw.same_as, *one_secret.get(draw.column, ())})))
        for draw in draws
    )


def losses(draws: Iterable[Draw], beside: Iterable[Draw] = ()) -> dict[str, float]:
    """Return the total epsilon of each column: the sum over all distinct draws of its values.

    Columns with the same values share one total. It is infinite for unrandomized columns and for
    forms without a bound (see `Unbounded`). The draws in `beside` add no loss, but show which
    columns have the same values.
    """
    counted, all_draws = list(draws), [*draws, *beside]
    secret = secret_of_column(all_draws)
    distinct = {(secret[d.column], *d.identity): d.epsilon for d in counted}
    composed = dict.fromkeys(secret.values(), 0.0)
    for (name, *_), loss in distinct.items():
        composed[name] += loss
    anywhere = sum(loss for name, loss in composed.items() if _is_unknown(name))
    for name in composed:
        composed[name] += 0.0 if _is_unknown(name) else anywhere
    return {draw.column: composed[secret[draw.column]] for draw in all_draws}


def spent(entries: Iterable[Entry]) -> dict[str, float]:
    """Return the total epsilon of each column over all releases that may have been sent."""
    return losses(left_draws(entries))


@dataclass(frozen=True)
class Unbounded:
    """The columns that were released masked or in a tree, and columns with the same values."""

    masked: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    @classmethod
    def of(cls, draws: Iterable[Draw], beside: Iterable[Draw] = ()) -> Unbounded:
        """Return the unbounded columns of `draws`. Draws in `beside` only show equal columns."""
        counted = list(draws)
        secret = secret_of_column([*counted, *beside])

        def joined(forms: Iterable[Draw]) -> frozenset[str]:
            found = {secret[draw.column] for draw in forms}
            return frozenset(column for column, group in secret.items() if group in found)

        return cls(
            joined(draw for draw in counted if draw.form is Form.MASKED),
            joined(draw for draw in counted if draw.in_tree and draw.unbounded),
        )

    def forms(self, column: str) -> tuple[str, ...]:
        """Return the names of the unbounded forms in which a column was released."""
        kinds = (("masked", self.masked), ("shared tree", self.shared))
        return tuple(form for form, columns in kinds if column in columns)


def renamed(entries: Iterable[Entry]) -> dict[str, tuple[str, ...]]:
    """Return the released columns with the same values as other columns, each with the others."""
    found: dict[str, set[str]] = {}
    for draw in left_draws(entries):
        if draw.same_as:
            found.setdefault(draw.column, set()).update(draw.same_as)
    return {column: tuple(sorted(others)) for column, others in found.items()}


def conflicting(planned: Sequence[Draw], entries: Iterable[Entry]) -> tuple[Draw, ...]:
    """Return the planned draws that would report a released column's values in a different way."""
    left = left_draws(entries)
    secret = secret_of_column([*left, *planned])
    return tuple(
        draw
        for draw in planned
        if (
            before := [
                old
                for old in left
                if secret[old.column] == secret[draw.column] or _is_unknown(secret[old.column])
            ]
        )
        and all(old.identity != draw.identity for old in before)
        and any(old.randomized or draw.randomized for old in before)
    )


def of_unknown_columns(draws: Iterable[Draw]) -> tuple[str, ...]:
    """Return the variables of draws for which the ledger does not know the table's column."""
    draws = list(draws)
    secret = secret_of_column(draws)
    return tuple(dict.fromkeys(d.variable for d in draws if _is_unknown(secret[d.column])))


def _is_unknown(secret: frozenset[str]) -> bool:
    return all(column.startswith(UNKNOWN) for column in secret)


def left_draws(entries: Iterable[Entry]) -> list[Draw]:
    """Return the draws of all releases that may have been sent."""
    return [draw for entry in entries if entry.left for draw in entry.draws]


def secret_of_column(draws: Iterable[Draw]) -> dict[str, frozenset[str]]:
    """Return, for every column, the set of columns with the same values, including the column."""
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


def refuse_conflicts(draws: Sequence[Draw], entries: Iterable[Entry]) -> None:
    """Check that no draw releases a column again in a different way. Raises PlanConflict."""
    entries = tuple(entries)
    conflicts = conflicting(draws, entries)
    if not conflicts:
        return
    left = left_draws(entries)
    both = [*left, *draws]
    before, after = losses(left, beside=draws), losses(both)
    secret, open_ended = secret_of_column(both), Unbounded.of(both)
    names = {old.column for old in left}

    def listed(draw: Draw) -> str:
        known = secret[draw.column] & names - {draw.column}
        alias = f" (the values of {' and '.join(sorted(known))})" if known else ""
        if forms := open_ended.forms(draw.column):
            return f"column {draw.column!r}{alias}: no bound ({', '.join(forms)})"
        now, then = rounded_up(before[draw.column]), rounded_up(after[draw.column])
        return f"column {draw.column!r}{alias}: epsilon {now} would become {then}"

    reasons = "; ".join(map(listed, conflicts))
    where = ", ".join(draw.column for draw in conflicts)
    if {draw.draw_id for draw in conflicts} & {old.draw_id for old in left}:
        raise PlanConflict(
            f"The table lacks most of the records that were released before ({reasons}). It "
            "seems to have new record ids or other people.",
            where=where,
            remedy="Restore the earlier record ids, or accept the added loss with"
            " --accept-added-loss. For other people, use another study or owner, with a separate"
            " site file and state directory.",
        )
    unknown = ", ".join(of_unknown_columns(both))
    on_every = (
        f" The ledger does not know the column of {unknown}, so this loss counts for every column."
    )
    raise PlanConflict(
        f"These columns were released before in another way, and both releases together reveal"
        f" more ({reasons}).{on_every if unknown else ''}",
        where=where,
        remedy="Use the same records, columns, keys and options as before, which adds no loss, "
        "or omit the columns. Otherwise accept the added loss with --accept-added-loss.",
    )
