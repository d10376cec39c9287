"""`pm.mask`: a frame in, masked records out.

Also here:

* Tables that were masked before: one that differs from them by few records gives these away.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana.frames.randomness import Rng, generator_of
from pramana.frames.sentences import one_sentence, options_told, quoted, warn_caller
from pramana.frames.tables import Frame, shown
from pramana.masking.columns import (
    AUTO,
    Columns,
    bound_cautions,
    bounds_of,
    columns_of,
    copies_of,
    method_of,
    methods,
    options_of,
)
from pramana.masking.masked_frame import MaskedFrame
from pramana.masking.measuring import Origin
from pramana.reporting.reports import require_yes_or_no
from pramana_core.errors import OptionError
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from pramana_core.mask import Masked
    from pramana_core.mask.core.inputs import Caution
    from pramana_core.mask.core.masked import Bounds


# Tables that were masked before: one that differs from them by few records gives these away.
#
# There is no ledger here, as an owner has one (`owner-agent mask`). What was masked in this process
# is remembered as hashes, and what was masked before can be passed. Who a record is of is not
# known: records are the same here that have the same values, as far as these are known.

FEW = 10
"""Tables are nearly the same that differ by at most so many records, ..."""

SHARE = 0.1
"""... or by this share of them, and have more than that in common."""

UNIQUE = 0.95
"""Values nearly identify records that are the only ones of their values in this share of both."""

CHANCE = 1e-4
"""Tables of different people are as much alike as one would be found to share records with another
at most this often."""

Hashes = npt.NDArray[np.uint32]
"""Half the length is enough: among four million records one in a thousand has another's hash."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """What is remembered of a table: hashes of its records, and how it was masked.

    Attributes:
        records: n.
        told: the columns told as they are, by name.
        rows: a hash of each record's told values: n.
        cells: hashes of each confidential column of which the true values are known: n each.
        confidential: the columns that were masked.
        exact: whether sums or the set of values are those of the true records.
    """

    records: int
    told: tuple[str, ...]
    rows: Hashes = field(repr=False)
    cells: Mapping[str, Hashes] = field(repr=False)
    confidential: tuple[str, ...]
    exact: bool

    def same(self, other: Sketch) -> bool:
        """Return whether both remember the same: a table that is masked again."""
        return (
            (self.told, self.confidential, self.exact, self.cells.keys())
            == (other.told, other.confidential, other.exact, other.cells.keys())
            and np.array_equal(self.rows, other.rows)
            and all(np.array_equal(self.cells[name], other.cells[name]) for name in self.cells)
        )


@dataclass(frozen=True)
class Difference:
    """How a table differs from one that was masked before, and nearly is it.

    Attributes:
        gone: how many records only the earlier one has.
        added: how many only this one has.
        names: the confidential columns of both.
        by: the columns of which told values alone were compared; none where the confidential
            values were known, too.
        alike: whether that so many records have the same values is no chance.
        sure: whether records that have the same values are surely the same.
    """

    gone: int
    added: int
    names: tuple[str, ...]
    by: tuple[str, ...]
    alike: bool
    sure: bool

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The smallest is the one that a warning names."""
        return not self.sure, not self.alike, max(self.gone, self.added)

    @property
    def caution(self) -> Caution:
        """What to know of it: an alarm only if it is sure that there is reason for one."""
        from pramana_core.mask.core.inputs import Caution, Gravity

        if self.sure and not self.by:
            return Caution(f"{self._records} {self._given_away}", Gravity.GRAVE)
        if self.sure:
            said = f"By {quoted(self.by)}, {_lowered(self._records)}"
            said += " If the values of the others are as they were,"
            return Caution(f"{said} {_lowered(self._given_away)}", Gravity.GRAVE)
        if self.alike:
            return Caution(
                f"By {quoted(self.by)}, this table seems to have most of its records in common with"
                f" one that was masked before. If it has, the difference of the sums of"
                f" {quoted(self.names)} in both releases tells of those that differ. Release one"
                " of them."
            )
        return Caution(
            f"This table has nearly the same values of {quoted(self.by or self.names)} as one that"
            " was masked before; too many records are alike in them to tell whether both tables are"
            " of the same people. If they are, release one of them.",
            Gravity.NOTE,
        )

    @property
    def _records(self) -> str:
        if not self.added:
            return f"This table lacks {_counted(self.gone)} of one that was masked before."
        if not self.gone:
            return f"This table has {_counted(self.added)} more than one that was masked before."
        if self.gone == self.added:
            return (
                f"{_counted(self.gone).capitalize()} of a table that was masked before"
                f" {'was' if self.gone == 1 else 'were'} changed or replaced in this one."
            )
        return (
            "Of this table and one that was masked before, records were changed or replaced:"
            f" {_counted(self.gone)} of that and {_counted(self.added)} of this are in it alone."
        )

    @property
    def _given_away(self) -> str:
        gap = f"The difference of the sums of {quoted(self.names)} in both releases is"
        if self.gone == self.added == 1:
            what = "that of its values before and now"
        elif self.gone and self.added:
            what = "that of the sums over these records"
        elif self.gone + self.added == 1:
            what = "its value"
        else:
            what = "the sum of their values"
        return f"{gap} {what}. Release one of them."


