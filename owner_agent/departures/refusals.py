"""What may not leave after what has left, and why: said before anything is sent.

A column that was randomized is not randomized another time, for epsilons add. A column that left
masked or in a tree leaves in no other form, for no number bounds what two forms tell together:
methods that keep moments exactly, or reorder true values, give a record's value away by the
difference of two releases, and noise that is only added averages out. So it is with trees: counts
of two trees are subtracted, and where their tables differ by one record, the difference is that
record's path and class. A private tree is bounded by its epsilon, which adds like another's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from owner_agent.departures.composition import (
    conflicting,
    left_draws,
    losses,
    of_unknown_columns,
    secret_of_column,
)
from owner_agent.departures.ledger import Draw, Entry
from pramana_core.errors import PlanConflict

_ACCEPT = "accept the added loss with --accept-added-loss"


def refuse_conflicts(
    draws: Sequence[Draw], entries: Iterable[Entry], renewed: Collection[str] = ()
) -> None:
    """Check that no column would leave a second time in a different way.

    Args:
        draws: what is about to leave.
        entries: the ledger's.
        renewed: identities of draws that the custodian chose in the place of earlier ones.

    Raises:
        PlanConflict: one would; the message holds the loss before and after, where it has a number.
    """
    entries = tuple(entries)
    conflicts = tuple(d for d in conflicting(draws, entries) if d.draw_id not in renewed)
    if not conflicts:
        return
    left = left_draws(entries)
    forms = _Forms(draws, left)
    listed = "; ".join(forms.told(draw) for draw in conflicts)
    where = ", ".join(draw.column for draw in conflicts)
    if any(forms.counts(draw) for draw in conflicts):
        raise PlanConflict(
            f"These columns left before in another form ({listed}). Two trees of nearly the same"
            " records are told apart by subtracting their counts: where the tables differ by one"
            " record, that gives its path and its class away, and no requirement prevents it.",
            where=where,
            remedy="Exactly the table and the options that left before are published again without"
            " harm: the bytes are the same. Else make the tree private, leave the columns out, or"
            f" {_ACCEPT}.",
        )
    if any(forms.unbounded(draw) for draw in conflicts):
        raise PlanConflict(
            f"These columns left before in another form ({listed}). Whoever has both releases can"
            " compare them record by record, and no number bounds what that tells.",
            where=where,
            remedy="Exactly the records, columns, method and options that left before are"
            " published again without harm: the bytes are the same. Else leave the columns out, or"
            f" {_ACCEPT}.",
        )
    if {draw.draw_id for draw in conflicts} & {old.draw_id for old in left}:
        raise PlanConflict(
            "The records look like the same table under other record ids, or other people: most"
            f" of those that left before are not among them ({listed}).",
            where=where,
            remedy=f"Keep the record ids that they left with, or {_ACCEPT}; for other people, give"
            " them a study, or an owner, with a site file and a state directory of its own.",
        )
    if any(draw.shared for draw in conflicts):
        raise PlanConflict(
            f"These columns left before, and a private tree adds its epsilon to theirs ({listed}).",
            where=where,
            remedy="Exactly the table and the options that left before are published again without"
            " loss: the bytes are the same. Else say in [share_model.private] with max_epsilon how"
            f" much they may lose in all, or {_ACCEPT}.",
        )
    unknown = ", ".join(of_unknown_columns([*left, *draws]))
    said = (
        f" The ledger does not know of which column {unknown} was reported, so that it counts on"
        " every column."
    )
    raise PlanConflict(
        "These columns left before under another randomization"
        f" ({listed}).{said if unknown else ''}",
        where=where,
        remedy=f"Keep the names, channel, study, keys and record ids they left with, or {_ACCEPT}.",
    )


class _Forms:
    """In which forms columns are about to leave, and left before."""

    def __init__(self, draws: Sequence[Draw], left: Sequence[Draw]):
        self._left = left
        self._before, self._after = losses(left, beside=draws), losses([*left, *draws])
        self._secret = secret_of_column([*left, *draws])

    def unbounded(self, draw: Draw) -> bool:
        """Whether a column is about to leave in a form that nothing bounds, or did."""
        return any(draw.unbounded for draw in (draw, *self._earlier(draw)))

    def counts(self, draw: Draw) -> bool:
        """Whether a column is about to leave in a tree that nothing bounds, and did before."""
        trees = [old for old in self._earlier(draw) if old.shared]
        return draw.shared and any(tree.unbounded for tree in (draw, *trees)) and bool(trees)

    def told(self, draw: Draw) -> str:
        """Say how a column left and how it would leave now."""
        column = f"column {draw.column!r}{_under_which_name(draw, self._left)}"
        if self.unbounded(draw):
            return f"{column} {self._how_it_left(draw)}, and would leave {_how(draw)} now"
        before, after = self._before[draw.column], self._after[draw.column]
        return f"{column}: epsilon {before:.4g} would become {after:.4g}"

    def _how_it_left(self, draw: Draw) -> str:
        earlier = self._earlier(draw)
        alike = ", from other records or in another way"
        if any(old.masked for old in earlier):
            return f"left masked{alike if draw.masked else ''}"
        if any(old.shared and old.unbounded for old in earlier):
            return f"left in a shared tree{alike if draw.shared else ''}"
        spent = f"(epsilon {self._before[draw.column]:.4g})"
        if any(old.shared for old in earlier):
            return f"left in a private tree {spent}"
        randomized = any(old.randomized for old in earlier)
        return f"left randomized {spent}" if randomized else "left as it is"

    def _earlier(self, draw: Draw) -> list[Draw]:
        secret = self._secret[draw.column]
        return [old for old in self._left if self._secret[old.column] == secret]


def _how(draw: Draw) -> str:
    """Say how a column is about to leave."""
    if draw.masked:
        return "masked"
    if draw.shared:
        return "in a shared tree" if draw.unbounded else "in a private tree"
    return "randomized" if draw.randomized else "as it is"


def _under_which_name(draw: Draw, left: Sequence[Draw]) -> str:
    """Say as which columns a column's values left before, if none of its names did."""
    if any(draw.column == old.column or draw.variable == old.variable for old in left):
        return ""
    columns = {old.column for old in left}
    known = " and ".join(repr(column) for column in draw.same_as if column in columns)
    return f" has the values of column {known} that left before under another name" if known else ""
