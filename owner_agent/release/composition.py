"""What draws of one column cost together, and what must not leave beside what left before.

Also here:

* What may not leave after what has left, and why: said before anything is sent.
* Whose records a release holds: known again by a few pseudonyms, without a look at the records.
* Whether the ledger is as young as what lies beside it: an older one, restored alone, is found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from owner_agent.release.ledger import LEFT, NEW_EPOCH, PEER, Draw, Entry, Form, Ledger, epoch_mark
from owner_agent.release.outbox import OUTBOX, may_have_left
from owner_agent.state.keys import KeyStore
from owner_agent.state.private_files import AUDIT, WAYS_OUT
from pramana_core.errors import HistoryLost, PlanConflict
from pramana_core.plan import Block
from pramana_core.privacy import epsilon
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Column, Pseudonyms, key_words, slices_of

UNKNOWN = "unknown column of "
"""What stands before a variable in place of its column, where the site's plan has no such variable.

It may have been any column: it counts on every one, an upper bound, until a column has that name.
"""


def planned_draws(
    blocks: Iterable[Block],
    columns: Mapping[str, str],
    identities: Mapping[str, str],
    population: Callable[[str], str] = lambda _draw_id: "",
    epochs: Mapping[str, int] = MappingProxyType({}),
) -> tuple[Draw, ...]:
    """Return what sending columns costs each of them, as the ledger writes it.

    A margin of a joint draw counts with the epsilon of the whole draw: the draw is the same one.

    Args:
        blocks: the blocks, as they are drawn.
        columns: the column of each variable that is sent.
        identities: the identity of each block's draws, by the block's name.
        population: names the population the records are of, by the identity of a draw.
        epochs: by a block's name, the epoch of its draws; 0, if it is not there.
    """
    return tuple(
        Draw(
            column=columns[name],
            variable=name,
            draw_id=identities[block.name],
            epsilon=loss,
            form=Form.OPEN if block.channel.is_identity else Form.RANDOMIZED,
            population="" if block.channel.is_identity else population(identities[block.name]),
            epoch=epochs.get(block.name, 0),
        )
        for block, loss in ((block, epsilon(block.channel)) for block in blocks)
        for name in block.names
        if name in columns
    )


def joined(draws: Iterable[Draw], one_secret: Mapping[str, Collection[str]]) -> tuple[Draw, ...]:
    """Return draws that say which other columns tell the values of theirs."""
    return tuple(
        replace(draw, same_as=tuple(sorted({*draw.same_as, *one_secret.get(draw.column, ())})))
        for draw in draws
    )


def losses(draws: Iterable[Draw], beside: Iterable[Draw] = ()) -> dict[str, float]:
    """Return the composed epsilon of each column's secret: the sum over its distinct draws.

    Unrandomized columns have an infinite one, and so have those that left in a form that nothing
    bounds (see `Unbounded`). All columns of a private tree have one draw, the tree: whoever
    changes a record changes what the tree tells by its epsilon at most, so that the tree counts
    once for each of its columns, and once for two of them that are one secret.

    Args:
        draws: what is added up.
        beside: further draws, which cost nothing here but join columns by their variables.
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
    """Return the composed epsilon of each column over everything that may have left."""
    return losses(left_draws(entries))


@dataclass(frozen=True)
class Unbounded:
    """The columns whose secret left in a form that no number bounds: masked, or in a tree."""

    masked: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    @classmethod
    def of(cls, draws: Iterable[Draw], beside: Iterable[Draw] = ()) -> Unbounded:
        """Return those of some draws.

        Args:
            draws: what left.
            beside: further draws, which join columns by their variables.
        """
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
        """Return in which forms without a bound a column left, in words."""
        said = (("masked", self.masked), ("shared tree", self.shared))
        return tuple(form for form, columns in said if column in columns)


def renamed(entries: Iterable[Entry]) -> dict[str, tuple[str, ...]]:
    """Return the columns that left with the values of others, and these others."""
    found: dict[str, set[str]] = {}
    for draw in left_draws(entries):
        if draw.same_as:
            found.setdefault(draw.column, set()).update(draw.same_as)
    return {column: tuple(sorted(others)) for column, others in found.items()}


def conflicting(planned: Sequence[Draw], entries: Iterable[Entry]) -> tuple[Draw, ...]:
    """Return the draws that would report a secret anew, differently from what left before.

    A column that is public in both releases is not randomized again, whatever its categories.
    """
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
    """Return the variables of draws that count on every column: theirs is not known."""
    draws = list(draws)
    secret = secret_of_column(draws)
    return tuple(dict.fromkeys(d.variable for d in draws if _is_unknown(secret[d.column])))


def _is_unknown(secret: frozenset[str]) -> bool:
    return all(column.startswith(UNKNOWN) for column in secret)


def left_draws(entries: Iterable[Entry]) -> list[Draw]:
    """Return the draws of everything that may have left."""
    return [draw for entry in entries if entry.left for draw in entry.draws]