_SESSION: deque[Sketch] = deque(maxlen=20)
"""The tables that this process masked last."""


def earlier_ones(earlier: object) -> list[MaskedFrame]:
    """Return what was masked before, as it is passed. Raises OptionError otherwise."""
    several = earlier if isinstance(earlier, list | tuple) else [earlier]
    found = []
    for one in several if earlier is not None else ():
        if not isinstance(one, MaskedFrame):
            raise OptionError(
                "earlier must be a MaskedFrame or a list of them, as pm.mask made and pm.load"
                f" reads them, not {shown(one)}.",
                where="earlier",
            )
        found.append(one)
    return found


def remembered(columns: Columns, method: str, earlier: Iterable[MaskedFrame]) -> Caution | None:
    """Return a sentence if a table is nearly one masked before, and remember it from now on.

    Args:
        columns: the table.
        method: how it was masked.
        earlier: what was masked beside the tables of this session. Of what was loaded the told
            columns alone are known.
    """
    new = _sketch(columns.table, columns.told, columns.confidential, method)
    pairs = [(new, old) for old in _SESSION]
    for one in earlier:
        told = [name for name in columns.told if name in one.tell]
        table = one.frame if one.origin is None else one.origin.columns.table
        old = _sketch(table, told, one.confidential, one.method, known=one.origin is not None)
        pairs.append((_sketch(columns.table, told, columns.confidential, method), old))
    found = [difference for difference in starmap(_difference, pairs) if difference is not None]
    if not any(new.same(old) for old in _SESSION):
        _SESSION.append(new)
    return min(found, key=lambda one: one.rank).caution if found else None


def _sketch(
    table: pd.DataFrame,
    told: Sequence[str],
    confidential: Sequence[str],
    method: str,
    *,
    known: bool = True,
) -> Sketch:
    """Return what is remembered of a table whose confidential values are true ones, if `known`."""
    how = methods()[method]
    return Sketch(
        len(table),
        tuple(sorted(told)),
        _rows([_cells(table[name]) for name in sorted(told)], len(table)),
        {name: _cells(table[name]) for name in confidential} if known else {},
        tuple(confidential),
        how.exact_moments or how.released_values,
    )


def _difference(new: Sketch, old: Sketch) -> Difference | None:
    """Return how a table differs from an earlier one.

    None if it does not, if it differs by many records, if neither tells of the other or if there is
    nothing by which records could be compared.
    """
    names = tuple(name for name in new.confidential if name in old.confidential)
    known = [name for name in names if name in new.cells and name in old.cells]
    told = bool(new.told) and new.told == old.told
    if not (names and new.exact and old.exact and (known or told)):
        return None
    sides = []
    for one in (new, old):
        beside = [one.rows] if told else []
        sides.append(_rows([*beside, *(one.cells[name] for name in known)], one.records))
    every, places = np.unique(np.concatenate(sides), return_inverse=True)
    ours = np.bincount(places[: new.records], minlength=len(every))
    theirs = np.bincount(places[new.records :], minlength=len(every))
    added, gone = (int((a - b).clip(min=0).sum()) for a, b in ((ours, theirs), (theirs, ours)))
    count, most = max(added, gone), max(new.records, old.records)
    if not count or count > max(FEW, SHARE * most) or most - count <= count:
        return None
    unique = all(
        np.count_nonzero(counts == 1) >= UNIQUE * counts.sum() for counts in (ours, theirs)
    )
    alike = unique or _no_chance(ours, theirs)
    # Sets of values that hold the confidential ones, too, differ by these, whose they ever are.
    return Difference(
        gone, added, names, () if known else new.told, alike, sure=alike if known else unique
    )


