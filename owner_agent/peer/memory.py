"""What was ever disclosed exactly of each own column, kept for ever, and what may yet be.

All that was told against some columns of the peers is part of one table, and so is what is told
against fewer of them: it adds nothing. Against others it is another table, and two tables whose
groups differ in one record tell that record's value by subtraction. So the tables that are not part
of another are counted, for each column, and there are never more than the custodian allows.

Nor are there more sets of the peers' columns, over all own columns: of two that go together, each
told by groups of its own, the one could be subtracted from the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from owner_agent.peer.floor import ColumnDisclosure
from owner_agent.state.history import state_directory
from owner_agent.state.private_files import write_replacing
from pramana_core.errors import OtherGroupings, StoreCorrupt
from pramana_core.wire.base import Message, Sha256

_FILE = "disclosures.json"


class Disclosure(Message):
    """One table that was disclosed of an own column, by digests, without a value or a record.

    `against` are the digests of the peers' columns, `names` what the session called them. `records`
    is the digest of the records.
    """

    study: str
    column: str
    variable: str
    content: Sha256
    against: list[Sha256]
    names: list[str]
    session: str
    told: datetime
    records: Sha256

    def holds(self, other: Disclosure) -> bool:
        """Whether another table is part of this one."""
        return self.content == other.content and set(self.against) >= set(other.against)

    def parts_as(self, other: Disclosure) -> bool:
        """Whether this one's groups of the records are those of another, or parts of them."""
        # A peer's column's digest has its records in it; without one, `records` must say them.
        same = bool(other.against) or self.records == other.records
        return same and set(self.against) >= set(other.against)


class _Memory(Message):
    told: tuple[Disclosure, ...] = ()


def disclosures(state: Path, sessions: Sequence[str] = ()) -> list[Disclosure]:
    """Return all that was disclosed, oldest first.

    Args:
        state: the state folder.
        sessions: sessions that are known to have told something.

    Raises:
        StoreCorrupt: the memory cannot be read, or is gone although something was disclosed.
    """
    path = state / _FILE
    if not path.exists():
        if sessions:
            raise StoreCorrupt(
                f"There is no {path}, but {len(sessions)} sessions shared parameters: nobody knows"
                " by which groups of records.",
                where=str(path),
                remedy="Restore it from your backup: without it nobody knows what was disclosed.",
            )
        return []
    try:
        return list(_Memory.model_validate_json(path.read_bytes()).told)
    except ValidationError:
        raise StoreCorrupt(
            f"{path} is not what was kept of the tables that were disclosed.",
            where=str(path),
            remedy="Restore it from your backup: without it nobody knows what was disclosed.",
        ) from None


def remember(state: Path, known: Sequence[Disclosure], more: Iterable[Disclosure]) -> None:
    """Write down, durably, what is about to be disclosed."""
    whole = _Memory(told=(*known, *more))
    write_replacing(state_directory(state) / _FILE, whole.model_dump_json(indent=1).encode())


def added(
    known: Sequence[Disclosure],
    tellings: Iterable[ColumnDisclosure],
    *,
    study: str,
    session: str,
    now: datetime,
) -> list[Disclosure]:
    """Return the tables of a session that are not part of any told before."""
    made = [
        Disclosure(
            study=study,
            column=one.column,
            variable=one.variable,
            content=one.content,
            against=sorted(groups),
            names=list(one.names),
            session=session,
            told=now,
            records=one.records,
        )
        for one in tellings
        for groups in one.against
    ]
    return [new for new in made if not any(o.holds(new) for o in of_column(known, new))]


def require_few(
    owner: str, known: Sequence[Disclosure], more: Sequence[Disclosure], groupings: int
) -> None:
    """Check that nothing is disclosed by more groupings than the custodian allows.

    Neither is any column, nor are all together. What the others hear names the column, and nothing
    of what it was told against before.

    Raises:
        OtherGroupings: one would be.
    """
    for new in more:
        if len(distinct(of_column([*known, *more], new))) > groupings:
            raise refusal(owner, new.variable, groupings)
    for new in more:
        if len(all_groupings([*known, *more], new.study)) > groupings and not any(
            other.parts_as(new) for other in known if other.study == new.study
        ):
            raise refusal(owner, new.variable, groupings)


def refusal(owner: str, variable: str, groupings: int) -> OtherGroupings:
    """Return the error of a column that would be disclosed by too many groupings."""
    most = "one grouping" if groupings == 1 else f"{groupings} groupings"
    return OtherGroupings(
        f"{owner} does not share parameters with {variable!r}: they would group its records in"
        f" another way than before, or be of other records or values; {owner} allows {most}. Two"
        " tables that differ in few records reveal those records.",
        where=variable,
        remedy="Learn from the same columns and records as before, all in one session; or let"
        f" {owner} share counts with noise, or raise groupings in its [peer] section deliberately.",
    )


def of_column(known: Iterable[Disclosure], one: Disclosure) -> list[Disclosure]:
    """Return what was disclosed of the same column in the same study, however it was renamed.

    Two tables are of one column if its name, its variable or its values are the same in both, or
    in a third one.
    """
    same, rest = [one], [other for other in known if other.study == one.study and other != one]
    mine = [other for other in known if other == one]
    while found := [other for other in rest if any(_alike(other, known) for known in same)]:
        same += found
        mine += found
        rest = [other for other in rest if other not in found]
    return sorted(mine, key=lambda other: other.told)


def _alike(one: Disclosure, other: Disclosure) -> bool:
    return (
        one.column == other.column or one.variable == other.variable or one.content == other.content
    )


def distinct(told: Sequence[Disclosure]) -> list[Disclosure]:
    """Return the tables that are not part of another, the first of those that are alike."""
    return _largest(told, Disclosure.holds)


def all_groupings(told: Sequence[Disclosure], study: str) -> list[Disclosure]:
    """Return a table for each grouping by which any own column was disclosed in a study."""
    return _largest([one for one in told if one.study == study], Disclosure.parts_as)


def _largest(
    told: Sequence[Disclosure], holds: Callable[[Disclosure, Disclosure], bool]
) -> list[Disclosure]:
    return [
        one
        for place, one in enumerate(told)
        if not any(
            holds(other, one) and (other_place < place or not holds(one, other))
            for other_place, other in enumerate(told)
            if other_place != place
        )
    ]