def secret_of_column(draws: Iterable[Draw]) -> dict[str, frozenset[str]]:
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


# What may not leave after what has left, and why: said before anything is sent.
#
# A column that was randomized is not randomized another time, for epsilons add. A column that left
# masked or in a tree leaves in no other form, for no number bounds what two forms tell together:
# methods that keep moments exactly, or reorder true values, give a record's value away by the
# difference of two releases, and noise that is only added averages out. So it is with trees:
# counts
# of two trees are subtracted, and where their tables differ by one record, the difference is that
# record's path and class. A private tree is bounded by its epsilon, which adds like another's.


_ACCEPT = "accept the added loss with --accept-added-loss"


def refuse_conflicts(draws: Sequence[Draw], entries: Iterable[Entry]) -> None:
    """Check that no column would leave a second time in a different way.

    Args:
        draws: what is about to leave.
        entries: the ledger's.

    Raises:
        PlanConflict: one would; the message holds the loss before and after, where it has a number.
    """
    entries = tuple(entries)
    conflicts = conflicting(draws, entries)
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
    if any(draw.in_tree for draw in conflicts):
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
        trees = [old for old in self._earlier(draw) if old.in_tree]
        return draw.in_tree and any(tree.unbounded for tree in (draw, *trees)) and bool(trees)

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
        if any(old.form is Form.MASKED for old in earlier):
            return f"left masked{alike if draw.form is Form.MASKED else ''}"
        if any(old.in_tree and old.unbounded for old in earlier):
            return f"left in a shared tree{alike if draw.in_tree else ''}"
        spent = f"(epsilon {self._before[draw.column]:.4g})"
        if any(old.in_tree for old in earlier):
            return f"left in a private tree {spent}"
        randomized = any(old.randomized for old in earlier)
        return f"left randomized {spent}" if randomized else "left as it is"

    def _earlier(self, draw: Draw) -> list[Draw]:
        secret = self._secret[draw.column]
        return [old for old in self._left if self._secret[old.column] == secret]


def _how(draw: Draw) -> str:
    """Say how a column is about to leave."""
    if draw.form is Form.MASKED:
        return "masked"
    if draw.in_tree:
        return "in a shared tree" if draw.unbounded else "in a private tree"
    return "randomized" if draw.randomized else "as it is"


def _under_which_name(draw: Draw, left: Sequence[Draw]) -> str:
    """Say under which other names a column's values left before."""
    if any(draw.column == old.column or draw.variable == old.variable for old in left):
        return ""
    columns = {old.column for old in left}
    known = " and ".join(repr(column) for column in draw.same_as if column in columns)
    return f" has the values of column {known} that left before under another name" if known else ""


# Whose records a release holds: known again by a few pseudonyms, without a look at the records.
#
# Under other record ids the same people are other records, with draws of their own: their losses
# add, and nothing but the pseudonyms tells. Pseudonyms are MACs, so the smallest of a release are a
# random sample of its records.

SKETCH_RECORDS = 256

TOLERATED_SHARE = 0.1
"""So many of the records may be gone and as many others have come without a question."""


def sketch_of(keys: Column) -> bytes:
    """Return the smallest of ascending pseudonyms, joined: all of them if they are few."""
    return bytes(keys[:SKETCH_RECORDS].tobytes())


def same_records(earlier: Entry, keys: Column) -> bool:
    """Whether ascending pseudonyms may be those of an earlier release, with some added or gone.

    Both at once is what other record ids look like: a part of the earlier records is gone and
    others stand in their place. Up to the largest pseudonym of its sketch an earlier release is
    known whole, so both shares are seen there.
    """
    sampled = np.frombuffer(earlier.sketch, dtype=f"V{KEY_BYTES}")
    return _same(sampled, earlier.records, keys)


def same_people(earlier: Column, keys: Column) -> bool:
    """Whether ascending pseudonyms may be earlier ones with records added or taken away."""
    return _same(np.frombuffer(sketch_of(earlier), dtype=f"V{KEY_BYTES}"), len(earlier), keys)


def _same(sketch: Pseudonyms, records: int, keys: Column) -> bool:
    sampled = _first_words(sketch)
    last = sampled.max() if records > len(sampled) else None
    found = present = 0
    for rows in slices_of(len(keys)):
        first = _first_words(keys[rows])
        inside = first if last is None else first[: np.searchsorted(first, last, side="right")]
        # Half a pseudonym is enough: two records have the same once in 10^19.
        found += int(np.isin(sampled, inside).sum())
        present += len(inside)
        if len(inside) < len(first):
            break
    tolerated = TOLERATED_SHARE * len(sampled)
    return len(sampled) - found <= tolerated or present - found <= tolerated


