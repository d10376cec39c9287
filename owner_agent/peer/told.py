"""By how many groupings each own column was disclosed exactly, as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from owner_agent.peer.memory import Disclosure, distinct, of_column


@dataclass(frozen=True)
class ToldColumn:
    """A column that was told exactly in a study; `against` has each grouping's peer columns."""

    study: str
    column: str
    against: tuple[tuple[str, ...], ...]

    @property
    def groupings(self) -> int:
        """By how many groupings it was told."""
        return len(self.against)

    @property
    def words(self) -> str:
        """The peers' columns that it was told against."""
        return "; ".join(", ".join(names) or "no column" for names in self.against)


def told_columns(told: Sequence[Disclosure]) -> list[ToldColumn]:
    """Return the columns of some disclosures, in their order."""
    found = []
    for study, column in dict.fromkeys((one.study, one.column) for one in told):
        mine = next(one for one in told if (one.study, one.column) == (study, column))
        tables = distinct(of_column(told, mine))
        found.append(ToldColumn(study, column, tuple(tuple(one.names) for one in tables)))
    return found
