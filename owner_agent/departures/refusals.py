"""What may not leave after what has left, and why: said before anything is sent.

A column that was randomized is not randomized another time, for epsilons add. A column that was
masked leaves in no other form, for no number bounds what two forms tell together: methods that keep
moments exactly, or reorder true values, give a record's value away by the difference of two
releases, and noise that is only added averages out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from owner_agent.departures.composition import conflicting, left_draws, losses, secret_of_column
from owner_agent.departures.ledger import Draw, Entry
from shared.errors import PlanConflict

_ACCEPT = "accept the added loss with --accept-added-loss"


def refuse_conflicts(
    draws: Sequence[Draw], entries: Iterable[Entry], renewed: Collection[str] = ()
) -> None:
    """Check that no column would be randomized, or masked, a second time in a different way.

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
    if any(forms.masks(draw) for draw in conflicts):
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
            " them a site file with a state directory of its own.",
        )
    raise PlanConflict(
        f"These columns left before under another randomization ({listed}).",
        where=where,
        remedy=f"Keep the names, channel, study, keys and record ids they left with, or {_ACCEPT}.",
    )


class _Forms:
    """In which forms columns are about to leave, and left before."""

    def __init__(self, draws: Sequence[Draw], left: Sequence[Draw]):
        self._left = left
        self._before, self._after = losses(left, beside=draws), losses([*left, *draws])
        self._secret = secret_of_column([*left, *draws])

    def masks(self, draw: Draw) -> bool:
        """Whether a column is about to leave masked, or did."""
        return draw.masked or any(old.masked for old in self._earlier(draw))

    def told(self, draw: Draw) -> str:
        """Say how a column left and how it would leave now."""
        column = f"column {draw.column!r}{_under_which_name(draw, self._left)}"
        if self.masks(draw):
            return f"{column} {self._how_it_left(draw)}, and would leave {_how(draw)} now"
        before, after = self._before[draw.column], self._after[draw.column]
        return f"{column}: epsilon {before:.4g} would become {after:.4g}"

    def _how_it_left(self, draw: Draw) -> str:
        earlier = self._earlier(draw)
        if any(old.masked for old in earlier):
            other = ", from other records or in another way" if draw.masked else ""
            return f"left masked{other}"
        randomized = any(old.randomized for old in earlier)
        spent = f"left randomized (epsilon {self._before[draw.column]:.4g})"
        return spent if randomized else "left as it is"

    def _earlier(self, draw: Draw) -> list[Draw]:
        secret = self._secret[draw.column]
        return [old for old in self._left if self._secret[old.column] == secret]


def _how(draw: Draw) -> str:
    """Say how a column is about to leave."""
    if draw.masked:
        return "masked"
    return "randomized" if draw.randomized else "as it is"


def _under_which_name(draw: Draw, left: Sequence[Draw]) -> str:
    """Say as which columns a column's values left before, if none of its names did."""
    if any(draw.column == old.column or draw.variable == old.variable for old in left):
        return ""
    columns = {old.column for old in left}
    known = " and ".join(repr(column) for column in draw.same_as if column in columns)
    return f" has the values of column {known} that left before under another name" if known else ""