def population_of(keys: Column, draw_id: str, entries: Iterable[Entry]) -> str:
    """Return the name of the population that records belong to as far as one draw is concerned.

    It is the newest population all of whose releases may hold the same records, or else a new one.

    Args:
        keys: the records' pseudonyms, ascending.
        draw_id: the draw; only releases that left under it count.
        entries: the ledger's, oldest first.
    """
    populations: dict[str, bool] = {}
    for entry in entries:
        draw = next((d for d in entry.draws if d.draw_id == draw_id), None)
        if entry.left and draw is not None:
            fits = populations.pop(draw.population, True) and same_records(entry, keys)
            populations[draw.population] = fits
    fitting = [name for name, fits in populations.items() if fits]
    return fitting[-1] if fitting else hashlib.sha256(sketch_of(keys)).hexdigest()[:16]


def _first_words(keys: Pseudonyms) -> npt.NDArray[np.uint64]:
    return key_words(keys)[:, 0]


# Whether the ledger is as young as what lies beside it: an older one, restored alone, is found.
#
# The audit log has every step of every release, and the memory of reports has the releases that it
# was made of. What is older than the ledger is no loss here: a memory that lacks a release is found
# where that matters (see `corrections`).

_STEP = "release_"


def known_entries(state: Path) -> tuple[Entry, ...]:
    """Return the ledger's entries, oldest first, before something leaves.

    Raises:
        HistoryLost: the ledger is gone, the audit log or the outbox knows of more that left, or the
            draw key came here past the ledger.
        KeyFileError: the draw key is unsafe.
        StoreCorrupt: the ledger cannot be read.
    """
    ledger = Ledger(state)
    entries = ledger.entries()
    epoch, missing = beyond(state, entries)
    begun = {epoch_mark(beginning) for beginning in ledger.beginnings()}
    if missing or (epoch is not None and epoch not in begun):
        named = f"releases {', '.join(missing)}" if missing else "a new epoch"
        raise HistoryLost(
            f"The audit log has {named}, of which the ledger knows nothing: the ledger is older"
            " than the audit log.",
            where=str(state / AUDIT),
            remedy=WAYS_OUT,
        )
    if unsaid := unknown_in_outbox(state, entries):
        raise HistoryLost(
            f"The outbox has releases {', '.join(unsaid)}, which may have left and of which the"
            " ledger knows nothing: the ledger is older than the outbox.",
            where=str(state / OUTBOX),
            remedy=WAYS_OUT,
        )
    keys = KeyStore(state)
    if (unknown := keys.unknown_draw) is not None:
        raise HistoryLost(
            f"The draw key here ({unknown}) was not made or imported with the ledger here: nobody"
            " knows what left by its draws.",
            where=str(keys.path("draw")),
            remedy=WAYS_OUT,
        )
    return entries


def unknown_in_outbox(state: Path, entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the releases of the outbox that may have left and that a ledger does not have."""
    left = {entry.name for entry in entries if entry.left}
    return tuple(name for name in may_have_left(state / OUTBOX) if name not in left)


def beyond(state: Path, entries: Iterable[Entry]) -> tuple[str | None, tuple[str, ...]]:
    """Return the newest epoch of the audit log, and releases since that a ledger does not have.

    The log's lines are written after the ledger's: of a crash between the two it has less.
    """
    left = {(entry.study, entry.name) for entry in entries if entry.left}
    epoch: str | None = None
    steps: dict[tuple[Any, Any], str] = {}
    for line in _lines(state / AUDIT):
        action = str(line.get("action", ""))
        if action == NEW_EPOCH:
            epoch, steps = line.get("epoch"), {}
        elif action.startswith(_STEP):
            steps[line.get("study"), line.get("release")] = action.removeprefix(_STEP)
    missing = [one for one, state_ in steps.items() if state_ in LEFT and one not in left]
    return epoch, tuple(str(name) for _, name in missing)


def require_reported(study: str, reported: frozenset[str], entries: Sequence[Entry]) -> None:
    """Check that the ledger knows the releases whose reports are remembered.

    What was made for a peer is remembered before the ledger has it: with peers in the study, only
    that the ledger has anything of it is checked.

    Raises:
        HistoryLost: it does not.
    """
    mine = [entry for entry in entries if entry.study == study]
    lost = reported - {entry.content for entry in mine}
    if not lost or any(entry.miner.startswith(PEER) for entry in mine):
        return
    some = f"{len(lost)} releases" if len(lost) > 1 else "a release"
    raise HistoryLost(
        f"In study {study!r} reports of {some} are remembered that the ledger does not know:"
        " the ledger is an older one.",
        where=study,
        remedy=WAYS_OUT,
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Return what the lines of the audit log say, one at a time: it becomes long."""
    if path.exists():
        with path.open("rb") as lines:
            yield from map(_told, lines)


def _told(line: bytes) -> dict[str, Any]:
    """Return what a line of the audit log says, if it is one of those that matter here."""
    if b'"action"' not in line:
        return {}
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