def _no_chance(ours: npt.NDArray[np.intp], theirs: npt.NDArray[np.intp]) -> bool:
    """Return whether tables of different people would hardly have values as often as each other.

    Of t records of one value in both tables, half are in each with a probability of at most 1/2; so
    the number of values that are equally frequent is bounded by Hoeffding's inequality.
    """
    equal = float(np.mean(ours == theirs)) - 0.5
    return equal > 0 and bool(np.exp(-2 * len(ours) * equal**2) < CHANCE)


def _cells(column: pd.Series) -> Hashes:
    """Return a hash of each cell; numbers are the same whatever their type."""
    import pandas as pd

    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    plain = column.to_numpy(dtype=float) + 0.0 if numeric else column.astype(str).to_numpy(object)
    return (pd.util.hash_array(plain) >> np.uint64(32)).astype(np.uint32)


def _rows(columns: Sequence[Hashes], records: int) -> Hashes:
    """Return a hash of each record over the hashes of its cells."""
    found = np.zeros(records, dtype=np.uint64)
    for cells in columns:
        found = (found ^ cells) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return (found >> np.uint64(32)).astype(np.uint32)


def _counted(records: int) -> str:
    return "one record" if records == 1 else f"{records:,} records"


def _lowered(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"


@options_told
def mask(
    frame: Frame,
    confidential: str | Sequence[str],
    method: str = AUTO,
    rng: Rng = None,
    *,
    tell: str | Sequence[str] | None = None,
    copies: int = 1,
    keep_order: bool = False,
    bounds: Bounds | None = None,
    earlier: MaskedFrame | Sequence[MaskedFrame] | None = None,
    **options: Any,
) -> MaskedFrame:
    """Mask confidential numeric columns so that regressions give what they give on the true ones.

    The other columns are released as they are. Masked values are what these tell of the
    confidential ones, and noise in place of the rest: so they tell nothing on a person that the
    other columns do not tell, but there is no gamma, no bound on what a record tells (the guide
    `docs/masking.md` says what is protected and what is not).

    Args:
        frame: the true records, n rows without missing cells.
        confidential: the numeric columns to mask, X.
        method: `egadp` keeps linear relationships exactly, `cgadp` and `shuffle` monotonic ones,
            `nmegadp` and its other forms (`nmegadp-shuffle`, `nmegadp-copula`,
            `nmegadp-copula-shuffle`) those of any shape; `gadp`, `ipso`, and `shuffle-parametric`
            are relatives; `sadp` and `cadp` (additive noise) are what to compare with. `auto` takes
            what `pm.recommend_masking` says.
        rng: None draws from the operating system's randomness. A seed or a generator makes the same
            records again, and whoever guesses it may undo the noise: it is for experiments. For
            releases there are the owner's keys (`owner-agent mask`).
        tell: the columns to release as they are, S; None for all others. The frame's remaining
            columns are left out. Columns that identify people are refused.
        copies: how many masked copies to make; what is estimated from each is put together by
            `pm.combine_copies`, with errors that count the masking.
        keep_order: whether rows and index stay as they are. By default the rows come in random
            order with a new index: the order of a sorted table tells its values.
        bounds: a lower and an upper bound of confidential columns, such as
            `{"income": (0, None)}`; masked values beyond them are cut to them, and a warning says
            what that costs. Without them a warning tells of columns that only masked values have
            below 0.
        earlier: what was masked before, in other sessions: if this table is nearly one of those, or
            of those masked in this session, the difference of both gives records away. That is a
            Python warning, and the first in `warnings`; a note there says so where records are
            too much alike to tell.
        options: the method's own, such as `noise=0.2` of `sadp`, `max_leverage=0.4` (how much a
            true value may weigh in its own masked one), `max_told=0.1` (of what the told columns
            leave unknown of a record, its masked value tells at most a tenth), or `bandwidth`,
            `penalty` and `landmarks` of its kernel.

    Returns:
        the masked records, with measures and pictures for whoever has the true ones.

    Raises:
        TableError: it is no table; cells are missing; a confidential column holds no numbers; a
            told one identifies people. `MissingColumn` and `EmptyTable` are of this kind.
        MaskingError: a column has one value only, records are too few (for so many copies), or some
            stand alone.
        OptionError: an unknown method or option, a column that is both told and masked, bounds that
            true values lie beyond.

    Examples:
        >>> import pramana as pm
        >>> store = pm.example("store")
        >>> masked = pm.mask(store, ["expenditure", "debt"], method="egadp", rng=1)
        >>> masked.frame[["expenditure", "debt"]].corr().round(6).equals(
        ...     store[["expenditure", "debt"]].corr().round(6))
        True
    """
    from pramana_core.mask.copies import require_few_copies
    from pramana_core.mask.core.inputs import Gravity, gravest_first
    from pramana_core.mask.core.masked import bounded

    named = method_of(method)
    count = copies_of(copies)
    require_yes_or_no(keep_order, "keep_order")
    generator = generator_of(rng)
    columns = columns_of(frame, confidential, tell)
    within = bounds_of(bounds, columns.table, columns.confidential)
    before = earlier_ones(earlier)
    seed = int(generator.integers(1 << 32))
    order = _order(generator, len(columns.table), keep_order=keep_order)
    origin = Origin(columns, order, seed)
    made: list[Masked] = []
    with progress_bar("masking") as bar, one_sentence():
        bar(0, count + 1)
        if named == AUTO:
            named = origin.recommendation.method
        bar(1, count + 1)
        chosen = options_of(named, options)
        require_few_copies(methods()[named], count, len(columns.table), len(columns.confidential))
        for _ in range(count):
            made.append(_masked(columns, named, generator, chosen))
            bar(1 + len(made), count + 1)
    cut = [bounded(columns.confidential, within, one.matrix) for one in made]
    frames = tuple(_released(columns, one, order, keep_order=keep_order) for one in cut)
    near = remembered(columns, named, before)
    if near is not None and near.gravity < Gravity.NOTE:
        warn_caller(near)
    found = [*(() if near is None else (near,)), *_warnings(columns, made, within)]
    return MaskedFrame(
        method=named,
        tell=columns.told,
        confidential=columns.confidential,
        copies=frames,
        warnings=gravest_first(found),
        details=made[0].details,
        origin=origin,
        influence=made[0].influence,
    )


def _order(generator: np.random.Generator, records: int, *, keep_order: bool) -> Any:
    import numpy as np

    # Drawn in any case: the same seed masks alike, in whatever order.
    mixed = generator.permutation(records)
    return np.arange(records) if keep_order else mixed


def _masked(
    columns: Columns, method: str, generator: np.random.Generator, options: dict[str, Any]
) -> Masked:
    told = columns.table[list(columns.told)] if columns.told else None
    hidden = columns.table[list(columns.confidential)].astype("float64")
    try:
        return methods()[method](told, hidden, generator, **options)
    except TypeError as error:
        wrong = [name for name in options if name in str(error)]
        if not wrong:
            raise
        raise OptionError(f"{wrong[0]} is of a wrong type.", where=wrong[0]) from None


def _released(columns: Columns, values: Any, order: Any, *, keep_order: bool) -> pd.DataFrame:
    frame = columns.table.copy()
    for place, name in enumerate(columns.confidential):
        frame[name] = values[:, place]
    found: pd.DataFrame = frame.iloc[order]
    return found if keep_order else found.reset_index(drop=True)


def _warnings(columns: Columns, made: list[Masked], within: Bounds) -> tuple[str, ...]:
    from pramana_core.mask.core.inputs import Caution, Gravity

    true = columns.table[list(columns.confidential)].to_numpy(dtype=float)
    found = list(made[0].warnings)
    found += bound_cautions(columns.confidential, within, true, made[0].matrix)
    if len(made) > 1 and not methods()[made[0].method].independent:
        said = f"Copies by {made[0].method} average out: {len(made)} of them tell more than one."
        found.append(Caution(said, Gravity.GRAVE))
    if columns.dropped:
        names = ", ".join(columns.dropped)
        said = f"Columns neither told nor confidential are not released: {names}."
        found.append(Caution(said, Gravity.NOTE))
    return tuple(found)
